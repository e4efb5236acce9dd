"""CPU attention beside PyTorch's scaled_dot_product_attention: same process, same inputs, same number of threads, the two
taking turns. Prints one line per case: milliseconds of each (minimum and median of many), the ratio of the minima, and both
errors against fp64.

    python bench/cpu_attention/against_pytorch.py build/release/lib/libffpa_jit.so [--threads 2] [--json]

On a machine that others use too, `--threads 1 --cpu-time` counts the processor time that each took instead of the clock's.

Needs a PyTorch that imports without a GPU.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

# After its turn PyTorch's OpenMP threads would spin on the cores that the other side is timed on. Read when torch loads.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
import torch  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "gpu"))
import binding  # noqa: E402  the C ABI over ctypes

CPU = 0
DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def arguments(q, k, v, o, causal):
    args = binding.arguments(q, k, v, o, causal=causal, stream=0, family=None)
    args.device_kind = CPU
    return args


def relative_error(out, expected):
    return ((out.double() - expected).norm() / expected.norm()).item()


def measure(runtime, dtype, head_dim, seqlen, causal, heads, seconds, clock):
    torch.manual_seed(head_dim + seqlen)
    q, k, v = (torch.randn(1, heads, seqlen, head_dim).to(DTYPES[dtype]) for _ in range(3))
    o = torch.full_like(q, float("nan"))
    args = arguments(q, k, v, o, causal)
    facts = runtime.prepare(args)

    def ours():
        runtime.forward(args)

    def peer():
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    ours()
    theirs = peer()
    expected = torch.nn.functional.scaled_dot_product_attention(q.double(), k.double(), v.double(), is_causal=causal)
    times = {ours: [], peer: []}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[ours]) < 3:
        for run in (ours, peer):
            time.sleep(0.002)  # the other's threads stop spinning
            begin = clock()
            run()
            times[run].append((clock() - begin) * 1e3)
    return {
        "dtype": dtype, "head_dim": head_dim, "seqlen": seqlen, "causal": causal, "heads": heads,
        "ours_ms": min(times[ours]), "ours_median_ms": statistics.median(times[ours]),
        "pytorch_ms": min(times[peer]), "pytorch_median_ms": statistics.median(times[peer]),
        "ratio": min(times[peer]) / min(times[ours]), "samples": len(times[ours]),
        "ours_error": relative_error(o, expected), "pytorch_error": relative_error(theirs, expected),
        "target": facts["target"], "config": facts["config"], "compile_ms": facts["compile_ms"],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--dtypes", default="fp32,bf16")
    parser.add_argument("--head-dims", default="64,128,256,512")
    parser.add_argument("--seqlens", default="512,2048")
    parser.add_argument("--seconds", type=float, default=1.0, help="per case")
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--json", action="store_true", help="one object per line")
    options = parser.parse_args()
    os.environ["FFPA_JIT_NUM_THREADS"] = str(options.threads)
    torch.set_num_threads(options.threads)
    torch.set_grad_enabled(False)
    with tempfile.TemporaryDirectory() as cache:
        runtime = binding.Runtime(options.library, cache)
        for dtype in options.dtypes.split(","):
            for head_dim in map(int, options.head_dims.split(",")):
                for seqlen in map(int, options.seqlens.split(",")):
                    for causal in (False, True):
                        row = measure(runtime, dtype, head_dim, seqlen, causal, options.heads, options.seconds,
                                      time.process_time if options.cpu_time else time.perf_counter)
                        if options.json:
                            print(json.dumps(row), flush=True)
                            continue
                        print("{dtype} d={head_dim:<4} n={seqlen:<5} {mask}  ours {ours_ms:8.2f} ms (median {ours_median_ms:8.2f})  "
                              "pytorch {pytorch_ms:8.2f} ms (median {pytorch_median_ms:8.2f})  ratio {ratio:5.2f}  "
                              "error {ours_error:.1e} / {pytorch_error:.1e}  {target} {config}".format(
                                  mask="causal" if causal else "full  ", **row), flush=True)


if __name__ == "__main__":
    main()
