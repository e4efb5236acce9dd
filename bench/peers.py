"""Attention on one GPU beside its peers, all in one process and in turn: libffpa_jit (the family that routing takes, or
those of --families), PyTorch's SDPA backends, and FFPA where its package is given. One table, one JSON file, one plot.

    python3 bench/peers.py --library build/release/lib/libffpa_jit.so --N 1024 4096 8192 --D 64 128 256 512 \\
        --tasks self-attn causal --out peers.json --plot peers.svg

Tasks are those of `ffpa-jit bench`. A peer that does not take a problem has no entry there; one whose output differs from
ours is named. Times: medians of device events, contenders interleaved, after a warm-up. FLOPs: 2 (D + Dv) for every visible
(query, key) pair; a mask's hidden pairs count as visible.

All defaults, 128 problems with four contenders, take less than a minute on an H200 with 16 processor cores: our kernels are compiled
ahead, several at a time; the measurements are 20 ms for each contender and problem. FFPA's kernels, where its package is
given, are compiled one after the other and take minutes.
"""

import argparse
import concurrent.futures
import json
import math
import os
import signal
import statistics
import sys
import tempfile

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "tests", "gpu")]
import binding  # noqa: E402
import svg_lines  # noqa: E402

TORCH = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION,
         "efficient": SDPBackend.EFFICIENT_ATTENTION}
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
DROPOUT = 0.1


def tasks():
    """name -> what it changes: heads_kv, nq, nk, and the options of the call."""
    return {
        "self-attn": lambda p: p,
        "cross-attn": lambda p: {**p, "nq": max(1, p["nq"] // 4)},
        "decode-attn": lambda p: {**p, "nq": 1},
        "gqa": lambda p: {**p, "heads_kv": p["heads"] // 4 if p["heads"] % 4 == 0 else 1},
        "causal": lambda p: {**p, "causal": True},
        "attn-mask": lambda p: {**p, "mask": True},
        "dropout": lambda p: {**p, "dropout": DROPOUT},
        "non-aligned": lambda p: {**p, "nq": max(1, p["nq"] - 13), "nk": max(1, p["nk"] - 13)},
    }


class Problem:
    """`make`: a tensor from its sizes; random ones, or where nothing is computed any."""

    def __init__(self, task, dtype, d, n, batch, heads, make=torch.randn):
        p = tasks()[task](dict(heads=heads, heads_kv=heads, nq=n, nk=n, causal=False, mask=False, dropout=0.0))
        self.task, self.n, self.d, self.causal, self.dropout = task, n, d, p["causal"], p["dropout"]
        self.gqa = p["heads_kv"] != heads
        of = lambda h, rows: make(batch, h, rows, d, device="cuda", dtype=dtype)
        self.q, self.k, self.v = of(heads, p["nq"]), of(p["heads_kv"], p["nk"]), of(p["heads_kv"], p["nk"])
        self.mask = make(1, 1, p["nq"], p["nk"], device="cuda") > -0.8 if p["mask"] else None
        pairs = p["nq"] * p["nk"]
        if self.causal:
            pairs = p["nk"] * (p["nk"] + 1) / 2
        self.flops = 4 * d * batch * heads * pairs
        self.kv_bytes = 2 * self.k.numel() * self.k.element_size()


def arguments_of(problem, o, family):
    return binding.arguments(problem.q, problem.k, problem.v, o, mask=problem.mask, causal=problem.causal,
                             dropout=problem.dropout, seed=1, family=family.encode() if family else None)


def compile_ahead(runtime, problems, families):
    """`problems`: what Problem() is made from. The tensors of all of them are the same memory: none is read."""

    def compile_one(job):
        problem, family = job
        try:
            runtime.prepare(arguments_of(problem, torch.empty_like(problem.q), family))
        except binding.Unsupported:
            pass  # said when its turn comes

    memory = {}

    def make(*sizes, device, dtype=torch.float32):
        """The first so many elements of one tensor of each type: longest problems first, it is made once."""
        count = math.prod(sizes)
        if dtype not in memory or memory[dtype].numel() < count:
            memory[dtype] = torch.zeros(count, device=device, dtype=dtype)
        return memory[dtype][:count].view(sizes)

    by_size = sorted(problems, key=lambda problem: -problem[2] * problem[3])
    jobs = [(problem, family) for problem in (Problem(*each, make=make) for each in by_size) for family in families]
    with concurrent.futures.ThreadPoolExecutor(max(2, (os.cpu_count() or 4) - 2)) as pool:
        list(pool.map(compile_one, jobs))


def ours(runtime, problem, family):
    o = torch.empty_like(problem.q)
    args = arguments_of(problem, o, family)
    plan = runtime.prepare(args)

    def call():
        runtime.forward(args)
        return o

    return call, plan


def torch_calls(problem):
    def with_backend(backend):
        def call():
            with sdpa_kernel(backend):
                return F.scaled_dot_product_attention(problem.q, problem.k, problem.v, attn_mask=problem.mask,
                                                      dropout_p=problem.dropout, is_causal=problem.causal,
                                                      enable_gqa=problem.gqa)
        return call

    return {name: with_backend(backend) for name, backend in TORCH.items()}


def ffpa_calls(ffpa, problem):
    if ffpa is None:
        return {}

    def with_backend(backend):
        return lambda: ffpa.ffpa_attn_func(problem.q, problem.k, problem.v, attn_mask=problem.mask, is_causal=problem.causal,
                                           dropout_p=problem.dropout, enable_gqa=problem.gqa, backend=backend)

    return {"ffpa triton": with_backend(ffpa.TritonBackend()), "ffpa triton tma": with_backend(ffpa.TritonBackend(enable_tma=True))}


def error_of(got, expected):
    return ((got.float() - expected.float()).norm() / expected.float().norm().clamp_min(1e-30)).item()


def time_in_turn(calls, seconds):
    """name -> times in ms: each contender once a round, until it has had `seconds`, in 5 to 60 rounds."""
    times = {name: [] for name in calls}
    wants = lambda t: len(t) < 5 or (sum(t) < seconds * 1e3 and len(t) < 60)
    while any(wants(t) for t in times.values()):
        for name, call in calls.items():
            if not wants(times[name]):
                continue
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            call()
            end.record()
            end.synchronize()
            times[name].append(begin.elapsed_time(end))
    return times


def rows_of(runtime, ffpa, problem, families, seconds):
    calls, plans, refused = {}, {}, {}
    for family in families:
        name = f"ffpa_jit {family}" if family else "ffpa_jit"
        try:
            calls[name], plans[name] = ours(runtime, problem, family)
        except binding.Unsupported as error:
            refused[name] = str(error)
    expected = next(iter(calls.values()))().clone() if calls else None
    for name, call in {**torch_calls(problem), **ffpa_calls(ffpa, problem)}.items():
        try:
            output = call()
            torch.cuda.synchronize()
            if expected is not None and problem.dropout == 0 and error_of(output, expected) > 0.02:
                print(f"  {name} differs from ours by {error_of(output, expected):.3f}", flush=True)
            calls[name] = call
        except Exception as error:  # a peer that does not take the problem is no failure of the benchmark
            refused[name] = (str(error).splitlines() or [type(error).__name__])[0]
    for name, times in time_in_turn(calls, seconds).items():
        ms = statistics.median(times)
        row = dict(task=problem.task, n=problem.n, d=problem.d, contender=name, ms=ms, best_ms=min(times), rounds=len(times),
                   tflops=problem.flops / ms / 1e9, kv_gb_s=problem.kv_bytes / ms / 1e6)
        if name in plans:
            row.update(family=plans[name]["family"], config=plans[name]["config"], compile_ms=plans[name]["compile_ms"])
        yield row
    for name, reason in refused.items():
        yield dict(task=problem.task, n=problem.n, d=problem.d, contender=name, refused=reason[:200])


def print_rows(rows):
    ran = [row for row in rows if "ms" in row]
    first = ran[0]
    peers = [row for row in ran if not row["contender"].startswith("ffpa_jit")]
    best = max(peers, key=lambda row: row["tflops"], default=None)
    text = "  ".join(f"{row['contender']} {row['tflops']:.1f}" for row in ran)
    ratio = f"   x {first['tflops'] / best['tflops']:.2f} of {best['contender']}" if best else ""
    print(f"{first['task']:12} D={first['d']:4} N={first['n']:6} TFLOP/s: {text}{ratio}   {first.get('family', '')} "
          f"{first.get('config', '')}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, help="libffpa_jit.so")
    parser.add_argument("--ffpa", help="folder that holds FFPA's package ffpa_attn")
    parser.add_argument("--families", nargs="*", default=[""], help="ours to compare (default: the one that serves)")
    parser.add_argument("--tasks", nargs="*", choices=list(tasks()), default=list(tasks()))
    parser.add_argument("--dtype", choices=list(DTYPES), default="bf16")
    parser.add_argument("--N", type=int, nargs="*", default=[1024, 2048, 4096, 8192])
    parser.add_argument("--D", type=int, nargs="*", default=[64, 128, 256, 512])
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--heads", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=0.02, help="of device time for each contender and problem")
    parser.add_argument("--cache", help="kernel cache (default: a fresh one)")
    parser.add_argument("--out", help="JSON")
    parser.add_argument("--plot", help="SVG")
    options = parser.parse_args()
    ffpa = None
    if options.ffpa:
        sys.path.insert(0, options.ffpa)
        import ffpa_attn as ffpa
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # a time limit: what was measured is written all the same
    rows = []
    try:
        with tempfile.TemporaryDirectory() as scratch:
            runtime = binding.Runtime(options.library, options.cache or scratch)
            problems = [(task, DTYPES[options.dtype], d, n, options.batch, options.heads)
                        for task in options.tasks for d in options.D for n in options.N]
            compile_ahead(runtime, problems, options.families)
            for problem in problems:
                some = list(rows_of(runtime, ffpa, Problem(*problem), options.families, options.seconds))
                if any("ms" in row for row in some):
                    print_rows(some)
                rows += some
    finally:
        if options.out:
            with open(options.out, "w") as file:
                json.dump(dict(device=torch.cuda.get_device_name(), torch=torch.__version__, dtype=options.dtype,
                               batch=options.batch, heads=options.heads, rows=rows), file, indent=1)
        if options.plot and any("ms" in row for row in rows):
            with open(options.plot, "w") as file:
                file.write(svg_lines.plot_of(rows))


if __name__ == "__main__":
    main()
