"""The problems that verify.py runs: random ones that together cover every pair of features, and those with a name."""

import itertools
import random

import torch

DTYPES = [torch.float32, torch.float16, torch.bfloat16]
LAYOUTS = ["bhnd", "bnhd", "varlen", "odd"]  # odd: row strides that no vector load can take
PATTERNS = ["bhqk", "11qk", "b11k", "1hq1", "bh1k"]
HEAD_DIMS = [(64, 64), (128, 128), (32, 32), (96, 96), (256, 256), (40, 40), (80, 72), (192, 128), (512, 512), (1, 1),
             (33, 65), (576, 512), (1024, 1024), (2048, 2048), (7, 600), (320, 320)]
SWITCHES = ["causal", "window", "mask", "bias", "dropout", "softcap", "group", "lse", "scale", "philox_state",
            "large_logits", "few_queries"]


def features(problem):
    on = {name for name in SWITCHES if problem[name]}
    return on | {str(problem["dtype"]).split(".")[-1], problem["layout"]}


def wanted_pairs():
    names = SWITCHES + LAYOUTS + [str(d).split(".")[-1] for d in DTYPES]
    groups = [set(LAYOUTS), {str(d).split(".")[-1] for d in DTYPES}]
    excluded = [{"philox_state", "dropout"}]  # philox_state implies dropout: always together
    return {frozenset(pair) for pair in itertools.combinations(names, 2)
            if not any(set(pair) <= group for group in groups) and set(pair) not in excluded}


def random_problem(rng, small):
    p = {name: rng.random() < 0.35 for name in SWITCHES}
    p["dropout"] = p["dropout"] or p["philox_state"]
    p["dtype"], p["layout"] = rng.choice(DTYPES), rng.choice(LAYOUTS)
    p["d"], p["dv"] = rng.choice(HEAD_DIMS[:7] if small else HEAD_DIMS)
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
    # `scale` False means the default; 0.0 is a scale like any other, so the switch is told apart by None.
    return p


def switches_of(p):
    return dict(p, scale=p["scale"] is not None)


def grid(small):
    rng = random.Random(20260117)
    wanted, problems = wanted_pairs(), []
    target = 24 if small else 160
    while len(problems) < target or (not small and wanted):
        p = random_problem(rng, small)
        found = {frozenset(pair) for pair in itertools.combinations(features(switches_of(p)), 2)}
        if len(problems) < target or found & wanted:
            problems.append(p)
            wanted -= found
    if not small:  # every head dim with every dtype
        for (d, dv), dtype in itertools.product(HEAD_DIMS, DTYPES):
            p = random_problem(rng, small)
            p.update(d=d, dv=dv, dtype=dtype)
            if p["bias"]:
                p["bias"] = (p["bias"][0], torch.float32)
            problems.append(p)
    return problems
