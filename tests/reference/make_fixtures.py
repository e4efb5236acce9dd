#!/usr/bin/env python3
"""Makes attention_fixtures.json: small attention problems and their results, computed from the definition with Python's
own floats and exact sums (math.fsum), with no code in common with the C++ reference that it checks.

    python3 tests/reference/make_fixtures.py > tests/reference/attention_fixtures.json

Inputs are multiples of 1/16 in [-4, 4]: exact in fp32, fp16 and bf16. Tensors are flat, in the order of the case's
layout; `o` is [B, H, Nq, Dv] (varlen [T, H, Dv]), `lse` is [B, H, Nq] (varlen [H, T]), -infinity written as "-inf".
"""

import json
import math
import random
import struct

INF = math.inf


def to_fp32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def kept(seed, element, p):
    block = element >> 2
    numbers = philox((block & 0xFFFFFFFF, block >> 32, 0, 0), (seed & 0xFFFFFFFF, seed >> 32))
    u = to_fp32(to_fp32(numbers[element & 3]) + 1.0) * 2.0**-32
    return u > to_fp32(p)


def attend(case, q, k, v, mask, bias, dropout_base):
    """One row: q [D], k [n][D], v [n][Dv]; mask and bias already restricted to what this row may see (None = hidden)."""
    scores = {}
    for j, key in enumerate(k):
        if mask[j] is False or bias[j] == -INF:
            continue
        s = math.fsum(a * b for a, b in zip(q, key)) * case["scale"]
        if case["softcap"]:
            s = case["softcap"] * math.tanh(s / case["softcap"])
        scores[j] = s + bias[j]
    if not scores:
        return [0.0] * case["dv"], -INF
    top = max(scores.values())
    total = math.fsum(math.exp(s - top) for s in scores.values())
    weights = {j: math.exp(s - top) / total for j, s in scores.items()}  # not exp(s - lse): top may swallow the log
    if case["dropout_p"]:
        for j in weights:
            keep = kept(case["seed"], dropout_base + j, case["dropout_p"])
            weights[j] = weights[j] / (1 - case["dropout_p"]) if keep else 0.0
    return [math.fsum(w * v[j][d] for j, w in weights.items()) for d in range(case["dv"])], top + math.log(total)


def make_case(rng, name, *, b=1, hq=2, hkv=1, nq=5, nk=7, d=8, dv=None, layout="bhnd", causal=False, window=(-1, -1),
              softcap=0.0, scale=None, dropout_p=0.0, seed=0, offset=0, mask_sizes=None, mask_hide=0.3, bias_sizes=None,
              bias_values=None, seqlens=None, hidden_keys_nan=False, magnitude=1.0):
    dv = dv or d
    case = dict(name=name, hq=hq, hkv=hkv, d=d, dv=dv, layout=layout, causal=causal, window_left=window[0],
                window_right=window[1], softcap=softcap, scale=1 / math.sqrt(d) if scale is None else scale,
                dropout_p=dropout_p, seed=seed, offset=offset)
    spans = seqlens or [(nq, nk)] * b
    b = len(spans)
    nq, nk = max(s[0] for s in spans), max(s[1] for s in spans)
    case.update(b=b, nq=nq, nk=nk)

    def number():
        return max(-4, min(4, round(rng.gauss(0, magnitude) * 16) / 16))

    q = [[[[number() for _ in range(d)] for _ in range(n)] for _ in range(hq)] for n, _ in spans]
    k = [[[[number() for _ in range(d)] for _ in range(n)] for _ in range(hkv)] for _, n in spans]
    v = [[[[number() for _ in range(dv)] for _ in range(n)] for _ in range(hkv)] for _, n in spans]

    def broadcast(sizes, make):
        count = math.prod(sizes)
        flat = [make(i) for i in range(count)]
        full = {2: [1, 1] + sizes, 3: sizes[:1] + [1] + sizes[1:], 4: sizes}[len(sizes)]

        def at(*index):
            place = 0
            for i, size in zip(index, full):
                place = place * size + (0 if size == 1 else i)
            return flat[place]
        return flat, at

    mask_at, bias_at = (lambda *_: True), (lambda *_: 0.0)
    if mask_sizes:
        flat, mask_at = broadcast(mask_sizes, lambda i: rng.random() >= mask_hide)
        case.update(mask=[int(x) for x in flat], mask_sizes=mask_sizes)
    if bias_sizes:
        flat, bias_at = broadcast(bias_sizes, bias_values or (lambda i: number()))
        case.update(bias=[("-inf" if x == -INF else x) for x in flat], bias_sizes=bias_sizes)
    if hidden_keys_nan:  # columns that a mask of sizes [1, 1, 1, nk] hides are poisoned
        for j in range(nk):
            if not mask_at(0, 0, 0, j) or bias_at(0, 0, 0, j) == -INF:
                for batch in range(b):
                    for head in range(hkv):
                        k[batch][head][j] = [math.nan if i % 2 else INF for i in range(d)]
                        v[batch][head][j] = [INF if i % 2 else math.nan for i in range(dv)]

    o, lse = [], []
    for batch, (rows, keys) in enumerate(spans):
        for h in range(hq):
            for r in range(rows):
                position = r + keys - rows
                visible = []
                for j in range(keys):
                    seen = mask_at(batch, h, r, j)
                    seen &= not (causal and j > position)
                    seen &= not (window[0] >= 0 and j < position - window[0])
                    seen &= not (window[1] >= 0 and j > position + window[1])
                    visible.append(bool(seen))
                biases = [bias_at(batch, h, r, j) for j in range(keys)]
                g = h // (hq // hkv)
                base = offset + ((batch * hq + h) * nq + r) * nk
                out, l = attend(case, q[batch][h][r], k[batch][g], v[batch][g], visible, biases, base)
                o.append(((batch, h, r), out))
                lse.append(((batch, h, r), l))
    if layout == "varlen":  # [T, H, Dv] and [H, T]
        o.sort(key=lambda x: (x[0][0], x[0][2], x[0][1]))
        lse.sort(key=lambda x: (x[0][1], x[0][0], x[0][2]))
        case["seqlens"] = [list(s) for s in spans]
    case["o"] = [x for _, row in o for x in row]
    case["lse"] = ["-inf" if l == -INF else l for _, l in lse]

    def flatten(t):  # t[batch][head][row][col]
        if layout == "bhnd":
            rows = [row for batch in t for head in batch for row in head]
        else:
            rows = [head[r] for batch in t for r in range(len(batch[0])) for head in batch]
        return ["nan" if math.isnan(x) else "inf" if x == INF else x for row in rows for x in row]

    case.update(q=flatten(q), k=flatten(k), v=flatten(v))
    return case


def main():
    rng = random.Random(20260101)
    lowest = -3.4028234663852886e38
    cases = [
        make_case(rng, "plain", b=2, hq=2, hkv=2, d=8),
        make_case(rng, "gqa_causal_tail_aligned", hq=4, hkv=2, nq=3, nk=9, causal=True),
        make_case(rng, "bnhd_head_dims_differ", b=2, hq=3, hkv=1, layout="bnhd", d=5, dv=3, nq=4, nk=6),
        make_case(rng, "window_both_sides", nq=8, nk=8, window=(2, 1)),
        make_case(rng, "window_with_hidden_rows", nq=9, nk=4, window=(0, 0)),
        make_case(rng, "causal_and_left_window", nq=6, nk=10, causal=True, window=(3, -1)),
        make_case(rng, "softcap_before_bias", softcap=1.5, magnitude=2, bias_sizes=[1, 2, 5, 7]),
        make_case(rng, "scale_zero", scale=0.0, nq=2, nk=3),
        make_case(rng, "large_logits", scale=4.0, magnitude=2),
        make_case(rng, "mask_per_head_with_hidden_rows", b=2, mask_sizes=[2, 2, 5, 7], mask_hide=0.8),
        make_case(rng, "mask_rank_two", mask_sizes=[5, 7]),
        make_case(rng, "mask_rank_three_and_causal", b=2, mask_sizes=[2, 5, 7], causal=True),
        make_case(rng, "mask_hides_nan_and_inf", mask_sizes=[1, 1, 1, 7], mask_hide=0.5, hidden_keys_nan=True),
        make_case(rng, "bias_minus_inf_hides_nan_and_inf", bias_sizes=[1, 1, 1, 7], hidden_keys_nan=True,
                  bias_values=lambda i: -INF if i % 3 == 1 else i / 8),
        make_case(rng, "bias_lowest_float_everywhere", bias_sizes=[1, 1, 1, 7], bias_values=lambda i: lowest),
        make_case(rng, "dropout", b=2, hq=2, nq=6, nk=7, dropout_p=0.35, seed=0x123456789ABCDEF0, offset=6),
        make_case(rng, "dropout_offset_past_32_bits", nq=3, nk=5, dropout_p=0.5, seed=7, offset=(1 << 40) + 3),
        make_case(rng, "varlen_causal_dropout", layout="varlen", hq=2, hkv=1, causal=True, dropout_p=0.2, seed=99,
                  seqlens=[(3, 3), (0, 0), (1, 6), (5, 8)]),
        make_case(rng, "one_row_one_key", hq=1, nq=1, nk=1, d=1),
    ]
    print("[")
    print(",\n".join(json.dumps(c, separators=(",", ":")) for c in cases))
    print("]")


if __name__ == "__main__":
    main()
