// What an emulated kernel and the emulator (src/device/emulator/) know of each other. Both compile this file; the
// image's text holds it, so a cached image always fits the library that wrote it. Plain C++ without includes.

struct FfpaEmuIndex {
  unsigned x, y, z;
};

// One emulated thread. It lies at the top of the thread's own stack, whose size is a power of two and whose place is a
// multiple of it, so that a kernel finds it from its frame address.
constexpr unsigned long long kFfpaEmuStackBytes = 1ull << 17;

struct alignas(64) FfpaEmuThread {
  FfpaEmuIndex thread, block, block_dim, grid_dim;
  FfpaEmuIndex cluster_block, cluster_dim;  // place of the block in its cluster; {0,0,0} of {1,1,1} without one
  unsigned lane, warp;
  unsigned cluster_rank;
  unsigned char* shared;          // start of the block's shared window
  unsigned char* dynamic_shared;  // its dynamic part
  void* fiber;                    // the emulator's own
};

// Of clang's emulated thread-local storage (compiler-rt, emutls.c): one for each __shared__ variable. The emulator
// writes `offset` when it loads the image: bytes from FfpaEmuThread::shared.
struct FfpaEmuSharedVariable {
  unsigned long long size, align;
  unsigned long long offset;
  const void* initial;
};

enum FfpaEmuShuffle { kFfpaEmuShuffleIdx, kFfpaEmuShuffleUp, kFfpaEmuShuffleDown, kFfpaEmuShuffleBfly };
enum FfpaEmuVote { kFfpaEmuVoteBallot, kFfpaEmuVoteAny, kFfpaEmuVoteAll, kFfpaEmuVoteUni };
enum FfpaEmuReduce { kFfpaEmuReducePopc, kFfpaEmuReduceAnd, kFfpaEmuReduceOr };
enum FfpaEmuElement { kFfpaEmuF16, kFfpaEmuBf16, kFfpaEmuTf32, kFfpaEmuE4m3, kFfpaEmuE5m2, kFfpaEmuS8, kFfpaEmuU8, kFfpaEmuF32, kFfpaEmuS32 };

// mma.sync.aligned.m16n8k<depth>.row.col: fragments as PTX ISA, "Matrix Fragments for mma.m16n8k*".
struct FfpaEmuMma {
  FfpaEmuElement a, b, accumulator;
  unsigned depth;
};

// The emulator's functions. `self` is the calling thread, `place` an address in the kernel, for reports.
struct FfpaEmuTable {
  // A load or store of global or shared memory is about to happen. `alignment` 1: any address will do.
  void (*read)(FfpaEmuThread* self, const void* place, const void* memory, unsigned long long bytes, unsigned alignment);
  void (*write)(FfpaEmuThread* self, const void* place, void* memory, unsigned long long bytes, unsigned alignment);
  void (*atomic)(FfpaEmuThread* self, const void* place, void* memory, unsigned bytes);
  // Addresses of the .shared state space, as cvta gives them, and back.
  unsigned (*shared_address)(FfpaEmuThread* self, const void* place, const void* memory);
  void* (*shared_memory)(FfpaEmuThread* self, const void* place, unsigned address, unsigned bytes);

  // count 0: all threads of the block that have not finished.
  void (*bar_sync)(FfpaEmuThread* self, const void* place, unsigned id, unsigned count);
  void (*bar_arrive)(FfpaEmuThread* self, const void* place, unsigned id, unsigned count);
  unsigned (*bar_red)(FfpaEmuThread* self, const void* place, FfpaEmuReduce reduce, unsigned id, unsigned count, unsigned predicate);
  void (*warp_sync)(FfpaEmuThread* self, const void* place, unsigned members);
  // `clamp` as the c operand of shfl.sync; *valid receives its predicate.
  unsigned (*shuffle)(FfpaEmuThread* self, const void* place, FfpaEmuShuffle kind, unsigned value, unsigned b, unsigned clamp, unsigned members, unsigned* valid);
  unsigned (*vote)(FfpaEmuThread* self, const void* place, FfpaEmuVote kind, unsigned predicate, unsigned members);

  void (*mma)(FfpaEmuThread* self, const void* place, const FfpaEmuMma* shape, void* d, const unsigned* a, const unsigned* b, const void* c);
  // `matrices` 1, 2 or 4 of 8 x 8 16-bit elements.
  void (*ldmatrix)(FfpaEmuThread* self, const void* place, unsigned matrices, unsigned transposed, unsigned* to, unsigned address);
  void (*stmatrix)(FfpaEmuThread* self, const void* place, unsigned matrices, unsigned transposed, const unsigned* from, unsigned address);

  void (*cp_async)(FfpaEmuThread* self, const void* place, unsigned to, const void* from, unsigned bytes, unsigned source_bytes);
  void (*cp_async_commit)(FfpaEmuThread* self, const void* place);
  void (*cp_async_wait)(FfpaEmuThread* self, const void* place, unsigned pending_groups);  // ~0u: wait_all

  float (*fmaf)(float, float, float);
  float (*exp2f)(float);
  float (*expf)(float);
  float (*log2f)(float);
  float (*logf)(float);
  float (*tanhf)(float);
  float (*sqrtf)(float);
  float (*sinf)(float);
  float (*cosf)(float);
};
