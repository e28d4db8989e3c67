"""Finds credentials in text: what must never be remembered unless a user asks for exactly that."""

import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from agentic_memory_bank.tools.text import Span

_LEAST_ENTROPY: Final = 3.5
"""Bits per character from which a long mixture of letters and digits is taken for a token."""
_FULL_WIDTH: Final = str.maketrans({code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {"’": "'", "‐": "-"})

_WORD: Final = (
    r"pass(?:word|phrase|code|wd)s?|pwd|pin(?:[ -]?code)?|api[ _-]?keys?|access[ _-]?keys?|secret[ _-]?keys?"
    r"|private[ _-]?keys?|client[ _-]?secret|auth[ _-]?tokens?|access[ _-]?tokens?|bearer[ _-]?tokens?"
    r"|tokens?(?! (?:limit|budget|count|window|size|usage|cost))"
    r"|credentials?|(?:security|verification|one-time|login|2fa|door|gate|alarm|safe|unlock) code|otp|cvv2?|cvc"
    r"|(?:seed|recovery|backup|mnemonic) (?:phrase|words?|codes?|key)|card number"
)
_CHINESE_WORD: Final = r"密码|密碼|口令|验证码|驗證碼|密钥|私钥|令牌|助记词|安全码|支付码|卡号|登录码|暗号"
_MENTION: Final = re.compile(rf"(?<![A-Za-z])(?:{_WORD})(?![A-Za-z])|{_CHINESE_WORD}", re.IGNORECASE)
_STATED: Final = re.compile(
    rf"(?<![A-Za-z])(?:{_WORD})(?![A-Za-z])(?:[^.!?\n:=]{{0,40}}?)(?:\s*[:=]+\s*|\s+(?:is|are|was|to|be)\b[\s:]*|'s\s+)"
    rf"\S+(?:(?<![.!?,;])[ \t]+(?!and\b|but\b)\S+){{0,24}}"
    rf"|(?:{_CHINESE_WORD})[^。！？\n:：=]{{0,12}}?(?:是|为|叫|改成|改为|换成|[:：=])\s*[^\s。！？]{{2,80}}",
    re.IGNORECASE,
)
_AS_SECRET: Final = re.compile(
    rf"[^\s]{{3,60}}\s+(?:is|as|for)\s+(?:my|our|the)\s+(?:[\w-]+\s+){{0,3}}?(?:{_WORD})(?![A-Za-z])", re.IGNORECASE
)
_FORMS: Final = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)"
    r"|\b(?:sk|pk|rk)[-_](?:[a-z]+[-_])*[A-Za-z0-9_-]{16,}"
    r"|\b(?:gh[pousr]_|github_pat_|glpat-|hf_|npm_|pypi-|dop_v1_|shpat_|xox[abeprs]-|ya29\.|SG\.|AIza|EAAC)[\w.-]{10,}"
    r"|\b(?:AKIA|ASIA|AGPA|AROA)[A-Z0-9]{12,}\b"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"
    r"|\b(?i:secret)\s*[:=]\s*\S{4,}"
    r"|\b[Bb]earer\s+[\w.~+/-]{12,}=*"
    r"|\b[a-z][a-z0-9+.-]*://[^\s/:@]+:[^\s/@]+@\S+"
    r"|\bssh-(?:rsa|ed25519)\s+[A-Za-z0-9+/=]{40,}"
)
_LONG_TOKEN: Final = re.compile(r"(?<![\w/.:@-])[A-Za-z0-9_+/=-]{20,}(?![\w@])")
_DIGITS: Final = re.compile(r"(?<![\d.,])\d(?:[ -]{0,2}\d){12,18}(?![\d])")


def secrets_in(text: str) -> list[Span]:
    """The stretches of a text that hold a credential, in order; they may overlap.

    Finds keys and tokens by their forms and their randomness, private keys, card numbers by their check digit,
    addresses with a password in them, and whatever is said to be a password, a PIN, a code or a token.
    """
    plain = text.translate(_FULL_WIDTH)
    return sorted({*_formed(plain), *_stated(plain), *_random(plain), *_cards(plain)})


def mentions_secret(text: str) -> bool:
    """Whether a text speaks of a credential, such as the question for a password."""
    return _MENTION.search(text.translate(_FULL_WIDTH)) is not None


def _formed(text: str) -> Iterator[Span]:
    return (found.span() for found in _FORMS.finditer(text))


def _stated(text: str) -> Iterator[Span]:
    yield from (found.span() for pattern in (_STATED, _AS_SECRET) for found in pattern.finditer(text))


def _random(text: str) -> Iterator[Span]:
    return (found.span() for found in _LONG_TOKEN.finditer(text) if _is_random(found[0]))


def _is_random(token: str) -> bool:
    """Whether a token mixes characters as no word, path or phrase does."""
    kinds = sum(any(map(test, token)) for test in (str.islower, str.isupper, str.isdigit))
    if not any(map(str.isdigit, token)) or kinds < 2:
        return False
    if token.isdigit() or _changes(token) < len(token) / 6:
        return False
    return _entropy(token) >= _LEAST_ENTROPY or len(set(token.lower()) - set("0123456789abcdef")) == 0


def _changes(token: str) -> int:
    """How often letters and digits take turns, or small and capital letters."""
    return sum((a.isdigit(), a.isupper()) != (b.isdigit(), b.isupper()) for a, b in pairwise(token))


def _entropy(token: str) -> float:
    shares = [count / len(token) for count in Counter(token).values()]
    return -sum(share * math.log2(share) for share in shares)


def _cards(text: str) -> Iterator[Span]:
    for found in _DIGITS.finditer(text):
        digits = [int(char) for char in found[0] if char.isdigit()]
        if _passes_luhn(digits) and len(set(digits)) > 1:
            yield found.span()


def _passes_luhn(digits: list[int]) -> bool:
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
