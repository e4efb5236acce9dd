// Shared memory of cuda/mma_forward.cu.j2, and how Q, K and V get there. Rows of 16-bit elements, an odd multiple of
// 16 bytes apart: eight of them at one column lie in distinct banks, which ldmatrix wants, and every offset from a
// lane's first address is a constant, which a swizzle would not give. Columns past the head dim and rows past the
// tile's keys are zero.
//
// From the start: Q [kBlockM][kQUnits], the ring's slots, and where warps share rows P [kBlockM][kBlockN] and one float
// for each row and warp. src/plan/families/mma.cpp adds up the same bytes.
//% include "cuda/operand.cuh"

constexpr int kUnit = 8;  // elements of 16 bytes
template <int kUnits>
constexpr int kPitchOf = (kUnits | 1) * 16;
constexpr int kKUnits = kChunkD / kUnit;
constexpr int kQUnits = kKChunks * kKUnits;
constexpr int kVUnits = kWarpsN * kColumns / kUnit;
constexpr int kQPitch = kPitchOf<kQUnits>;
constexpr int kKPitch = kPitchOf<kKUnits>;
constexpr int kVPitch = kPitchOf<kVUnits>;
constexpr int kProbsPitch = kPitchOf<kBlockN / kUnit>;
constexpr int kSlotBytes = kBlockN * kKPitch > kChunkN * kVPitch ? kBlockN * kKPitch : kChunkN * kVPitch;
constexpr int kRingBegin = kBlockM * kQPitch;
constexpr int kProbsBegin = kRingBegin + kStages * kSlotBytes;
// One float for each row and warp: in the gap behind the row's P, which has room for four.
constexpr bool kStatsInGap = kWarpsN <= 4;
constexpr int kStatsBegin = kProbsBegin + (kStatsInGap ? kBlockN * 2 : kBlockM * kProbsPitch);
constexpr int kStatsPitch = kStatsInGap ? kProbsPitch : kWarpsN * 4;

FFPA_DEVICE unsigned stats_address(unsigned smem, int row, int warp) {
  return smem + kStatsBegin + row * kStatsPitch + warp * 4;
}

// The first kUnit elements of `from`, or zeros.
FFPA_DEVICE void copy_elements(unsigned to, const Element* from, bool inside) {
#pragma unroll 1
  for (int i = 0; i < kUnit; ++i) st_shared_u16(to + 2 * i, inside ? from[i] : (Element)0);
}

// Copies of some rows of an operand, of which a thread's share is one column of 16-byte units. They go one by one, so
// that they can be spread over a computation; but where rows do not start on 16 bytes all are made at once, element by
// element.
struct Copies {
  template <int kTileRows, int kUnits>
  static constexpr int kCount = (kTileRows + kThreads / kUnits - 1) / (kThreads / kUnits);

  unsigned to, to_step;
  const Element* source;
  long long source_step;
  int row_step;
  int rows;         // still to copy
  int rows_inside;  // of them, that exist: the others become zero

  // Rows [row, row + kTileRows), of which those before row_end exist; kUnits units of each from `unit` on, of which
  // those before unit_end exist. kPitch: bytes from row to row in shared memory.
  template <int kTileRows, int kUnits, int kPitch>
  FFPA_DEVICE void begin(unsigned tile, const Operand& from, int row, int row_end, int unit, int unit_end) {
    static_assert(kUnits <= kThreads);
    const int own_row = (int)threadIdx.x / kUnits;
    const int own_unit = (int)threadIdx.x % kUnits;
    row_step = kThreads / kUnits;
    to = tile + own_row * kPitch + own_unit * 16;
    to_step = row_step * kPitch;
    source = from.row0 + (row + own_row) * from.row_stride + (unit + own_unit) * kUnit;
    source_step = row_step * from.row_stride;
    rows = own_row < row_step ? kTileRows - own_row : 0;
    rows_inside = unit + own_unit < unit_end ? row_end - row - own_row : 0;
    if (!from.aligned) {
#pragma unroll 1
      while (rows > 0) {
        copy_elements(to, source, rows_inside > 0);
        advance();
      }
    }
  }

  FFPA_DEVICE void advance() {
    to += to_step;
    source += source_step;
    rows -= row_step;
    rows_inside -= row_step;
  }

  // Part `part` of `parts` of kSteps copies; constants once unrolled.
  template <int kSteps>
  FFPA_DEVICE void copy(int part, int parts) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (step * parts / kSteps != part) continue;
      cp_async_cg_16(to, source, rows_inside > 0 ? 16 : 0, rows > 0);
      advance();
    }
  }
};

// Part of the group that the ring's first copies close.
FFPA_DEVICE void load_q(unsigned smem, const ForwardParams& params, const Tile& tile) {
//% if packed
#pragma unroll 1
  for (int piece = (int)threadIdx.x; piece < kBlockM * kQUnits; piece += kThreads) {
    const int row = piece / kQUnits, unit = piece % kQUnits;
    const RowPlace place = place_of(tile, tile.row_begin + row);
    const Operand q = operand_at(params.q, offset_of(tile, place.head, tile.q_row + place.q, params.q_stride_batch,
                                                     params.q_stride_head, params.q_stride_row), 0);
    const bool inside = tile.row_begin + row < tile.rows && unit < kHeadDim / kUnit;
    const unsigned to = smem + row * kQPitch + unit * 16;
    if (q.aligned) {
      cp_async_cg_16(to, q.row0 + unit * kUnit, inside ? 16 : 0);
    } else {
      copy_elements(to, q.row0 + unit * kUnit, inside);
    }
  }
//% else
  const Operand q = operand_at(params.q, offset_of(tile, tile.head, tile.q_row, params.q_stride_batch,
                                                   params.q_stride_head, params.q_stride_row), params.q_stride_row);
#pragma unroll 1
  for (int chunk = 0; chunk < kKChunks; ++chunk) {
    Copies copies;
    copies.begin<kBlockM, kKUnits, kQPitch>(smem + chunk * kKUnits * 16, q, tile.row_begin, tile.rows, chunk * kKUnits,
                                            kHeadDim / kUnit);
    copies.copy<Copies::kCount<kBlockM, kKUnits>>(0, 1);
  }
//% endif
}

// K and V of the tile, piece by piece: the chunks of a K tile along the head dim, then those of the V tile along the
// keys, then the next tile's. Each piece is one group of copies, past the last tile an empty one. Copies run
// kStages - 1 pieces ahead of what is read: next() begins them, copy() is called during the computation on a piece
// and finish() after it.
struct Ring {
  // One chunk of each: what is loaded while K or V is read is known.
  static constexpr bool kWhole = kKChunks == 1 && kVChunks == 1;
  template <bool kV>
  static constexpr bool kLoadsV = (kStages - 1 + kV) % 2 == 1;  // while K (kV: V) is read
  static constexpr int kKCopies = Copies::kCount<kBlockN, kKUnits>;
  static constexpr int kVCopies = Copies::kCount<kChunkN, kVUnits>;
  static constexpr int kMostCopies = kKCopies > kVCopies ? kKCopies : kVCopies;

  Operand k, v;
  int kv_end;
  int load_kv, load_piece;  // what is loaded next, unless kWhole
  unsigned begin;
  unsigned load_to;  // bytes from `begin`; the next slot is the one to be read
  Copies copies{};  // a tile without keys never begins any

  FFPA_DEVICE static unsigned after(unsigned slot) {
    return slot == (kStages - 1) * kSlotBytes ? 0 : slot + kSlotBytes;
  }

  FFPA_DEVICE void begin_k(int kv, int chunk) {
    copies.begin<kBlockN, kKUnits, kKPitch>(begin + load_to, k, kv, kv_end, chunk * kKUnits, kHeadDim / kUnit);
  }
  FFPA_DEVICE void begin_v(int kv, int chunk) {
    copies.begin<kChunkN, kVUnits, kVPitch>(begin + load_to, v, kv + chunk * kChunkN, kv_end, 0, kHeadDimV / kUnit);
  }
  FFPA_DEVICE void begin_next() {
    if (load_kv >= kv_end) {
      copies.rows = 0;
      return;
    }
    if (load_piece < kKChunks) {
      begin_k(load_kv, load_piece);
    } else {
      begin_v(load_kv, load_piece - kKChunks);
    }
    if (++load_piece == kKChunks + kVChunks) {
      load_piece = 0;
      load_kv += kBlockN;
    }
  }

  // The address of the next piece, of the K tile (kV: V tile) at key kv; it has landed for every thread. The slot read
  // before is loaded anew.
  template <bool kV>
  FFPA_DEVICE unsigned next(int kv) {
    cp_async_wait_group<kStages - 2>();
    bar_sync();
    if constexpr (!kWhole) {
      begin_next();
    } else if constexpr (kLoadsV<kV>) {
      begin_v(kv + (kStages - 1 + kV) / 2 * kBlockN, 0);
    } else {
      begin_k(kv + (kStages - 1 + kV) / 2 * kBlockN, 0);
    }
    return begin + after(load_to);
  }

  template <bool kV>
  FFPA_DEVICE void copy(int part, int parts) {
    copies.copy<!kWhole ? kMostCopies : kLoadsV<kV> ? kVCopies : kKCopies>(part, parts);
  }

  FFPA_DEVICE void finish() {
    cp_async_commit_group();
    load_to = after(load_to);
  }
};

FFPA_DEVICE Ring ring_of(unsigned smem, const ForwardParams& params, const Tile& tile) {
  Ring ring;
  ring.k = operand_at(params.k, offset_of(tile, tile.kv_head, tile.k_row, params.k_stride_batch, params.k_stride_head,
                                          params.k_stride_row), params.k_stride_row);
  ring.v = operand_at(params.v, offset_of(tile, tile.kv_head, tile.k_row, params.v_stride_batch, params.v_stride_head,
                                          params.v_stride_row), params.v_stride_row);
  ring.kv_end = tile.kv_end;
  ring.load_kv = tile.kv_begin;
  ring.load_piece = 0;
  ring.begin = smem + kRingBegin;
  ring.load_to = 0;
#pragma unroll 1
  for (int i = 0; i < kStages - 1; ++i) {
    ring.begin_next();
    ring.copies.copy<Ring::kMostCopies>(0, 1);
    ring.finish();
  }
  return ring;
}
