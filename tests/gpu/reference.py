"""Attention in torch, plainly: the fp64 judge, and the unfused implementation whose error sets the bar. Tensors are
[B, H, N, D]; visibility is tail-aligned as include/ffpa_jit/ffpa_jit.h states. Shares nothing with the kernels."""

import math

import torch

_MASK32 = 0xFFFFFFFF


def philox_uniform(seed, index):
    """Philox4x32-10 word `index & 3` of block `index >> 2`, as curand's number in (0, 1]; `index` is int64."""
    block, lane = index >> 2, index & 3
    counter = [block & _MASK32, (block >> 32) & _MASK32, torch.zeros_like(block), torch.zeros_like(block)]
    key = [seed & _MASK32, (seed >> 32) & _MASK32]
    for _ in range(10):
        # int64 products wrap modulo 2^64, which keeps both halves right.
        low, high = counter[0] * 0xD2511F53, counter[2] * 0xCD9E8D57
        counter = [((high >> 32) & _MASK32) ^ counter[1] ^ key[0], high & _MASK32,
                   ((low >> 32) & _MASK32) ^ counter[3] ^ key[1], low & _MASK32]
        key = [(key[0] + 0x9E3779B9) & _MASK32, (key[1] + 0xBB67AE85) & _MASK32]
    word = torch.stack(counter).gather(0, lane[None])[0]
    return (word.double().float() + 1.0) * 2.0 ** -32


def dropout_keeps(seed, offset, batch, heads, nq, nk, p, device, rows=None):
    """[B, H, Nq, Nk], or the rows of `rows` = (flat (b, h) index, first row, last row) only."""
    if rows is None:
        first, count = 0, batch * heads * nq
    else:
        first, count = rows[0] * nq + rows[1], rows[2] - rows[1]
    index = offset + first * nk + torch.arange(count * nk, device=device)
    keep = philox_uniform(seed, index) > torch.tensor(p, dtype=torch.float32, device=device)
    return keep.view(batch, heads, nq, nk) if rows is None else keep.view(count, nk)


def visible(nq, nk, causal, window, device):
    position = torch.arange(nq, device=device)[:, None] + (nk - nq)
    key = torch.arange(nk, device=device)[None]
    left, right = window
    if causal:
        right = 0 if right < 0 else min(right, 0)
    shown = torch.ones(nq, nk, dtype=torch.bool, device=device)
    if left >= 0:
        shown &= key >= position - left
    if right >= 0:
        shown &= key <= position + right
    return shown


def attention(q, k, v, *, plain=False, scale=None, causal=False, window=(-1, -1), mask=None, bias=None, softcap=0.0,
              keep=None, dropout=0.0, modifier=None, sinks=None):
    """fp64, or with `plain` what an unfused implementation in q's dtype gives: fp32 scores and softmax, P rounded to
    the dtype, fp32 accumulation, O rounded. Returns (o, lse)."""
    kind = torch.float32 if plain else torch.float64
    dtype = q.dtype
    batch, heads, nq, d = q.shape
    nk, group = k.shape[2], heads // max(k.shape[1], 1)
    q, k, v = (t.to(kind) for t in (q, k, v))
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    shown = visible(nq, nk, causal, window, q.device).expand(batch, heads, nq, nk)
    if mask is not None:
        shown = shown & mask
    if bias is not None:
        shown = shown & (bias != -math.inf)
    score = q @ k.transpose(-1, -2) * (1 / math.sqrt(d) if scale is None else scale)
    if softcap:
        score = softcap * torch.tanh(score / softcap)
    if modifier is not None:
        score = modifier(score)
        shown = shown & (score != -math.inf)
    if bias is not None:
        score = score + bias.to(kind)
    score = torch.where(shown, score, torch.full_like(score, -math.inf))
    if sinks is not None:  # one more key, which every row sees, whose value is 0
        score = torch.cat([score, sinks.to(kind).view(1, heads, 1, 1).expand(batch, heads, nq, 1)], -1)
    if score.shape[-1] == 0:
        return torch.zeros(batch, heads, nq, v.shape[3], dtype=kind, device=q.device), \
            torch.full((batch, heads, nq), -math.inf, dtype=kind, device=q.device)
    high = score.amax(-1, keepdim=True)
    high = torch.where(high == -math.inf, torch.zeros_like(high), high)
    weight = torch.exp(score - high)
    total = weight.sum(-1, keepdim=True)
    lse = (high + torch.log(total))[..., 0]
    weight = weight / torch.where(total == 0, torch.ones_like(total), total)
    weight = weight[..., :nk]
    if keep is not None:
        weight = torch.where(keep, weight / (1 - dropout), torch.zeros_like(weight))
    if plain:
        weight = weight.to(dtype).to(kind)
    # A hidden key takes no part, even where V holds NaN: keys that nobody sees are zeroed; a NaN seen by some rows
    # only is not tested here.
    unseen = ~shown.any(2)
    v = torch.where(unseen[..., None], torch.zeros_like(v), v)
    o = weight @ v
    return (o.to(dtype).to(torch.float64) if plain else o), lse


def relative_error(out, ref):
    out = out.double()
    if not torch.isfinite(out).all():
        return math.inf
    difference, norm = torch.linalg.vector_norm(out - ref).item(), torch.linalg.vector_norm(ref).item()
    return 0.0 if difference == 0 else math.inf if norm == 0 else difference / norm


def error_bar(plain_error, dtype, rows):
    """1.2 x the plain implementation's error; wider where a few rows make both a matter of luck, and in fp32 by what the
    order of a sum changes."""
    roundoff = {torch.bfloat16: 2.0 ** -9, torch.float16: 2.0 ** -12, torch.float32: 2.0 ** -20}[dtype]
    few = 1 / math.sqrt(max(rows, 1))
    return 1.2 * plain_error * (1 + 4 * few) + roundoff * (0.1 + 2 * few)
