// Rows of Q, K or V of one head in global memory. The including template defines Element.

struct Operand {
  const Element* row0;   // first row, first column
  long long row_stride;  // elements
  bool aligned;          // every row starts on 16 bytes

  FFPA_DEVICE const Element* row(int index) const { return row0 + index * row_stride; }
};

FFPA_DEVICE Operand operand_at(const void* tensor, long long offset, long long row_stride) {
  const Element* row0 = (const Element*)tensor + offset;
  const unsigned long long row_bytes = (unsigned long long)row_stride * sizeof(Element);
  const bool aligned = (((unsigned long long)row0 | row_bytes) & 15) == 0;
  return {row0, row_stride, aligned};
}
