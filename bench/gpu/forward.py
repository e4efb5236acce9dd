"""Forward attention on one GPU: ours beside torch's backends in the same process, as one table and one JSON file.

    python3 bench/gpu/forward.py --library build/lib/libffpa_jit.so [--family mma] [--out results.json] [--only decode]

bf16, B = 1. Kernels are compiled first, several at once, which lengthens each one's compile time. FLOPs: 4 D for every
visible (query, key) pair. Decode: bytes of K and V over time, and beside it the rate of a device-to-device copy, reads
and writes counted. Times are medians of device events after a warm-up.
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


def median_ms(work, repeats=9):
    work()
    times = []
    for _ in range(repeats):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


def graph_ms(works):
    """Time of one of `works` (the same problem on different inputs), launched together from a CUDA graph."""
    for work in works:
        work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for work in works:
            work()
    begin = time.perf_counter()
    while time.perf_counter() - begin < 0.05:  # until clocks have risen
        graph.replay()
        torch.cuda.synchronize()
    return median_ms(graph.replay, 15) / len(works)


def torch_ms(backends, q, k, v, **options):
    best = {}
    for name, backend in backends.items():
        try:
            with sdpa_kernel(backend):
                best[name] = median_ms(lambda: F.scaled_dot_product_attention(q, k, v, **options), 5)
        except RuntimeError:
            pass  # this backend does not take the problem
    return best


BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION}


def ffpa_ms(ffpa, q, k, v, causal):
    """FFPA's Triton kernels with and without TMA, where its source was given and its own kernels serve."""
    best = {}
    if ffpa is None or q.shape[-1] <= 256:
        return best
    for name, backend in (("ffpa", ffpa.TritonBackend()), ("ffpa tma", ffpa.TritonBackend(enable_tma=True))):
        try:
            best[name] = median_ms(lambda: ffpa.ffpa_attn_func(q, k, v, is_causal=causal, backend=backend), 5)
        except Exception as error:  # a peer that fails is reported, not fatal
            print(f"{name} failed: {str(error).splitlines()[0] if str(error) else type(error).__name__}", flush=True)
    return best


FEATURES = (("plain", {}), ("mask", dict(mask=True)), ("bias fp32", dict(bias=torch.float32)),
            ("bias bf16", dict(bias=torch.bfloat16)), ("dropout", dict(dropout=0.1, seed=1)),
            ("softcap", dict(softcap=30.0)))
DECODE = ((128, 32, 32, 8192), (256, 32, 32, 8192), (512, 32, 32, 8192), (128, 32, 4, 32768), (512, 32, 4, 32768))


def compile_all(runtime, family, options):
    """Compiles every kernel that the benchmark times, several at once; returns milliseconds of each by problem."""
    work = []
    if options.only in (None, "forward"):
        work += [((d, causal), options.heads, options.heads, options.n, options.n, d, dict(causal=causal))
                 for d in options.head_dims for causal in (False, True)]
    if options.only in (None, "features"):
        work += [(("features", name), options.heads, options.heads, options.n, options.n, 512, feature)
                 for name, feature in FEATURES]
    if options.only in (None, "decode"):
        work += [(("decode", d, heads_kv), heads, heads_kv, 1, n, d, {}) for d, heads, heads_kv, n in DECODE]

    def prepare(item):
        key, heads, heads_kv, nq, nk, d, feature = item
        q = torch.empty(1, heads, nq, d, device="cuda", dtype=torch.bfloat16)
        k = torch.empty(1, heads_kv, nk, d, device="cuda", dtype=torch.bfloat16)
        feature = dict(feature)
        if "mask" in feature:
            feature["mask"] = torch.empty(1, 1, nq, nk, device="cuda", dtype=torch.bool)
        if "bias" in feature:
            feature["bias"] = torch.empty(1, 1, nq, nk, device="cuda", dtype=feature["bias"])
        return key, runtime.prepare(binding.arguments(q, k, k, q, family=family, **feature))["compile_ms"]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        return dict(pool.map(prepare, work))


def forward_rows(runtime, family, head_dims, n, heads, ffpa, compile_ms):
    for d in head_dims:
        for causal in (False, True):
            q, k, v = (torch.randn(1, heads, n, d, device="cuda", dtype=torch.bfloat16) for _ in range(3))
            o = torch.empty_like(q)
            args = binding.arguments(q, k, v, o, causal=causal, family=family)
            plan = runtime.prepare(args)
            ms = median_ms(lambda: runtime.forward(args))
            peers = torch_ms(BACKENDS, q, k, v, is_causal=causal) | ffpa_ms(ffpa, q, k, v, causal)
            flops = 4 * d * heads * (n * (n + 1) / 2 if causal else n * n)
            row = dict(bench="forward", d=d, causal=causal, ms=ms, tflops=flops / ms / 1e9, config=plan["config"],
                       family=plan["family"], compile_ms=compile_ms[d, causal],
                       peer_tflops={name: flops / t / 1e9 for name, t in peers.items()})
            print(f"D={d:4} {'causal' if causal else 'full':6} {ms:8.3f} ms {row['tflops']:6.1f} TFLOP/s   "
                  + "  ".join(f"{name} {flops / t / 1e9:6.1f} (x {t / ms:4.2f})" for name, t in peers.items())
                  + f"   {plan['family']} {plan['config']}; compile {compile_ms[d, causal]:.0f} ms", flush=True)
            yield row


def also_rows(options, family):
    """Full attention with other configs than the default: DIM:CONFIG of --also, given to the library as tunings."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "cache", "tuned",
                           "nvidia-h200.json")) as file:
        device = json.load(file)["device"]
    if not device.startswith(torch.cuda.get_device_name() + ","):
        return
    n, heads = options.n, options.heads
    for item in options.also:
        d, config = item.split(":", 1)
        d = int(d)
        if d not in options.head_dims:
            continue
        with tempfile.TemporaryDirectory() as folder:
            row = dict(problem=f"forward bf16 d={d} dv={d} group=1 layout=bhnd", family=options.family, config=config,
                       shape=f"{options.family} q={n} k={n} heads={heads}", median_us=1.0, spread_us=0.1, runner_up="",
                       runner_up_us=0, samples=10, library_version="0.1.0", driver_version="CUDA 13.0")
            with open(os.path.join(folder, "also.json"), "w") as file:
                json.dump(dict(device=device, tunings=[row]), file)
            os.environ["FFPA_JIT_TUNED_CONFIG_DIR"] = folder
            try:
                runtime = binding.Runtime(options.library, folder)
            finally:
                del os.environ["FFPA_JIT_TUNED_CONFIG_DIR"]
            q, k, v, o = (torch.randn(1, heads, n, d, device="cuda", dtype=torch.bfloat16) for _ in range(4))
            args = binding.arguments(q, k, v, o, family=family)
            plan = runtime.prepare(args)
            ms = median_ms(lambda: runtime.forward(args))
            tflops = 4 * d * heads * n * n / ms / 1e9
            print(f"D={d:4} full   {ms:8.3f} ms {tflops:6.1f} TFLOP/s   asked for {config}, got {plan['config']}", flush=True)
            yield dict(bench="also", d=d, causal=False, ms=ms, tflops=tflops, config=plan["config"])


def feature_rows(runtime, family, d, n, heads, compile_ms):
    q, k, v = (torch.randn(1, heads, n, d, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    o = torch.empty_like(q)
    mask = torch.rand(1, 1, n, n, device="cuda") > 0.1
    bias = torch.randn(1, 1, n, n, device="cuda")
    plain = None
    for name, feature in FEATURES:
        options = dict(feature)
        if "mask" in options:
            options["mask"] = mask
        if "bias" in options:
            options["bias"] = bias.to(options["bias"])
        args = binding.arguments(q, k, v, o, family=family, **options)
        runtime.prepare(args)
        ms = median_ms(lambda: runtime.forward(args))
        plain = plain or ms
        print(f"D={d:4} {name:10} {ms:8.3f} ms   x {ms / plain:4.2f} the plain kernel's time; compile "
              f"{compile_ms['features', name]:.0f} ms", flush=True)
        yield dict(bench="features", d=d, feature=name, ms=ms, over_plain=ms / plain,
                   compile_ms=compile_ms["features", name])


def decode_rows(runtime, family):
    source = torch.empty(1 << 30, device="cuda", dtype=torch.uint8)
    target = torch.empty_like(source)
    copy = 2 * source.numel() / median_ms(lambda: target.copy_(source)) / 1e6
    print(f"copy {copy:.0f} GB/s", flush=True)
    for d, heads, heads_kv, n in DECODE:
        size = 2 * heads_kv * n * d * 2
        sets = max(2, (1 << 29) // size)  # more than the L2 holds
        works, torches = [], []
        keep = []
        # The pool's memory would be mapped anew in a graph.
        workspace = torch.empty(1 << 26, device="cuda", dtype=torch.uint8)
        for _ in range(sets):
            q = torch.randn(1, heads, 1, d, device="cuda", dtype=torch.bfloat16)
            k, v = (torch.randn(1, heads_kv, n, d, device="cuda", dtype=torch.bfloat16) for _ in range(2))
            o = torch.empty_like(q)
            keep.append((q, k, v, o))

            def ours(q=q, k=k, v=v, o=o):
                args = binding.arguments(q, k, v, o, family=family)
                args.workspace, args.workspace_bytes = workspace.data_ptr(), workspace.numel()
                runtime.forward(args)

            works.append(ours)
            torches.append(lambda q=q, k=k, v=v: F.scaled_dot_product_attention(q, k, v, enable_gqa=heads != heads_kv))
        plan = runtime.prepare(binding.arguments(*keep[0], family=family))
        ms = graph_ms(works)
        try:
            peer = graph_ms(torches)
        except RuntimeError:
            peer = float("nan")
        rate = size / ms / 1e6
        print(f"decode D={d:4} H={heads}/{heads_kv} N={n:6} {ms * 1e3:8.1f} us {rate:6.0f} GB/s = {rate / copy:4.2f} of "
              f"copy; torch {size / peer / 1e6:6.0f} GB/s   {plan['family']} {plan['config']}", flush=True)
        yield dict(bench="decode", d=d, heads=heads, heads_kv=heads_kv, n=n, us=ms * 1e3, gb_s=rate, copy_gb_s=copy,
                   of_copy=rate / copy, torch_gb_s=size / peer / 1e6, config=plan["config"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--family", default="mma")
    parser.add_argument("--out")
    parser.add_argument("--only", choices=["forward", "features", "decode"])
    parser.add_argument("--head-dims", type=int, nargs="*",
                        default=[64, 128, 192, 256, 320, 512, 640, 768, 1024])
    parser.add_argument("--n", type=int, default=8192)
    parser.add_argument("--heads", type=int, default=32)
    parser.add_argument("--also", nargs="*", metavar="DIM:CONFIG", help="configs to time besides the default ones",
                        default=["1024:block_m=32 block_n=128 block_d=128 num_stages=4 num_warps=8"])
    parser.add_argument("--ffpa", help="folder that holds FFPA's package ffpa_attn, to time beside")
    options = parser.parse_args()
    ffpa = None
    if options.ffpa:
        sys.path.insert(0, options.ffpa)
        import ffpa_attn as ffpa
    family = options.family.encode()
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        runtime = binding.Runtime(options.library, cache)
        compile_ms = compile_all(runtime, family, options)
        if options.only in (None, "forward"):
            rows += forward_rows(runtime, family, options.head_dims, options.n, options.heads, ffpa, compile_ms)
        if options.only in (None, "forward"):
            try:
                rows += list(also_rows(options, family))
            except (OSError, RuntimeError) as error:
                print(f"other configs failed: {error}", flush=True)
        if options.only in (None, "features"):
            rows += feature_rows(runtime, family, 512, options.n, options.heads, compile_ms)
        if options.only in (None, "decode"):
            rows += decode_rows(runtime, family)
    if options.out:
        with open(options.out, "w") as file:
            json.dump(dict(device=torch.cuda.get_device_name(), torch=torch.__version__, rows=rows), file, indent=1)


if __name__ == "__main__":
    main()
