// Rows of K or V of one head, kept in pages. The including template has included common/key_lengths.h.j2 and
// cuda/operand.cuh.

struct PagedOperand {
  const Element* page0;  // the head's first row of page 0
  Pages pages;
  long long page_stride, row_stride;  // elements
  bool aligned;                       // every row starts on 16 bytes

  FFPA_DEVICE const Element* row(int index) const { return page0 + key_offset(pages, index, page_stride, row_stride); }
};

FFPA_DEVICE PagedOperand paged_operand_at(const void* tensor, long long offset, const Pages& pages, long long page_stride,
                                          long long row_stride) {
  const Element* page0 = (const Element*)tensor + offset;
  const unsigned long long steps = (unsigned long long)(page_stride | row_stride) * sizeof(Element);
  return {page0, pages, page_stride, row_stride, (((unsigned long long)page0 | steps) & 15) == 0};
}
