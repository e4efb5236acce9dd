list(APPEND FFPA_DEVICE_SOURCES cuda/context_scope.cpp cuda/cuda_device.cpp cuda/cuda_kernel.cpp
  cuda/cuda_target.cpp cuda/device_facts.cpp cuda/driver_api.cpp cuda/driver_error.cpp cuda/memory_pool.cpp
  cuda/tensor_map_encoding.cpp)
