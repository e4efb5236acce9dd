#!/usr/bin/env python3
"""Verifies the CUDA device and a kernel family on a real GPU against fp64, torch's dropout masks and torch's speed.

    python3 tests/gpu/verify.py --library build/lib/libffpa_jit.so [--out DIR] [--thin | --small] [--family sdpa]

Needs torch and a GPU. Writes verify.json under --out (default $OUT, else the current directory), prints one table last,
exits 1 when anything is wrong. What a family refuses is counted, with its reasons. --thin: a sixth of the grid and no
timings. --grid-only: nothing but the grid. --prepare-only: compiles the grid's kernels into --cache-dir. --small: a few small problems and no timings, for compute-sanitizer:

    PYTORCH_NO_CUDA_MEMORY_CACHING=1 compute-sanitizer --tool memcheck python3 tests/gpu/verify.py --library ... --small
"""

import argparse
import concurrent.futures
import json
import math
import os
import sys
import tempfile
import time
import traceback
import types

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import binding  # noqa: E402
import checks  # noqa: E402
import problems  # noqa: E402
import reference  # noqa: E402


def padded(shape, row_padding, dtype, generator):
    """Random normal [..., rows, D] whose rows lie row_padding elements apart, NaN in between."""
    *front, columns = shape
    whole = torch.full((*front, columns + row_padding), math.nan, dtype=dtype, device="cuda")
    whole[..., :columns] = torch.randn(shape, generator=generator, device="cuda").to(dtype)
    return whole[..., :columns]


class Case:
    """One problem with tensors: .args to launch, .o/.lse to read, .judge() for errors."""

    def __init__(self, p, seed, family):
        self.p = p
        gen = torch.Generator("cuda").manual_seed(seed)
        batch, heads, heads_kv, nq, nk, d, dv = (p[n] for n in ("batch", "heads", "heads_kv", "nq", "nk", "d", "dv"))
        dtype, layout = p["dtype"], p["layout"]
        padding = 3 if layout == "odd" else 0
        self.lengths = [(nq, nk)] * batch
        if p["seqlens_k"]:  # the first sequence has all keys, or a few less; another may have none
            self.lengths = [(nq, max(nk - 3, 0) if b == 0 and p["pages"] else nk if b == 0 else (seed * 7919 + b * 31) % (nk + 1))
                            for b in range(batch)]
        if layout == "varlen":  # the last sequence has the full lengths, others are shorter, some empty
            self.lengths = [(max(nq - 3 * i * i, 0) if i % 2 else nq, max(nk - 7 * i, 0)) for i in range(batch)]
            self.lengths = [(min(q, k) if p["causal"] else q, k) for q, k in self.lengths]
            tq, tk = sum(q for q, _ in self.lengths), sum(k for _, k in self.lengths)
            make = lambda t, h, c: padded((t, h, c), 0, dtype, gen)
            q, k, v = make(tq, heads, d), make(tk, heads_kv, d), make(tk, heads_kv, dv)
            o = torch.full((tq, heads, dv), math.nan, dtype=dtype, device="cuda")
            lse_shape = (heads, tq)
        else:
            make = lambda n, h, c: padded((batch, n, h, c) if layout == "bnhd" else (batch, h, n, c), padding, dtype, gen)
            q, k, v = make(nq, heads, d), make(nk, heads_kv, d), make(nk, heads_kv, dv)
            o = torch.full_like(make(nq, heads, dv), math.nan)
            lse_shape = (batch, heads, nq)
        if p["large_logits"]:
            q *= 8
        self.q, self.k, self.v, self.o = q, k, v, o
        nk, block_table, k_given, v_given = self.keep_in_pages(gen) if p["pages"] else (nk, None, k, v)
        self.nk = nk  # the bound: what masks and dropout are as wide as
        seqlens_k = torch.tensor([n for _, n in self.lengths], device="cuda", dtype=torch.int32) if p["seqlens_k"] else None
        self.sinks = torch.randn(heads, generator=gen, device="cuda") * 2 if p["sinks"] else None
        self.t0 = None
        modifier = problems.MODIFIERS[p["modifier"]] if p["modifier"] else None
        if modifier and modifier.t0:
            self.t0 = modifier.t0(batch, heads, nq, nk, gen)
        self.lse = torch.full(lse_shape, math.nan, device="cuda") if p["lse"] else None
        size = dict(b=batch, h=heads, q=nq, k=nk)
        shape = lambda pattern: [size[name] if letter != "1" else 1 for name, letter in zip("bhqk", pattern)]
        self.mask = self.bias = None
        if p["mask"]:
            self.mask = torch.rand(shape(p["mask"]), generator=gen, device="cuda") > 0.3
            self.mask[..., :1, :] &= torch.rand(1, generator=gen, device="cuda") > 0.5  # sometimes a row of nothing
            if self.mask.shape[3] > 8:
                self.mask[..., : self.mask.shape[3] // 4] = False  # left padding
        if p["bias"]:
            bias = torch.randn(shape(p["bias"][0]), generator=gen, device="cuda")
            draw = torch.rand(bias.shape, generator=gen, device="cuda")
            bias[draw < 0.2] = -math.inf
            bias[draw > 0.97] = -6e4
            self.bias = bias.to(p["bias"][1])
        self.seed, self.offset = 1000 + seed * 0x100000001, 4 * seed + 1
        state = torch.tensor([self.seed, self.offset], dtype=torch.int64, device="cuda") if p["philox_state"] else None
        self.state = state
        cu = lambda which: torch.tensor([0] + [n[which] for n in self.lengths], device="cuda").cumsum(0).int()
        varlen = dict(cu_q=cu(0), cu_k=cu(1), max_q=nq, max_k=nk) if layout == "varlen" else {}
        self.keepalive = varlen, seqlens_k, block_table, k_given, v_given
        self.args = binding.arguments(
            q, k_given, v_given, o, lse=self.lse, mask=self.mask, bias=self.bias, scale=p["scale"], causal=p["causal"],
            window=p["window"] or (-1, -1), softcap=p["softcap"], dropout=p["dropout"], state=state,
            layout={"bnhd": binding.BNHD, "varlen": binding.VARLEN}.get(layout, binding.BHND), family=family,
            seed=0 if state is not None else self.seed, offset=0 if state is not None else self.offset,
            modifier=modifier.text if modifier else None, modifier_tensors=[self.t0] if self.t0 is not None else [],
            sinks=self.sinks, seqlens_k=seqlens_k, block_table=block_table, accumulate=int(p["fp16_accumulate"]), **varlen)

    def keep_in_pages(self, gen):
        """K and V in pages of a pool, in random order; rows of no sequence are NaN, entries past a sequence wild."""
        p, size = self.p, self.p["pages"]
        pages = -(-p["nk"] // size)
        order = torch.randperm(p["batch"] * pages + 2, generator=gen, device="cuda").int()
        table = torch.full((p["batch"], pages + 1), 0x3fffffff, device="cuda", dtype=torch.int32)[:, :pages]
        row = 1 if p["layout"] == "bnhd" else 2
        pools = []
        for dense in (self.k, self.v):
            shape = list(dense.shape)
            shape[0], shape[row] = len(order), size
            pools.append(torch.full(shape, math.nan, dtype=dense.dtype, device="cuda"))
        for b, (_, keys) in enumerate(self.lengths):
            for i in range(-(-keys // size)):
                page = int(order[b * pages + i])
                table[b, i] = page
                count = min(size, keys - i * size)
                for pool, dense in zip(pools, (self.k, self.v)):
                    pool[page].narrow(row - 1, 0, count).copy_(dense[b].narrow(row - 1, i * size, count))
        return pages * size, table, *pools

    def sequences(self):
        """(q, k, v, o, lse, mask, bias, keep) per batch entry, each [1, H, N, D]."""
        p = self.p
        keep_all = None
        if p["dropout"]:
            keep_all = reference.dropout_keeps(self.seed, self.offset, p["batch"], p["heads"], p["nq"], self.nk,
                                               p["dropout"], "cuda")
        q_at = k_at = 0
        for b, (nq, nk) in enumerate(self.lengths):
            if p["layout"] == "varlen":
                pick = lambda t, at, n: t[at:at + n].transpose(0, 1)[None]
                q, o = pick(self.q, q_at, nq), pick(self.o, q_at, nq)
                k, v = pick(self.k, k_at, nk), pick(self.v, k_at, nk)
                lse = self.lse[:, q_at:q_at + nq][None] if self.lse is not None else None
                q_at, k_at = q_at + nq, k_at + nk
            else:
                pick = lambda t: t[b:b + 1].transpose(1, 2) if p["layout"] == "bnhd" else t[b:b + 1]
                q, k, v, o = pick(self.q), pick(self.k)[:, :, :nk], pick(self.v)[:, :, :nk], pick(self.o)
                lse = self.lse[b:b + 1] if self.lse is not None else None

            def cut(t):
                if t is None:
                    return None
                t = t[b:b + 1] if t.shape[0] > 1 else t
                t = t[:, :, :nq] if t.shape[2] > 1 else t
                return t[..., :nk] if t.shape[3] > 1 else t
            keep = keep_all[b:b + 1, :, :nq, :nk] if keep_all is not None else None
            yield q, k, v, o, lse, cut(self.mask), cut(self.bias), keep, self.modifier_of(b, nq, nk)

    def modifier_of(self, b, nq, nk):
        if not self.p["modifier"]:
            return None
        whole = lambda n, *shape: torch.arange(n, device="cuda").view(shape)
        e = types.SimpleNamespace(b=torch.tensor(b, device="cuda"), h=whole(self.p["heads"], 1, -1, 1, 1), q=whole(nq, 1, 1, -1, 1),
                                  k=whole(nk, 1, 1, 1, -1), nq=nq, nk=nk, nh=self.p["heads"], t0=self.t0)

        def modified(score):
            e.score = score
            return problems.MODIFIERS[self.p["modifier"]].torch(e).to(score.dtype)
        return modified

    def judge(self):
        p = self.p
        outs, refs, plains, lse_error = [], [], [], 0.0
        for q, k, v, o, lse, mask, bias, keep, modifier in self.sequences():
            if q.shape[2] == 0:
                continue
            rules = dict(scale=p["scale"], causal=p["causal"], window=p["window"] or (-1, -1), mask=mask, bias=bias,
                         softcap=p["softcap"], keep=keep, dropout=p["dropout"], modifier=modifier, sinks=self.sinks)
            ref, ref_lse = reference.attention(q, k, v, **rules)
            plain, plain_lse = reference.attention(q, k, v, plain=True, **rules)
            outs.append(o.reshape(-1)), refs.append(ref.reshape(-1)), plains.append(plain.reshape(-1))
            if lse is None:
                continue
            infinite = ref_lse == -math.inf
            if not torch.equal(lse == -math.inf, infinite) or torch.isnan(lse).any():
                lse_error = math.inf
                continue
            error = lambda t: ((t.double() - ref_lse).abs() / ref_lse.abs().clamp(min=1))[~infinite].max().item() \
                if (~infinite).any() else 0.0
            if error(lse) > 1.2 * error(plain_lse) + 2.0 ** -18:
                lse_error = max(lse_error, error(lse))
        if not outs:
            return 0.0, 0.0, 1.0, 0.0
        out, ref, plain = torch.cat(outs), torch.cat(refs), torch.cat(plains)
        error, plain_error = reference.relative_error(out, ref), reference.relative_error(plain, ref)
        bar = reference.error_bar(plain_error, p["dtype"], ref.numel() // p["dv"])
        if p["fp16_accumulate"]:  # permitted, not demanded
            bar, lse_error = max(bar, 2.0 ** -7), lse_error if lse_error > 2.0 ** -7 else 0.0
        return error, plain_error, bar, lse_error


def text(p):
    words = [str(p["dtype"]).split(".")[-1], p["layout"], f"B{p['batch']} H{p['heads']}/{p['heads_kv']} N{p['nq']}x{p['nk']} D{p['d']}/{p['dv']}"]
    words += [f"{name}={p[name]}" for name in problems.SWITCHES
              if name not in ("group", "few_queries") and p[name] not in (None, False, 0.0) or (name == "scale" and p[name] is not None)]
    return " ".join(words)


def prepare_grid(runtime, family, small, thin):
    """(cases, plans, reasons of what the family refused with their counts): every kernel of the grid compiled."""
    cases = [Case(p, seed, family) for seed, p in enumerate(problems.grid(family.decode(), small, thin))]
    torch.cuda.synchronize()

    def prepare(case):
        try:
            plan = runtime.prepare(case.args)
        except binding.Unsupported as refusal:
            return str(refusal)
        return plan if plan["family"] == (family.decode() or plan["family"]) else plan["reason"]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        plans = list(pool.map(prepare, cases))
    refused = {}
    for plan in plans:
        if isinstance(plan, str):
            reason = plan.split(": ")[-1][:100]
            refused[reason] = refused.get(reason, 0) + 1
    cases, plans = zip(*[(case, plan) for case, plan in zip(cases, plans) if not isinstance(plan, str)])
    return cases, plans, refused


def run_grid(runtime, family, small, thin):
    started = time.time()
    cases, plans, refused = prepare_grid(runtime, family, small, thin)
    compiled = time.time()
    rows, wrong = [], []
    for case, plan in zip(cases, plans):
        runtime.forward(case.args)
        torch.cuda.synchronize()
        error, plain_error, bar, lse_error = case.judge()
        ok = error <= bar and lse_error == 0
        rows.append(dict(problem=text(case.p), config=plan["config"], compile_ms=plan["compile_ms"], error=error,
                         plain_error=plain_error, bar=bar, lse_error=lse_error, ok=ok))
        if not ok:
            wrong.append(rows[-1])
            print("WRONG", rows[-1], flush=True)
    ratio = {}
    for case, row in zip(cases, rows):
        if row["plain_error"] > 0 and row["error"] < math.inf:
            kind = str(case.p["dtype"]).split(".")[-1]
            ratio[kind] = max(ratio.get(kind, 0), row["error"] / row["plain_error"])
    return dict(ok=not wrong, count=len(rows), refused=refused, wrong=len(wrong), prepare_s=compiled - started,
                run_s=time.time() - compiled, worst_compile_ms=max(p["compile_ms"] for p in plans),
                worst_error_over_plain=ratio, problems=rows,
                detail=f"{len(rows) - len(wrong)}/{len(rows)} right; worst error / plain error "
                       + ", ".join(f"{k} {v:.2f}" for k, v in sorted(ratio.items()))
                       + f"; compile max {max(p['compile_ms'] for p in plans):.0f} ms"
                       + "".join(f"; {n} refused: {reason}" for reason, n in refused.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--out", default=os.environ.get("OUT", "."))
    parser.add_argument("--cache-dir", help="default: a fresh one")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--thin", action="store_true")
    parser.add_argument("--grid-only", action="store_true")
    parser.add_argument("--prepare-only", action="store_true")
    parser.add_argument("--family", default="sdpa")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    family = options.family.encode()

    with tempfile.TemporaryDirectory() as fresh:
        runtime = binding.Runtime(options.library, options.cache_dir or fresh)
        if options.prepare_only:
            _, plans, _ = prepare_grid(runtime, family, options.small, options.thin)
            print(f"{len(plans)} plans, slowest compile {max(p['compile_ms'] for p in plans):.0f} ms")
            return 0
        steps = [("grid against fp64", lambda: run_grid(runtime, family, options.small, options.thin)),
                 ("dropout mask = torch's", lambda: checks.dropout_mask(runtime, family, options.small)),
                 ("hidden NaN stays hidden", lambda: checks.hidden_nan(runtime, family)),
                 ("capture and replay", lambda: checks.capture(runtime, family)),
                 ("four streams", lambda: checks.streams(runtime, family)),
                 ("thread without a context", lambda: checks.bare_thread(runtime, family))]
        if options.grid_only:
            steps = steps[:1]
        elif not options.small and not options.thin:
            steps += [("offsets past 2^31", lambda: checks.large_offsets(runtime, family)),
                      ("launch overhead", lambda: checks.launch_overhead(runtime, family)),
                      ("speed against torch", lambda: checks.speed(runtime, family))]
        results = {"device": torch.cuda.get_device_name(), "torch": torch.__version__,
                   "library": runtime.lib.ffpa_jit_version().decode()}
        table = []
        for name, step in steps:
            start = time.time()
            try:
                result = step()
            except Exception as error:  # one broken step must not hide the others
                traceback.print_exc()
                result = {"ok": False, "detail": f"{type(error).__name__}: {error}"[:300]}
            result["seconds"] = round(time.time() - start, 1)
            results[name] = result
            table.append((name, result["ok"], result["seconds"], result["detail"]))
            os.makedirs(options.out, exist_ok=True)
    with open(os.path.join(options.out, "verify.json"), "w") as file:
        json.dump(results, file, indent=1, default=str)
    for line in results.get("speed against torch", {}).get("table", []):
        print(line)
    print(f"\n{results['device']}, torch {results['torch']}, libffpa_jit {results['library']}")
    for name, ok, seconds, detail in table:
        print(f"{'ok   ' if ok else 'WRONG'} {name:26} {seconds:6.1f} s  {detail}")
    return 0 if all(row[1] for row in table) else 1


if __name__ == "__main__":
    sys.exit(main())
