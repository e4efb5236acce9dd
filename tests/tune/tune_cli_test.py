"""Drives `ffpa-jit tune` on this machine's CPU: records, resumes, ranks, reports, exports, kills.

Usage: tune_cli_test.py PATH_TO_FFPA_JIT [unittest options]
Needs nothing but Python's standard library. Where no compiler makes CPU kernels, what needs one is skipped.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

FFPA_JIT = sys.argv[1]
SMALL = ["--device", "cpu", "--dtype", "fp32", "--heads", "2", "--head-dim", "16", "--threads", "1"]
QUICK = ["--budget", "0.2", "--max-candidates", "4"]


class Tune(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.mkdtemp(prefix="ffpa_jit_tune_")
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        launchers = ("FFPA_", "XDG_", "NO_COLOR", "OMPI_", "PMI_", "SLURM_")
        self.env = {key: value for key, value in os.environ.items()
                    if not key.startswith(launchers) or key == "FFPA_JIT_CLANG_PLUGIN"}
        self.env["FFPA_JIT_CACHE_DIR"] = self.path("cache")
        self.env["FFPA_JIT_NUM_THREADS"] = "1"

    def path(self, *names):
        return os.path.join(self.scratch, *names)

    def cli(self, *arguments, code=0, **env):
        done = subprocess.run([FFPA_JIT, *map(str, arguments)], capture_output=True, text=True, timeout=120,
                              env={**self.env, **env})
        self.assertEqual(done.returncode, code, f"{arguments}\n{done.stdout}\n{done.stderr}")
        return done

    def json(self, *arguments, code=0, **env):
        return [json.loads(line) for line in self.cli(*arguments, "--json", code=code, **env).stdout.splitlines()]

    def needs_compiler(self):
        (doctor,) = self.json("doctor")
        clang = [each for each in doctor["findings"] if each["what"] == "compiler clang"]
        if not clang or clang[0]["state"] != "ok":
            self.skipTest("no compiler makes CPU kernels here: the Clang plugin is not built")

    def test_dry_run_runs_nothing(self):
        (out,) = self.json("tune", *SMALL, "--seqlen-q", "32", "--dry-run")
        self.assertEqual(out["state"], "planned")
        self.assertGreater(out["candidates"], 1)
        (stat,) = self.json("cache", "stat")
        self.assertEqual((stat["tunings"], stat["kernels"]), (0, 0))

    def test_usage_errors(self):
        for words, arguments in (("--mode", ["--mode", "slow"]), ("--gpus", ["--gpus", "none"]),
                                 ("--tasks", ["--full-tasks", "--tasks", "nothing"])):
            self.assertIn(words, self.cli("tune", *arguments, code=2).stderr)
        self.assertIn("/no/such", self.cli("tune", "--device", "cpu", "--from", "/no/such", code=2).stderr)
        with open(self.path("broken.jsonl"), "w") as file:
            file.write('{"problem": "forward"}\n')
        self.assertIn("broken.jsonl:1", self.cli("tune", "--device", "cpu", "--from", self.path("broken.jsonl"), code=2).stderr)
        out = self.cli("tune", "--device", "emu:sm_80", "--seqlen-q", "16", "--heads", "1", code=3).stdout
        self.assertIn("refused", out)

    def test_tune_serve_resume_export(self):
        self.needs_compiler()
        problem = [*SMALL, "--seqlen-q", "64"]
        (out,) = self.json("tune", *problem, *QUICK, "--report", self.path("report.html"))
        self.assertIn(out["state"], ("tuned", "default"))
        self.assertGreater(out["median_us"], 0)
        self.assertGreaterEqual(len(out["tried"]), 2)
        self.assertEqual(out["tried"][0]["config"], out["default_config"])
        self.assertEqual(sum(each["state"] == "winner" for each in out["tried"]), 1)
        with open(self.path("report.html")) as file:
            report = file.read()
        for words in ("<svg", out["config"], out["problem"], "</html>"):
            self.assertIn(words, report)
        self.assertNotIn("http", report.replace("http://www.w3.org/2000/svg", ""), "the report refers to nothing else")
        (kept,) = self.json("tune", "--list")
        self.assertEqual([kept[name] for name in ("problem", "bucket", "family", "config", "median_us")],
                         [out[name] for name in ("problem", "bucket", "family", "config", "median_us")])
        # It is kept, and serves.
        explain = ["explain", "--device", "cpu", *SMALL[2:8], "--seqlen-q", "64"]
        (seen,) = self.json(*explain)
        self.assertEqual(seen["config"], out["config"])
        self.assertIn("config tuned for q=64 k=64 heads=2", seen["tuning"])
        (skipping,) = self.json(*explain, FFPA_JIT_SKIP_TUNED="1")
        self.assertIn("none", skipping["tuning"])
        # The same command again measures nothing; --overwrite does.
        (again,) = self.json("tune", *problem, *QUICK)
        self.assertEqual((again["state"], again["config"]), ("present", out["config"]))
        (anew,) = self.json("tune", *problem, *QUICK, "--overwrite", "--export", self.path("tuned.json"))
        self.assertIn(anew["state"], ("tuned", "default"))
        with open(self.path("tuned.json")) as file:
            exported = json.load(file)
        self.assertEqual(len(exported["tunings"]), anew["state"] == "tuned")

    def test_a_tuning_file_serves(self):
        (planned,) = self.json("tune", *SMALL, "--seqlen-q", "64", "--dry-run", "--export", self.path("empty.json"))
        with open(self.path("empty.json")) as file:
            tunings = json.load(file)
        other = "block_m=16 block_n=32"
        self.assertNotEqual(planned["default_config"], other)
        tunings["tunings"] = [{"problem": planned["problem"], "shape": "sdpa " + planned["bucket"], "family": "sdpa",
                               "config": other, "median_us": 1, "spread_us": 0.1, "runner_up": "", "runner_up_us": 0,
                               "samples": 10, "library_version": "0.1.0", "driver_version": ""}]
        os.mkdir(self.path("tuned"))
        with open(self.path("tuned", "here.json"), "w") as file:
            json.dump(tunings, file)
        explain = ["explain", "--device", "cpu", *SMALL[2:8]]
        for length in ("64", "150"):  # its own bucket, and one beside it
            (seen,) = self.json(*explain, "--seqlen-q", length, FFPA_TUNED_CONFIG_DIR=self.path("tuned"))
            self.assertEqual(seen["config"], other)
            self.assertIn("here.json", seen["tuning"])
        (seen,) = self.json(*explain, "--seqlen-q", "4096", FFPA_TUNED_CONFIG_DIR=self.path("tuned"))
        self.assertIn("none", seen["tuning"])
        tunings["tunings"][0]["config"] = "block_m=16 block_n=17"
        with open(self.path("tuned", "here.json"), "w") as file:
            json.dump(tunings, file)
        (seen,) = self.json(*explain, "--seqlen-q", "64", FFPA_TUNED_CONFIG_DIR=self.path("tuned"))
        self.assertEqual(seen["config"], planned["default_config"])

    def test_record_then_tune_by_ranks(self):
        self.needs_compiler()
        record = self.path("problems.jsonl")
        for length in ("16", "16", "40", "100"):  # the second is the first again
            self.cli("run", "--device", "cpu", *SMALL[2:8], "--seqlen-q", length, "--repeat", "1", FFPA_JIT_RECORD=record)
        with open(record) as file:
            self.assertEqual(len(file.readlines()), 4)
        seen = []
        for rank in ("0", "1"):
            out = self.json("tune", "--device", "cpu", "--threads", "1", "--from", record, *QUICK,
                            OMPI_COMM_WORLD_RANK=rank, OMPI_COMM_WORLD_SIZE="2")
            seen += [each["bucket"] for each in out]
            self.assertTrue(all(each["state"] in ("tuned", "default") for each in out), out)
        self.assertEqual(sorted(seen), ["q=16 k=16 heads=2", "q=32 k=32 heads=2", "q=64 k=64 heads=2"])
        elsewhere = self.cli("tune", "--device", "emu:sm_80", "--from", record, code=2).stderr
        self.assertIn("emu:sm_80", elsewhere)
        (stat,) = self.json("cache", "stat")
        self.assertEqual(stat["tunings"], 3, "both ranks' results lie in one store")

    def test_problems_with_every_feature(self):
        self.needs_compiler()
        for flags in (["--layout", "varlen", "--batch", "3", "--causal"], ["--mask", "bool:11qk", "--lse"],
                      ["--mask", "bias:b1qk"], ["--dropout", "0.1", "--window", "7,3"],
                      ["--sinks", "--softcap", "20"], ["--seqlens-k"], ["--page-size", "16", "--seqlens-k"],
                      ["--score-modifier", "score - 0.1 * (q - k)"],
                      ["--score-modifier", "t0[b,q] == t0[b,k] ? score : -inf", "--modifier-tensor", "t0=int32:b,q"]):
            (out,) = self.json("tune", *SMALL, "--seqlen-q", "48", "--budget", "0.01", "--max-candidates", "2", *flags)
            self.assertIn(out["state"], ("tuned", "default"), (flags, out))
            self.assertNotIn(out["tried"][1]["state"], ("failed", "different"), (flags, out))

    def test_a_killed_run_goes_on(self):
        self.needs_compiler()
        grid = ["tune", "--device", "cpu", "--threads", "1", "--full-tasks", "--tasks", "self-attn,causal", "--dtypes",
                "fp32", "--D", "16", "--N", "16,32,64", *QUICK, "--json", "--export", self.path("tuned.json"), "--report",
                self.path("report.html")]
        process = subprocess.Popen([FFPA_JIT, *grid], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=self.env)
        first = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        # What was found until then is in the files already.
        with open(self.path("tuned.json")) as file:
            self.assertGreaterEqual(len(json.load(file)["tunings"]), first["state"] == "tuned")
        with open(self.path("report.html")) as file:
            self.assertIn(first["problem"], file.read())
        states = [each["state"] for each in map(json.loads, self.cli(*grid).stdout.splitlines())]
        self.assertEqual(len(states), 6)
        self.assertIn(first["state"], ("tuned", "default"))
        self.assertEqual(states[0], "present")
        self.assertNotEqual(states[-1], "present")
        # The worker of a killed parent ends too.
        deadline = time.time() + 10
        while time.time() < deadline and self.workers():
            time.sleep(0.1)
        self.assertEqual(self.workers(), [])

    def workers(self):
        """Command lines of worker processes that use this test's cache."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file, open(f"/proc/{pid}/environ", "rb") as env:
                    if b"tune-worker" in file.read() and self.env["FFPA_JIT_CACHE_DIR"].encode() in env.read():
                        found.append(pid)
            except OSError:
                pass
        return found


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
