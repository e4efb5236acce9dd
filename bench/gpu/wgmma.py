"""The `wgmma` family on one Hopper GPU beside cuDNN, FlashAttention-2, FFPA's Triton kernels and a matmul, in one process.

    python3 bench/gpu/wgmma.py --library build/lib/libffpa_jit.so [--ffpa FOLDER] [--out results.json] [--only main]

bf16, B = 1, H = 32 unless said. Two speeds of each: cold, the median of launches 1 to 5 after 3 warm-ups and a pause, at
the clock that short bursts get; sustained, the median of the last half of 60 launches, at the clock that the power limit
leaves. Problems of a few microseconds are launched 20 times by a CUDA graph, ours and the peers' alike: what calls cost on the
host is left out. FLOPs: 2 (D + Dv) for every visible (query, key) pair. Each of our outputs is compared with cuDNN's, or above
head dim 256, where cuDNN takes none, with a sample of rows in fp64.
"""

import argparse
import concurrent.futures
import json
import os
import statistics
import sys
import tempfile
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "gpu"))
import binding  # noqa: E402

PAUSE = 0.15


def speeds(work, launches=60):
    """(cold, sustained) in milliseconds."""
    torch.cuda.synchronize()
    time.sleep(PAUSE)
    for _ in range(3):
        work()
    torch.cuda.synchronize()
    events = [torch.cuda.Event(enable_timing=True) for _ in range(launches + 1)]
    events[0].record()
    for event in events[1:]:
        work()
        event.record()
    torch.cuda.synchronize()
    times = [a.elapsed_time(b) for a, b in zip(events, events[1:])]
    return statistics.median(times[:5]), statistics.median(times[launches // 2:])


def graph_of(work, launches=20):
    work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(launches):
            work()
    return graph


def speeds_in_graph(work, launches=20, replays=60):
    graph = graph_of(work, launches)
    return tuple(ms / launches for ms in speeds(graph.replay, replays))


def random_qkv(d, dv, heads, heads_kv, nq, nk, batch=1):
    return (torch.randn(batch, heads, nq, d, device="cuda", dtype=torch.bfloat16),
            torch.randn(batch, heads_kv, nk, d, device="cuda", dtype=torch.bfloat16),
            torch.randn(batch, heads_kv, nk, dv, device="cuda", dtype=torch.bfloat16))


def torch_attention(backend, q, k, v, causal):
    with sdpa_kernel(backend):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1])


def error_of(o, q, k, v, causal):
    """Relative error on 64 rows of two heads against fp64."""
    rows = torch.randint(0, q.shape[2], (64,), device="cuda")
    off, norm = 0.0, 0.0
    for head in (0, q.shape[1] - 1):
        kv = head // (q.shape[1] // k.shape[1])
        s = q[0, head, rows].double() @ k[0, kv].double().T * q.shape[3] ** -0.5
        if causal:
            hidden = torch.arange(k.shape[2], device="cuda")[None, :] > rows[:, None] + k.shape[2] - q.shape[2]
            s.masked_fill_(hidden, float("-inf"))
        reference = torch.softmax(s, -1) @ v[0, kv].double()
        off += ((o[0, head, rows].double() - reference) ** 2).sum().item()
        norm += (reference ** 2).sum().item()
    return (off / norm) ** 0.5


class Bench:
    def __init__(self, runtime, ffpa, ffpa_head_dims):
        self.runtime, self.ffpa, self.ffpa_head_dims, self.rows = runtime, ffpa, ffpa_head_dims, []
        # The library's pool would map memory anew in a graph.
        self.workspace = torch.empty(1 << 26, device="cuda", dtype=torch.uint8)

    def one(self, label, d, dv=None, causal=False, heads=32, heads_kv=None, nq=8192, nk=None, peers=True, batch=1, graph=False, **options):
        dv, heads_kv, nk = dv or d, heads_kv or heads, nk or nq
        q, k, v = random_qkv(d, dv, heads, heads_kv, nq, nk, batch)
        o = torch.full((batch, heads, nq, dv), float("nan"), device="cuda", dtype=torch.bfloat16)
        pairs = nq * nk - nq * (nq - 1) / 2 if causal else nq * nk
        flops = 2 * (d + dv) * heads * batch * pairs
        args = binding.arguments(q, k, v, o, causal=causal, family=b"wgmma", **options)
        plan = self.runtime.prepare(args)
        self.runtime.forward(args)
        error = None if options else error_of(o, q, k, v, causal)
        launches = 60 if flops > 2e11 else 200
        if graph:
            args.workspace, args.workspace_bytes = self.workspace.data_ptr(), self.workspace.numel()

        def ours_once():
            args.stream = torch.cuda.current_stream().cuda_stream
            self.runtime.forward(args)

        ours = speeds_in_graph(ours_once) if graph else speeds(ours_once, launches)
        row = dict(label=label, d=d, dv=dv, batch=batch, graph=graph, causal=causal, heads=heads, heads_kv=heads_kv, nq=nq, nk=nk,
                   cold=flops / ours[0] / 1e9, sustained=flops / ours[1] / 1e9, error=error, family=plan["family"],
                   config=plan["config"], compile_ms=plan["compile_ms"], peers={})
        works = {}
        if peers and max(d, dv) <= 256:
            works["cudnn"] = lambda: torch_attention(SDPBackend.CUDNN_ATTENTION, q, k, v, causal)
            if d == dv:
                works["fa2"] = lambda: torch_attention(SDPBackend.FLASH_ATTENTION, q, k, v, causal)
        if peers and self.ffpa is not None and d in self.ffpa_head_dims and d == dv and nq == nk:
            backend = self.ffpa.TritonBackend(enable_tma=True)
            works["ffpa tma"] = lambda: self.ffpa.ffpa_attn_func(q, k, v, is_causal=causal, backend=backend)
        for name, work in works.items():
            try:
                work()
                ms = speeds_in_graph(work) if graph else speeds(work, launches if name == "cudnn" else 12)
                row["peers"][name] = dict(cold=flops / ms[0] / 1e9, sustained=flops / ms[1] / 1e9)
            except Exception as problem:  # a peer that does not take the problem is no failure of ours
                row["peers"][name] = dict(failed=str(problem).splitlines()[0][:100] if str(problem) else "?")
        self.rows.append(row)
        text = "  ".join(f"{name} {p['cold']:6.1f} {p['sustained']:6.1f} (x {row['cold'] / p['cold']:4.2f} {row['sustained'] / p['sustained']:4.2f})"
                         for name, p in row["peers"].items() if "cold" in p)
        print(f"{label:24} {row['cold']:6.1f} {row['sustained']:6.1f} TFLOP/s  "
              f"{'' if error is None else f'err {error:.1e}  '}{text}  {plan['family']} {plan['config']}", flush=True)
        return row

    def matmul(self):
        a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        ms = speeds(lambda: a @ b)
        row = dict(label="matmul 8192", cold=2 * 8192 ** 3 / ms[0] / 1e9, sustained=2 * 8192 ** 3 / ms[1] / 1e9)
        self.rows.append(row)
        print(f"{row['label']:24} {row['cold']:6.1f} {row['sustained']:6.1f} TFLOP/s", flush=True)
        return row

    def main(self, head_dims):
        matmul = self.matmul()
        for d in head_dims:
            for causal in (False, True):
                row = self.one(f"D={d} {'causal' if causal else 'full'}", d, causal=causal)
                row["of_matmul"] = dict(cold=row["cold"] / matmul["cold"], sustained=row["sustained"] / matmul["sustained"])
        if max(head_dims) > 128:
            self.one("D=192 Dv=128 causal", 192, 128, causal=True)
        self.matmul()

    def shapes(self):
        for d, batch in SHORT:
            for n in SHORT_LENGTHS:
                for causal in (False, True):
                    self.one(f"D={d} N={n} B={batch} {'causal' if causal else 'full'}", d, nq=n, causal=causal, batch=batch, graph=True)
        self.one("D=128 N=8191 full", 128, nq=8191)
        self.one("D=128 GQA 32/4 causal", 128, heads_kv=4, causal=True)
        self.one("D=128 N=16384 full", 128, nq=16384, heads=16)
        self.one("D=512 Nq=1024 Nk=8192", 512, nq=1024, nk=8192, peers=False)

    def features(self):
        options = feature_options()
        for d in FEATURE_HEAD_DIMS:
            plain = self.one(f"D={d} plain", d, peers=False)
            for name, arguments in options.items():
                row = self.one(f"D={d} {name}", d, peers=False, **arguments)
                row["over_plain"] = plain["cold"] / row["cold"]
                print(f"{'':24} x {row['over_plain']:4.2f} the plain kernel's time", flush=True)


SHORT = ((128, 1), (128, 4), (64, 1), (256, 1))  # head dim, batch
SHORT_LENGTHS = (512, 1024, 2048)
FEATURE_HEAD_DIMS = (128, 256, 512)


def feature_options(n=8192):
    mask = torch.rand(1, 1, n, n, device="cuda") > 0.1
    bias = torch.randn(1, 1, n, n, device="cuda")
    return {"mask": dict(mask=mask), "bias fp32": dict(bias=bias), "bias bf16": dict(bias=bias.bfloat16()),
            "dropout": dict(dropout=0.1, seed=1), "softcap": dict(softcap=30.0)}


def compile_ahead(runtime, parts, head_dims):
    """Kernels take a second each to compile: several at a time, before anything is timed."""
    jobs = []

    def add(d, n=8192, batch=1, **options):
        q, k, v = (torch.empty(batch, 32, n, d, device="cuda", dtype=torch.bfloat16) for _ in range(3))
        jobs.append(binding.arguments(q, k, v, torch.empty_like(q), family=b"wgmma", **options))

    if "main" in parts:
        for d in head_dims:
            for causal in (False, True):
                add(d, causal=causal)
    if "shapes" in parts:
        for d, batch in SHORT:
            for n in SHORT_LENGTHS:
                for causal in (False, True):
                    add(d, n, batch, causal=causal)
    if "features" in parts:
        for d in FEATURE_HEAD_DIMS:
            for options in feature_options().values():
                add(d, **options)
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        list(pool.map(runtime.prepare, jobs))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--out")
    parser.add_argument("--only", choices=["main", "shapes", "features"], action="append")
    parser.add_argument("--head-dims", type=int, nargs="*", default=[64, 128, 192, 256, 320, 384, 512, 640, 768, 1024])
    parser.add_argument("--ffpa-head-dims", type=int, nargs="*", default=[320, 512, 1024], help="Triton compiles for seconds at each")
    parser.add_argument("--ffpa", help="folder that holds FFPA's package ffpa_attn, to time beside")
    options = parser.parse_args()
    ffpa = None
    if options.ffpa:
        sys.path.insert(0, options.ffpa)
        import ffpa_attn as ffpa
    start = time.time()
    with tempfile.TemporaryDirectory() as cache:
        bench = Bench(binding.Runtime(options.library, cache), ffpa, options.ffpa_head_dims)
        parts = options.only or ["main", "shapes", "features"]
        compile_ahead(bench.runtime, parts, options.head_dims)
        for part in parts:
            if part == "main":
                bench.main(options.head_dims)
            else:
                getattr(bench, part)()
    print(f"{time.time() - start:.0f} s")
    if options.out:
        with open(options.out, "w") as file:
            json.dump(dict(device=torch.cuda.get_device_name(), torch=torch.__version__, rows=bench.rows), file, indent=1)


if __name__ == "__main__":
    main()
