// A [rows, columns] piece of Q, K or V on its way from global memory to shared memory, where it is fp32 and zero
// outside the operand. Two steps, so that the loads of the next piece fly while the present one is computed on:
// fetch() into registers, place() into shared memory. The including template defines Element, to_float and kThreads.

//% include "cuda/operand.cuh"

// kStride: floats from row to row in shared memory.
template <int kRows, int kColumns, int kStride>
struct OperandTile {
  static constexpr int kVector = 16 / sizeof(Element);  // elements of one 16-byte load
  static constexpr int kRowVectors = kColumns / kVector;
  static constexpr int kSteps = (kRows * kRowVectors + kThreads - 1) / kThreads;
  static_assert(kColumns % kVector == 0, "a row is whole 16-byte vectors");

  union Vector {
    Words4 words;
    Element element[kVector];
  };
  Vector vector[kSteps];

  // Rows [row, row_end) and columns [column, column_end) of the operand; column is a multiple of kVector.
  template <typename Rows>
  FFPA_DEVICE void fetch(const Rows& operand, int row, int row_end, int column, int column_end) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const int index = (int)threadIdx.x + step * kThreads;
      const int from_row = row + index / kRowVectors;
      const int from_column = column + index % kRowVectors * kVector;
      vector[step].words = Words4{};
      if (index >= kRows * kRowVectors || from_row >= row_end) continue;
      const Element* from = operand.row(from_row) + from_column;
      if (operand.aligned && from_column + kVector <= column_end) {
        vector[step].words = ld_global_nc_v4(from);
        continue;
      }
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        if (from_column + i < column_end) vector[step].element[i] = from[i];
      }
    }
  }

  // Returns whether this thread placed a value that is NaN or infinite.
  FFPA_DEVICE bool place(float* shared) const {
    bool finite = true;
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const int index = (int)threadIdx.x + step * kThreads;
      if (index >= kRows * kRowVectors) break;
      float* to = shared + index / kRowVectors * kStride + index % kRowVectors * kVector;
#pragma unroll
      for (int i = 0; i < kVector; i += 4) {
        Float4 four;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const float value = to_float(vector[step].element[i + j]);
          finite = finite && value - value == 0.0f;
          four.value[j] = value;
        }
        st_shared_v4(to + i, four);
      }
    }
    return !finite;
  }
};
