"""Finds who "she" is, and what "it" is that somebody changes: "we moved it to 19 June" is about the ferry they booked.

A change that names nothing is understood by what was said last of a thing with a value of the same kind: a day after a
day, an amount after an amount. What begins with "it" and gives a value is about the thing that was named just before,
what begins with "she" or "he" about the person. Only what is named in so many words is found, and nobody is an "it".
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from agentic_memory_bank.engines.conversation import Fact, Turn, TurnQuote
from agentic_memory_bank.engines.extractive.remembering.changes import announces_change, changed_clauses
from agentic_memory_bank.engines.extractive.remembering.clauses import subject_terms, value_kinds
from agentic_memory_bank.engines.own_words import own_words
from agentic_memory_bank.tools.text.attribution import USER
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.sentences import QUESTION_END, sentences
from agentic_memory_bank.tools.text.spans import Span

LOOKED_BACK: Final = 8
"""Turns before one in which the thing is looked for that it changes."""
JUST_BEFORE: Final = 2
"""The same for a thing that is called "it" without being changed."""
LONGEST: Final = 400
"""Characters of a sentence that is looked into."""

_TOPIC: Final = lazy_pattern(r"\W{0,3}(?P<topic>[A-Z][\w'-]{1,24})[.!:…]+\s")
_NAME: Final = lazy_pattern(r"\W{0,3}(?P<name>[A-Z][a-z]{1,24})\b")
_IT: Final = lazy_pattern(r"\b(?:it|that|this|them|those|these|they)\b", re.IGNORECASE)
_NAMED: Final = lazy_pattern(
    r"\b(?:my|our|the|his|her|their|an?) (?!(?:bit|lot|few|while|way|moment|end)\b)[a-z]", re.IGNORECASE
)
"""A change with a thing of its own."""
_EMPTY_CHINESE: Final = lazy_pattern(
    r"其实|算了|还是|不对|应该|已经|刚刚|后来|最后|我们|他们|她们|这个|那个|一下|吧|了|就|又|再|给|我|他|她|它"
)
"""Words of a Chinese change that name nothing."""
_HAN: Final = lazy_pattern(r"[\u4e00-\u9fff]{2}")
_THING: Final = lazy_pattern(
    r"\b(?P<thing>(?:my|our|the|his|her|their|an?) (?!(?:lot|rest|whole|same|way|end|moment|thing)\b)"
    r"(?:[a-z][\w'-]* ){0,3}?[a-z][\w'-]*(?: of (?:[a-z][\w'-]* ){0,2}?[a-z][\w'-]*)?)"
    r"(?= (?:for|to|on|in|at|is|was|are|were|will|from|with|by|until|till|costs?|starts?|has|have|of|this|last|next"
    r"|today|tomorrow|yesterday|every)\b|[,.;:!]|$)",
    re.IGNORECASE,
)
_SUBJECT: Final = lazy_pattern(
    r"^\W{0,3}(?:(?:so|and|ok(?:ay)?|btw|well|also|oh|yes|no),? )?"
    r"(?P<thing>(?!(?:it|that|this|he|she|we|i|they|there|you|what|who)\b)[a-z][\w'-]*(?: (?!is\b|was\b)[\w'-]+){0,3}?)"
    r" (?:is|was|are|were|will|costs?|starts?|got|has been)\b",
    re.IGNORECASE,
)
_THING_CHINESE: Final = lazy_pattern(r"的(?P<thing>[\u4e00-\u9fff]{2,6})(?=[，。；！,.!\s]|$)")
_SUBJECT_CHINESE: Final = lazy_pattern(
    r"^(?:我们?的?|今年的?|这次的?)?(?P<thing>(?!我|你|他|她|它)[\u4e00-\u9fff]{2,6}?)(?:是|在|定|约|订|安排|改|要|一共|大概|预算|[:：])"
)


_LEAD: Final = (
    r"\A\W{0,3}(?:(?:and|but|so|also|plus|btw|well|oh|ok(?:ay)?|actually|lol|hmm|then|yes|no|because)\b[\s,]{1,3}){0,3}"
)
_OPENS_IT: Final = lazy_pattern(
    _LEAD
    + r"(?:its?|thats|(?:that|this)(?='s\b|[,.]|\s(?:one|is|was|isn't|will|would|has|had|costs?|starts?|ends?|comes?"
    r"|goes|takes?|runs?|opens?|closes?|gets?|got|should|can|could|may|might|must|needs?)\b))\b(?:'s)?+"
    r"(?! (?:is |was |been )?(?:my|our|takes?|took|been|rain\w*|snow\w*|late"
    r"|early|why|what|how|when|because|time|like)\b)|\A\W{0,3}(?:而且|不过|但是?)?它",
    re.IGNORECASE,
)
"""What is said of a thing that is called "it"; not of the weather or of time."""
_IS_CALLED: Final = lazy_pattern(_LEAD + r"it(?:'s| is|s) (?:called|named|in|at|from) (?=[A-Z])")
"""A name or a place that is given of a thing."""
_OPENS_HER: Final = lazy_pattern(
    _LEAD + r"(?:(?P<she>she|shes|her)|(?P<he>he|hes|his|him))\b"
    r"|\A\W{0,3}(?:而且|不过|但是?)?(?:后来|听说|昨天|今天|明天|现在|最近|所以|结果|原来|好像|其实|上周|下周|本来"
    r"|[\u4e00-\u9fff]{1,3}[，,])?(?:(?P<ta>她)|他)(?![们妈爸命人乡])",
    re.IGNORECASE,
)
_ROLE_WORDS: Final = (
    "mum mom mam mother dad father parent ex sister brother wife husband partner girlfriend boyfriend fiance fiancee"
    " aunt auntie uncle gran grandma nan nana grandpa grandad grandmother grandfather son daughter kid baby child niece"
    " nephew cousin mother-in-law father-in-law sister-in-law brother-in-law boss manager colleague coworker friend"
    " mate bestie neighbour neighbor trainer coach teacher tutor professor supervisor doctor gp dentist therapist"
    " physio vet nurse lawyer accountant plumber builder landlord landlady client roommate flatmate housemate"
    " assistant intern"
    " 妈妈 妈 爸爸 爸 老婆 老公 妻子 丈夫 女朋友 男朋友 女友 男友 儿子 女儿 闺女 孩子 姐姐 姐 妹妹 妹 哥哥 哥 弟弟 弟"
    " 奶奶 爷爷 外婆 外公 姥姥 姥爷 婆婆 公公 岳父 岳母 侄子 侄女 外甥 表姐 表妹 表哥 表弟 堂哥 堂妹 姑姑 叔叔 舅舅"
    " 阿姨 老板 领导 同事 朋友 闺蜜 室友 邻居 房东 老师 教练 医生 导师 客户"
)
ROLE_NAMES: Final = frozenset(_ROLE_WORDS.split())
"""What somebody is to whoever speaks."""
_WHOLE: Final = lazy_pattern(
    r"\bfor (?:the (?:whole|entire) (?:thing|lot|job|project|business)|all of it|everything|the lot)\b"
    r"|\b(?:all in|all told|altogether|in total|everything included)\b",
    re.IGNORECASE,
)
"""An amount of something as a whole, which was named before: "roughly 7,500 euros for the whole thing"."""
_PRICED: Final = lazy_pattern(
    r"\b(?:my|our|the|his|her|their|an?) (?:final |first |rough |total )?(?:quote|estimate|offer|price|bill|invoice"
    r"|total|cost|budget|sum)s?\b",
    re.IGNORECASE,
)
"""What an amount is called, and not what it is of."""
_WHOLE_CHINESE: Final = lazy_pattern(
    r"\A(?:[\u4e00-\u9fff]{1,4}[，,])?(?:整个|全部|总共|一共|加起来|全套)(?:算|做|弄|加|搞)?(?:下来|起来)?"
    r"(?:大概|大约|差不多|估计|也就|得|要|花了?|是|就|才){1,4}"
)
_PLANNED_CHINESE: Final = lazy_pattern(
    r"(?:打算|准备|计划|决定|考虑|想要?|正在|开始)(?:去|把)?(?P<thing>[\u4e00-\u9fff]{2,10})(?=[，。；！,.!\s]|$)"
)
"""What somebody has in mind to do."""
_DONE_FOR: Final = lazy_pattern(
    r"\b(?:do(?:es)?|did|done|get|got|getting|sells?|sold|makes?|made|fix(?:es)?|repairs?|rents?|found|offer\w*)"
    r" (?:it|that|them|the same(?: (?:thing|job|one))?)(?: \w+){0,3}? for (?:just |only |about |around |like )?[£$€]?"
    r"\d[\d,.]{0,11}(?<![,.])k?(?=\s?(?:[£$€]|(?:quid|euros?|dollars?|pounds?|bucks|each|instead|all in|total|cash|per"
    r"|a|on|with|if)\b)|[,.;!]|$)",
    re.IGNORECASE,
)
"""A price at which somebody does or sells what was named before: "the guy round the corner does it for 210"."""
_DONE_FOR_CHINESE: Final = lazy_pattern(
    r"(?:同样的|一样的)|\d{1,9}(?:[元块万千]钱?)?(?:左右)?(?:就|便|也)?(?:能|可以|给)?(?:搞定|拿下|弄好|修好|做好|包下)"
)
_PRICED_THING: Final = lazy_pattern(
    r"\b(?:needs?|wants?|requires?|buy(?:ing)?|order(?:ing)?|replac(?:e|ing)|fix(?:ing)?|repair(?:ing)?|for) "
    r"(?P<thing>(?:(?:a|an|the|my|our|some|new|another) ){0,2}(?!(?:it|that|this|them|us|me|you|a|an|the)\b)"
    r"[a-z][\w'-]*(?: (?!(?:at|for|from|by|in|and|costs?|is|was)\b)[a-z][\w'-]*){0,2})"
    r"(?=[,.;:!]| (?:at|for|from|by|in|and|costs?)\b|$)",
    re.IGNORECASE,
)
_PRICED_THING_CHINESE: Final = lazy_pattern(
    r"(?P<thing>(?!我|你|他|她|它)(?:(?![说报问要得收花])[\u4e00-\u9fff]){2,8}?)(?:一共|大概|差不多)?(?:要|得|报价|收|花)\d"
)
"""What somebody needs or pays for, beside the price of it: "needs new brake pads, 340 at Kwik Fit"."""
_WHO: Final = "|".join(sorted(ROLE_NAMES, key=len, reverse=True))
_PERSON: Final = lazy_pattern(
    rf"\b(?:[Mm]y|[Oo]ur|[Hh]is|[Hh]er) (?:[a-z]+ )?(?P<role>{_WHO})s?(?: called)?(?: [A-Z][a-z]+)?\b"
    r"|(?:\A\W{0,3}|\b(?:with|and|met|called|named|for|about|(?:spoke|spoken|talked|talking|wrote|married) to) )"
    r"(?P<name>(?!(?:He|She|It|That|This|They|There|We|You|What|Who|Hiya|Hi|Hello|Hey|Yes|No|Ok|Okay|Right|Well|Oh|Sorry"
    r"|Thanks|Anyway|Actually|Honestly|Morning|Evening)\b)[A-Z][a-z]{1,20})"
    r"(?= (?:is|was|has|will|can|lives|works|left|said|wants|told)\b|'s\b|[,?.!]|$)",
)
_PERSON_CHINESE: Final = lazy_pattern(
    rf"(?:我们?家?的?|(?<![\u4e00-\u9fff]))(?P<role>{_WHO})(?P<name>[小阿老大](?![板师])[\u4e00-\u9fff]|(?P<twice>[\u4e00-\u9fff])(?P=twice))?"
    r"|(?:\A|[，。,有个叫跟和])"
    r"(?P<nick>[老小阿](?![伴师板婆公家时孩区学姐哥妹弟爷奶太人外实的是年头])[\u4e00-\u9fff])(?![\u4e00-\u9fff]?(?:家|店|区|路))"
)
_SOMEBODY_ELSE: Final = lazy_pattern(
    rf"\b(?i:the|an?|another|some|this|that|my|our|his|her|their) (?:[a-z]+ ){{0,2}}?(?:{_WHO}|(?:wo)?man|guy|bloke|lad"
    r"|lass|girl|boy|lady|customer|surveyor|midwife|driver|agent|electrician|cat|dog|puppy|kitten|horse)s?\b"
    r"|\b(?:Mr|Mrs|Ms|Miss|Dr|Prof)\.? [A-Z]"
    r"|(?<=[a-z,] )(?<!\bin )(?<!\bat )(?<!\bto )(?<!\bfrom )(?<!\bnear )(?<!\bon )(?<!\buntil )(?<!\bsince )"
    r"(?!(?:I|January|February|March|April|May|June|July|August|September|October|November|December|Monday|Tuesday"
    r"|Wednesday|Thursday|Friday|Saturday|Sunday)\b)[A-Z][a-z]{2,20}\b"
)
_SOMEBODY_ELSE_CHINESE: Final = lazy_pattern(
    r"(?:邻居|房东|师傅|工长|客户|顾客|医生|护士|老师|同事|老板|经理|店员|司机|中介|[小大]?[猫狗])|[个位][^，。]{0,6}的人?(?=[，。说])"
    r"|(?:\A|[，。、和跟])(?:[赵钱孙李周吴郑王冯陈沈韩杨朱秦许何吕张孔曹严金魏姜谢邹苏潘范彭鲁马方俞任袁柳史唐薛雷贺倪汤罗郝安常于傅"
    r"齐康余顾孟黄萧尹姚邵汪毛戴宋庞熊纪项祝董梁杜蓝季贾江童颜郭梅林钟徐邱高夏蔡田樊胡万管卢莫丁邓][\u4e00-\u9fff]{1,2}|[晓阿][\u4e00-\u9fff])"
    r"(?=说|要|来|是|在|也|想|会|打)"
)
"""Somebody, or an animal, of whom "she" or "he" may be said as well."""
_APPOSED: Final = lazy_pattern(
    r"\A(?:(?:'s| is| was|,) (?:my|our|the|his|her|their|an?)\b[^,.;]{0,60}"
    r"|(?:'s| is| was|,)? (?:called|named) [A-Z][\w'-]{1,24}(?: [A-Z][\w'-]{1,24})?)"
)
"""What a person is, behind their name, or their name: nobody else."""
_PASTS: Final = frozenset(
    [
        "came",
        "went",
        "said",
        "told",
        "got",
        "took",
        "gave",
        "left",
        "sent",
        "wrote",
        "made",
        "did",
        "had",
        "found",
        "thought",
        "wants",
    ]
)
_FEMALE: Final = lazy_pattern(
    r"\b(?:mum|mom|mother|sister|wife|girlfriend|aunt\w*|gran|grandma|nan|daughter|niece)\b|[妈姐妹女婆姨婶姑娘]"
)
_MALE: Final = lazy_pattern(
    r"\b(?:dad|father|brother|husband|boyfriend|uncle|grandpa|grandad|son|nephew)\b|[爸哥弟儿爷叔舅伯夫]|老公"
)


def understood(fact: Fact, earlier: Sequence[Turn], turn: Turn) -> Fact:
    """A fact about "it" or "her", with the thing or the person that was named before; any other as it is.

    Args:
        fact: What a turn says.
        earlier: The turns before it.
        turn: The turn itself, whose words before the fact may name them.
    """
    if not (is_empty(fact.words) and all(quote.turn == turn.id for quote in fact.quotes)):
        return fact
    start = min((quote.span[0] for quote in fact.quotes), default=0)
    said = [(one, own_words(one.text)) for one in earlier if one.role == "user"]
    said = [(one, words) for one, words in said if (one.speaker or USER) == fact.speaker]
    said.append((turn, own_words(turn.text)[:start]))
    found = antecedent(fact.words, [words for _, words in said])
    if found is None:
        return fact
    where, (start, end) = said[found[0]][0], found[1]
    thing = TurnQuote(where.id, where.text[start:end], (start, end))
    return replace(
        fact, text=fact.text.replace(fact.words, f"({thing.text}) {fact.words}", 1), quotes=(thing, *fact.quotes)
    )


def is_of_known(fact: Fact, earlier: Sequence[Turn], turn: Turn) -> bool:
    """Whether it is known of whom or what a fact is: it was named before, or the fact begins with a name that was.

    Args:
        fact: What a turn says.
        earlier: The turns before it.
        turn: The turn itself.
    """
    if understood(fact, earlier, turn) is not fact:
        return True
    begun = _NAME.match(fact.words)
    said = "\n".join(one.text[:LONGEST] for one in earlier if one.role == "user") if begun else ""
    return begun is not None and begun["name"].casefold() in names_and_numbers(said)


def is_empty(said: str) -> bool:
    """Whether what is said begins with "it" or "she", or changes what it does not name."""
    return bool(
        _OPENS_HER.match(said)
        or _OPENS_IT.match(said)
        or _is_of_the_whole(said)
        or _is_done_for(said)
        or _kinds_of_nothing_named(said)
    )


def antecedent(said: str, before: Sequence[str], *, has_value: bool = True) -> tuple[int, Span] | None:
    """The thing or the person that is meant and not named: the index of an earlier text, and where it stands in it.

    Args:
        said: What is said now.
        before: What the same person said before it, oldest first.
        has_value: Whether "it" is looked for only where a value is given of it.
    """
    if len(said) > LONGEST:
        return None
    if _OPENS_IT.match(said) and (topic := _topic(before)):
        return topic
    if _is_done_for(said):
        return _last(before, _priced_thing)
    if kinds := _kinds_of_nothing_named(said):
        return _last(before, lambda one: named_thing(one) if kinds & value_kinds(one) else None)
    is_of_the_whole = _is_of_the_whole(said)
    if not is_of_the_whole and (her := _OPENS_HER.match(said)) is not None:
        other = _MALE if her["she"] or her["ta"] else _FEMALE
        return _person_meant(before, other)
    is_told_of_it = _OPENS_IT.match(said) and (not has_value or value_kinds(said) or _IS_CALLED.match(said))
    if is_told_of_it or is_of_the_whole:
        found = _last(before[-JUST_BEFORE - 1 :], _undertaking if is_of_the_whole else named_thing)
        return found and (found[0] + max(0, len(before) - JUST_BEFORE - 1), found[1])
    return None


def _topic(before: Sequence[str]) -> tuple[int, Span] | None:
    """Whom or what the turn itself begins with, as a sentence of its own: "Henrietta. I could scream. It's ..."."""
    opened = _TOPIC.match(before[-1]) if before else None
    names = names_and_numbers("\n".join(one[:LONGEST] for one in before[:-1])) if opened else set[str]()
    return (len(before) - 1, opened.span("topic")) if opened and opened["topic"].casefold() in names else None


def _person_meant(before: Sequence[str], other: re.Pattern[str]) -> tuple[int, Span] | None:
    """The person who was named just before, or who alone was named."""
    found = _last(before, lambda one: _named_person(one, other), asked=True)
    if found is None or _names_somebody_else(_behind(before, *found), other):
        return None
    if found[0] >= len(before) - JUST_BEFORE:
        return found
    name = before[found[0]][slice(*found[1])]
    rival = _last(before[: found[0]], lambda one: _named_person(one, other), asked=True)
    return found if rival is None or before[rival[0]][slice(*rival[1])] == name else None


def _behind(before: Sequence[str], place: int, span: Span) -> list[str]:
    """What was said after somebody was named."""
    return [_APPOSED.sub("", before[place][span[1] :]), *before[place + 1 :]]


def _names_somebody_else(later: Sequence[str], other: re.Pattern[str]) -> bool:
    """Whether anybody is spoken of after a person was named who is not of the other sex."""
    patterns = (_SOMEBODY_ELSE, _SOMEBODY_ELSE_CHINESE)
    found = (one[0] for text in later for pattern in patterns for one in pattern.finditer(text[-LONGEST:]))
    return any(other.search(words) is None for words in found)


def _last(
    before: Sequence[str], named: Callable[[str], Span | None], *, asked: bool = False
) -> tuple[int, Span] | None:
    """What is named last in earlier texts; in questions only where that is asked for."""
    for place in reversed(range(len(before))):
        for start, end in reversed(list(sentences(before[place]))):
            sentence = before[place][start:end]
            if len(sentence) > LONGEST or (not asked and QUESTION_END.search(sentence.strip())):
                continue
            if found := named(sentence):
                return place, (start + found[0], start + found[1])
    return None


def _kinds_of_nothing_named(said: str) -> set[str]:
    """The kinds of the values of a change that names nothing which changes; none where it is no such change."""
    if len(said) > LONGEST or not announces_change(said):
        return set()
    if is_cjk(said):
        is_named = any(map(_HAN.search, subject_terms(_EMPTY_CHINESE.sub(" ", said))))
    else:
        is_named = _IT.search(said) is None or _NAMED.search(said) is not None
    return set() if is_named else set[str]().union(*map(value_kinds, changed_clauses(said)))


def _is_of_the_whole(said: str) -> bool:
    """Whether an amount is given of something as a whole, and nothing is named that it could be of."""
    if len(said) > LONGEST or "amount" not in value_kinds(said):
        return False
    if is_cjk(said):
        return _WHOLE_CHINESE.match(said) is not None
    return _WHOLE.search(said) is not None and _NAMED.search(_PRICED.sub(" ", _WHOLE.sub(" ", said))) is None


def _is_done_for(said: str) -> bool:
    """Whether somebody's price is given of what was named before."""
    pattern = _DONE_FOR_CHINESE if is_cjk(said) else _DONE_FOR
    return len(said) <= LONGEST and pattern.search(said) is not None and "amount" in value_kinds(said)


def _priced_thing(sentence: str) -> Span | None:
    """Where a sentence with a price names what it is the price of."""
    if "amount" not in value_kinds(sentence):
        return None
    found = (_PRICED_THING_CHINESE if is_cjk(sentence) else _PRICED_THING).search(sentence)
    return found.span("thing") if found else named_thing(sentence)


def named_thing(sentence: str) -> Span | None:
    """Where a sentence names what it gives a value of: its subject, or else the first thing in it; never a person."""
    patterns = (_SUBJECT_CHINESE, _THING_CHINESE) if is_cjk(sentence) else (_SUBJECT, _THING)
    lead = len(sentence) - len(sentence.lstrip())
    spans = (match.span("thing") for pattern in patterns for match in pattern.finditer(sentence.strip()))
    found = next((span for span in spans if not _is_person(sentence.strip()[slice(*span)])), None)
    return found and (lead + found[0], lead + found[1])


def _undertaking(sentence: str) -> Span | None:
    """Where a sentence names what may have a price as a whole: a thing, or what somebody has in mind to do."""
    planned = _PLANNED_CHINESE.search(sentence) if is_cjk(sentence) else None
    return named_thing(sentence) or (planned and planned.span("thing"))


def _named_person(sentence: str, other: re.Pattern[str]) -> Span | None:
    """Where a sentence names somebody who is not of the other sex."""
    for span, words in _people(sentence):
        if other.search(words) is None:
            return span
    return None


def _people(sentence: str) -> Iterator[tuple[Span, str]]:
    """The people that a sentence names, by what they are to its speaker or by name."""
    for found in (_PERSON_CHINESE if is_cjk(sentence) else _PERSON).finditer(sentence):
        named = "nick" if found.re.groupindex.get("nick") and found["nick"] else "name" if found["name"] else 0
        yield found.span(named), found[0]


def _is_person(thing: str) -> bool:
    """Whether a thing is somebody, alone or with what they do: "my brother", "my brother comes"; not what is theirs."""
    words = thing.split()
    return any(_is_role(word) and all(map(_is_name_or_verb, words[place + 1 :])) for place, word in enumerate(words))


def _is_name_or_verb(word: str) -> bool:
    return word[0].isupper() or word.endswith(("s", "ed")) or word in _PASTS


def _is_role(word: str) -> bool:
    bare = word.casefold()
    return bare in ROLE_NAMES or bare.removesuffix("s") in ROLE_NAMES
