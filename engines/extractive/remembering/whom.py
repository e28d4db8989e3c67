"""Reads whom a wish to forget is about, where all that was told of somebody is meant, and how memories name them."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from agentic_memory_bank.engines.extractive.remembering.antecedents import ROLE_NAMES
from agentic_memory_bank.engines.extractive.remembering.subjects import WISHING, Subject, roots_of
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.patterns import lazy_pattern

_PROFESSION_WORDS: Final = (
    "therapist counsellor counselor psychiatrist psychologist physio dentist doctor gp vet midwife lawyer solicitor"
    " accountant trainer coach tutor teacher nanny childminder cleaner gardener hairdresser manager"
    " 心理医生 心理咨询师 牙医 律师 教练 家教 保姆 钟点工 私教 导师"
)
_ROLE: Final = "|".join(sorted(map(re.escape, {*ROLE_NAMES, *_PROFESSION_WORDS.split()}), key=len, reverse=True))
_CALLED: Final = lazy_pattern(
    rf"\b(?P<role>(?i:{_ROLE})),?(?:'s| is)?(?: called| named)? (?:(?:Dr|Mr|Mrs|Ms|Miss|Prof)\.? )?"
    rf"(?P<name>[A-Z][\w'-]{{1,24}})\b"
    rf"|(?P<role_family>{_ROLE})[，,]?姓(?P<family>[\u4e00-\u9fff])"
    rf"|(?P<role_zh>{_ROLE})(?:名?叫|是)?(?P<name_zh>(?![不没也都在说想要会能还就又今明昨去来给跟和与回我你他她的])"
    r"[\u4e00-\u9fff]{2,3}?)(?=[在是也占想说的和跟住去要做当读每送给]|[，,。、；;！]|$)"
)
"""What somebody is, with their name behind it: "my wife Heena", 女朋友佳宁."""
NICKNAME: Final = lazy_pattern(r"[老小阿](?![伴师板婆公家时孩区学姐哥妹弟爷奶太人外实的是])[\u4e00-\u9fff]")
_OF_HER: Final = lazy_pattern(
    r"\b(?:him|her|them|that name|(?:his|her|their) (?:lot|name|stuff|things?))\b"
    r"|\b(?:about|on|of|with|mentioned|know|knew) (?:my (?:[a-z-]+ )?)?(?P<name>[\w'-]+)\W*\Z"
    r"|(?:关于|有关|[跟和提起见到把将忘删清])[他她](?!们)|[他她]的?(?:那些|所有|一切|事儿?|东西|信息)|(?:这|那)个?人|名字"
    r"|(?<=[\u4e00-\u9fff])的(?:所有|一切|全部)?(?:事情?|信息)"
    r"|姓(?P<family>[\u4e00-\u9fff])的",
    re.IGNORECASE,
)
"""A wish about a person as a whole."""
_MAY_READ: Final = lazy_pattern(
    r"\b(?:(?:in case|if|before|when|lest) [^.,;!?]{1,60}"
    r"|[^.,;!?]{1,40} (?:sees|reads|uses|borrows|has got hold)[^.,;!?]*)"
    r"|[^，。！？]{0,12}(?:翻|看[到见]|瞧见|知道|晓得)[^，。！？]*",
    re.IGNORECASE,
)
"""Somebody who is not to see it: the reason for a wish, and not whom it is about."""
_FORMER: Final = lazy_pattern(r"\b(?:my|the) ex\b|前任|前男友|前女友|前夫|前妻", re.IGNORECASE)
_PARTNER_WORDS: Final = (
    "ex girlfriend boyfriend partner wife husband fiance fiancee 女朋友 男朋友 女友 男友 对象 老婆 老公 前任"
)
_PARTNERS: Final = frozenset(_PARTNER_WORDS.split())
_MANY_WORDS: Final = (
    "friend mate bestie colleague coworker neighbour neighbor client teacher doctor cousin uncle aunt auntie kid child"
    " 朋友 闺蜜 同事 邻居 客户 老师 医生 室友 领导 孩子"
)
_MANY: Final = frozenset(_MANY_WORDS.split())
"""What several people may be to somebody, though one is named."""
_LEAST: Final = 2
"""Characters by which a Chinese name is known without the family's."""


def names_by_role(texts: Sequence[str]) -> dict[str, set[str]]:
    """The names that texts give to somebody, by what they are to the speaker."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for text in texts:
        for match in _CALLED.finditer(text):
            role = (match["role"] or match["role_zh"] or match["role_family"]).casefold()
            found[role].add(match["name"] or match["name_zh"] or match["family"] + role[-_LEAST:])
    return found


def people_meant(wish: str, texts: Sequence[str]) -> tuple[Subject, ...]:
    """Whom a wish is about of whom all is to go, by each word that memories have for them; nothing where it names none.

    Args:
        wish: The words of the wish.
        texts: What the memories say.
    """
    called = names_by_role(texts)
    if _FORMER.search(wish):
        words = {word for role in _PARTNERS for word in (role, *called.get(role, ()))}
        return _subject(words & _said(words, texts))
    of_her = _OF_HER.search(wish)
    if of_her is None:
        return ()
    words = set(_named(_MAY_READ.sub(" ", wish), called, texts, of_her["family"] or ""))
    return _subject(words)


def _named(wish: str, called: dict[str, set[str]], texts: Sequence[str], family: str) -> Iterator[str]:
    """The one person that a wish names, by name and by what they are; nothing where it names several."""
    people = [*_by_role(wish, called), *_by_name(wish, called, texts, family)]
    whole: list[set[str]] = []
    for person in people:
        if same := next((one for one in whole if one & person), None):
            same |= person
        else:
            whole.append(person)
    if len(whole) == 1:
        yield from whole[0]


def _by_role(wish: str, called: dict[str, set[str]]) -> Iterator[set[str]]:
    for role, names in called.items():
        is_said = role in wish if is_cjk(role) else re.search(rf"\b{re.escape(role)}\b", wish, re.IGNORECASE)
        if is_said and len(names) == 1:
            yield {role, *names}


def _by_name(wish: str, called: dict[str, set[str]], texts: Sequence[str], family: str) -> Iterator[set[str]]:
    if is_cjk(wish):
        nicknames = {found[0] for text in texts for found in NICKNAME.finditer(text)}
        known = {name for names in called.values() for name in names} | nicknames
        yield from (
            {name, name[-_LEAST:]} for name in known if name in wish or (len(name) > _LEAST and name[1:] in wish)
        )
        yield from ({name} for name in nicknames if family and name[1] == family)
        return
    known = {name.casefold() for text in texts for name in names_and_numbers(f"so {text}") if not name[0].isdigit()}
    for root in roots_of(wish) - WISHING:
        if any(root in roots_of(name) for name in known):
            yield {root, *(role for role, names in called.items() if role not in _MANY and _is_only(names, root))}


def _is_only(names: set[str], root: str) -> bool:
    """Whether a name is the only one of some, as `roots_of` gives it."""
    return len(names) == 1 and root in roots_of(next(iter(names)))


def _said(words: set[str], texts: Sequence[str]) -> set[str]:
    return {word for word in words if any(word.casefold() in text.casefold() for text in texts)}


def _subject(words: set[str]) -> tuple[Subject, ...]:
    roots = {word if is_cjk(word) else max(roots_of(word), key=len, default=word) for word in words}
    return (Subject((frozenset(roots),)),) if roots else ()
