"""The C ABI of libffpa_jit over ctypes, for torch tensors. Mirrors include/ffpa_jit/ffpa_jit.h; used by verify.py."""

import ctypes as c

import torch

DTYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2, torch.bool: 3, torch.int32: 4}
BHND, BNHD, VARLEN = 0, 1, 2
CUDA = 1
UNSUPPORTED = 2


class Unsupported(RuntimeError):
    """A family refused; the message has its reason."""


class Tensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("dtype", c.c_int32), ("rank", c.c_int32),
                ("sizes", c.c_int64 * 4), ("strides", c.c_int64 * 4)]

    @staticmethod
    def of(t):
        if t is None:
            return Tensor()
        return Tensor(t.data_ptr(), DTYPES[t.dtype], t.dim(), (c.c_int64 * 4)(*t.shape), (c.c_int64 * 4)(*t.stride()))


class Options(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("cache_dir", c.c_char_p), ("cache_path", c.c_char_p),
                ("template_dir", c.c_char_p), ("policy", c.c_int32), ("num_threads", c.c_int32),
                ("compile_time_limit_ms", c.c_int32), ("log_level", c.c_int32), ("has_log_level", c.c_int32),
                ("log_callback", c.c_void_p), ("log_user", c.c_void_p), ("fallback", c.c_void_p),
                ("fallback_user", c.c_void_p)]


class Args(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("device_kind", c.c_int32), ("device_index", c.c_int32),
                ("stream", c.c_void_p), ("layout", c.c_int32)] + \
               [(name, Tensor) for name in ("q", "k", "v", "o", "lse", "mask", "bias", "cu_seqlens_q",
                                            "cu_seqlens_k")] + \
               [("max_seqlen_q", c.c_int64), ("max_seqlen_k", c.c_int64), ("softmax_scale", c.c_double),
                ("has_softmax_scale", c.c_int32), ("is_causal", c.c_int32), ("window_left", c.c_int64),
                ("window_right", c.c_int64), ("softcap", c.c_double), ("dropout_p", c.c_double),
                ("philox_seed", c.c_uint64), ("philox_offset", c.c_uint64), ("philox_state", c.c_void_p),
                ("family", c.c_char_p), ("workspace", c.c_void_p), ("workspace_bytes", c.c_size_t),
                ("score_modifier", c.c_char_p), ("modifier_tensors", Tensor * 4), ("sinks", Tensor),
                ("seqlens_k", Tensor), ("block_table", Tensor), ("accumulate", c.c_int32), ("reserved", c.c_int32)]


class PlanInfo(c.Structure):
    _fields_ = [("struct_size", c.c_size_t)] + \
               [(name, c.c_char_p) for name in ("device", "target", "family", "route", "reason", "config",
                                                "problem")] + \
               [("cache_hit", c.c_int32), ("workspace_bytes", c.c_size_t), ("generate_ms", c.c_double),
                ("compile_ms", c.c_double), ("load_ms", c.c_double)]


def arguments(q, k, v, o, *, layout=BHND, lse=None, mask=None, bias=None, cu_q=None, cu_k=None, max_q=0, max_k=0,
              scale=None, causal=False, window=(-1, -1), softcap=0.0, dropout=0.0, seed=0, offset=0, state=None,
              stream=None, family=b"sdpa", modifier=None, modifier_tensors=(), sinks=None, seqlens_k=None, block_table=None,
              accumulate=0):
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    return Args(struct_size=c.sizeof(Args), device_kind=CUDA, device_index=q.device.index or 0, stream=stream,
                layout=layout, q=Tensor.of(q), k=Tensor.of(k), v=Tensor.of(v), o=Tensor.of(o), lse=Tensor.of(lse),
                mask=Tensor.of(mask), bias=Tensor.of(bias), cu_seqlens_q=Tensor.of(cu_q),
                cu_seqlens_k=Tensor.of(cu_k), max_seqlen_q=max_q, max_seqlen_k=max_k, softmax_scale=scale or 0.0,
                has_softmax_scale=scale is not None, is_causal=causal, window_left=window[0],
                window_right=window[1], softcap=softcap, dropout_p=dropout, philox_seed=seed, philox_offset=offset,
                philox_state=state.data_ptr() if state is not None else None, family=family,
                score_modifier=modifier.encode() if modifier else None,
                modifier_tensors=(Tensor * 4)(*[Tensor.of(t) for t in modifier_tensors]), sinks=Tensor.of(sinks),
                seqlens_k=Tensor.of(seqlens_k), block_table=Tensor.of(block_table), accumulate=accumulate)


class Runtime:
    def __init__(self, library, cache_dir):
        self.lib = c.CDLL(library)
        self.lib.ffpa_jit_last_error.restype = c.c_char_p
        self.lib.ffpa_jit_version.restype = c.c_char_p
        self.handle = c.c_void_p()
        options = Options(struct_size=c.sizeof(Options), cache_dir=cache_dir.encode())
        self.check(self.lib.ffpa_jit_runtime_create(c.byref(options), c.byref(self.handle)))

    def check(self, status):
        if status == UNSUPPORTED:
            raise Unsupported(self.lib.ffpa_jit_last_error().decode())
        if status != 0:
            raise RuntimeError(f"status {status}: {self.lib.ffpa_jit_last_error().decode()}")

    def forward(self, args):
        self.check(self.lib.ffpa_jit_attention_forward(self.handle, c.byref(args)))

    def prepare(self, args):
        """Compiles and loads; returns {family, reason, config, target, compile_ms, cache_hit}."""
        plan = c.c_void_p()
        self.check(self.lib.ffpa_jit_attention_prepare(self.handle, c.byref(args), c.byref(plan)))
        info = PlanInfo(struct_size=c.sizeof(PlanInfo))
        self.check(self.lib.ffpa_jit_plan_get_info(plan, c.byref(info)))
        facts = {"family": info.family.decode(), "reason": info.reason.decode(), "config": info.config.decode(), "target": info.target.decode(),
                 "compile_ms": info.compile_ms, "cache_hit": info.cache_hit}
        self.lib.ffpa_jit_plan_destroy(plan)
        return facts
