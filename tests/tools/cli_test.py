"""Drives the built ffpa-jit: every subcommand, exit codes, JSON fields, error texts, kills.

Usage: cli_test.py PATH_TO_FFPA_JIT MODEL_CONFIGS_DIR EXAMPLE_DATA [unittest options]
Needs nothing but Python's standard library. Every test has a cache directory of its own.
"""

import json
import math
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

FFPA_JIT, MODEL_CONFIGS, EXAMPLE_DATA = sys.argv[1:4]
SMALL = ["--heads", "2", "--seqlen-q", "33", "--head-dim", "40"]


def write_safetensors(path, tensors):
    """tensors: name -> (dtype, shape, bytes)."""
    header, data = {}, b""
    for name, (dtype, shape, raw) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    return {name: (entry["dtype"], entry["shape"], data[slice(*entry["data_offsets"])])
            for name, entry in header.items() if name != "__metadata__"}


def fp32(values):
    return struct.pack(f"<{len(values)}f", *values)


def write_npy(path, shape, values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + fp32(values))


class Cli(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.mkdtemp(prefix="ffpa_jit_cli_")
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.env = {key: value for key, value in os.environ.items()
                    if not key.startswith(("FFPA_", "XDG_", "NO_COLOR")) or key == "FFPA_JIT_CLANG_PLUGIN"}
        self.env["FFPA_JIT_CACHE_DIR"] = self.path("cache")

    def path(self, *names):
        return os.path.join(self.scratch, *names)

    def cli(self, *arguments, code=0, **env):
        done = subprocess.run([FFPA_JIT, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                              env={**self.env, **env})
        self.assertEqual(done.returncode, code, f"{arguments}\n{done.stdout}\n{done.stderr}")
        return done

    def json(self, *arguments, code=0, **env):
        """One JSON document per line of stdout."""
        return [json.loads(line) for line in self.cli(*arguments, "--json", code=code, **env).stdout.splitlines()]

    def fails(self, code, words, *arguments, **env):
        done = self.cli(*arguments, code=code, **env)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(done.stdout, "", "nothing but data belongs on stdout")

    def compiles_for_cpu(self):
        (doctor,) = self.json("doctor")
        clang = [each for each in doctor["findings"] if each["what"] == "compiler clang"]
        here = bool(clang) and clang[0]["state"] == "ok"
        # Set by a build that made the Clang plugin: there, its absence is a failure, not a reason to skip.
        self.assertTrue(here or "FFPA_JIT_TEST_EXPECTS_CLANG" not in os.environ, doctor)
        return here


class Basics(Cli):
    def test_help_teaches_every_command(self):
        text = self.cli("--help").stdout
        for name in ("run", "warmup", "explain", "source", "render", "cache", "devices", "env", "doctor", "tune", "bench", "verify"):
            self.assertIn(f"  {name} ", text)
            self.assertIn("--cache-dir", self.cli(name, "--help").stdout, name)
        self.assertIn("Exit codes", text)
        for name in ("stat", "list", "show", "verify", "gc", "export", "import", "merge", "clear"):
            self.assertIn("--cache-dir", self.cli("cache", name, "--help").stdout, name)

    def test_the_documentation_has_every_flag(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/cli.md")) as file:
            text = file.read()
        commands = re.findall(r"^  ([a-z]+) ", self.cli("--help").stdout.split("Subcommands:")[1], re.M)
        self.assertGreaterEqual(len(commands), 12)
        commands += ["cache " + name for name in re.findall(r"^  ([a-z]+) ", self.cli("cache", "--help").stdout.split("Subcommands:")[1], re.M)]
        for command in commands:
            for flags in re.findall(r"^  ((?:-[a-z],)?--[a-zA-Z,-]+)", self.cli(*command.split(), "--help").stdout, re.M):
                self.assertTrue(any(re.search(re.escape(flag) + r"(?![a-z-])", text) for flag in flags.split(",")
                                    if flag != "--help") or "--help" in flags, f"{command}: {flags}")

    def test_usage_errors(self):
        self.fails(2, ["--help"])
        self.fails(2, ["train"], "train")
        self.fails(2, ["--no-such-flag"], "run", "--no-such-flag")
        self.fails(2, ["--hed-dim is not known; --head-dim may be meant"], "run", "--hed-dim", "64")
        self.fails(2, ["--head_dim is not known; --head-dim may be meant"], "warmup", "--head_dim=64")
        self.fails(2, ["--limt is not known; --limit may be meant"], "cache", "gc", "--limt", "4G")
        self.fails(2, ["--head-dim"], "run", "--head-dim", "many")
        for command, flag in (("warmup", "--jobs"), ("warmup", "--seqlen"), ("bench", "--N"), ("tune", "--jobs")):
            self.fails(2, [flag, "0 is not a number above 0"], command, flag, "0")
        for flag in ("--budget", "--time-limit"):
            self.fails(2, [flag, "86400"], "tune", flag, "1e300")
        self.assertRegex(self.cli("--version").stdout, r"^\d+\.\d+\.\d+\n$")

    def test_devices_env_doctor(self):
        (devices,) = self.json("devices")
        self.assertEqual(devices["devices"][0]["device"], "cpu")
        self.assertTrue(devices["devices"][0]["target"].startswith("cpu:"))
        (env,) = self.json("env", FFPA_JIT_NUM_THREADS="1")
        by_name = {each["name"]: each for each in env["variables"]}
        self.assertEqual(by_name["FFPA_JIT_CACHE_DIR"]["value"], self.path("cache"))
        self.assertEqual(by_name["FFPA_JIT_CACHE_DIR"]["source"], "FFPA_JIT_CACHE_DIR")
        self.assertEqual(by_name["FFPA_JIT_CACHE_LIMIT"]["source"], "default")
        self.fails(2, ["FFPA_JIT_POLICY", "fastest"], "env", FFPA_JIT_POLICY="fastest")
        (doctor,) = self.json("doctor")
        self.assertTrue(doctor["ok"])
        for each in doctor["findings"]:
            self.assertIn(each["state"], ("ok", "absent", "broken"))
            if each["state"] != "ok":
                self.assertTrue(each["cost"], each)

    def test_doctor_names_what_is_missing_and_still_works(self):
        (doctor,) = self.json("doctor", FFPA_JIT_CLANG_PLUGIN="/nonexistent/plugin.so")
        clang = [each for each in doctor["findings"] if each["what"] == "compiler clang"][0]
        self.assertEqual(clang["state"], "absent")
        self.assertTrue(clang["cost"] and clang["remedy"])
        self.assertTrue(doctor["ok"], "the portable kernel serves")
        (doctor,) = self.json("doctor", FFPA_JIT_NVRTC="/nonexistent/libnvrtc.so")
        nvrtc = [each for each in doctor["findings"] if each["what"] == "compiler nvrtc"][0]
        self.assertEqual(nvrtc["state"], "absent")
        self.assertIn("/nonexistent/libnvrtc.so", json.dumps(nvrtc))
        if "FFPA_JIT_NVRTC" in os.environ:  # what tools/setup has fetched compiles, with no other CUDA on the machine
            (doctor,) = self.json("doctor", FFPA_JIT_NVRTC=os.environ["FFPA_JIT_NVRTC"])
            nvrtc = [each for each in doctor["findings"] if each["what"] == "compiler nvrtc"][0]
            self.assertEqual(nvrtc["state"], "ok", nvrtc)


class Run(Cli):
    FIELDS = {"device", "family", "reason", "config", "cache", "rel_error", "tolerance", "ok", "timings_ms"}

    def test_twice_gives_miss_then_hit(self):
        if not self.compiles_for_cpu():
            self.skipTest("no compiler for CPU kernels here: nothing is cached")
        arguments = ("run", "--device", "cpu", *SMALL, "--dtype", "fp32", "--causal", "--cache-dir", self.path("fresh"))
        (first,), (second,) = self.json(*arguments), self.json(*arguments)
        self.assertTrue(self.FIELDS <= set(first), set(first))
        self.assertEqual(set(first["timings_ms"]), {"generate", "compile", "load", "run"})
        self.assertEqual((first["device"], first["cache"], second["cache"]), ("cpu", "miss", "hit"))
        self.assertGreater(first["timings_ms"]["compile"], 0)
        self.assertEqual(second["timings_ms"]["compile"], 0)
        self.assertTrue(first["ok"] and second["ok"])
        self.assertLessEqual(first["rel_error"], first["tolerance"])
        (stat,) = self.json("cache", "stat", "--cache-dir", self.path("fresh"))
        self.assertEqual((stat["kernels"], stat["compiles"]), (1, 1))
        self.assertGreaterEqual(stat["hits"], 1)
        self.assertGreater(stat["bytes"], 0)

    def test_every_feature_flag(self):
        rows = [["--dtype", "fp16", "--kv-heads", "1"], ["--window", "5,3"], ["--window", "7,-1", "--causal"],
                ["--mask", "bool"], ["--mask", "bool:1h1k"], ["--mask", "bias:11qk", "--causal"],
                ["--dropout", "0.25", "--seed", "7"], ["--softcap", "3"], ["--layout", "bnhd"],
                ["--layout", "varlen", "--batch", "3", "--causal", "--lse"], ["--head-dim-v", "24", "--lse"],
                ["--sinks", "--lse"], ["--seqlens-k", "--batch", "3", "--causal", "--layout", "bnhd"],
                ["--page-size", "16", "--batch", "2", "--kv-heads", "1", "--sinks"],
                ["--dtype", "fp16", "--accumulate", "fp16"],
                ["--score-modifier", "t0[b, q] == t0[b, k] ? score - h : t1[h]", "--modifier-tensor", "t0=int32:b,k",
                 "--modifier-tensor", "t1=fp32:h"],
                ["--seqlen-k", "50", "--scale", "0.0"], ["--threads", "1", "--repeat", "1", "--check-all"]]
        for row in rows:
            with self.subTest(row):
                (out,) = self.json("run", *SMALL, *row)
                self.assertTrue(out["ok"], out)
                self.assertEqual(out["checked_rows"], out["rows"])
                if "--lse" in row:
                    self.assertLessEqual(out["lse_error"], out["lse_tolerance"])

    def test_same_seed_same_error_other_seed_other(self):
        errors = [self.json("run", *SMALL, "--seed", seed)[0]["rel_error"] for seed in (5, 5, 6)]
        self.assertEqual(errors[0], errors[1])
        self.assertNotEqual(errors[0], errors[2])
        self.assertNotEqual(self.json("run", *SMALL)[0]["seed"], self.json("run", *SMALL)[0]["seed"])

    def test_large_problems_are_sampled_and_say_so(self):
        (out,) = self.json("run", "--dtype", "bf16", "--heads", "4", "--seqlen-q", "1024", "--head-dim", "256", "--causal",
                           "--repeat", "1", "--dropout", "0.1", "--mask", "bias:11qk", "--window", "700,0", "--lse")
        self.assertTrue(out["ok"], out)
        self.assertLess(out["checked_rows"], out["rows"])
        self.assertEqual(out["rows"], 4 * 1024)
        (out,) = self.json("run", "--dtype", "bf16", "--batch", "2", "--heads", "4", "--seqlen-q", "900", "--head-dim", "128", "--causal",
                           "--repeat", "1", "--dropout", "0.1", "--page-size", "48", "--sinks", "--lse", "--modifier-tensor", "t2=fp32:b,h,q",
                           "--score-modifier", "score * (1 + 0.1 * h) - abs(q + nk - nq - k) / nh + t2[b, h, q]")
        self.assertTrue(out["ok"], out)
        self.assertLess(out["checked_rows"], out["rows"])

    def test_table(self):
        done = self.cli("run", *SMALL)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 2)
        self.assertEqual(lines[0].split()[:3], ["problem", "device", "family"])
        self.assertIn("reason:", done.stderr)
        self.assertIn("seed:", done.stderr)
        self.assertNotIn("\x1b", done.stdout)

    def test_bad_requests(self):
        self.fails(3, ["emulator runs CUDA kernels"], "run", "--device", "emu:gfx942", *SMALL)
        self.fails(2, ["--device", "tpu", "allowed"], "run", "--device", "tpu")
        self.fails(2, ["--dtype", "fp8", "allowed"], "run", "--dtype", "fp8")
        self.fails(2, ["--mask", "maybe"], "run", "--mask", "maybe")
        self.fails(2, ["zzzz"], "run", "--mask", "bool:zzzz")
        self.fails(2, ["--window", "L,R"], "run", "--window", "5")
        self.fails(2, ["score_modifier", "column 9"], "run", *SMALL, "--score-modifier", "score + ")
        self.fails(2, ["--modifier-tensor", "t0=int32:b,k"], "run", *SMALL, "--score-modifier", "score", "--modifier-tensor", "t9=fp32:b")
        self.fails(2, ["modifier_tensors[0] has size 3"], "run", *SMALL, "--score-modifier", "score + t0[k]", "--modifier-tensor", "t0=fp32:3")
        self.fails(2, ["--accumulate", "fp32, fp16"], "run", *SMALL, "--accumulate", "fp8")
        self.fails(2, ["--page-size", "bhnd and bnhd"], "run", *SMALL, "--page-size", "16", "--layout", "varlen")
        self.fails(2, ["multiple"], "run", "--heads", "3", "--kv-heads", "2")
        self.fails(2, ["dropout_p", "1.5"], "run", "--dropout", "1.5")
        self.fails(2, ["--seqlen-q is 0"], "run", "--seqlen-q", "0")
        self.fails(2, ["nosuch"], "run", "--family", "nosuch")
        self.fails(2, ["--prefix"], "run", "--prefix", "layers.0.")
        self.fails(2, ["absent.safetensors", "No such file"], "run", "--input", self.path("absent.safetensors"))

    def test_cuda_absent_is_an_explained_state(self):
        (devices,) = self.json("devices")
        if any(each["device"].startswith("cuda") for each in devices["devices"]):
            self.skipTest("a CUDA device is here")
        self.fails(3, ["NO_DEVICE"], "run", "--device", "cuda", *SMALL)
        self.assertTrue(devices["cuda_absent"])

    def test_dry_run_tells_the_truth(self):
        (plan,) = self.json("run", *SMALL, "--dtype", "fp32", "--dry-run")
        self.assertEqual(plan["cache"] if plan["kernels"] != [""] else "miss", "miss")
        self.assertEqual(self.json("cache", "stat")[0]["kernels"], 0)
        if not self.compiles_for_cpu():
            self.skipTest("no compiler for CPU kernels here")
        (done,) = self.json("run", *SMALL, "--dtype", "fp32")
        (after,) = self.json("run", *SMALL, "--dtype", "fp32", "--dry-run")
        self.assertEqual((plan["family"], plan["config"]), (done["family"], done["config"]))
        self.assertEqual(after["cache"], "hit")


class Files(Cli):
    def attention(self, q, k, v, n, d):
        """softmax(q k^T / sqrt(d)) v for one head, in plain Python."""
        out = []
        for r in range(n):
            scores = [sum(q[r * d + i] * k[c * d + i] for i in range(d)) / math.sqrt(d) for c in range(n)]
            top = max(scores)
            weights = [math.exp(s - top) for s in scores]
            out += [sum(w * v[c * d + i] for c, w in enumerate(weights)) / sum(weights) for i in range(d)]
        return out

    def random(self, count, seed):
        generator = random.Random(seed)
        return [generator.gauss(0, 1) for _ in range(count)]

    def qkv(self, n=5, d=8):
        q, k, v = (self.random(n * d, seed) for seed in (1, 2, 3))
        return q, k, v, self.attention(q, k, v, n, d)

    def test_the_models_layers(self):
        """Six layers of a real model: Q, K, V, mask and the attention output that its own code gave."""
        out = self.json("run", "--device", "cpu", "--input", EXAMPLE_DATA)
        self.assertEqual([each["name"] for each in out], [f"layers.{i}" for i in range(6)])
        for each in out:
            self.assertTrue(each["ok"], each)
            self.assertLessEqual(each["expected_error"], each["expected_tolerance"])
            self.assertLess(each["expected_error"], 1e-4)
        self.assertEqual(len(self.json("run", "--input", EXAMPLE_DATA, "--prefix", "layers.3.")), 1)
        # One kernel serves all six: at most the first problem waits for it.
        self.assertEqual([each["cache"] for each in out[1:]], ["hit"] * 5)
        self.assertEqual([each["timings_ms"]["compile"] for each in out[1:]], [0] * 5)
        self.fails(2, ["layers.9.", "layers.0."], "run", "--input", EXAMPLE_DATA, "--prefix", "layers.9.")

    def test_safetensors_in_and_out(self):
        q, k, v, expected = self.qkv()
        tensor = lambda values: ("F32", [1, 1, 5, 8], fp32(values))
        file, result = self.path("a.safetensors"), self.path("o.safetensors")
        write_safetensors(file, {"q": tensor(q), "k": tensor(k), "v": tensor(v), "out": tensor(expected)})
        (out,) = self.json("run", "--input", file, "--output", result)
        self.assertTrue(out["ok"])
        self.assertLess(out["expected_error"], 1e-6)
        written = read_safetensors(result)
        self.assertEqual(set(written), {"o", "lse"})
        values = struct.unpack("<40f", written["o"][2])
        self.assertLess(max(abs(a - b) for a, b in zip(values, expected)), 1e-5)
        self.assertEqual(written["lse"][:2], ("F32", [1, 1, 5]))

    def test_a_wrong_expected_output_is_found(self):
        q, k, v, expected = self.qkv()
        expected[17] += 0.5
        tensor = lambda values: ("F32", [1, 1, 5, 8], fp32(values))
        file = self.path("wrong.safetensors")
        write_safetensors(file, {"q": tensor(q), "k": tensor(k), "v": tensor(v), "out": tensor(expected)})
        (out,) = self.json("run", "--input", file, code=1)
        self.assertFalse(out["ok"])

    def test_npy(self):
        q, k, v, expected = self.qkv()
        names = {}
        for name, values in (("q", q), ("k", k), ("v", v), ("out", expected)):
            names[name] = self.path(name + ".npy")
            write_npy(names[name], (1, 1, 5, 8), values)
        three = ",".join(names[name] for name in "qkv")
        for arguments in (("--input", self.scratch), ("--npy", three), ("--input", *[names[n] for n in ("v", "k", "q", "out")])):
            (out,) = self.json("run", *arguments)
            self.assertTrue(out["ok"], arguments)
        (converted,) = self.json("run", "--npy", three, "--dtype", "bf16")
        self.assertIn("bf16", converted["problem"])

    def test_varlen_mask_and_bias(self):
        d, lengths = 8, [3, 4]
        total = sum(lengths)
        values = lambda seed: ("F32", [total, 2, d], fp32(self.random(total * 2 * d, seed)))
        offsets = ("I64", [3], struct.pack("<3q", 0, 3, 7))
        file = self.path("varlen.safetensors")
        write_safetensors(file, {"q": values(1), "k": values(2), "v": values(3), "cu_seqlens_q": offsets,
                                 "cu_seqlens_k": offsets})
        (out,) = self.json("run", "--input", file, "--causal", "--lse")
        self.assertTrue(out["ok"])
        self.assertIn("varlen", out["problem"])
        bad = ("I32", [3], struct.pack("<3i", 0, 9, 7))
        write_safetensors(file, {"q": values(1), "k": values(2), "v": values(3), "cu_seqlens_q": bad, "cu_seqlens_k": offsets})
        self.fails(2, ["varlen.safetensors", "cu_seqlens_q"], "run", "--input", file)
        dense = lambda seed: ("F32", [1, 1, 4, 8], fp32(self.random(32, seed)))
        write_safetensors(file, {"q": dense(1), "k": dense(2), "v": dense(3), "mask": ("U8", [4, 4], bytes([1, 0, 1, 1] * 4)),
                                 "bias": ("F32", [1, 4, 4], fp32([-math.inf, 0, 1, 2] * 4))})
        (out,) = self.json("run", "--input", file)
        self.assertTrue(out["ok"], out)

    def test_broken_files_name_file_and_tensor(self):
        file = self.path("bad.safetensors")
        good = ("F32", [1, 1, 2, 4], fp32([0] * 8))
        write_safetensors(file, {"q": good, "k": good})
        self.fails(2, ["bad.safetensors", "'v'"], "run", "--input", file)
        write_safetensors(file, {"weights": good})
        self.fails(2, ["bad.safetensors", "no tensor 'q'", "weights"], "run", "--input", file)
        write_safetensors(file, {"q": good, "k": good, "v": ("F32", [1, 1, 3, 4], fp32([0] * 12))})
        self.fails(2, ["bad.safetensors", "length of v"], "run", "--input", file)
        write_safetensors(file, {"q": good, "k": good, "v": ("I32", [1, 1, 2, 4], bytes(32))})
        self.fails(2, ["bad.safetensors", "'v'", "int32"], "run", "--input", file)
        write_safetensors(file, {"q": good, "k": good, "v": good, "mask": good})
        self.fails(2, ["bad.safetensors", "'mask'", "bool"], "run", "--input", file)
        with open(file, "wb") as stream:
            stream.write(b"\xff" * 64)
        self.fails(2, ["bad.safetensors", "not a safetensors file"], "run", "--input", file)


class Inspect(Cli):
    def test_explain(self):
        (out,) = self.json("explain", "--device", "cpu", "--head-dim", "512", "--dtype", "bf16")
        for field in ("family", "route", "reason", "config", "families", "rules", "changes", "cache"):
            self.assertIn(field, out)
        self.assertTrue(any(each["serves"] and each["family"] == out["family"] for each in out["families"]))
        self.assertEqual(sum(each["applied"] for each in out["rules"]), 1)
        (gpu,) = self.json("explain", "--target", "sm_90a", "--for", "H200", "--head-dim", "128")
        self.assertEqual((gpu["target"], gpu["device_name"]), ("sm_90a", "NVIDIA H200"))
        text = self.cli("explain").stdout
        for word in ("reason", "families", "what would change"):
            self.assertIn(word, text)
        self.fails(2, ["--for", "known:"], "explain", "--target", "sm_90a", "--for", "Voodoo 2")
        self.fails(2, ["sm_12345"], "explain", "--target", "sm_12345")
        self.assertEqual(self.json("cache", "stat")[0]["kernels"], 0)

    CPU_PROBLEM = ("--dtype", "fp32", "--heads", "2", "--seqlen-q", "512", "--head-dim", "64")

    def test_a_cpu_that_is_not_here(self):
        """A CPU kernel's config depends on threads and cache, so --for says them."""
        (devices,) = self.json("devices")
        identity = devices["devices"][0]["identity"]
        (here,) = self.json("explain", "--device", "cpu", *self.CPU_PROBLEM)
        (same,) = self.json("explain", "--for", identity, *self.CPU_PROBLEM)
        for field in ("target", "device_name", "config", "kernels", "shape"):
            self.assertEqual(here[field], same[field])
        configs = {}
        for threads in (1, 64):
            (out,) = self.json("explain", "--for", f"cpu:x86-64-v4 threads={threads} l2=2M", *self.CPU_PROBLEM)
            self.assertEqual(out["target"], "cpu:x86-64-v4")
            configs[threads] = out["config"]
        self.assertNotEqual(configs[1], configs[64])
        (out,) = self.json("explain", "--target", "cpu:x86-64-v3", "--for", "threads=64 l2=2048K")
        self.assertEqual(out["target"], "cpu:x86-64-v3")
        for wrong, words in (("threads=64 l2=2M", ["names no level"]), ("cpu:x86-64 l2=2M", ["threads=N"]),
                             ("cpu:x86-64 threads=0 l2=2M", ["threads=N"]), ("cpu:x86-64 threads=2", ["l2=SIZE"]),
                             ("cpu:x86-64 threads=2 l2=9999999999999999999999K", ["l2=SIZE"]),
                             ("cpu:x86-64 threads=2 l2=1M smt", ["'smt'"]), ("cpu:vax threads=2 l2=1M", ["cpu:vax"])):
            self.fails(2, ["--for" if "vax" not in wrong else "", *words], "explain", "--for", wrong)
        self.fails(2, ["another level"], "explain", "--target", "cpu:x86-64", "--for", "cpu:x86-64-v4 threads=2 l2=1M")

    def test_warmup_for_several_devices(self):
        arguments = ("warmup", *self.CPU_PROBLEM, "--dry-run", "--for", "H200", "--for", "cpu:x86-64-v3 threads=64 l2=2M")
        (out,) = self.json(*arguments)
        self.assertEqual([each["target"] for each in out["problems"][0]["targets"]], ["sm_90a", "cpu:x86-64-v3"])
        (out,) = self.json(*arguments, "--target", "sm_80,cpu:x86-64-v3,sm_90a")
        self.assertEqual([each["target"] for each in out["problems"][0]["targets"]], ["sm_80", "cpu:x86-64-v3", "sm_90a"])
        self.fails(2, ["--for", "H200", "sm_80"], "warmup", *self.CPU_PROBLEM, "--for", "H200", "--target", "sm_80")

    def test_a_kernel_warmed_for_another_cpu_serves_there(self):
        if not self.compiles_for_cpu():
            self.skipTest("no compiler for CPU kernels here: nothing is cached")
        (devices,) = self.json("devices", FFPA_JIT_NUM_THREADS="64")
        identity = devices["devices"][0]["identity"]
        self.assertIn("threads=64", identity)
        (warm,) = self.json("warmup", *self.CPU_PROBLEM, "--for", identity)
        self.assertEqual(len(warm["compiled"]), 1)
        states = [self.json("explain", *self.CPU_PROBLEM, FFPA_JIT_NUM_THREADS=n)[0]["cache"] for n in ("64", "1")]
        self.assertEqual(states, ["hit", "miss"])

    def test_source(self):
        (out,) = self.json("source", "--target", "sm_80", "--head-dim", "64")
        self.assertIn("__global__", out["kernels"][0]["source"])
        (masked,) = self.json("source", "--target", "sm_80", "--head-dim", "64", "--mask", "bias")
        self.assertNotEqual(out["kernels"][0]["key"], masked["kernels"][0]["key"])
        if self.compiles_for_cpu():
            self.assertIn("extern", self.cli("source", "--device", "cpu").stdout)
            code = self.cli("source", "--device", "cpu", "--machine-code")
            self.assertTrue(code.stdout if shutil.which("objdump") else "binutils" in code.stderr)

    def test_render(self):
        template, context = self.path("t.j2"), self.path("c.json")
        with open(template, "w") as file:
            file.write("//% for x in xs\nint a{{ x }};\n//% endfor\n{% include 'part.j2' %}\n")
        with open(self.path("part.j2"), "w") as file:
            file.write("tail {{ name }}\n")
        with open(context, "w") as file:
            json.dump({"xs": [1, 2], "name": "n"}, file)
        self.assertEqual(self.cli("render", template, "--context", context).stdout, "int a1;\nint a2;\ntail n\n\n"[:-1])
        with open(context, "w") as file:
            json.dump({"xs": []}, file)
        self.fails(2, ["part.j2:1", "name"], "render", template, "--context", context)
        with open(context, "w") as file:
            file.write("{\n nope")
        self.fails(2, ["c.json", "line 2"], "render", template, "--context", context)
        self.fails(2, ["nosuch.j2"], "render", "nosuch.j2")


class Cache(Cli):
    def fill(self):
        if not self.compiles_for_cpu():
            self.skipTest("no compiler for CPU kernels here: the cache stays empty")
        for dim in ("16", "24"):
            self.json("run", "--heads", "1", "--seqlen-q", "9", "--head-dim", dim)

    def test_look_after(self):
        self.fill()
        (listed,) = self.json("cache", "list")
        self.assertEqual(len(listed["kernels"]), 3)  # and doctor's
        key = listed["kernels"][0]["key"]
        (shown,) = self.json("cache", "show", key[:16])
        self.assertEqual(shown["key"], key)
        self.fails(2, ["zz"], "cache", "show", "zz")
        self.assertTrue(self.json("cache", "verify")[0]["ok"])

        bundle = self.path("bundle.db")
        self.assertEqual(self.json("cache", "export", bundle)[0]["kernels"], 3)
        other = self.path("other")
        self.assertEqual(self.json("cache", "import", bundle, "--cache-dir", other)[0]["added"], 3)
        self.assertEqual(self.json("cache", "merge", bundle, bundle, "--cache-dir", other)[0]["present"], 6)
        (served,) = self.json("run", "--heads", "1", "--seqlen-q", "9", "--head-dim", "16", "--cache-dir", self.path("empty"),
                              FFPA_JIT_CACHE_PATH=bundle)
        self.assertEqual(served["cache"], "hit")

        for dry in ([], ["--dry-run"]):  # past 2^63: all is kept
            self.assertEqual(self.json("cache", "gc", "--limit", "10EB", *dry)[0]["kernels"], 0)
        (would,) = self.json("cache", "gc", "--limit", "0", "--dry-run")
        self.assertEqual((would["kernels"], self.json("cache", "stat")[0]["kernels"]), (3, 3))
        self.assertEqual(self.json("cache", "gc", "--limit", "0")[0]["kernels"], 3)
        self.assertEqual(self.json("cache", "stat")[0]["kernels"], 0)
        self.json("cache", "clear", "--cache-dir", other)
        self.assertEqual(self.json("cache", "stat", "--cache-dir", other)[0]["kernels"], 0)
        self.fails(4, ["CACHE_ERROR", "absent.db", "cache export"], "cache", "import", self.path("absent.db"))

    def test_a_cache_that_cannot_be_used_is_said(self):
        file = self.path("file")
        open(file, "w").close()
        (stat,) = self.json("cache", "stat", "--cache-dir", os.path.join(file, "below"))
        self.assertEqual((stat["path"], stat["mode"]), ("", "memory"))
        self.assertTrue(stat["reason"])
        self.assertTrue(self.json("run", *SMALL, "--cache-dir", os.path.join(file, "below"))[0]["ok"])


class Warmup(Cli):
    PROBLEM_FIELDS = {"heads", "kv_heads", "head_dim", "head_dim_v", "causal", "window", "softcap", "sinks", "dtype", "layers"}

    def config(self, name):
        return os.path.join(MODEL_CONFIGS, name + ".json")

    def test_published_models(self):
        for name in sorted(os.listdir(MODEL_CONFIGS)):
            if not name.endswith(".json"):
                continue
            with self.subTest(name):
                (out,) = self.json("warmup", os.path.join(MODEL_CONFIGS, name), "--target", "cpu", "--dry-run")
                self.assertTrue(out["problems"])
                for each in out["problems"]:
                    self.assertTrue(self.PROBLEM_FIELDS <= set(each))
                    self.assertFalse(each["refused"])
                    self.assertEqual(each["sinks"], name.startswith("gpt-oss"))
                self.assertEqual((out["compiled"], out["failed"]), ([], []))
        (out,) = self.json("warmup", self.config("gemma-3-27b-it"), "--target", "cpu,sm_90a", "--dry-run")
        self.assertEqual(len(out["problems"][0]["targets"]), 4)  # two targets, prefill and decode
        self.assertEqual([(each["layers"], each["window"]) for each in out["problems"]], [(52, [1023, 0]), (10, None)])

    def test_broken_configs_compile_nothing(self):
        file = self.path("config.json")
        with open(file, "w") as stream:
            json.dump({"model_type": "llama", "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": "four"}, stream)
        self.fails(2, [file, "num_attention_heads", "four"], "warmup", file, "--target", "cpu", "--json")
        with open(file, "w") as stream:
            json.dump({"problems": [{"heads": 2, "head_dim": 64, "windw": [1, 0]}]}, stream)
        self.fails(2, [file, "problems[0].windw"], "warmup", file, "--target", "cpu")
        for problem, words in (({"hedas": 2}, ["problems[0].hedas", "known: heads"]),  # before what is missing
                               ({"window": [18446744073709551615, 0]}, ["problems[0].window"]),  # -1 if it wrapped
                               ({"chunk": 9223372036854775808}, ["problems[0].chunk"]),
                               ({"heads": 4294967298}, ["problems[0].heads", "2147483647"]),
                               ({"layout": "nhd"}, ["problems[0].layout", "varlen"]),
                               ({"score_modifier": "score + t0[h]", "modifier_tensors": "t0=fp32:h"},
                                ["problems[0].modifier_tensors", "list"])):
            with open(file, "w") as stream:
                json.dump({"problems": [{"heads": 2, "head_dim": 64, **problem}]}, stream)
            self.fails(2, [file, *words], "warmup", file, "--target", "cpu")
        with open(file, "w") as stream:
            json.dump({"problems": []}, stream)
        self.fails(2, [file, "one problem or more"], "warmup", file, "--target", "cpu")
        self.fails(2, [self.path("absent.json")], "warmup", self.path("absent.json"))
        self.fails(2, ["sm_91"], "warmup", "--target", "sm_91")
        self.assertEqual(self.json("cache", "stat")[0]["kernels"], 0)

    def test_compiled_then_cached_then_hit(self):
        if not self.compiles_for_cpu():
            self.skipTest("no compiler for CPU kernels here")
        flags = ["--target", "cpu", "--dtype", "fp32", "--heads", "2", "--head-dim", "24", "--seqlen-q", "65"]
        (first,) = self.json("warmup", *flags)
        self.assertEqual([len(first[state]) for state in ("compiled", "cached", "failed")], [1, 0, 0])
        (second,) = self.json("warmup", *flags)
        self.assertEqual([len(second[state]) for state in ("compiled", "cached", "failed")], [0, 1, 0])
        (run,) = self.json("run", *flags[2:])
        self.assertEqual(run["cache"], "hit")
        # What it prints is a problem file.
        with open(self.path("again.json"), "w") as stream:
            json.dump({"problems": second["problems"]}, stream)
        (third,) = self.json("warmup", self.path("again.json"), "--target", "cpu")
        self.assertEqual(len(third["cached"]), 1)

    def test_without_a_cache_on_disk_nothing_is_compiled_in_vain(self):
        with open(self.path("file"), "w"):
            pass
        arguments = ("warmup", "--target", "cpu", "--cache-dir", self.path("file", "cache"))
        self.fails(4, ["no cache on disk", self.path("file"), "--cache-dir"], *arguments)
        (out,) = self.json(*arguments, "--dry-run")
        self.assertEqual(len(out["to_compile"]), 1)

    def test_a_full_disk_is_a_failure(self):
        """Writing fails at every point there is: what warmup calls compiled is in the cache."""
        if not self.compiles_for_cpu():
            self.skipTest("no compiler for CPU kernels here")
        codes = set()
        for limit in range(8192, 120000, 8192):
            cache = self.path(f"full{limit}")
            self.json("cache", "stat", "--cache-dir", cache)  # makes it

            def no_room():
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

            done = subprocess.run([FFPA_JIT, "warmup", "--target", "cpu", "--head-dim", "24", "--json", "--cache-dir", cache],
                                  env=self.env, text=True, capture_output=True, preexec_fn=no_room, timeout=300)
            self.assertIn(done.returncode, (0, 1, 4), done.stdout + done.stderr)
            codes.add(done.returncode)
            kernels = self.json("cache", "stat", "--cache-dir", cache)[0]["kernels"]
            if done.returncode == 0:
                self.assertEqual(kernels, 1, limit)
            else:
                self.assertIn("CACHE_ERROR", done.stdout + done.stderr, limit)
        self.assertTrue({0} < codes, codes)

    def test_no_compiler_is_said(self):
        (out,) = self.json("warmup", "--target", "cpu", "--head-dim", "24", "--family", "sdpa", code=3,
                           FFPA_JIT_CLANG_PLUGIN="/nonexistent/plugin.so")
        self.assertEqual(out["failed"][0]["status"], "NO_COMPILER")

    def test_killed_at_random_moments_it_goes_on(self):
        if not self.compiles_for_cpu():
            self.skipTest("no compiler for CPU kernels here")
        generator = random.Random(int.from_bytes(os.urandom(4), "little"))
        problems, kills, killed = 10, 0, 0
        for round_number in range(3):
            cache = self.path(f"killed{round_number}")
            file = self.path("problems.json")
            with open(file, "w") as stream:
                json.dump({"problems": [{"heads": 1, "head_dim": 8 * (i + 1), "seqlen_q": 16, "dtype": "fp32"}
                                        for i in range(problems)]}, stream)
            kept = 0
            for _ in range(10):
                kills += 1
                child = subprocess.Popen([FFPA_JIT, "warmup", file, "--target", "cpu", "--jobs", "2", "--cache-dir", cache],
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.env)
                time.sleep(generator.uniform(0.02, 0.6))
                killed += child.poll() is None
                child.send_signal(signal.SIGKILL)
                child.wait()
                (stat,) = self.json("cache", "stat", "--cache-dir", cache)
                self.assertGreaterEqual(stat["kernels"], kept, "a finished kernel was lost")
                kept = stat["kernels"]
                self.assertTrue(self.json("cache", "verify", "--cache-dir", cache)[0]["ok"])
            (end,) = self.json("warmup", file, "--target", "cpu", "--cache-dir", cache)
            self.assertEqual(len(end["cached"]), kept)
            self.assertEqual(len(end["cached"]) + len(end["compiled"]), problems)
            self.assertEqual(end["failed"], [])
        self.assertGreater(killed, 0, f"none of {kills} processes lived long enough to be killed")


class BenchAndVerify(Cli):
    def test_bench(self):
        out = self.json("bench", "--tasks", "self-attn,causal,decode-attn", "--dtype", "fp32", "--N", "64", "--D", "32",
                        "--heads", "2", "--min-time", "1")
        self.assertEqual([each["task"] for each in out], ["self-attn", "decode-attn", "causal"])
        for each in out:
            self.assertGreater(each["tflops"], 0)
            self.assertGreaterEqual(each["calls"], 3)
        self.fails(2, ["--tasks"], "bench", "--tasks", "nothing")

    def test_bench_compares_families(self):
        out = self.json("bench", "--tasks", "causal", "--dtype", "fp32", "--N", "32,64", "--D", "16", "--heads", "2",
                        "--families", "sdpa,portable,mma", "--min-time", "1", "--plot", self.path("plot.svg"))
        self.assertEqual([each["asked"] for each in out], ["sdpa", "portable", "mma"] * 2)
        for each in out:
            if each["asked"] == "mma":
                self.assertIn("mma", each["refused"])
            else:
                self.assertGreater(each["median_ms"], 0)
        with open(self.path("plot.svg")) as file:
            plot = file.read()
        self.assertTrue(plot.startswith("<svg") and plot.rstrip().endswith("</svg>"))
        self.assertIn("portable fp32 D=16", plot)

    def test_verify(self):
        out = self.json("verify", "--device", "cpu", "--dtype", "fp32", "--head-dim", "16")
        self.assertGreaterEqual(len(out), 15)
        for each in out:
            self.assertTrue(each["ok"], each)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
