"""Where the time of attention kernels goes, by Nsight Compute: tensor pipe, L2, shared memory, issue slots and stalls.

    python3 bench/gpu/hardware_counters.py --library build/release/lib/libffpa_jit.so --cases D=320 D=512,causal D=128,mask [--out profile.json]

A case is D=<head dim>[,N=<length>][,H=<heads>][,family=<name>] with any of causal, mask, bias, dropout, softcap. One launch of each
is profiled, after two others; bf16, B = 1. Percentages are of what the device can sustain, over the kernel's time, at the
clocks that it happens to have.
"""

import argparse
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SECTIONS = ("SpeedOfLight", "ComputeWorkloadAnalysis", "MemoryWorkloadAnalysis", "SchedulerStats", "WarpStateStats")
# What a table shows, by the first metric of a kernel that the pattern matches.
COLUMNS = {
    "us": r"gpu__time_duration\.sum",
    "tensor %": r"sm__inst_executed_pipe_tensor\w*\.avg\.pct_of_peak_sustained_active|sm__pipe_tensor\w*cycles_active\.avg\.pct_of_peak_sustained_active",
    "fma %": r"sm__inst_executed_pipe_fma\.avg\.pct_of_peak_sustained_active|sm__pipe_fma_cycles_active\.avg\.pct_of_peak_sustained_active",
    "alu %": r"sm__(inst_executed_)?pipe_alu\w*\.avg\.pct_of_peak_sustained_active",
    "xu %": r"sm__inst_executed_pipe_xu\.avg\.pct_of_peak_sustained_active",
    "shared %": r"l1tex__data_pipe_lsu_wavefronts\w*\.avg\.pct_of_peak_sustained_elapsed|l1tex__throughput\w*\.avg\.pct_of_peak_sustained\w*",
    "L2 %": r"lts__throughput\.avg\.pct_of_peak_sustained_elapsed",
    "DRAM %": r"(gpu__dram|dram__)throughput\.avg\.pct_of_peak_sustained_elapsed",
    "issue %": r"smsp__issue_active\.avg\.pct|sm__inst_issued\.avg\.pct_of_peak_sustained_active",
}
STALL = re.compile(r"smsp__average_warps_issue_stalled_(\w+)_per_issue_active\.ratio")


def parsed(case):
    words = case.split(",")
    numbers = dict(word.split("=") for word in words if "=" in word)
    return numbers, {word for word in words if "=" not in word}


def launch(library, case, cache):
    """In the profiled process: three launches of one case."""
    import torch
    sys.path.insert(0, os.path.join(HERE, "..", "..", "tests", "gpu"))
    import binding
    numbers, words = parsed(case)
    d, n, heads = int(numbers["D"]), int(numbers.get("N", 4096)), int(numbers.get("H", 32))
    q, k, v = (torch.randn(1, heads, n, d, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    extra = {}
    if "mask" in words:
        extra["mask"] = torch.rand(1, 1, n, n, device="cuda") > 0.1
    if "bias" in words:
        extra["bias"] = torch.randn(1, 1, n, n, device="cuda").bfloat16()
    if "dropout" in words:
        extra.update(dropout=0.1, seed=1)
    if "softcap" in words:
        extra["softcap"] = 30.0
    runtime = binding.Runtime(library, cache)
    args = binding.arguments(q, k, v, torch.empty_like(q), causal="causal" in words, family=numbers.get("family", "").encode(), **extra)
    for _ in range(3):
        runtime.forward(args)
    torch.cuda.synchronize()


def metrics_of(library, case, cache):
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "-k", "regex:ffpa", "--launch-skip", "2", "-c", "1"]
    for section in SECTIONS:
        command += ["--section", section]
    command += [sys.executable, os.path.abspath(__file__), "--library", library, "--launch", case, "--cache-dir", cache]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    lines = [line for line in run.stdout.splitlines() if line.startswith('"')]
    if len(lines) < 3:
        raise RuntimeError(f"ncu gave no metrics for {case}: {run.stdout[-300:]} {run.stderr[-300:]}")
    names, _, values = csv.reader(io.StringIO("\n".join(lines[:3])))
    metrics = {}
    for name, value in zip(names, values):
        try:
            metrics[name] = float(value.replace(",", ""))
        except ValueError:
            metrics[name] = value
    return metrics


def row_of(metrics):
    row = {}
    for column, pattern in COLUMNS.items():
        found = [value for name, value in metrics.items() if re.fullmatch(pattern, name) and isinstance(value, float)]
        row[column] = max(found) if found else None
    stalls = sorted(((value, match.group(1)) for name, value in metrics.items() if (match := STALL.fullmatch(name))), reverse=True)
    row["stalls"] = {name: round(value, 2) for value, name in stalls[:5]}
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--cases", nargs="*", default=[])
    parser.add_argument("--cache-dir")
    parser.add_argument("--out")
    parser.add_argument("--launch", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.launch:
        launch(options.library, options.launch, options.cache_dir)
        return
    results = {}
    with tempfile.TemporaryDirectory() as fresh:
        for case in options.cases:
            try:
                metrics = metrics_of(options.library, case, options.cache_dir or fresh)
            except (RuntimeError, subprocess.TimeoutExpired) as problem:
                print(f"{case}: {problem}")
                continue
            results[case] = dict(row=row_of(metrics), metrics=metrics)
            row = results[case]["row"]
            cells = "  ".join(f"{name} {value:.1f}" for name, value in row.items() if isinstance(value, float))
            print(f"{case:24} {cells}  stalls " + " ".join(f"{name} {value}" for name, value in row["stalls"].items()), flush=True)
    if options.out:
        with open(options.out, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
