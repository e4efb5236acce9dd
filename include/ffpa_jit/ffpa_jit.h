/* libffpa_jit: attention kernels generated, compiled, cached and launched while the program runs.
 *
 * C ABI. Every function returns a status (or a value that cannot fail); none throws, exits or
 * aborts. After a failure, ffpa_jit_last_error() gives the calling thread's message: what was
 * asked, what is allowed, what to do. Structs begin with `struct_size`: set it to sizeof the struct
 * (the _INIT macros do), so that a program built against an older header keeps working with a newer
 * library.
 *
 * All functions may be called from any thread. Shapes: B batch, H query heads, Hkv key/value heads,
 * Nq and Nk sequence lengths, D head dim of Q and K, Dv head dim of V and O, T packed tokens. */
#ifndef FFPA_JIT_H
#define FFPA_JIT_H

#include <stddef.h>
#include <stdint.h>

#if defined(FFPA_JIT_BUILDING)
#define FFPA_JIT_API __attribute__((visibility("default")))
#else
#define FFPA_JIT_API
#endif

#define FFPA_JIT_VERSION_MAJOR 0
#define FFPA_JIT_VERSION_MINOR 1
#define FFPA_JIT_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#define FFPA_JIT_NOEXCEPT noexcept
#else
#define FFPA_JIT_NOEXCEPT
#endif

/* ---- status ---------------------------------------------------------------------------------- */

typedef enum ffpa_jit_status {
  FFPA_JIT_OK = 0,
  FFPA_JIT_INVALID_ARGUMENT = 1, /* the call breaks a rule stated in this header */
  FFPA_JIT_UNSUPPORTED = 2,      /* a legal request that no kernel family here can serve */
  FFPA_JIT_NO_COMPILER = 3,      /* a kernel is neither cached nor compilable on this machine */
  FFPA_JIT_COMPILE_FAILED = 4, /* the compiler refused generated source; the message has its log */
  FFPA_JIT_TEMPLATE_ERROR = 5, /* a template is wrong; the message has file, line and column */
  FFPA_JIT_CACHE_ERROR = 6,    /* a cache operation asked for by name failed (never a launch) */
  FFPA_JIT_DEVICE_ERROR = 7,   /* the driver or device refused */
  FFPA_JIT_NO_DEVICE = 8,      /* no such device, or its driver is not installed */
  FFPA_JIT_OUT_OF_MEMORY = 9,
  FFPA_JIT_TIMEOUT = 10,      /* a compile passed its time limit */
  FFPA_JIT_NOT_PREPARED = 11, /* would compile or load inside a stream capture: prepare first */
  FFPA_JIT_IO_ERROR = 12,     /* a file could not be read or written */
  FFPA_JIT_INTERNAL = 13,     /* a defect of this library; please report the message */
  FFPA_JIT_STATUS_MAX = 0x7fffffff /* never returned: gives the type the range of an int */
} ffpa_jit_status;

/* "INVALID_ARGUMENT" and so on; never NULL. */
FFPA_JIT_API const char* ffpa_jit_status_name(ffpa_jit_status status) FFPA_JIT_NOEXCEPT;
/* The calling thread's last failure; "" if there was none. Valid until its next call that fails. */
FFPA_JIT_API const char* ffpa_jit_last_error(void) FFPA_JIT_NOEXCEPT;
/* "0.1.0" */
FFPA_JIT_API const char* ffpa_jit_version(void) FFPA_JIT_NOEXCEPT;

/* ---- tensors --------------------------------------------------------------------------------- */

typedef enum ffpa_jit_dtype {
  FFPA_JIT_FP32 = 0,
  FFPA_JIT_FP16 = 1,
  FFPA_JIT_BF16 = 2,
  FFPA_JIT_BOOL = 3, /* one byte, 0 = hidden, anything else = takes part; masks only */
  FFPA_JIT_INT32 = 4 /* cu_seqlens, seqlens_k, block_table, tensors of a score modifier */
} ffpa_jit_dtype;

/* Memory belongs to the caller. `strides` are in elements. An absent optional tensor has data NULL
 * and rank 0. */
typedef struct ffpa_jit_tensor {
  void* data;
  int32_t dtype; /* ffpa_jit_dtype */
  int32_t rank;  /* 1 to 4 */
  int64_t sizes[4];
  int64_t strides[4];
} ffpa_jit_tensor;

typedef enum ffpa_jit_device_kind {
  FFPA_JIT_CPU = 0,
  FFPA_JIT_CUDA = 1,
  FFPA_JIT_EMULATED_CUDA = 2 /* CUDA kernels on this machine's processors; device_index is the
                                compute capability, 80 for sm_80. Every pointer is host memory. */
} ffpa_jit_device_kind;

typedef enum ffpa_jit_layout {
  FFPA_JIT_BHND = 0,  /* Q [B,H,Nq,D], K [B,Hkv,Nk,D], V [B,Hkv,Nk,Dv], O [B,H,Nq,Dv] */
  FFPA_JIT_BNHD = 1,  /* Q [B,Nq,H,D], K [B,Nk,Hkv,D], ... */
  FFPA_JIT_VARLEN = 2 /* Q [Tq,H,D], K [Tk,Hkv,D], ... with cu_seqlens_q/k, int32 [B+1] */
} ffpa_jit_layout;

/* ---- runtime --------------------------------------------------------------------------------- */

typedef struct ffpa_jit_runtime ffpa_jit_runtime;
typedef struct ffpa_jit_attention_args ffpa_jit_attention_args;

typedef enum ffpa_jit_log_level {
  FFPA_JIT_LOG_DEBUG = 0,
  FFPA_JIT_LOG_INFO = 1,
  FFPA_JIT_LOG_WARNING = 2,
  FFPA_JIT_LOG_ERROR = 3,
  FFPA_JIT_LOG_OFF = 4
} ffpa_jit_log_level;

/* Called from any thread; `message` is valid during the call only. */
typedef void (*ffpa_jit_log_callback)(void* user, ffpa_jit_log_level level, const char* message);

/* Serves a call that routing sends to the fallback (see ffpa_jit_plan_info.route), instead of the
 * `sdpa` family. Must compute exactly what this header states (tail-aligned causal included). */
typedef ffpa_jit_status (*ffpa_jit_fallback)(void* user, const ffpa_jit_attention_args* args,
                                             const char* reason);

typedef enum ffpa_jit_policy {
  FFPA_JIT_POLICY_DEFAULT = 0,  /* FFPA_JIT_POLICY from the environment, else native */
  FFPA_JIT_POLICY_NATIVE = 1,   /* own kernels wherever one can serve */
  FFPA_JIT_POLICY_REFERENCE = 2 /* short sequences go to the fallback, as FFPA does */
} ffpa_jit_policy;

/* Whether a problem's first call measures configs before it chooses one. */
typedef enum ffpa_jit_autotune {
  FFPA_JIT_AUTOTUNE_DEFAULT = 0, /* FFPA_JIT_AUTOTUNE from the environment, else off */
  FFPA_JIT_AUTOTUNE_OFF = 1,
  FFPA_JIT_AUTOTUNE_FAST = 2,
  FFPA_JIT_AUTOTUNE_MAX = 3
} ffpa_jit_autotune;

/* Zero or NULL means: from the environment (see `ffpa-jit env`), else the default. */
typedef struct ffpa_jit_runtime_options {
  size_t struct_size;
  /* default: $FFPA_JIT_CACHE_DIR, $XDG_CACHE_HOME/ffpa_jit, ~/.cache/ffpa_jit */
  const char* cache_dir;
  const char* cache_path;        /* ':'-separated read-only bundles, looked up after cache_dir */
  const char* template_dir;      /* overlay over the embedded templates, for kernel authors */
  int32_t policy;                /* ffpa_jit_policy */
  int32_t num_threads;           /* CPU attention; 0 = all cores this process may use */
  int32_t compile_time_limit_ms; /* 0 = 120000 */
  int32_t log_level;             /* ffpa_jit_log_level; used with log_callback or stderr */
  int32_t has_log_level;         /* 0: log_level is ignored, the default is WARNING */
  ffpa_jit_log_callback log_callback; /* NULL: stderr */
  void* log_user;
  ffpa_jit_fallback fallback; /* NULL: the `sdpa` family */
  void* fallback_user;
  int32_t autotune; /* ffpa_jit_autotune */
  int32_t reserved; /* 0 */
} ffpa_jit_runtime_options;

/* In C++ a function call: a partial initializer would draw -Wmissing-field-initializers there. */
#ifdef __cplusplus
static inline ffpa_jit_runtime_options ffpa_jit_runtime_options_init(void) noexcept {
  ffpa_jit_runtime_options options{};
  options.struct_size = sizeof(options);
  return options;
}
#define FFPA_JIT_RUNTIME_OPTIONS_INIT ffpa_jit_runtime_options_init()
#else
#define FFPA_JIT_RUNTIME_OPTIONS_INIT \
  { .struct_size = sizeof(ffpa_jit_runtime_options) }
#endif

/* `options` may be NULL. Never touches a device or a compiler; does not fail because of the cache
 * (a cache that cannot be used is logged once and the runtime works from memory). */
FFPA_JIT_API ffpa_jit_status ffpa_jit_runtime_create(const ffpa_jit_runtime_options* options,
                                                     ffpa_jit_runtime** out) FFPA_JIT_NOEXCEPT;
/* NULL is allowed. Waits for compiles in flight. Plans must be destroyed first. */
FFPA_JIT_API void ffpa_jit_runtime_destroy(ffpa_jit_runtime* runtime) FFPA_JIT_NOEXCEPT;

/* ---- attention ------------------------------------------------------------------------------- */

/* Precision of sums inside the kernel. */
typedef enum ffpa_jit_accumulate {
  FFPA_JIT_ACCUMULATE_FP32 = 0,
  FFPA_JIT_ACCUMULATE_FP16 = 1 /* a permission: families that have no such kernel sum in fp32 */
} ffpa_jit_accumulate;

#define FFPA_JIT_MAX_MODIFIER_TENSORS 4

/* O = dropout(softmax(score)) V with score = modifier(softcap(scale * Q K^T)) + bias, masked; see
 * docs/semantics.md.
 *
 * Causal and window are tail-aligned: query r stands at key position p = r + (Nk - Nq); key k is
 * visible iff p - window_left <= k <= p + window_right (a negative window is unlimited; causal is
 * window_right = 0). A row that sees no key gives O = 0 and LSE = -inf, with sinks
 * LSE = sinks[h]. */
struct ffpa_jit_attention_args {
  size_t struct_size;
  int32_t device_kind;  /* ffpa_jit_device_kind */
  int32_t device_index; /* CUDA ordinal; 0 for the CPU */
  void* stream;         /* CUstream; NULL = the default stream; ignored on the CPU */

  int32_t layout; /* ffpa_jit_layout */
  ffpa_jit_tensor q;
  ffpa_jit_tensor k;
  ffpa_jit_tensor v;
  ffpa_jit_tensor o;    /* same dtype as Q; written */
  ffpa_jit_tensor lse;  /* optional, fp32: natural log, [B,H,Nq], varlen [H,Tq]; written */
  ffpa_jit_tensor mask; /* optional, BOOL: [B,H,Nq,Nk] with any size 1 broadcast; rank 2 is [Nq,Nk],
                           rank 3 is [B,Nq,Nk] */
  ffpa_jit_tensor bias; /* optional, fp32 or Q's dtype, shapes as mask; added to the score */
  ffpa_jit_tensor cu_seqlens_q; /* VARLEN only: INT32 [B+1], on the device */
  ffpa_jit_tensor cu_seqlens_k;
  int64_t max_seqlen_q; /* VARLEN only: an upper bound of every sequence's length */
  int64_t max_seqlen_k;

  double softmax_scale; /* read iff has_softmax_scale, else 1/sqrt(D); 0.0 is legal */
  int32_t has_softmax_scale;
  int32_t is_causal;
  int64_t window_left; /* inclusive; negative = unlimited (what the _INIT macro sets) */
  int64_t window_right;
  double softcap; /* 0 = off, else score = softcap * tanh(score / softcap) */

  double dropout_p; /* in [0, 1) */
  uint64_t philox_seed;
  uint64_t philox_offset;
  /* optional device pointer to {seed, offset}: read at run time instead of the two fields, so that
     a captured graph replays with new numbers */
  const uint64_t* philox_state;

  const char* family; /* NULL: routed; else "sdpa", ... (`ffpa-jit explain` lists them) */
  void* workspace;    /* optional device memory, at least ffpa_jit_plan_info.workspace_bytes */
  size_t workspace_bytes;

  /* Optional expression that replaces each score, before bias and masks, in natural units:
   *   "score - exp2(-8 * (h + 1) / nh) * (q + nk - nq - k)"    ALiBi
   *   "t0[b,q] == t0[b,k] ? score : -inf"                      packed documents
   * Names: score; b, h, q, k (batch, query head, row, key, counted from 0); nq, nk (this sequence's
   * lengths), nh (query heads); t0 ... t3, tensors given below. -inf hides the key, as a mask does.
   * The grammar: docs/semantics.md, "Score modifier". Compiled into the kernel. */
  const char* score_modifier;
  /* What t0 ... t3 are: fp32 or INT32, rank 1 to 4, any strides. Those the expression reads, no
   * others. */
  ffpa_jit_tensor modifier_tensors[FFPA_JIT_MAX_MODIFIER_TENSORS];
  /* Optional, fp32 [H]: head h's rows have one more, virtual key of score sinks[h] whose value is
   * 0. Part of LSE; -inf is none. */
  ffpa_jit_tensor sinks;
  /* Optional, INT32 [B] on the device, not with VARLEN: sequence b has keys 0 ... seqlens_k[b] - 1,
   * at most Nk. Causal and window are aligned to that length. */
  ffpa_jit_tensor seqlens_k;
  /* Optional, INT32 [B, max_pages] on the device, needs seqlens_k: K and V lie in pages. K is then
   * [num_pages, Hkv, page_size, D] (BHND) or [num_pages, page_size, Hkv, D] (BNHD), V likewise; key
   * k of sequence b is row k % page_size of page block_table[b][k / page_size]; Nk = max_pages *
   * page_size. Entries past a sequence's length are never read. */
  ffpa_jit_tensor block_table;
  int32_t accumulate; /* ffpa_jit_accumulate; FP16 with fp16 tensors only */
  int32_t reserved;   /* 0 */
};

#ifdef __cplusplus
static inline ffpa_jit_attention_args ffpa_jit_attention_args_init(void) noexcept {
  ffpa_jit_attention_args args{};
  args.struct_size = sizeof(args);
  args.window_left = args.window_right = -1;
  return args;
}
#define FFPA_JIT_ATTENTION_ARGS_INIT ffpa_jit_attention_args_init()
#else
#define FFPA_JIT_ATTENTION_ARGS_INIT \
  { .struct_size = sizeof(ffpa_jit_attention_args), .window_left = -1, .window_right = -1 }
#endif

/* Enqueues the computation on `stream` (on the CPU: computes). The first call of a problem may
 * generate, compile and load; later calls only launch. */
FFPA_JIT_API ffpa_jit_status ffpa_jit_attention_forward(
    ffpa_jit_runtime* runtime, const ffpa_jit_attention_args* args) FFPA_JIT_NOEXCEPT;

/* ---- plans: ask and prepare ahead ------------------------------------------------------------ */

typedef struct ffpa_jit_plan ffpa_jit_plan;

typedef struct ffpa_jit_plan_info {
  size_t struct_size;
  const char* device;  /* strings live as long as the plan */
  const char* target;  /* "sm_90a", "cpu:x86-64-v4", ... */
  const char* family;  /* "sdpa", ...; "fallback" when the host's callback serves */
  const char* route;   /* the routing rule that applied */
  const char* reason;  /* in words */
  const char* config;  /* "block_m=64 block_n=64 ..." */
  const char* problem; /* canonical text */
  int32_t cache_hit;   /* 1: every kernel came from the cache */
  size_t workspace_bytes;
  double generate_ms, compile_ms, load_ms;
} ffpa_jit_plan_info;

/* Does everything ahead of the launch for `args` (whose data pointers may be NULL): routes,
 * generates, compiles, loads. Afterwards ffpa_jit_attention_forward with the same problem only
 * launches, also inside a CUDA stream capture. */
FFPA_JIT_API ffpa_jit_status ffpa_jit_attention_prepare(ffpa_jit_runtime* runtime,
                                                        const ffpa_jit_attention_args* args,
                                                        ffpa_jit_plan** out) FFPA_JIT_NOEXCEPT;
FFPA_JIT_API ffpa_jit_status ffpa_jit_plan_get_info(const ffpa_jit_plan* plan,
                                                    ffpa_jit_plan_info* info) FFPA_JIT_NOEXCEPT;
/* NULL is allowed. */
FFPA_JIT_API void ffpa_jit_plan_destroy(ffpa_jit_plan* plan) FFPA_JIT_NOEXCEPT;

#ifdef __cplusplus
}
#endif
#endif /* FFPA_JIT_H */
