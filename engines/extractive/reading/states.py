"""What a clause says is so or not so: states that exclude each other ("included", "not included", "extra")."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from agentic_memory_bank.tools.text.patterns import lazy_pattern

_TABLE: Final = r"""
washable = dishwasher[- ](?:safe|proof)|(?:go(?:es)?(?: straight)?|can be (?:put|washed)) in(?:to)? the dishwasher
         | (?:must )?(?:not|cannot) (?:go|be (?:put|washed)) in(?:to)? (?:the|a) dishwasher|hand[- ]wash only
prescribed = (?:on|by) prescription(?: only)?|prescription[- ]only|处方药
         | no prescription|without (?:a )?prescription|over the counter|非处方药?|无需处方
waterproof = waterproof|water[- ]?resistant|防水
required = must|ha(?:s|ve) to|required?|requires|compulsory|mandatory|obligatory|necessary|need(?:s|ed)?
         | optional|voluntary|unnecessary
         | 必须|务必|需要|强制|应当 | 无需|无须|不必|不用|自愿|不需要|不强制
allowed  = allow(?:s|ed)?|permit(?:s|ted)?|admitted|welcome|may (?:now )?be
         | forbidden|prohibited|banned|not tolerated|must not|may not|shall not
         | 允许|可以|准许|欢迎|(?<![不许认尽都只])可(?![能是惜靠见爱以])
         | 禁止|严禁|不得|不准|不许|谢绝|不允许|不可以|不能|不可(?![能少避否思或缺])
included = includ(?:e|es|ed|ing)|inclusive|part of|covers?|covered
         | exclud(?:e|es|ed|ing)|exclusive|(?:charged|sold|billed|paid|invoiced|ordered|bought|priced) separately|extra
         | 包含|包括|(?<!不)含 | 不含|不包括|不包含|另计|另付|自理|另收|另购
free     = free of charge|free|gratis|complimentary|costs? nothing|no charge
         | (?:is|are) charged(?! separately)|against a fee|there is a (?:charge|fee)(?: of \S{1,8})?(?: for)?
         | 免费|无偿|不收费|不收取 | 收费|付费|须交费
runs     = runs?|running|operat(?:e|es|ing|ional)|working|in service|in operation
         | stopped|suspended|switched off|turned off|out of (?:order|service)|shut down|stands? still
         | 正常运行|运行|运转|正常使用|照常 | 停运|停用|停止运行|停机|关停
open     = opens?|opened | closed|closes|shut
         | 开放|开门|营业 | 关闭|闭馆|停业|休馆|关门|不开放|不营业
offered  = available|provided|offered|offers?|provides?|there (?:is|are|will be)|equipped with|comes? with
         | unavailable|sold out|lacks?|there (?:is|are|was|were|will be) no|ha(?:s|ve) no
         | 提供|供应|设有|配有|备有 | 不提供|不附带|不附送|未设|不设|没有|售罄|(?<!毫)无(?![须需论法偿锡线限数疑非不锅])
hurt     = injured|hurt|wounded|broke (?:his|her) | unhurt|unharmed|uninjured|without a scratch
         | 受伤 | 未受伤|没有受伤|安然无恙
approved = approved|accepted|adopted|carried|passed|granted | rejected|refused|declined|dismissed|turned down|voted down
         | 通过|批准|同意 | 否决|驳回|拒绝|未通过|不同意
changes  = ris(?:e|es|ing)|rais(?:e|es|ed|ing)|increas\w+|go(?:es)? up|chang(?:e|es|ed)
         | unchanged|(?:remains?|stays?|stayed|remained) (?:the same|as it)
         | 上涨|提高|上调|涨价|调整 | 不变|不涨|不上调|不作调整
insured  = insured | uninsured | 投保|(?<!没)上保险|(?<!没)买了?[^，。]{0,4}保险 | 未投保|没上保险|没买保险|没有保险
whole    = assembled|in one piece | in parts|unassembled|flat[- ]packed|yourself
         | 整装|已组装|组装好 | 散件|自行组装|自行安装
"""
_DENIAL: Final = lazy_pattern(
    r"\b(?:not|no|never|none|nobody|without|neither|nor|cannot)\b|n['’]t\b|不|没有?|未|无(?!论)", re.IGNORECASE
)
_UNDENIED: Final = lazy_pattern(
    r"\b(?:not only|no longer than|no later|no more than|no less|not just)\b|不仅|不但|不过|不同"
)


_NONE: Final = lazy_pattern(
    r"\W{0,4}(?:sorry )?no\b(?= (?!one\b|longer|later|more|less|fewer|sooner|doubt|need|problem|idea|change)[a-z])",
    re.IGNORECASE,
)
"""What opens a clause that only says what there is none of ("No dogs")."""


@dataclass(frozen=True, slots=True)
class SaidState:
    """A state that a clause says something is in or not.

    Attributes:
        name: Which of them.
        holds: Whether it is said to be so.
        start: Offset of its words, and of the denial before them.
        end: Offset past its words.
    """

    name: str
    holds: bool
    start: int
    end: int


_ROW: Final = lazy_pattern(r"^(\w+) *=(.*(?:\n +\|.*)*)", re.MULTILINE)
_COLUMN: Final = lazy_pattern(r" \|(?= )|\n +\| ?")


def _listed() -> tuple[str, dict[str, tuple[str, bool]]]:
    """The words of all states as one pattern, what is not so first, and what each of its groups stands for."""
    named: dict[str, tuple[str, bool]] = {}
    parts: list[tuple[bool, str]] = []
    for number, (name, row) in enumerate(_ROW.findall(_TABLE.strip())):
        columns = [column.strip() for column in _COLUMN.split(row) if column.strip()]
        for at, column in enumerate(columns):
            group = f"s{number}_{at}"
            named[group] = name, at % 2 == 0
            words = rf"\b(?:{column})\b" if column.isascii() else column
            parts.append((at % 2 == 0, f"(?P<{group}>{words})"))
    return "|".join(part for _, part in sorted(parts, key=lambda one: one[0])), named


_WORDS, _NAMED = _listed()
_STATES: Final = lazy_pattern(_WORDS, re.IGNORECASE)


def states_in(clause: str) -> Iterator[SaidState]:
    """The states that a clause speaks of; a denial before one turns it round.

    Example:
        >>> [(one.name, one.holds) for one in states_in("Insurance is not part of this package")]
        [('included', False)]
        >>> [(one.name, one.holds) for one in states_in("宠物不得入内")]
        [('allowed', False)]
    """
    if bare := _NONE.match(clause):
        yield SaidState("offered", False, bare.start(), bare.end())
        yield SaidState("allowed", False, bare.start(), bare.end())
        return
    for found in _STATES.finditer(clause):
        name, holds = _NAMED[str(found.lastgroup)]
        before = _UNDENIED.sub(" ", clause[: found.start()])
        denials = list(_DENIAL.finditer(before))
        start = denials[-1].start() if denials else found.start()
        yield SaidState(name, holds != (len(denials) % 2 == 1), min(start, found.start()), found.end())
