// The part of NVRTC's C interface that is used, declared here so that no CUDA header is needed to
// build. The names and values are NVRTC's own (12.0 to 13.x). nvrtc.cpp alone includes this.
#pragma once

#include <cstddef>

namespace ffpa_jit {

using NvrtcProgram = struct _nvrtcProgram*;
using NvrtcFlowCallback = int (*)(void* payload, void* reserved);  // 1: give up, 0: go on

inline constexpr int kNvrtcSuccess = 0;
inline constexpr int kNvrtcOutOfMemory = 1;
inline constexpr int kNvrtcInvalidOption = 5;
inline constexpr int kNvrtcCompilation = 6;

struct NvrtcApi {
  int (*version)(int* major, int* minor);
  const char* (*get_error_string)(int result);
  int (*get_num_supported_archs)(int* count);
  int (*get_supported_archs)(int* archs);
  int (*create_program)(NvrtcProgram* program, const char* source, const char* name,
                        int header_count, const char* const* headers,
                        const char* const* include_names);
  int (*destroy_program)(NvrtcProgram* program);
  int (*compile_program)(NvrtcProgram program, int option_count, const char* const* options);
  int (*get_cubin_size)(NvrtcProgram program, size_t* bytes);
  int (*get_cubin)(NvrtcProgram program, char* cubin);
  int (*get_program_log_size)(NvrtcProgram program, size_t* bytes);
  int (*get_program_log)(NvrtcProgram program, char* log);
  // From 12.8 on; nullptr before.
  int (*set_flow_callback)(NvrtcProgram program, NvrtcFlowCallback callback, void* payload);
};

}  // namespace ffpa_jit
