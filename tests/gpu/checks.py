"""The checks of verify.py that are not one more problem: each returns {"ok", "detail", ...}."""

import concurrent.futures
import ctypes
import itertools
import math
import os
import statistics
import threading
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import binding
import reference


def tensors(batch, heads, heads_kv, nq, nk, d, dv, dtype):
    make = lambda h, n, c: torch.randn(batch, h, n, c, device="cuda", dtype=dtype)
    return make(heads, nq, d), make(heads_kv, nk, d), make(heads_kv, nk, dv), \
        torch.full((batch, heads, nq, dv), math.nan, device="cuda", dtype=dtype)


def dtypes_of(family):
    return (torch.float32, torch.float16, torch.bfloat16) if family in (b"sdpa", b"") else (torch.float16, torch.bfloat16)


def head_dims_of(family):
    """One of each schedule that a family has."""
    return {b"wgmma": (64, 256, 320, 512, 1024), b"mma": (64, 512)}.get(family, (64,))


class Elsewhere(Exception):
    """`family` does not serve the problem: another one would be checked instead."""


def launch(runtime, family, args):
    try:
        plan = runtime.prepare(args)
    except binding.Unsupported as refusal:
        raise Elsewhere(str(refusal)) from refusal
    if family and plan["family"] != family.decode():
        raise Elsewhere(f"{plan['family']} serves it: {plan['reason']}")
    runtime.forward(args)


def close(o, q, k, v, **rules):
    ref, _ = reference.attention(q, k, v, **rules)
    plain, _ = reference.attention(q, k, v, plain=True, **rules)
    error, plain_error = reference.relative_error(o, ref), reference.relative_error(plain, ref)
    return error <= reference.error_bar(plain_error, q.dtype, o.numel() // o.shape[-1])


def prepare_all(runtime, problems):
    """Compiles many at a time; what a family refuses, or serves by another, is said where it is launched."""
    def prepare(args):
        try:
            runtime.prepare(args)
        except binding.Unsupported:
            pass
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(prepare, problems))


def dropout_mask(runtime, family, small):
    """V = identity shows the mask: bit for bit that of torch's memory-efficient kernel."""
    mismatches = compared = elsewhere = 0
    shapes = [(2, 3, 40, 64), (1, 2, 17, 72)] + ([] if small else [(3, 4, 257, 200), (1, 8, 512, 512)])
    cases = []
    for (batch, heads, nq, nk), dtype, d, p in itertools.product(shapes, dtypes_of(family), head_dims_of(family), (0.1, 0.5)):
        q, k, _, o = tensors(batch, heads, heads, nq, nk, d, nk, dtype)
        v = torch.eye(nk, device="cuda", dtype=dtype).expand(batch, heads, nk, nk).contiguous()
        theirs, _, seed, offset = torch.ops.aten._scaled_dot_product_efficient_attention(q, k, v, None, False, p, False)
        seed, offset = int(seed) & (2 ** 64 - 1), int(offset) & (2 ** 64 - 1)
        args = binding.arguments(q, k, v, o, dropout=p, seed=seed, offset=offset, family=family)
        cases.append((args, o, theirs, (q, k, v)))
    prepare_all(runtime, [case[0] for case in cases])
    for args, o, theirs, _ in cases:
        try:
            launch(runtime, family, args)
        except Elsewhere:
            elsewhere += 1
            continue
        mismatches += ((o != 0) != (theirs != 0)).sum().item() + (~torch.isfinite(o)).sum().item()
        compared += o.numel()
    return {"ok": mismatches == 0 and compared > 0, "mismatches": mismatches,
            "detail": f"{mismatches} of {compared} elements differ; {elsewhere} of {len(cases)} cases of other families"}


def hidden_nan(runtime, family):
    """NaN and infinity in K and V of hidden keys: future keys (causal), padding (mask, bias), outside the window."""
    bad, elsewhere = [], 0
    cases = [(case, HiddenNan(family, *case))
             for case in itertools.product(dtypes_of(family), head_dims_of(family), ("causal", "mask", "bias", "window"))]
    prepare_all(runtime, [problem.args for _, problem in cases])
    for case, problem in cases:
        try:
            launch(runtime, family, problem.args)
        except Elsewhere:
            elsewhere += 1
            continue
        wrong = problem.judge()
        bad += [f"{case}: {wrong}"] if wrong else []
    return {"ok": not bad, "detail": "; ".join(bad) or f"{len(cases) - elsewhere} cases; {elsewhere} of other families"}


class HiddenNan:
    def __init__(self, family, dtype, d, how):
        q, k, v, o = tensors(2, 4, 2, 50, 150, d, d, dtype)
        self.clean = k.clone(), v.clone()
        self.q, self.k, self.v, self.o, self.how, self.rules = q, k, v, o, how, {}
        self.extra = {}
        if how == "causal":  # the last key is seen by the last row only: that row is NaN, no other
            k[:, :, -1], v[:, :, -1] = math.nan, math.inf
            self.rules = self.extra = {"causal": True}
        elif how == "window":
            k[:, :, :90], v[:, :, :90] = math.nan, math.inf
            self.rules = self.extra = {"window": (10, -1)}
        else:
            shown = torch.rand(2, 1, 1, 150, device="cuda") > 0.4
            k.masked_fill_(~shown.view(2, 1, 150, 1), math.nan)
            v.masked_fill_(~shown.view(2, 1, 150, 1), math.inf)
            self.rules = {"mask": shown}
            self.extra = self.rules if how == "mask" else {"bias": torch.where(shown, 0.0, -math.inf)}
        self.args = binding.arguments(q, k, v, o, family=family, **self.extra)

    def judge(self):
        rows = slice(0, 49) if self.how == "causal" else slice(None)
        ref, _ = reference.attention(self.q, *self.clean, **self.rules)
        error = reference.relative_error(self.o[:, :, rows], ref[:, :, rows])
        if not error < 1e-2:
            return f"error {error}"
        if self.how == "causal" and not torch.isnan(self.o[:, :, 49]).all():
            return "the row that sees NaN is finite"
        return None


def capture(runtime, family):
    """A captured call replays with the numbers that philox_state holds then; what was never prepared says so."""
    problems = [f"D={d}: {p}" for d in head_dims_of(family) for p in captured(runtime, family, d)] + unprepared(runtime)
    problems += [f"with workspace: {p}" for p in captured_with_workspace(runtime, family)]
    return {"ok": not problems, "detail": "; ".join(problems) or
            f"two replays of {len(head_dims_of(family))} head dims, and NOT_PREPARED where due"}


def captured(runtime, family, d):
    q, k, v, o = tensors(1, 2, 2, 100, 130, d, d, torch.float16)
    state = torch.tensor([11, 22], dtype=torch.int64, device="cuda")

    def args():
        return binding.arguments(q, k, v, o, causal=True, dropout=0.3, state=state, family=family)

    launch(runtime, family, args())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        runtime.forward(args())
    problems = []
    for seed, offset in ((11, 22), (2 ** 40 + 5, 3)):
        state.copy_(torch.tensor([seed, offset]))
        o.fill_(math.nan)
        graph.replay()
        torch.cuda.synchronize()
        keep = reference.dropout_keeps(seed, offset, 1, 2, 100, 130, 0.3, "cuda")
        if not close(o, q, k, v, causal=True, keep=keep, dropout=0.3):
            problems.append(f"replay with seed {seed} is wrong")
    return problems


def captured_with_workspace(runtime, family):
    """Memory that a captured call takes from the device's pool belongs to the graph: replays do not meet over it."""
    nq = 1 if family == b"mma" else 4000  # a few leftover tiles, or one query, share out their keys
    q, k, v, o = tensors(1, 9, 9, nq, 4096, 64, 64, torch.bfloat16)
    args = lambda: binding.arguments(q, k, v, o, family=family)
    launch(runtime, family, args())
    torch.cuda.synchronize()
    expected = o.clone()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        runtime.forward(args())
        runtime.forward(args())
    o.fill_(math.nan)
    for _ in range(3):
        graph.replay()
        runtime.forward(args())  # beside it, from the pool itself
    torch.cuda.synchronize()
    problems = [] if close(o, q, k, v) else ["replay is wrong"]
    return problems + ([] if torch.equal(o, expected) else ["replay gives other bits than the call"])


def unprepared(runtime):
    # What was never prepared must say so inside a capture, and leave the capture usable.
    q2, k2, v2, o2 = tensors(1, 1, 1, 10, 10, 23, 29, torch.float32)
    graph2 = torch.cuda.CUDAGraph()
    message = ""
    with torch.cuda.graph(graph2):
        q2.mul_(1.0)
        try:
            runtime.forward(binding.arguments(q2, k2, v2, o2))
        except RuntimeError as error:
            message = str(error)
    graph2.replay()
    torch.cuda.synchronize()
    return [] if message.startswith("status 11") else [f"an unprepared problem in a capture gave '{message}', not NOT_PREPARED"]


def streams(runtime, family):
    work = []
    dims = head_dims_of(family)
    for i in range(max(4, len(dims))):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            d = dims[i % len(dims)]
            q, k, v, o = tensors(1, 4, 2, 300 + i, 400, d, d, torch.float16)
            args = binding.arguments(q, k, v, o, stream=stream.cuda_stream, family=family)
        work.append((stream, q, k, v, o, args))
    torch.cuda.synchronize()
    failures = []

    def worker(args):
        try:
            for _ in range(50):
                runtime.forward(args)
        except RuntimeError as error:
            failures.append(str(error))

    threads = [threading.Thread(target=worker, args=(entry[5],)) for entry in work]
    [t.start() for t in threads]
    [t.join() for t in threads]
    torch.cuda.synchronize()
    failures += [f"stream {i} is wrong" for i, (_, q, k, v, o, _) in enumerate(work) if not close(o, q, k, v)]
    return {"ok": not failures, "detail": "; ".join(failures) or f"{50 * len(work)} launches from {len(work)} threads"}


def bare_thread(runtime, family):
    """A thread with no current context: the call works in the primary context, and leaves the thread without one."""
    q, k, v, o = tensors(1, 2, 2, 64, 64, 64, 64, torch.float16)
    torch.cuda.synchronize()
    args = binding.arguments(q, k, v, o, stream=0, family=family)
    driver = ctypes.CDLL("libcuda.so.1")
    seen = []

    def worker():
        context = ctypes.c_void_p()
        driver.cuCtxGetCurrent(ctypes.byref(context))
        seen.append(context.value)
        try:
            runtime.forward(args)
        except RuntimeError as error:
            seen.append(str(error))
        driver.cuCtxGetCurrent(ctypes.byref(context))
        seen.append(context.value)

    thread = threading.Thread(target=worker)
    thread.start()
    thread.join()
    torch.cuda.synchronize()
    ok = seen == [None, None] and close(o, q, k, v)
    return {"ok": ok, "detail": "context before and after: " + ", ".join(map(str, seen))}


def large_offsets(runtime, family):
    """Strides, a mask and a dropout index past 2^31 elements."""
    bad = []
    base = torch.empty(2 ** 32 + 2 ** 24, dtype=torch.bfloat16, device="cuda")
    # Batch, head and row strides whose products pass 2^31, in one buffer without overlap.
    view = lambda at: base.as_strided((2, 2, 20, 64), (2 ** 31, 2 ** 30 + 4096, 2 ** 22, 1), at)
    for at in (0, 1000, 2000, 3000):
        view(at).copy_(torch.randn(2, 2, 20, 64, device="cuda"))
    q, k, v, o = view(0), view(1000), view(2000), view(3000)
    o.fill_(math.nan)
    launch(runtime, family, binding.arguments(q, k, v, o, family=family))
    if not close(o.contiguous(), q.contiguous(), k.contiguous(), v.contiguous()):
        bad.append("strides")
    del q, k, v, o, base

    # Mask rows 2^27 apart: row 20 starts past 2^31.
    mask = torch.zeros(2 ** 27 * 33 + 100, dtype=torch.bool, device="cuda").as_strided((1, 1, 33, 100), (0, 0, 2 ** 27, 1))
    mask.copy_(torch.rand(1, 1, 33, 100, device="cuda") > 0.5)
    q, k, v, o = tensors(1, 1, 1, 33, 100, 64, 64, torch.float16)
    launch(runtime, family, binding.arguments(q, k, v, o, mask=mask, family=family))
    if not close(o, q, k, v, mask=mask.contiguous()):
        bad.append("mask")
    del mask

    # 3 x 2 x 30000 x 30000 probabilities: 5.4e9 dropout indices; the last rows of the last head are compared.
    n, p, seed = 30000, 0.5, 987654321
    q, k, v, o = tensors(3, 2, 1, n, n, 64, 64, torch.bfloat16)
    launch(runtime, family, binding.arguments(q, k, v, o, dropout=p, seed=seed, offset=5, family=family))
    keep = reference.dropout_keeps(seed, 5, 3, 2, n, n, p, "cuda", rows=(5, n - 16, n))[None, None]
    if not close(o[2:, 1:, -16:], q[2:, 1:, -16:], k[2:], v[2:], keep=keep, dropout=p):
        bad.append("dropout index")

    # More heads x batches than a grid's y or z dimension takes.
    q, k, v, o = tensors(70000, 1, 1, 9, 5, 8, 8, torch.float16)
    launch(runtime, family, binding.arguments(q, k, v, o, family=family))
    if not close(o, q, k, v):
        bad.append("70000 batches")
    return {"ok": not bad, "detail": "wrong: " + ", ".join(bad) if bad else "strides, mask, dropout index, 70000 batches"}


def launch_overhead(runtime, family):
    """Host time of a warm call beyond an empty cuLaunchKernel with as large an argument; ctypes costs both alike."""
    q, k, v, o = tensors(1, 1, 1, 8, 8, 8, 8, torch.float16)
    args = binding.arguments(q, k, v, o, family=family)
    call, handle, by_reference = runtime.lib.ffpa_jit_attention_forward, runtime.handle, ctypes.byref(args)
    runtime.forward(args)
    driver = ctypes.CDLL("libcuda.so.1")
    ptx = (".version 6.3\n.target sm_70\n.address_size 64\n"
           ".visible .entry empty(.param .align 8 .b8 p[432]) { ret; }\0").encode()
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    assert driver.cuModuleLoadData(ctypes.byref(module), ptx) == 0
    assert driver.cuModuleGetFunction(ctypes.byref(function), module, b"empty") == 0
    block = ctypes.create_string_buffer(432)
    parameters = (ctypes.c_void_p * 1)(ctypes.addressof(block))
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    launch = driver.cuLaunchKernel

    def per_call(work):
        times = []
        for _ in range(20):
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(200):
                work()
            times.append((time.perf_counter() - start) / 200 * 1e6)
        return statistics.median(times)

    ours = per_call(lambda: call(handle, by_reference))
    empty = per_call(lambda: launch(function, 1, 1, 1, 128, 1, 1, 0, stream, parameters, None))
    bare = per_call(lambda: runtime.lib.ffpa_jit_version())
    return {"ok": True, "ours_us": ours, "empty_launch_us": empty, "ctypes_us": bare,
            "detail": f"call {ours:.2f} us, empty launch {empty:.2f} us: {ours - empty:+.2f} us (through ctypes, whose "
                      f"shortest call takes {bare:.2f} us)"}


def median_ms(work, repeats=7):
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


def speed(runtime, family):
    """Ours over each torch backend that takes the problem, same process, random inputs: time ratios."""
    backends = {"math": SDPBackend.MATH, "efficient": SDPBackend.EFFICIENT_ATTENTION,
                "flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}
    rows, table = [], ["problem (B1 H16 N2048)            ours ms  TFLOP/s   ours / torch: " + "  ".join(f"{n:>9}" for n in backends)]
    for dtype in set(dtypes_of(family)) - {torch.float16}:
        for d in (64, 128, 256, 512):
            for causal in (False, True):
                q, k, v, o = tensors(1, 16, 16, 2048, 2048, d, d, dtype)
                args = binding.arguments(q, k, v, o, causal=causal, family=family)
                runtime.forward(args)
                ours = median_ms(lambda: runtime.forward(args))
                flops = 4 * 16 * 2048 * 2048 * d * (0.5 if causal else 1)
                row = {"dtype": str(dtype), "d": d, "causal": causal, "ms": ours, "tflops": flops / ours / 1e9}
                for name, backend in backends.items():
                    try:
                        with sdpa_kernel(backend):
                            row[name] = ours / median_ms(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal))
                    except RuntimeError:
                        row[name] = None  # this backend does not take the problem
                rows.append(row)
                cells = "  ".join(f"{row[n]:9.2f}" if row[n] else "        -" for n in backends)
                table.append(f"{str(dtype)[6:]:9} D={d:4} {'causal' if causal else 'full':7}     {ours:10.3f} {row['tflops']:8.1f}                  {cells}")
    best = max(r["tflops"] for r in rows)
    return {"ok": True, "rows": rows, "table": table, "detail": f"16 problems, best {best:.1f} TFLOP/s"}
