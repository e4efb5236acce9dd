"""Compiles a set of CPU attention kernels, and amx_check, for a machine that has AMX but no compiler.

    python bench/cpu_attention/make_amx_kernels.py OUTPUT_DIRECTORY [--clang clang++-22]

Then, there: cd OUTPUT_DIRECTORY's parent && OUTPUT_DIRECTORY/amx_check OUTPUT_DIRECTORY/kernels.txt. Needs jinja2, clang 22, g++.
"""

import argparse
import pathlib
import subprocess

import jinja2

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEVELS = {
    "amx": ("amx", ["-march=x86-64-v4", "-mavx512bf16", "-mamx-tile", "-mamx-bf16"]),
    "bf16": ("bf16", ["-march=x86-64-v4", "-mavx512bf16"]),
}


def context(dot, head_dim, causal, block_m, block_n):
    return {
        "entry": "attention", "lanes": 16, "has_f16c": True, "dtype": "bf16", "dot": dot, "head_dim": head_dim,
        "head_dim_v": head_dim, "gqa_group": 1, "varlen": False, "window_left": False, "window_right": causal,
        "mask": False, "bias": False, "bias_dtype": "fp32", "dropout": False, "softcap": False, "lse": False,
        "block_m": block_m, "block_n": block_n, "panel": 64, "group_keys": 4, "group_dims": 4,
        "scratch_bytes": 8 << 20,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--clang", default="clang++-22")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, keep_trailing_newline=True, trim_blocks=True, lstrip_blocks=True,
        line_statement_prefix="//%", loader=jinja2.FileSystemLoader(ROOT / "templates"))
    template = environment.get_template("cpu/attention_forward.cpp.j2")
    lines = []
    for level, (dot, flags) in LEVELS.items():
        for head_dim in (64, 128, 256, 512, 72):
            for causal in (False, True):
                for block_m in (128, 256) if dot == "amx" else (128,):
                    name = f"{level}_d{head_dim}_m{block_m}{'_causal' if causal else ''}"
                    source = options.output / f"{name}.cpp"
                    source.write_text(template.render(context(dot, head_dim, causal, block_m, 128)))
                    image = options.output / f"{name}.so"
                    subprocess.run([options.clang, "-std=c++20", "-O3", "-ffp-contract=fast", "-ffreestanding", "-fPIC",
                                    "-shared", "-nostdlib", *flags, source, "-o", image], check=True)
                    lines.append(f"{options.output}/{name}.so attention bf16 {head_dim} {int(causal)} {block_m} {8 << 20}")
    (options.output / "kernels.txt").write_text("\n".join(lines) + "\n")
    subprocess.run(["g++", "-O2", "-std=c++20", "-static-libstdc++", "-static-libgcc", "-pthread",
                    ROOT / "bench/cpu_attention/amx_check.cpp", "-ldl", "-o", options.output / "amx_check"], check=True)


if __name__ == "__main__":
    main()
