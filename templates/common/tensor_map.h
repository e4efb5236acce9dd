// TensorMap: how the tensor memory accelerator finds a tensor, opaque to all but the device that encoded it. Host and kernel
// compile this same file. Plain C++ without includes. A kernel that loads by TMA takes one struct as its __grid_constant__ parameter:
// ForwardParams, then as many TensorMaps as its plan asks for, each at the next multiple of 64 bytes.

struct alignas(64) TensorMap {
  unsigned long long words[16];
};
