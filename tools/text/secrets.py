"""Finds credentials in text: what must never be remembered unless a user asks for exactly that."""

import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import Final

from agentic_memory_bank.tools.text.keyed_codes import keyed_codes
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.personal_numbers import FULL_WIDTH, is_card, numbers_in
from agentic_memory_bank.tools.text.spans import Span

_LEAST_ENTROPY: Final = 3.5
"""Bits per character from which a long mixture of letters and digits is taken for a token."""

_NAMED: Final = (
    r"p[a@4][s$5]{2}(?:[ _-]?w[o0]rd|phrase|code|wd)s?|pwd?|pin(?:[ -]?(?:code|number))?|api[ _-]?keys?"
    r"|(?:access|secret|private|master|licen[cs]e|product|activation)[ _-]?keys?|client[ _-]?secret"
    r"|secret (?:word|phrase|code|number)|(?:auth|access|bearer)[ _-]?tokens?"
    r"|credentials?|security (?:question|answer)|otp|cvv2?|cvc"
    r"|(?:security|verification|one-time|login|2fa|door|gate|garage|alarm|safe|unlock|(?:pad)?lock|access"
    r"|entry) codes?"
    r"|codes? (?:for|of|to) (?:the|my|our|your) (?:\w+ ){0,2}(?:door|gate|garage|safe|alarm|lock(?:er)?|entrance"
    r"|building|house|card|account|phone)"
    r"|(?:pad)?lock(?:er)? comb(?:o|ination)s?"
    r"|(?:seed|recovery|backup|mnemonic) (?:phrase|words?|codes?|key)|card number"
)
_WORD: Final = rf"{_NAMED}|tokens?(?! (?:limit|budget|count|window|size|usage|cost))"
_CHINESE_WORD: Final = (
    r"密[码碼](?![锁鎖箱学](?![^，。]{0,10}\d))|口令|验证码|驗證碼"
    r"|密钥|私钥|令牌|助记词|安全码|支付码|卡号|登录码|暗号|门禁码|解锁码|激活码|授权码"
)
_CHINESE_FIRST: Final = "".join(sorted({word[0] for word in _CHINESE_WORD.split("|")}))
_TYPED: Final = r"(?<![A-Za-z0-9])[A-Za-z0-9][\w@#$%&!.+-]{1,60}"
"""What is typed: a value among Chinese words."""
_MENTION: Final = lazy_pattern(rf"(?<![A-Za-z])(?:{_WORD})(?![A-Za-z])|{_CHINESE_WORD}", re.IGNORECASE)
_STATED: Final = lazy_pattern(
    rf"(?<![A-Za-z])(?:{_WORD})(?![A-Za-z])(?:[^.!?\n:=]{{0,40}}?)(?:(?<!\s)\s*+[:=]+\s*|(?<!\s)\s++(?:is|its"
    rf"|are|was|to|be)\b[\s:]*|'s\s+)"
    rf"\S+(?:(?<![.!?,;])[ \t]+(?!and\b|but\b)\S+){{0,24}}"
    rf"|(?:{_CHINESE_WORD})[^。！？\n:：=]{{0,12}}?(?:是|为|叫|[改换设][成为]|设置[成为]|[:：=])\s*[^\s。！？]{{2,80}}",
    re.IGNORECASE,
)
_BESIDE: Final = lazy_pattern(
    rf"(?<![A-Za-z])(?:{_NAMED})\s+[\"'`(]?(?=\S*\d)\S{{3,}}"
    r"|(?<![A-Za-z])tokens?\s+[\"'`(]?(?=\S*\d)(?=\S*[A-Za-z])\S{6,}"
    rf"|(?:{_CHINESE_WORD})[\s“\"「]*(?=[A-Za-z]*\d){_TYPED}"
    r"|[密口][码碼令](?![学學锁鎖箱本课課])(?:(?!电话|订单|工号|房号|学号|成绩|会议|花|改到|著作)[^\d。！？\n]){0,24}?[，,：:、\s]\d{4,8}"
    r"(?!\s?[\d.年月日号点元块个次页楼])",
    re.IGNORECASE,
)
"""A credential and its name side by side, without a verb: the value has a digit."""
_AS_SECRET: Final = lazy_pattern(
    rf"[^\s]{{3,60}}+\s+(?:is|as|for)\s+(?:my|our|the)\s+(?:[\w-]+\s+){{0,3}}?(?:{_WORD})(?![A-Za-z])"
    rf"|(?:[^.!?\n]{{0,80}}[.!,;][ \t]*+)?\b(?:it|that|this|which)(?:'s| is| was) (?:my|our|the|his|her|their)"
    rf" (?:[\w-]+ ){{0,3}}?(?:{_WORD})(?![A-Za-z])"
    rf"|(?:{_TYPED}(?:\s*|[\s—–-]{{1,6}}(?:[^\s，。！？\w]|[弊哎哦啊嗱])?[，,]?[呢这那這][个個])|[^\s，。！？]{{2,20}}(?=就?是我))(?:就?[是系係]|当作?|作为?|做)[^，。！？\n]{{0,12}}?(?=[{_CHINESE_FIRST}])(?:{_CHINESE_WORD})",
    re.IGNORECASE,
)
_TO_GET_IN: Final = lazy_pattern(
    r"\bcode\b[^.!?\n]{0,20}?\b\d{4,8}\b[^.!?\n]{0,20}\b(?:log|sign|get) ?in\b"
    r"|\b(?:log|sign|get) ?in\b[^.!?\n]{0,60}?\b(?:with|using|type|enter)\s+(?:code\s+)?\d{3,8}\b"
    r"|\b(?:open|unlock|disarm)\w*\b[^.!?\n]{0,60}?\b(?:with|using|type|enter|dial|press)\s+\d{3,8}#?(?=\s*(?:[.!,;]|$))",
    re.IGNORECASE | re.MULTILINE,
)
_ASKED: Final = lazy_pattern(
    r"[?？]|\b(?:please|enter|type|tell|give|provide|send|share|need)\b|[吗呢]\W*+$|输入|填写|提供|告诉|给我|发[给来]"
    rf"|(?:(?<![A-Za-z])(?:{_WORD})|{_CHINESE_WORD})\s*+(?:is|are|was|是|为)?\W*+$",
    re.IGNORECASE,
)
_FORMS: Final = lazy_pattern(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)"
    r"|\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}|\b(?:sk|pk|rk)[-_](?:test|live|prod|proj)[-_][A-Za-z0-9_-]{8,}"
    r"|\b(?:gh[pousr]_|github_pat_|glpat-|hf_|npm_|pypi-|dop_v1_|shpat_|xox[abeprs]-|ya29\.|SG\.|AIza"
    r"|EAAC)[\w.-]{10,}"
    r"|\b(?:AKIA|ASIA|AGPA|AROA)[A-Z0-9]{12,}\b"
    r"|\beyJ[\w-]{8,2000}\.[\w-]{8,}(?:\.[\w-]*)?"
    r"|\b(?i:secret)\s*[:=]\s*\S{4,}"
    r"|\b(?i:pass)\s*[:=]\s*(?=\S*[A-Za-z])\S{4,}"
    r"|\b(?i:log-?in|creds)\s*[:=]\s*[^\s/]{1,200}\s*/\s*\S+"
    r"|\b(?i:authorization)\s*[:=]\s*\S+(?:[ \t]+\S+)?"
    r"|\b\d{6,12}:[\w-]{30,}"
    r"|\b[Bb]earer\s+[\w.~+/-]{12,}=*"
    r"|\b[a-z][a-z0-9+.-]{0,40}://[^\s/:@]+:[^\s/@]+@\S+"
    r"|\bssh-(?:rsa|ed25519)\s+[A-Za-z0-9+/=]{40,}"
    r"|(?<![\w+-])[+-]{1,2}(?:login|logon|auth)[ \t]{1,4}\S{1,64}[ \t]{1,4}\S{4,64}"
    r"|(?<![\w-])--?(?:p|pw|pass|passwd|password|secret)(?:[ \t]{1,4}|=)(?=\S{0,64}[A-Za-z])(?=\S{0,64}\d)\S{6,64}"
    r"|(?<![\w-])(?:-u|--user)(?:[ \t]{1,4}|=)[^\s:]{1,64}:\S{4,64}"
)
_FORMED: Final = re.compile(r"[_:=+-]|SG\.|AIza|EAAC|A(?:KI|SI|GP|RO)A|eyJ|ya29|[Bb]earer")
"""What each of these forms holds, and few sentences."""
_TYPED_PASSWORD: Final = lazy_pattern(
    r"(?<![^\s\"'“”‘’(:：，。,是为])(?=\S{0,40}[a-z])(?=\S{0,40}[A-Z])(?=\S{0,40}\d)(?![A-Z]?[a-z]+[#~]\d+(?![^\s.,!?]))"
    r"[A-Za-z0-9]{1,30}[!#$^*?~&%+@_][A-Za-z0-9!#$^*?~&%+_-]{2,30}(?![\w./@:=])"
)
"""A word of capitals, small letters, a digit and a mark within: nothing but a password is written so."""
_TO_A_LOGIN: Final = lazy_pattern(
    r"\b(?:wi-?fi|router|hotspot|log-?ins?|log(?:ged|ging)? (?:in|on)|sign(?:ed|ing)? in|unlocks?"
    r"|portal)\b[^\n?]{0,60}?"
    r"\b(?:it's|it is|is|with|using|under|set to|changed to)\s+[\"'“]?(?P<value>(?=\S{0,40}[A-Za-z])(?=\S{0,40}\d)"
    r"[^\s\"'”@/:]{6,60})",
    re.IGNORECASE,
)
"""What somebody logs in with, where it is called nothing: "the wifi's Fritz7box"."""
_DIGIT: Final = re.compile(r"\d")
_LONG_TOKEN: Final = lazy_pattern(r"(?<![\w/.:@-])[A-Za-z0-9_+/=-]{20,}(?![\w@])")
_DIGITS: Final = lazy_pattern(r"(?<![\d.,+])\d(?:[ -]{0,2}\d){12,18}(?![\d])")


def secrets_in(text: str) -> list[Span]:
    """The stretches of a text that hold a credential or a personal number, in order; they may overlap.

    Finds keys and tokens by their forms and their randomness, private keys, card numbers by their check digit,
    addresses with a password in them, codes that are keyed in at a door, and whatever is said to be a password, a PIN,
    a code or a token.
    """
    plain = text.translate(FULL_WIDTH)
    found = [_formed(plain), _stated(plain), keyed_codes(plain), numbers_in(plain)]
    if _DIGIT.search(plain):
        found.append(_with_digits(plain))
    return sorted(set(chain.from_iterable(found)))


def mentions_secret(text: str) -> bool:
    """Whether a text speaks of a credential, such as the question for a password."""
    return _MENTION.search(text.translate(FULL_WIDTH)) is not None


def asks_for_secret(text: str) -> bool:
    """Whether what is said next may be nothing but a credential: one is asked for, or its name stands last."""
    plain = text.translate(FULL_WIDTH)
    return _MENTION.search(plain) is not None and _ASKED.search(plain) is not None


def _formed(text: str) -> Iterator[Span]:
    return (found.span() for found in _FORMS.finditer(text)) if _FORMED.search(text) else iter(())


def _stated(text: str) -> Iterator[Span]:
    named = (_STATED, _AS_SECRET) if _MENTION.search(text) else ()
    return (found.span() for pattern in named for found in pattern.finditer(text))


def _with_digits(text: str) -> Iterator[Span]:
    """What is never written without a digit."""
    named = (_BESIDE,) if _MENTION.search(text) else ()
    yield from (found.span() for p in (*named, _TYPED_PASSWORD, _TO_GET_IN) for found in p.finditer(text))
    yield from (found.span("value") for found in _TO_A_LOGIN.finditer(text))
    yield from (found.span() for found in _LONG_TOKEN.finditer(text) if _is_random(found[0]))
    yield from (found.span() for found in _DIGITS.finditer(text) if is_card(found[0]))


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
