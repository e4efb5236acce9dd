/* The C interface between the library and libffpa_jit_clang.so. Private to this project, but
 * versioned: the two files may come from different builds. No exception and no LLVM type crosses
 * it.
 *
 * The plugin exports one function, ffpa_jit_clang_plugin(). */
#ifndef FFPA_JIT_CLANG_PLUGIN_API_H
#define FFPA_JIT_CLANG_PLUGIN_API_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FFPA_JIT_CLANG_ABI 2u

typedef struct ffpa_jit_clang_request {
  const char* text; /* NUL-terminated source; nothing outside it can be included */
  const char* file_name;
  const char* const*
      cc1_arguments; /* of the compiler proper ("clang -cc1"): triple, CPU, -O3 ... */
  size_t cc1_argument_count;
  const char* const*
      link_arguments; /* of ld.lld, without inputs and output; none: return the object */
  size_t link_argument_count;
  const char* const*
      imports; /* symbols that the result may leave undefined; anything else is refused */
  size_t import_count;
  int (*should_stop)(void* user); /* non-zero: nobody waits any more. Called often, from this
                                     thread; may be NULL */
  void* user;
} ffpa_jit_clang_request;

typedef enum ffpa_jit_clang_status {
  FFPA_JIT_CLANG_OK = 0,
  FFPA_JIT_CLANG_REFUSED = 1, /* the source is wrong; `log` says where */
  FFPA_JIT_CLANG_STOPPED = 2, /* should_stop() said so */
  FFPA_JIT_CLANG_CRASHED = 3, /* the compiler or linker failed inside; `log` says what is known */
  FFPA_JIT_CLANG_OUT_OF_MEMORY = 4
} ffpa_jit_clang_status;

typedef struct ffpa_jit_clang_result {
  ffpa_jit_clang_status status;
  const uint8_t* image; /* ELF: a shared object, or a relocatable one without link arguments */
  size_t image_bytes;
  const char* log; /* diagnostics, NUL-terminated, never NULL */
} ffpa_jit_clang_result;

typedef struct ffpa_jit_clang_api {
  uint32_t abi;         /* FFPA_JIT_CLANG_ABI of the plugin */
  const char* identity; /* "clang 22.1.8", of the Clang that is loaded */
  /* Thread-safe. Wants a stack of 8 MiB or more. Free the result with free_result, also after a
   * failure. NULL: not even a result could be allocated. */
  ffpa_jit_clang_result* (*compile)(const ffpa_jit_clang_request* request);
  void (*free_result)(ffpa_jit_clang_result* result);
  /* Where the code at `address` (from the image's start) was written, by the image's line tables:
   * one line for each function inlined there, innermost first, "file:line\tfunction\n". Returns the
   * length, 0 when not known; at most `capacity` bytes are written, without a NUL. Thread-safe. */
  size_t (*describe_address)(const uint8_t* image, size_t image_bytes, uint64_t address, char* text,
                             size_t capacity);
} ffpa_jit_clang_api;

/* Never NULL. The caller checks `abi` before it uses anything else. */
typedef const ffpa_jit_clang_api* (*ffpa_jit_clang_plugin_function)(void);
#define FFPA_JIT_CLANG_PLUGIN_SYMBOL "ffpa_jit_clang_plugin"

#ifdef __cplusplus
}
#endif
#endif /* FFPA_JIT_CLANG_PLUGIN_API_H */
