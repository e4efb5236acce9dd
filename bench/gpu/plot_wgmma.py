"""Draws what bench/gpu/wgmma.py wrote: TFLOP/s over head dims, ours beside the peers, full and causal.

    python3 bench/gpu/plot_wgmma.py bench/results/nvidia-h200/2026-11-30-wgmma.json > docs/h200.svg
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import svg_lines  # noqa: E402

PEERS = {"cudnn": "cuDNN (PyTorch)", "fa2": "FA2 (PyTorch)", "ffpa tma": "FFPA Triton TMA"}


def chart_of(rows, causal):
    kind = "causal" if causal else "full"
    some = {row["d"]: row for row in rows if row["label"] == f"D={row.get('d')} {kind}"}
    matmul = next(row["cold"] for row in rows if row["label"].startswith("matmul"))
    dims = sorted(some)
    lines = {"libffpa_jit": [some[d]["cold"] for d in dims]}
    for key, name in PEERS.items():
        lines[name] = [some[d]["peers"].get(key, {}).get("cold") for d in dims]
    lines["matmul 8192"] = [matmul] * len(dims)
    return svg_lines.chart(f"{kind}, N = 8192, H = 32, bf16, cold", "TFLOP/s", dims, lines)


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        rows = json.load(file)["rows"]
    sys.stdout.write(svg_lines.page([chart_of(rows, False), chart_of(rows, True)], columns=2))
