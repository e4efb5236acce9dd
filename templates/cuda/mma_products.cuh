// S = Q K^T and O += P V of cuda/mma_forward.cu.j2, out of shared memory in fragments of mma.m16n8k16.

struct ScoreTile {
  float value[kMTiles][kSTiles][4];
};
struct OutTile {
  float value[kMTiles][kOTiles][4];
};
// P as A fragments: [m-tile][16 keys].
struct ProbTile {
  unsigned value[kMTiles][kSTiles / 2][4];
};

// The lane's address for an A fragment of rows [row, row + 16): ldmatrix takes rows 0-7 and 8-15 of the lower 8
// columns, then of the upper 8.
FFPA_DEVICE unsigned a_address(unsigned tile, int pitch, int row) {
  return tile + (row + lane() % 16) * pitch + lane() / 16 * 16;
}

FFPA_DEVICE unsigned q_address(unsigned smem) { return a_address(smem, kQPitch, warp_m() * kRows); }

struct QueryFragments {
  unsigned value[kQInRegisters ? kChunkD / 16 : 1][kMTiles][4];

  FFPA_DEVICE void load(unsigned smem) {
    if constexpr (kQInRegisters) {
#pragma unroll
      for (int step = 0; step < kChunkD / 16; ++step) {
#pragma unroll
        for (int i = 0; i < kMTiles; ++i) ldmatrix_x4(value[step][i], q_address(smem) + i * 16 * kQPitch + step * 32);
      }
    }
  }
};

// scores += Q K^T over the chunk's columns. K is [key][column]: B's columns are rows of shared memory.
FFPA_DEVICE void qk(ScoreTile& scores, const QueryFragments& query, unsigned smem, Ring& ring, unsigned k,
                    int chunk, int kv) {
  const unsigned q_lane = q_address(smem) + chunk * kChunkD * 2;
  // Keys 0-7 at the lower and the upper 8 columns, then keys 8-15.
  const unsigned k_lane = k + (warp_n() * kKeys + lane() / 16 * 8 + lane() % 8) * kKPitch + lane() / 8 % 2 * 16;
  // The first fragments are asked for before the next copies are worked out: the one waits for memory meanwhile.
  unsigned first_a[kMTiles][4], first_b[4];
  if constexpr (!kQInRegisters) {
#pragma unroll
    for (int i = 0; i < kMTiles; ++i) ldmatrix_x4(first_a[i], q_lane + i * 16 * kQPitch);
  }
  ldmatrix_x4(first_b, k_lane);
  ring.begin<false>(kv);
//% if fp16_accumulate
  Sums sums[kMTiles][kSTiles];
//% endif
#pragma unroll
  for (int step = 0; step < kChunkD / 16; ++step) {
    unsigned a[kMTiles][4];
#pragma unroll
    for (int i = 0; i < kMTiles; ++i) {
      if (kQInRegisters || step == 0) {
#pragma unroll
        for (int r = 0; r < 4; ++r) a[i][r] = kQInRegisters ? query.value[kQInRegisters ? step : 0][i][r] : first_a[i][r];
      } else {
        ldmatrix_x4(a[i], q_lane + i * 16 * kQPitch + step * 32);
      }
    }
#pragma unroll
    for (int j = 0; j < kSTiles; j += 2) {
      ring.copy<false>(step * kSTiles / 2 + j / 2, kChunkD / 16 * kSTiles / 2);
      unsigned b[4];
      if (step == 0 && j == 0) {
#pragma unroll
        for (int r = 0; r < 4; ++r) b[r] = first_b[r];
      } else {
        ldmatrix_x4(b, k_lane + j * 8 * kKPitch + step * 32);
      }
#pragma unroll
      for (int i = 0; i < kMTiles; ++i) {
        mma({{ "sums" if fp16_accumulate else "scores.value" }}[i][j], a[i], b[0], b[1]);
        mma({{ "sums" if fp16_accumulate else "scores.value" }}[i][j + 1], a[i], b[2], b[3]);
      }
    }
  }
//% if fp16_accumulate
#pragma unroll
  for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
    for (int j = 0; j < kSTiles; ++j) add(scores.value[i][j], sums[i][j]);
  }
//% endif
}

FFPA_DEVICE unsigned probs_address(unsigned smem, int row, int key) {
  return smem + kProbsBegin + row * kProbsPitch + key * 2;
}

// P to where the other warps of the row group find it. Barriers of the ring lie before its reads and after them.
FFPA_DEVICE void place(const ProbTile& probs, unsigned smem) {
  if constexpr (kWarpsN > 1) {
    const int first = first_key();
#pragma unroll
    for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
      for (int j = 0; j < kSTiles; ++j) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          st_shared_u32(probs_address(smem, row_of(i, h), first + key_step(j, 0)),
                        probs.value[i][j / 2][j % 2 * 2 + h]);
        }
      }
    }
  }
}

// out += P V over the chunk's keys. V is [key][column]: B's rows are rows of shared memory, hence the transposition.
FFPA_DEVICE void pv(OutTile& out, const ProbTile& probs, unsigned smem, Ring& ring, unsigned v, int chunk, int kv) {
  const unsigned p_lane = a_address(smem + kProbsBegin, kProbsPitch, warp_m() * kRows) + chunk * kChunkN * 2;
  // Keys 0-7 and 8-15 at the lower 8 columns, then at the upper 8.
  const unsigned v_lane = v + lane() % 16 * kVPitch + warp_n() * kColumns * 2 + lane() / 16 * 16;
//% if fp16_accumulate
  constexpr int kSteps = kChunkN / 16;
  unsigned a[kSteps][kMTiles][4];
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int i = 0; i < kMTiles; ++i) {
      if constexpr (kWarpsN > 1) {
        ldmatrix_x4(a[step][i], p_lane + i * 16 * kProbsPitch + step * 32);
      } else {
#pragma unroll
        for (int r = 0; r < 4; ++r) a[step][i][r] = probs.value[i][kWarpsN == 1 ? step : 0][r];
      }
    }
  }
  ring.begin<true>(kv);
#pragma unroll
  for (int j = 0; j < kOTiles; j += 2) {
    Sums sums[kMTiles][2];
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      ring.copy<true>(j / 2 * kSteps + step, kSteps * kOTiles / 2);
      unsigned b[4];
      ldmatrix_x4_trans(b, v_lane + step * 16 * kVPitch + j * 16);
#pragma unroll
      for (int i = 0; i < kMTiles; ++i) {
        mma(sums[i][0], a[step][i], b[0], b[1]);
        mma(sums[i][1], a[step][i], b[2], b[3]);
      }
    }
#pragma unroll
    for (int i = 0; i < kMTiles; ++i) {
      add(out.value[i][j], sums[i][0]);
      add(out.value[i][j + 1], sums[i][1]);
    }
  }
}
//% else
  unsigned first_a[kMTiles][4], first_b[4];
  if constexpr (kWarpsN > 1) {
#pragma unroll
    for (int i = 0; i < kMTiles; ++i) ldmatrix_x4(first_a[i], p_lane + i * 16 * kProbsPitch);
  }
  ldmatrix_x4_trans(first_b, v_lane);
  ring.begin<true>(kv);
#pragma unroll
  for (int step = 0; step < kChunkN / 16; ++step) {
    unsigned a[kMTiles][4];
#pragma unroll
    for (int i = 0; i < kMTiles; ++i) {
      if (kWarpsN == 1 || step == 0) {
#pragma unroll
        for (int r = 0; r < 4; ++r) a[i][r] = kWarpsN == 1 ? probs.value[i][kWarpsN == 1 ? step : 0][r] : first_a[i][r];
      } else {
        ldmatrix_x4(a[i], p_lane + i * 16 * kProbsPitch + step * 32);
      }
    }
#pragma unroll
    for (int j = 0; j < kOTiles; j += 2) {
      ring.copy<true>(step * kOTiles / 2 + j / 2, kChunkN / 16 * kOTiles / 2);
      unsigned b[4];
      if (step == 0 && j == 0) {
#pragma unroll
        for (int r = 0; r < 4; ++r) b[r] = first_b[r];
      } else {
        ldmatrix_x4_trans(b, v_lane + step * 16 * kVPitch + j * 16);
      }
#pragma unroll
      for (int i = 0; i < kMTiles; ++i) {
        mma(out.value[i][j], a[i], b[0], b[1]);
        mma(out.value[i][j + 1], a[i], b[2], b[3]);
      }
    }
  }
}
//% endif
//% if hides

//% if repeats
// Whether O has come out NaN or infinite somewhere: V may have held such a value where a weight is 0.
FFPA_DEVICE bool has_nonfinite(const OutTile& out) {
  bool finite = true;
#pragma unroll
  for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
    for (int j = 0; j < kOTiles; ++j) {
#pragma unroll
      for (int r = 0; r < 4; ++r) finite = finite && out.value[i][j][r] - out.value[i][j][r] == 0.0f;
    }
  }
  return !finite;
}
//% else
// Whether this thread's share of a V chunk holds NaN or infinity: an exponent of all ones.
FFPA_DEVICE bool has_nonfinite(unsigned v) {
  constexpr unsigned kExponents = {{ "0x7f807f80u" if dtype == "bf16" else "0x7c007c00u" }};
  constexpr unsigned kLowestBits = {{ "0x00800080u" if dtype == "bf16" else "0x04000400u" }};
  unsigned carried = 0;
#pragma unroll 2
  for (int piece = (int)threadIdx.x; piece < kChunkN * kVUnits; piece += kThreads) {
    const Words4 words = ld_shared_v4_u32(v + piece / kVUnits * kVPitch + piece % kVUnits * 16);
#pragma unroll
    for (int i = 0; i < 4; ++i) carried |= (words.word[i] & kExponents) + kLowestBits;
  }
  return (carried & 0x80008000u) != 0;
}
//% endif

// The weight of key `key` of the chunk for the lane's row (i, h).
FFPA_DEVICE float weight_of(const ProbTile& probs, unsigned smem, int i, int h, int chunk, int key) {
  if constexpr (kWarpsN > 1) {
    return to_float(ld_shared_u16(probs_address(smem, row_of(i, h), chunk * kChunkN + key)));
  } else {
    // By masks: an index known only at run time would move P out of registers.
    unsigned own = 0;
#pragma unroll
    for (int step = 0; step < kSTiles / 2; ++step) {
      own |= probs.value[i][step][h] & (0u - (unsigned)(key / 8 == 2 * step));
      own |= probs.value[i][step][2 + h] & (0u - (unsigned)(key / 8 == 2 * step + 1));
    }
    const float of_owner = shfl_idx(__builtin_bit_cast(float, own), lane() / 4 * 4 + key % 8 / 2);
    return to_float((Element)(__builtin_bit_cast(unsigned, of_owner) >> key % 2 * 16));
  }
}

// pv() where V may hold NaN or infinity: a weight of 0 takes nothing from its key (0 * infinity would be NaN). Key by
// key on CUDA cores: slow, and rare.
FFPA_DEVICE void pv_guarded(OutTile& out, const ProbTile& probs, unsigned smem, unsigned v, int chunk) {
#pragma unroll 1
  for (int key = 0; key < kChunkN; ++key) {
    float weight[kMTiles][2];
#pragma unroll
    for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) weight[i][h] = weight_of(probs, smem, i, h, chunk, key);
    }
#pragma unroll
    for (int j = 0; j < kOTiles; ++j) {
      const unsigned pair = ld_shared_u32(v + key * kVPitch + column_of(j) * 2);
      const float value[2] = {to_float((Element)pair), to_float((Element)(pair >> 16))};
#pragma unroll
      for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          const float w = weight[i][r / 2];
          if (w != 0.0f) out.value[i][j][r] = fma_rn(w, value[r % 2], out.value[i][j][r]);
        }
      }
    }
  }
}
//% endif
