"""Fits what makes all-MiniLM-L6-v2 a judge of whether a text answers a question, and prints what it is worth.

    python benchmarks/fit_answering.py [--layers 6] [--epochs 5] [--seconds 900] [--save FILE]

The data are the scenes of `scenes/*.jsonl` beside this file: what invented people told an assistant, and sentences of
invented documents in their places, each with questions that some of them answer, mostly in other words, and questions
that none does, though much is like it. They were written by language models for this, without a view of the package or
of any evaluation data. A question is read beside each statement of its scene, beside some of other scenes of its kind,
and, for a part, without the words that hold a sentence together, as glosses of Chinese are. Moved are two thin matrices
beside each of the model's, its norms, and the weights of its output; what they hold is written to FILE in the form that
`tools/embeddings/answering.py` reads. Every tenth scene is left out and printed: how often the statement that is
likeliest answers, and how many pairs of a question with an answer and one without are ordered right.

Uses PyTorch, on a GPU where there is one: on an H100 some minutes, on two cores most of a day.
"""

import argparse
import json
import math
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from agentic_memory_bank.tools.embeddings.answering import glossed
from agentic_memory_bank.tools.embeddings.weights import default_folder

HERE = Path(__file__).parent
HIDDEN, HEADS = 384, 12
RANK = 16
RATE = 2e-3
QUESTIONS = 32
"""Questions of a batch."""
OTHERS = 2
"""Statements of other scenes that a question is read beside."""
KEPT = 0.998
"""What is saved is the mean of the steps, of which each counts so much of the next one."""
MOST_ASKED, MOST_READ = 40, 96
RIGHT = 3.0
"""What a statement that answers counts, beside one that does not."""
DROPPED = 0.1
TELEGRAPHIC = 0.15
"""The share of questions that are read, like their statements, without small words."""
_SMALL = re.compile(
    r"\b(?:an?|the|is|are|was|were|be|been|to|of|in|on|at|for|with|by|and|that|this|it|its|do|does|did|has|have|had"
    r"|will|would|'s|as|from)\b ?",
    re.IGNORECASE,
)
PARTS = {
    "attend": ("attention.self.query", "attention.self.key", "attention.self.value"),
    "attended": ("attention.output.dense",),
    "widen": ("intermediate.dense",),
    "narrow": ("output.dense",),
}
NORMS = {"attended": "attention.output.LayerNorm", "narrow": "output.LayerNorm"}


class Question(NamedTuple):
    """A question, and the statements of its scene: word pieces of each, as they are and without small words."""

    scene: str
    asked: Sequence[Sequence[int]]
    statements: Sequence[Sequence[Sequence[int]]]
    answers: frozenset[int]


class Moved(nn.Module):
    """A matrix of the model, which stays, and the two thin ones that are fitted."""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(weight, requires_grad=False), nn.Parameter(bias, requires_grad=False)
        self.thin = nn.Parameter(torch.randn(RANK, weight.shape[1]) / math.sqrt(weight.shape[1]))
        self.wide = nn.Parameter(torch.zeros(weight.shape[0], RANK))

    def forward(self, given: Tensor) -> Tensor:
        """What the matrix makes of its input, moved."""
        dropped = functional.dropout(given, DROPPED, self.training)
        fitted = functional.linear(functional.linear(dropped, self.thin), self.wide)
        return functional.linear(given, self.weight, self.bias) + fitted


class Model(nn.Module):
    """The default model with what is fitted."""

    def __init__(self, weights: dict[str, Tensor], layers: int) -> None:
        super().__init__()

        def norm(name: str) -> nn.LayerNorm:
            made = nn.LayerNorm(HIDDEN, eps=1e-12)
            made.weight.data, made.bias.data = weights[f"{name}.weight"].clone(), weights[f"{name}.bias"].clone()
            return made

        def table(name: str, fitted: bool = False) -> nn.Parameter:
            return nn.Parameter(weights[f"embeddings.{name}_embeddings.weight"].clone(), requires_grad=fitted)

        self.words, self.positions, self.kinds = table("word"), table("position"), table("token_type", fitted=True)
        self.norm = norm("embeddings.LayerNorm")
        self.layers = nn.ModuleList()
        for layer in range(layers):
            of = f"encoder.layer.{layer}."
            names = [name for some in PARTS.values() for name in some]
            parts = {
                name.replace(".", "_"): Moved(weights[f"{of}{name}.weight"], weights[f"{of}{name}.bias"])
                for name in names
            }
            parts |= {f"norm_{key}": norm(of + name) for key, name in NORMS.items()}
            self.layers.append(nn.ModuleDict(parts))
        self.head = nn.Linear(HIDDEN, 1)

    def forward(self, ids: Tensor, segments: Tensor, mask: Tensor) -> Tensor:
        """How likely each text answers, as the logarithm of the odds."""
        hidden = self.norm(self.words[ids] + self.positions[: ids.shape[1]] + self.kinds[segments])
        seen_by = mask[:, None, None, :].bool()
        for layer in self.layers:
            query, key, value = (
                layer[name.replace(".", "_")](hidden).unflatten(-1, (HEADS, -1)).transpose(1, 2)
                for name in PARTS["attend"]
            )
            seen = (
                functional.scaled_dot_product_attention(query, key, value, attn_mask=seen_by).transpose(1, 2).flatten(2)
            )
            told = functional.dropout(layer["attention_output_dense"](seen), DROPPED, self.training)
            hidden = layer["norm_attended"](hidden + told)
            wide = functional.gelu(layer["intermediate_dense"](hidden))
            narrow = functional.dropout(layer["output_dense"](wide), DROPPED, self.training)
            hidden = layer["norm_narrow"](hidden + narrow)
        pooled = functional.normalize((hidden * mask[..., None]).sum(1), dim=-1)
        return 10 * self.head(pooled)[:, 0]


def main(argv: list[str] | None = None) -> int:
    """Fit, print, and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=6, help="how many of the model's layers are used")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=math.inf, help="after which it ends, with as small steps")
    parser.add_argument("--scenes", type=Path, default=HERE / "scenes")
    parser.add_argument("--model", type=Path, help="folder of the default model (default: where the package finds it)")
    parser.add_argument("--save", type=Path, help="where to write what was fitted")
    given = parser.parse_args(argv)
    folder = given.model or default_folder()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    questions = list(_questions(given.scenes, tokenizer, glossed))
    scenes = list(dict.fromkeys(one.scene for one in questions))
    left = set(scenes[::10])
    fitted, held = ([one for one in questions if (one.scene in left) == out] for out in (False, True))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    weights = _weights(folder)
    model = Model(weights, given.layers).to(device)
    marks = tokenizer.encode("").ids
    sys.stdout.write(f"{len(fitted)} questions of {len(scenes) - len(left)} scenes on {device}\n")
    _fit(model, fitted, marks, device, given.epochs, given.seconds)
    _report(model, held, marks, device)
    if given.save:
        np.savez(given.save, **_changes(model, weights))
    return 0


def _weights(folder: Path) -> dict[str, Tensor]:
    return {name: one.float() for name, one in load_file(folder / "model.safetensors").items()}


def _questions(folder: Path, tokenizer: Any, in_english: Callable[[str], str]) -> Iterator[Question]:
    def read(text: str) -> Sequence[Sequence[int]]:
        text = in_english(text)
        encoded = tokenizer.encode_batch([text, _SMALL.sub("", text)], add_special_tokens=False)
        return [one.ids for one in encoded]

    for path in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf8").splitlines()):
            scene = json.loads(line)
            given = [
                f"{one['place']}: {one['text']}" if one.get("place") else one["text"] for one in scene["statements"]
            ]
            statements = [read(text) for text in given]
            for one in scene["questions"]:
                yield Question(f"{path.stem} {number}", read(one["q"]), statements, frozenset(one["answers"]))


def _batch(pairs: Sequence[tuple[Sequence[int], Sequence[int]]], marks: Sequence[int], device: str) -> list[Tensor]:
    cut = [(asked[:MOST_ASKED], said[: MOST_READ - 3 - len(asked[:MOST_ASKED])]) for asked, said in pairs]
    width = max(len(asked) + len(said) for asked, said in cut) + 3
    ids, segments, mask = (np.zeros((len(cut), width), dtype=np.int64) for _ in range(3))
    for row, (asked, said) in enumerate(cut):
        between, end = len(asked) + 2, len(asked) + len(said) + 3
        ids[row, :end] = (marks[0], *asked, marks[1], *said, marks[1])
        segments[row, between:end] = 1
        mask[row, :end] = 1
    return [torch.from_numpy(one).to(device, non_blocking=True) for one in (ids, segments, mask)]


def _fit(
    model: Model, questions: Sequence[Question], marks: Sequence[int], device: str, epochs: int, seconds: float
) -> None:
    chosen = np.random.default_rng(0)
    moved = [one for one in model.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(moved, lr=RATE, weight_decay=0.01)
    mean = [one.detach().clone() for one in moved]
    kinds = defaultdict[str, list[Question]](list)
    for one in questions:
        kinds[_kind(one)].append(one)
    steps, step, begun = epochs * math.ceil(len(questions) / QUESTIONS), 0, time.monotonic()
    for epoch in range(epochs):
        order, told = chosen.permutation(len(questions)), 0.0
        model.train()
        for start in range(0, len(order), QUESTIONS):
            step += 1
            done = max(step / steps, (time.monotonic() - begun) / seconds)
            if done > 1:
                break
            for group in optimizer.param_groups:
                group["lr"] = RATE * min(1.0, done / 0.08) * max(0.02, 1 - done)
            pairs, right, of = [], list[bool](), list[int]()
            for number, at in enumerate(order[start : start + QUESTIONS]):
                one, form = questions[at], int(chosen.random() < TELEGRAPHIC)
                alike = kinds[_kind(one)]
                others = [alike[int(chosen.integers(len(alike)))] for _ in range(OTHERS)]
                beside = [other.statements[int(chosen.integers(len(other.statements)))] for other in others]
                pairs += [(one.asked[form], said[form]) for said in (*one.statements, *beside)]
                right += [place in one.answers for place in range(len(one.statements))] + [False] * OTHERS
                of += [number] * (len(one.statements) + OTHERS)
            with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
                logits = model(*_batch(pairs, marks, device)).float()
            loss = _loss(logits, torch.tensor(right, device=device), torch.tensor(of, device=device))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(moved, 1.0)
            optimizer.step()
            with torch.no_grad():
                for kept, now in zip(mean, moved, strict=True):
                    kept.lerp_(now, 1 - min(KEPT, step / (step + 10)))
            told += float(loss.detach()) if step % 10 == 0 else 0.0
        sys.stdout.write(
            f"epoch {epoch + 1}: loss {10 * told * QUESTIONS / len(order):.3f}, {time.monotonic() - begun:.0f} s\n"
        )
        sys.stdout.flush()
    with torch.no_grad():
        for kept, now in zip(mean, moved, strict=True):
            now.copy_(kept)


def _kind(question: Question) -> str:
    """Chinese, of documents, of people: the file of its scene without the number."""
    return question.scene.partition("_")[0]


def _loss(logits: Tensor, right: Tensor, of: Tensor) -> Tensor:
    """That of each pair, and of the choice among the statements where one answers."""
    each = functional.binary_cross_entropy_with_logits(logits, right.float(), pos_weight=logits.new_tensor(RIGHT))
    count = int(of.max()) + 1
    whole, answering = (logits.new_zeros(count).index_add(0, of, one) for one in (logits.exp(), logits.exp() * right))
    asked = answering > 0
    return (
        each
        + 0.5 * torch.where(asked, (whole.clamp_min(1e-9) / answering.clamp_min(1e-9)).log(), 0.0).sum() / asked.sum()
    )


def _logits(
    model: Model, pairs: Sequence[tuple[Sequence[int], Sequence[int]]], marks: Sequence[int], device: str
) -> np.ndarray:
    model.eval()
    logits = np.zeros(len(pairs), np.float32)
    order = sorted(range(len(pairs)), key=lambda place: len(pairs[place][0]) + len(pairs[place][1]))
    with torch.no_grad(), torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
        for start in range(0, len(order), 512):
            batch = order[start : start + 512]
            logits[batch] = model(*_batch([pairs[place] for place in batch], marks, device)).float().cpu().numpy()
    return logits


def _report(model: Model, questions: Sequence[Question], marks: Sequence[int], device: str) -> None:
    pairs = [(one.asked[0], said[0]) for one in questions for said in one.statements]
    ends = np.cumsum([len(one.statements) for one in questions])
    found = list(zip(questions, np.split(_logits(model, pairs, marks, device), ends[:-1]), strict=True))
    for name, some in groupby(found, lambda one: one[0].scene.split()[0]):
        _line(name, list(some))
    _line("all", found)


def _line(name: str, found: Sequence[tuple[Question, np.ndarray]]) -> None:
    told = [(float(logits.max()), int(logits.argmax()) in one.answers) for one, logits in found if one.answers]
    without = np.array([float(logits.max()) for one, logits in found if not one.answers])
    ordered = np.mean([[best > other for other in without] for best, _ in told])
    first = np.mean([is_right for _, is_right in told])
    sys.stdout.write(f"{name}: first {first:.3f} of {len(told)}, ordered {ordered:.3f}\n")


def _changes(model: Model, weights: dict[str, Tensor]) -> dict[str, np.ndarray]:
    """What was fitted, in the names of `tools/embeddings/minilm.py`."""

    def half(one: Tensor) -> np.ndarray:
        return one.detach().half().cpu().numpy()

    def added(one: Tensor, name: str) -> np.ndarray:
        return half(one.detach().cpu() - weights[name])

    changes = {"head": half(10 * model.head.weight[0]), "bias": half(10 * model.head.bias[0])}
    changes["add:kinds"] = added(model.kinds, "embeddings.token_type_embeddings.weight")
    norms = {"": (model.norm, "embeddings.LayerNorm")}
    for number, layer in enumerate(model.layers):
        norms |= {
            f"{number}.{key}.": (layer[f"norm_{key}"], f"encoder.layer.{number}.{name}") for key, name in NORMS.items()
        }
        for key, names in PARTS.items():
            parts = [layer[name.replace(".", "_")] for name in names]
            changes[f"in:{number}.{key}"] = np.stack([half(part.thin.T) for part in parts])
            changes[f"out:{number}.{key}"] = np.stack([half(part.wide.T) for part in parts])
    for key, (norm, name) in norms.items():
        changes[f"add:{key}scale"] = added(norm.weight, f"{name}.weight")
        changes[f"add:{key}shift"] = added(norm.bias, f"{name}.bias")
    return changes


if __name__ == "__main__":
    sys.exit(main())
