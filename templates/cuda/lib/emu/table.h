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
  unsigned dynamic_shared_bytes;
  void* fiber;                    // the emulator's own
  // Around the thread's accumulators that a wgmma has not given back: what of its own stack may not be touched.
  unsigned long long watched_begin, watched_bytes;
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

// wgmma.mma_async.sync.aligned.m64n<columns>k16: fragments as PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16".
struct FfpaEmuWgmma {
  FfpaEmuElement element;
  unsigned columns;
  unsigned transpose_a, transpose_b;  // MN-major in shared memory
};

enum FfpaEmuFence { kFfpaEmuFenceProxyAsync, kFfpaEmuFenceMbarrierInit };

// cp.async.bulk.tensor: a box of the tensor that `map` describes.
struct FfpaEmuTensorBox {
  const void* map;
  unsigned rank;
  int at[5];  // innermost first
};
enum FfpaEmuTensorStore { kFfpaEmuTensorWrite, kFfpaEmuTensorAdd };

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

  // mbarriers. `space` 1: an address of .shared::cluster. `expected` bytes are added before the arrivals count.
  void (*mbarrier_init)(FfpaEmuThread* self, const void* place, unsigned address, unsigned arrivals);
  void (*mbarrier_arrive)(FfpaEmuThread* self, const void* place, unsigned address, unsigned arrivals, unsigned expected, unsigned space);
  // Whether the phase of this parity is over. Returns 0 only where `polls`, and when nothing else can go on.
  unsigned (*mbarrier_wait)(FfpaEmuThread* self, const void* place, unsigned address, unsigned parity, unsigned polls);
  void (*fence)(FfpaEmuThread* self, const void* place, FfpaEmuFence kind);

  // cp.async.bulk. `blocks` 0: no multicast.
  void (*tensor_load)(FfpaEmuThread* self, const void* place, unsigned to, const FfpaEmuTensorBox* box, unsigned barrier, unsigned blocks);
  void (*tensor_store)(FfpaEmuThread* self, const void* place, const FfpaEmuTensorBox* box, unsigned from, FfpaEmuTensorStore kind);
  void (*bulk_load)(FfpaEmuThread* self, const void* place, unsigned to, const void* from, unsigned bytes, unsigned barrier);
  void (*bulk_store)(FfpaEmuThread* self, const void* place, void* to, unsigned from, unsigned bytes);
  void (*bulk_send)(FfpaEmuThread* self, const void* place, unsigned to, unsigned from, unsigned bytes, unsigned barrier);
  void (*bulk_commit)(FfpaEmuThread* self, const void* place);
  void (*bulk_wait)(FfpaEmuThread* self, const void* place, unsigned pending_groups);

  // `a`: four registers, or null for the descriptor.
  void (*wgmma)(FfpaEmuThread* self, const void* place, const FfpaEmuWgmma* shape, float* d, const unsigned* a, unsigned long long descriptor_a, unsigned long long descriptor_b, unsigned accumulates);
  void (*wgmma_fence)(FfpaEmuThread* self, const void* place);
  void (*wgmma_commit)(FfpaEmuThread* self, const void* place);
  void (*wgmma_wait)(FfpaEmuThread* self, const void* place, unsigned pending_groups);
  // The thread's own stack between watched_begin and its end is about to be touched.
  void (*watched)(FfpaEmuThread* self, const void* place, const void* memory, unsigned long long bytes, unsigned writes);

  void (*cluster_arrive)(FfpaEmuThread* self, const void* place);
  void (*cluster_wait)(FfpaEmuThread* self, const void* place);
  unsigned (*map_shared)(FfpaEmuThread* self, const void* place, unsigned address, unsigned rank);
  // Memory of the cluster by an address that map_shared gave, about to be read or written.
  void* (*cluster_memory)(FfpaEmuThread* self, const void* place, unsigned address, unsigned bytes, unsigned writes);
  void (*store_async)(FfpaEmuThread* self, const void* place, unsigned address, const void* from, unsigned bytes, unsigned barrier);

  unsigned (*elect)(FfpaEmuThread* self, const void* place, unsigned members);
  void (*set_max_registers)(FfpaEmuThread* self, const void* place, unsigned registers, unsigned increases);

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
