// Whether the tensor memory accelerator can read a mask or a bias: the same rule for the host, which describes the tensor, and for
// the kernel, whose warps copy any other. Plain C++ without includes; the including side defines FFPA_DEVICE.

// Strides are in elements, 0 where one entry is for all; `by_row`: not so for rows.
FFPA_DEVICE bool is_mark_tensor_for_tma(const void* tensor, long long stride_batch, long long stride_head, long long stride_row,
                                        long long stride_key, bool by_row, int element_bytes) {
  const long long all = stride_batch | stride_head | stride_row;
  const unsigned long long unaligned = (unsigned long long)tensor | (unsigned long long)(all * element_bytes);
  return stride_key == 1 && unaligned % 16 == 0 && all >= 0 && all < (1ll << 37) && (!by_row || stride_row > 0);
}
