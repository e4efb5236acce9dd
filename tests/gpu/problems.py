"""The problems that verify.py runs: every head dim of the tensor-core families at one size, random ones that together cover
every pair of features, and odd lengths."""

import dataclasses
import itertools
import random
from typing import Callable

import torch

DTYPES = [torch.float32, torch.float16, torch.bfloat16]
LAYOUTS = ["bhnd", "bnhd", "varlen", "odd"]  # odd: row strides that no vector load can take
PATTERNS = ["bhqk", "11qk", "b11k", "1hq1", "bh1k"]
ANY_HEAD_DIMS = [(64, 64), (128, 128), (32, 32), (96, 96), (256, 256), (40, 40), (80, 72), (192, 128), (512, 512),
                 (1, 1), (33, 65), (576, 512), (1024, 1024), (2048, 2048), (7, 600), (320, 320)]
TENSOR_CORE_HEAD_DIMS = [(64, 64), (128, 128), (32, 32), (96, 96), (256, 256), (40, 40), (80, 72), (192, 128), (512, 512),
                         (8, 8), (576, 512), (1024, 1024), (320, 320), (160, 160), (768, 768), (24, 136)]
SWITCHES = ["causal", "window", "mask", "bias", "dropout", "softcap", "group", "lse", "scale", "philox_state",
            "large_logits", "few_queries", "modifier", "sinks", "seqlens_k", "pages", "fp16_accumulate"]
# What cannot be together, and what is always together.
EXCLUDED = [{"philox_state", "dropout"}, {"seqlens_k", "varlen"}, {"pages", "varlen"}, {"pages", "seqlens_k"},
            {"pages", "odd"}, {"fp16_accumulate", "float32"}, {"fp16_accumulate", "bfloat16"}]


@dataclasses.dataclass
class Modifier:
    text: str
    torch: Callable  # the same over tensors: e.score, e.b, e.h, e.q, e.k (broadcastable), e.nq, e.nk, e.nh, e.t0
    t0: Callable = None  # (batch, heads, nq, nk, generator) -> tensor


def _normal(*shape):
    return lambda b, h, nq, nk, g: torch.randn([{"b": b, "h": h, "q": nq, "k": nk}.get(n, n) for n in shape], generator=g, device="cuda")


_DISTANCE = "(q + nk - nq - k)"
MODIFIERS = {
    "alibi": Modifier(f"score - exp2(-8 * (h + 1) / nh) * abs{_DISTANCE}",
                      lambda e: e.score - torch.exp2(-8 * (e.h + 1) / e.nh) * (e.q + e.nk - e.nq - e.k).abs()),
    "cap": Modifier("3 * tanh(score / 3)", lambda e: 3 * torch.tanh(e.score / 3)),
    "documents": Modifier("t0[b, q] == t0[b, k] ? score : -inf",
                          lambda e: torch.where(e.t0[e.b, e.q] == e.t0[e.b, e.k], e.score, -torch.inf),
                          lambda b, h, nq, nk, g: torch.randint(0, 3, (b, max(nq, nk)), generator=g, device="cuda", dtype=torch.int32)),
    "relative": Modifier(f"score + t0[h, min(max({_DISTANCE} + 64, 0), 128)]",
                         lambda e: e.score + e.t0[e.h, (e.q + e.nk - e.nq - e.k + 64).clamp(0, 128)], _normal("h", 129)),
    "table": Modifier("score + t0[b, h, q, k]", lambda e: e.score + e.t0[e.b, e.h, e.q, e.k], _normal("b", "h", "q", "k")),
    "stripes": Modifier(f"{_DISTANCE} % 3 == 0 || k == 0 ? score : -inf",
                        lambda e: torch.where(((e.q + e.nk - e.nq - e.k) % 3 == 0) | (e.k == 0), e.score, -torch.inf)),
    # frexp, not torch.log2: in fp64 on CUDA that gives 2.9999999999999996 for 8 and 5.999999999999999 for 64.
    "buckets": Modifier(f"score + t0[min(int(log2(max({_DISTANCE}, 0) + 1)), 7), h]",
                        lambda e: e.score + e.t0[(torch.frexp((e.q + e.nk - e.nq - e.k).clamp(min=0).double() + 1)[1] - 1).long().clamp(max=7), e.h],
                        _normal(8, "h")),
}


def features(problem):
    on = {name for name in SWITCHES if problem[name]}
    return on | {str(problem["dtype"]).split(".")[-1], problem["layout"]}


def wanted_pairs(dtypes):
    dtype_names = [str(d).split(".")[-1] for d in dtypes]
    groups = [set(LAYOUTS), set(dtype_names)]
    return {frozenset(pair) for pair in itertools.combinations(SWITCHES + LAYOUTS + dtype_names, 2)
            if not any(set(pair) <= group for group in groups) and set(pair) not in EXCLUDED}


def random_problem(rng, small, dtypes, head_dims):
    p = {name: rng.random() < 0.3 for name in SWITCHES}
    p["dropout"] = p["dropout"] or p["philox_state"]
    p["dtype"], p["layout"] = rng.choice(dtypes), rng.choice(LAYOUTS)
    p["d"], p["dv"] = rng.choice(head_dims[:7] if small else head_dims)
    p["batch"], p["heads_kv"] = rng.randint(1, 3), rng.randint(1, 3)
    p["heads"] = p["heads_kv"] * (rng.choice([2, 3, 4]) if p["group"] else 1)
    p["nk"] = rng.choice([1, 7, 63, 64, 65, 100] if small else [1, 5, 63, 64, 65, 127, 200, 333, 500, 777])
    p["nq"] = rng.randint(1, 7) if p["few_queries"] else rng.choice([9, 31, 33, 64, 70] if small else [8, 31, 32, 33, 64, 100, 255, 400])
    if p["causal"] and p["nk"] < p["nq"]:
        p["nk"], p["nq"] = p["nq"], p["nk"]
    if p["nq"] >= 8:
        p["few_queries"] = False
    p["window"] = (rng.choice([-1, 0, 3, 64, 150]), rng.choice([-1, 0, 5, 70])) if p["window"] else None
    p["mask"] = rng.choice(PATTERNS) if p["mask"] else None
    p["bias"] = (rng.choice(PATTERNS), rng.choice([torch.float32, p["dtype"]])) if p["bias"] else None
    p["dropout"] = rng.choice([0.1, 0.5]) if p["dropout"] else 0.0
    p["softcap"] = rng.choice([5.0, 30.0]) if p["softcap"] else 0.0
    p["scale"] = rng.choice([0.0, 0.05, 1.0]) if p["scale"] else None
    p["modifier"] = rng.choice(sorted(MODIFIERS)) if p["modifier"] else None
    p["fp16_accumulate"] = p["fp16_accumulate"] and p["dtype"] == torch.float16
    if p["layout"] == "varlen":
        p["seqlens_k"] = p["pages"] = False
    if p["layout"] == "odd":
        p["pages"] = False
    p["pages"] = rng.choice([16, 64, 256]) if p["pages"] else 0
    p["seqlens_k"] = p["seqlens_k"] or p["pages"] > 0
    # `scale` False means the default; 0.0 is a scale like any other, so the switch is told apart by None.
    return p


def switches_of(p):
    return dict(p, scale=p["scale"] is not None)


def plain_problem(dtype, d, dv):
    p = {name: False for name in SWITCHES}
    p.update(dtype=dtype, layout="bhnd", d=d, dv=dv, batch=1, heads_kv=2, heads=4, group=True, nk=203, nq=131, window=None,
             mask=None, bias=None, dropout=0.0, softcap=0.0, scale=None, modifier=None, pages=0, lse=True)
    return p


def grid(family, small=False, thin=False):
    """At least 400 problems; `thin`: every sixth of them; `small`: a few that fit a memory checker."""
    rng = random.Random(20260117)
    general = family in ("sdpa", "")
    dtypes = DTYPES if general else DTYPES[1:]
    head_dims = ANY_HEAD_DIMS if general else TENSOR_CORE_HEAD_DIMS
    wanted, problems = wanted_pairs(dtypes), []
    target = 24 if small else 240
    while len(problems) < target or (not small and wanted):
        p = random_problem(rng, small, dtypes, head_dims)
        found = {frozenset(pair) for pair in itertools.combinations(features(switches_of(p)), 2)}
        if len(problems) < target or found & wanted:
            problems.append(p)
            wanted -= found
    if small:
        return problems
    for d, dtype in zip(range(8, 1025, 8), itertools.cycle(dtypes[-2:])):  # every head dim of the tensor-core families
        problems.append(plain_problem(dtype, d, d))
        problems[-1]["causal"] = d % 16 == 0
    for (d, dv), dtype in itertools.product(head_dims, dtypes):  # every dtype with the others
        p = random_problem(rng, small, dtypes, head_dims)
        p.update(d=d, dv=dv, dtype=dtype)
        p["fp16_accumulate"] = p["fp16_accumulate"] and dtype == torch.float16
        if p["bias"]:
            p["bias"] = (p["bias"][0], torch.float32)
        problems.append(p)
    return problems[::6] if thin else problems
