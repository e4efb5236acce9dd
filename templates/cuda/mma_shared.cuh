// Shared memory of cuda/mma_forward.cu.j2, and how Q, K and V get there. Rows of 16-bit elements, an odd multiple of
// 16 bytes apart: eight of them at one column lie in distinct banks, which ldmatrix wants, and every offset from a
// lane's first address is a constant, which a swizzle would not give. Columns past the head dim and rows past the
// tile's keys are zero.
//
// From the start: Q [kBlockM][kQUnits], the ring's slots, where warps share rows P [kBlockM][kBlockN] and one float
// for each row and warp, and the rows' state where registers lack. src/plan/families/mma.cpp adds up the same bytes.
//% include "cuda/operand.cuh"
//% if page_size
//% include "cuda/paged_operand.cuh"
typedef PagedOperand KvOperand;
//% else
typedef Operand KvOperand;
//% endif

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

// What a thread holds of its rows' running softmax, four floats an m-tile, where O leaves no registers for it.
constexpr bool kStateInShared = kFewRegisters;
constexpr int kStateBegin = kStatsInGap ? kProbsBegin + (kWarpsN > 1 ? kBlockM * kProbsPitch : 0)
                                        : kStatsBegin + kBlockM * kStatsPitch;

FFPA_DEVICE unsigned stats_address(unsigned smem, int row, int warp) {
  return smem + kStatsBegin + row * kStatsPitch + warp * 4;
}

// Where the row of key 4 t + s of sixteen lies: s = 0, 1 at 2 t + s, s = 2, 3 at 8 + 2 t + s - 2.
FFPA_DEVICE constexpr int fours_row(int key) {
  return (key & ~15) | (key >> 1 & 6) | (key & 1) | (key & 2) << 2;
}

// A tile's copies: a thread's share is one column of 16-byte units, every kRowStep-th row of it.
template <int kTileRows, int kTileUnits, int kTilePitch, bool kTileFours>
struct CopyShape {
  static constexpr int kRows = kTileRows, kUnits = kTileUnits, kPitch = kTilePitch;
  static constexpr int kRowStep = kThreads / kUnits;
  static constexpr int kCount = (kRows + kRowStep - 1) / kRowStep;
  static_assert(kUnits <= kThreads);

  FFPA_DEVICE static constexpr int row_offset(int row) {
    return (kTileFours ? fours_row(row) : row) * kPitch;
  }
};

// Keys in fours: a lane's elements of two n-tiles of S side by side are then four keys one after the other, which its
// masks and dropout want. That is a matter of where a key's row lies; it permutes bits, so that rows whose bits do not
// meet add up. The order of P's columns follows: of V's rows too where P stays in registers.
constexpr bool kWhole = kKChunks == 1 && kVChunks == 1;
FFPA_DEVICE constexpr bool steps_in_fours(int row_step) {
  return row_step % 16 == 0 || (kWhole && (row_step & (row_step - 1)) == 0);
}
constexpr bool kFours = steps_in_fours(kThreads / kKUnits) && (kWarpsN > 1 || steps_in_fours(kThreads / kVUnits));
// Element e of n-tile j of S: its key counted from the lane's first.
FFPA_DEVICE constexpr int key_step(int j, int e) { return kFours ? j / 2 * 16 + j % 2 * 2 + e : j * 8 + e; }
FFPA_DEVICE int first_key() { return thread() / 32 / kWarpsM * kKeys + thread() % 4 * (kFours ? 4 : 2); }
typedef CopyShape<kBlockM, kKUnits, kQPitch, false> QChunk;
typedef CopyShape<kBlockN, kKUnits, kKPitch, kFours> KChunk;
typedef CopyShape<kChunkN, kVUnits, kVPitch, kFours && kWarpsN == 1> VChunk;

// The first kUnit elements of `from`, or zeros.
FFPA_DEVICE void copy_elements(unsigned to, const Element* from, bool inside) {
#pragma unroll 1
  for (int i = 0; i < kUnit; ++i) st_shared_u16(to + 2 * i, inside ? from[i] : (Element)0);
}

// Copies that go one by one, so that they can be spread over a computation; but where rows do not start on 16 bytes
// all are made at once, element by element.
struct Copies {
  int index = thread();
  unsigned to, to_step;
  const Element* source;
  long long source_step;
  int row_step;
  int rows;         // still to copy
  int rows_inside;  // of them, that exist: the others become zero

  // Rows [row, row + kRows), of which those before row_end exist; kUnits units of each from `unit` on, of which those
  // before unit_end exist.
  template <typename Shape>
  FFPA_DEVICE void begin(unsigned tile, const Operand& from, int row, int row_end, int unit, int unit_end) {
    const int own_row = index / Shape::kUnits;
    const int own_unit = index % Shape::kUnits;
    row_step = Shape::kRowStep;
    to = tile + Shape::row_offset(own_row) + own_unit * 16;
    to_step = Shape::row_offset(Shape::kRowStep);
    source = from.row0 + (row + own_row) * from.row_stride + (unit + own_unit) * kUnit;
    source_step = Shape::kRowStep * from.row_stride;
    rows = own_row < Shape::kRowStep ? Shape::kRows - own_row : 0;
    rows_inside = unit + own_unit < unit_end ? row_end - row - own_row : 0;
    if (!from.aligned) {
#pragma unroll 1
      for (int done = 0; rows > 0; done += Shape::kRowStep) {
        copy_elements(tile + Shape::row_offset(own_row + done) + own_unit * 16, source, rows_inside > 0);
        advance();
      }
    }
  }

//% if page_size
  // Of rows that lie in pages: all at once, a few page numbers at a time. None past row_end is looked at.
  template <typename Shape>
  FFPA_DEVICE void begin(unsigned tile, const PagedOperand& from, int row, int row_end, int unit, int unit_end) {
    constexpr int kTogether = 4;
    const int own_row = (int)threadIdx.x / Shape::kUnits;
    const int own_unit = (int)threadIdx.x % Shape::kUnits;
    rows = 0;
#pragma unroll 1
    for (int first = own_row; first < (own_row < Shape::kRowStep ? Shape::kRows : 0); first += kTogether * Shape::kRowStep) {
      const Element* element[kTogether];
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        const int key = row + first + i * Shape::kRowStep;
        element[i] = key < row_end && unit + own_unit < unit_end ? from.row(key) + (unit + own_unit) * kUnit : nullptr;
      }
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        const int at = first + i * Shape::kRowStep;
        if (at >= Shape::kRows) break;
        const unsigned to = tile + Shape::row_offset(at) + own_unit * 16;
        if (from.aligned) {
          cp_async_cg_16(to, element[i] ? element[i] : from.page0, element[i] ? 16 : 0);
        } else {
          copy_elements(to, element[i], element[i] != nullptr);
        }
      }
    }
  }
//% endif

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

  // The same where the shape is known.
  template <typename Shape>
  FFPA_DEVICE void copy_of(int part, int parts) {
#pragma unroll
    for (int step = 0; step < Shape::kCount; ++step) {
      if (step * parts / Shape::kCount != part) continue;
      const int row = step * Shape::kRowStep;
      cp_async_cg_16(to + Shape::row_offset(row), source, rows_inside > row ? 16 : 0, rows > row);
      source += source_step;
    }
  }
};

// Part of the group that the ring's first copies close.
FFPA_DEVICE void load_q(unsigned smem, const ForwardParams& params, const Tile& tile) {
//% if packed
  // A warp a row.
#pragma unroll
  for (int step = 0; step < (kBlockM + kWarps - 1) / kWarps; ++step) {
    const int row = step * kWarps + (int)threadIdx.x / 32;
    if (row >= kBlockM) break;
    const RowPlace place = place_of(tile, tile.row_begin + row);
    const Operand q = operand_at(params.q, offset_of(tile, place.head, tile.q_row + place.q, params.q_stride_batch,
                                                     params.q_stride_head, params.q_stride_row), 0);
#pragma unroll
    for (int unit = lane(); unit < kQUnits; unit += 32) {
      const bool inside = tile.row_begin + row < tile.rows && unit < kHeadDim / kUnit;
      const unsigned to = smem + row * kQPitch + unit * 16;
      if (q.aligned) {
        cp_async_cg_16(to, q.row0 + unit * kUnit, inside ? 16 : 0);
      } else {
        copy_elements(to, q.row0 + unit * kUnit, inside);
      }
    }
  }
//% else
  const Operand q = operand_at(params.q, offset_of(tile, tile.head, tile.q_row, params.q_stride_batch,
                                                   params.q_stride_head, params.q_stride_row), params.q_stride_row);
#pragma unroll 1
  for (int chunk = 0; chunk < kKChunks; ++chunk) {
    Copies copies;
    copies.begin<QChunk>(smem + chunk * kKUnits * 16, q, tile.row_begin, tile.rows, chunk * kKUnits, kHeadDim / kUnit);
    copies.copy_of<QChunk>(0, 1);
  }
//% endif
}

// K and V of the tile, piece by piece: the chunks of a K tile along the head dim, then those of the V tile along the
// keys, then the next tile's. Each piece is one group of copies, past the last tile an empty one. Copies run
// kStages - 1 pieces ahead of what is read: next() waits for a piece, begin() begins them, copy() is called during the
// computation on the piece and finish() after it.
struct Ring {
  // One chunk of each (kWhole): what is loaded while K or V is read is known.
  template <bool kV>
  static constexpr bool kLoadsV = (kStages - 1 + kV) % 2 == 1;  // while K (kV: V) is read
  static constexpr int kMostCopies = KChunk::kCount > VChunk::kCount ? KChunk::kCount : VChunk::kCount;

  KvOperand k, v;
  int kv_end;
  int load_kv, load_piece;  // what is loaded next, unless kWhole
  unsigned base;
  unsigned load_to;  // bytes from `base`; the next slot is the one to be read
  Copies copies{};  // a tile without keys never begins any

  FFPA_DEVICE static unsigned after(unsigned slot) {
    return slot == (kStages - 1) * kSlotBytes ? 0 : slot + kSlotBytes;
  }

  FFPA_DEVICE void begin_k(int kv, int chunk) {
    copies.begin<KChunk>(base + load_to, k, kv, kv_end, chunk * kKUnits, kHeadDim / kUnit);
  }
  FFPA_DEVICE void begin_v(int kv, int chunk) {
    copies.begin<VChunk>(base + load_to, v, kv + chunk * kChunkN, kv_end, 0, kHeadDimV / kUnit);
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

  // The address of the next piece; it has landed for every thread.
  FFPA_DEVICE unsigned next() {
    copies.index = thread();  // while others are waited for
    cp_async_wait_group<kStages - 2>();
    bar_sync();
    return base + after(load_to);
  }

  // The slot read before is loaded anew, while the piece of the K tile (kV: V tile) at key kv is read.
  template <bool kV>
  FFPA_DEVICE void begin(int kv) {
    if constexpr (!kWhole) {
      begin_next();
    } else if constexpr (kLoadsV<kV>) {
      begin_v(kv + (kStages - 1 + kV) / 2 * kBlockN, 0);
    } else {
      begin_k(kv + (kStages - 1 + kV) / 2 * kBlockN, 0);
    }
  }

  template <bool kV>
  FFPA_DEVICE void copy(int part, int parts) {
    if constexpr (!kWhole) {
      copies.copy<kMostCopies>(part, parts);
    } else if constexpr (kLoadsV<kV>) {
      copies.copy_of<VChunk>(part, parts);
    } else {
      copies.copy_of<KChunk>(part, parts);
    }
  }

  FFPA_DEVICE void finish() {
    cp_async_commit_group();
    load_to = after(load_to);
  }
};

// Q and the first pieces of K and V are on their way.
FFPA_DEVICE Ring ring_of(unsigned smem, const ForwardParams& params, const Tile& tile, bool with_q) {
  Ring ring;
//% if page_size
  const Pages pages = pages_of_sequence(params, tile.batch);
  ring.k = paged_operand_at(params.k, tile.kv_head * params.k_stride_head, pages, params.k_stride_batch,
                            params.k_stride_row);
  ring.v = paged_operand_at(params.v, tile.kv_head * params.v_stride_head, pages, params.v_stride_batch,
                            params.v_stride_row);
//% else
  ring.k = operand_at(params.k, offset_of(tile, tile.kv_head, tile.k_row, params.k_stride_batch, params.k_stride_head,
                                          params.k_stride_row), params.k_stride_row);
  ring.v = operand_at(params.v, offset_of(tile, tile.kv_head, tile.k_row, params.v_stride_batch, params.v_stride_head,
                                          params.v_stride_row), params.v_stride_row);
//% endif
  ring.kv_end = tile.kv_end;
  ring.load_kv = tile.kv_begin;
  ring.load_piece = 0;
  ring.base = smem + kRingBegin;
  ring.load_to = 0;
{{ "#pragma unroll" if packed else "#pragma unroll 1" }}
  for (int i = 0; i < kStages - 1; ++i) {
//% if packed
    // Few keys a block: what comes before the first of them counts, hence constants.
    constexpr int kPieces = kKChunks + kVChunks;
    const int piece = i % kPieces;
    ring.load_kv = tile.kv_begin + i / kPieces * kBlockN;
    if (ring.load_kv < ring.kv_end) {
      if (piece < kKChunks) {
        ring.begin_k(ring.load_kv, piece);
        ring.copies.copy_of<KChunk>(0, 1);
      } else {
        ring.begin_v(ring.load_kv, piece - kKChunks);
        ring.copies.copy_of<VChunk>(0, 1);
      }
      ring.load_piece = (piece + 1) % kPieces;
      if (ring.load_piece == 0) ring.load_kv += kBlockN;
    }
//% else
    ring.begin_next();
    if constexpr (!kWhole) {
      ring.copies.copy<Ring::kMostCopies>(0, 1);
    } else if (i % 2 == 0) {
      ring.copies.copy_of<KChunk>(0, 1);
    } else {
      ring.copies.copy_of<VChunk>(0, 1);
    }
//% endif
    if (i == 0 && with_q) load_q(smem, params, tile);
    ring.finish();
  }
  return ring;
}
