"""Reading a question without a model: what kind of thing it asks for, of which noun, and around which word."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from agentic_memory_bank.engines.extractive.reading.phrases import CHINESE_QUESTION_WORDS
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.terms import tokenize

Group = Literal["when", "number", "place", "name", "reason", "what"]
"""What kind of thing a question asks for; `what` is everything else."""


def _asking(*patterns: str) -> re.Pattern[str]:
    return lazy_pattern("|".join(patterns), re.IGNORECASE)


def _listed(words: str) -> str:
    return "|".join(words.split())


_PEOPLE: Final = _listed(
    "person man woman actor actress author writer singer player director president king queen composer artist"
)
_PLACES: Final = _listed(
    "city country place state town village county province continent region district island location nation birthplace "
    "capital municipality borough area nationality"
)
_NAMED: Final = _listed(
    "company band film movie song album book team club school university college league party award river language "
    "currency group organi[sz]ation magazine newspaper network station airport conference religion genus show series "
    "game label character title name brand store dynasty war battle event"
)
_GROUPS: Final[tuple[tuple[Group, re.Pattern[str]], ...]] = (
    (
        "when",
        _asking(
            r"\bwhen\b|\b(?:what|which) (?:year|date|day|month|time|century|decade)\b|\b(?:date|year) of\b|birthday\?",
            r"何时|什么时候|什么时间|哪一?年|哪一?[天日]|几月|(?:[于在到至从自哪元国]几|[一二三四五六七八九]{2}几几)年|什么年代|什么时期|什么朝代",
        ),
    ),
    (
        "number",
        _asking(
            r"\bhow (?:many|much|old|long|tall|far|big|large|high|often|deep|fast|heavy)\b",
            r"\bwhat (?:is|was|were) the (?:[\w-]+ ){0,3}(?:percentage|number|amount|price|population|length|height)\b",
            r"\bwhat (?:percentage|number|amount|price|population)\b|多少|多大|多长|多高|多远|多久|多重|几",
        ),
    ),
    (
        "place",
        _asking(
            rf"\bwhere\b|\b(?:what|which) (?:[\w'’-]+ ){{0,2}}(?:{_PLACES})\b",
            r"\b(?:place|city|country) of (?:birth|death)",
            r"哪里|哪儿|何处|何地|什么地方|哪[一个座]*(?:国家|城市|省|市|县|地区|地方|国)|在哪",
        ),
    ),
    (
        "name",
        _asking(
            rf"\bwho(?:m|se)?\b|\b(?:what|which) (?:[\w'’-]+ ){{0,2}}(?:{_PEOPLE}|{_NAMED})s?\b",
            rf"\bwhat (?:is|was|are|were) the (?:[\w'’-]+ ){{0,2}}(?:{_PEOPLE}|{_NAMED}|{_PLACES})\b",
            r"谁|哪位|何人|什么人|哪一?个人|叫什么|什么名字",
        ),
    ),
    (
        "reason",
        _asking(r"\bwhy\b|\bhow\b|\bwhat (?:made|did .{0,200} (?:say|think|feel))\b|为什么|为何|怎么|怎样|如何|原因"),
    ),
)
_OPENS_ASKING: Final = lazy_pattern(
    r"\W*(?:(?:in|at|on|for|to|by|from|with|of|about|under) )?(?:what|which|how|whose|who|where|why)\b", re.IGNORECASE
)
_RELATIVE: Final = lazy_pattern(
    r"(?<=[\w)’'])(?<!\band)(?<!\bor)(?<!\babout)(?<!\bof)(?<!\bby)(?<!\bsince)(?<!\buntil)(?<!\btill)(?<!\bfrom)"
    r"(?<!\bfor)(?<!\bto)(?<!\bwith) (?:when|where|who|whom|whose|why)(?= )",
    re.IGNORECASE,
)
_WHEN_CLAUSE: Final = lazy_pattern(
    r"\W*when (?!(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|must|shall|and)\b)"
    r"[^?,]{3,200}, ?(?=(?:what|which|how|who|where|why|is|are|was|were|do|does|did|has|have|can|could|will|must)\b)",
    re.IGNORECASE,
)


def asking_part(question: str) -> str:
    """A question without the words in it that look as if they asked: "what is it for *when* the pool is full?".

    Example:
        >>> asking_part("What helps John when he is away?"), asking_part("When the pool is full, what happens?")
        ('What helps John he is away?', 'what happens?')
    """
    clause = _WHEN_CLAUSE.match(question)
    bare = question[clause.end() :] if clause else question
    opening = _OPENS_ASKING.match(bare)
    return bare[: opening.end()] + _RELATIVE.sub("", bare[opening.end() :]) if opening else bare


_CHINESE_ASKING: Final = lazy_pattern(
    rf"{CHINESE_QUESTION_WORDS}|哪[一]?[年天个些位家座种部场]|哪|几|吗|呢|是否|请问|分别|的|了|是|在|有|[?？]"
)
_ASKED_WORD: Final = lazy_pattern(
    rf"什么样的|在哪|{CHINESE_QUESTION_WORDS}"
    r"|哪[一两二三四五几]?[年天个些位家座种部场所条国支款名块本首项届类]?|几[个年月位种部场所条]?"
)
_ASKING_TERMS: Final = frozenset(tokenize("many much name kind type sort happen tell describe mention year date"))
ASKING: Final = lazy_pattern(
    r"多长时间|几[点點号號月]|怎么办|怎麼辦|(?P<first>[有能会會是要可])[不没沒](?P=first)|可不可以|可以|能否|[为為]?啥|总共|總共|"
    + _CHINESE_ASKING.pattern
    + r"|要多|多少|哪|应该|请|能|一共|大概|\b(?:many|much|name|(?:kind|type|sort)s?(?= of)|happens?|tell|describe|"
    r"mention)\b",
    re.IGNORECASE,
)
"""The words of a question that only ask."""
_PLURAL: Final = r"(?!(?:has|does|is|was|his|its)\b)(?:[\w'’-]*[^\W\d_s]s|people|men|women|children|staff)\b"
_COUNTED: Final = lazy_pattern(
    rf"\bhow many (?:[\w'’-]+ )?({_PLURAL})|\bhow many ([\w'’-]+)\b|(?:多少|几)([\u4e00-\u9fff]{{1,2}})", re.IGNORECASE
)
"""A noun in the plural, with at most a word before it; else whatever is counted: in "nurses work" it is nurses."""
_HEAD: Final = lazy_pattern(r"\b(?:what|which|whose|how many)\s+((?:[\w'’-]+\s+){0,3}?[\w'’-]+)\b", re.IGNORECASE)
_NOT_NOUNS: Final = lazy_pattern(
    r"is|are|was|were|do|does|did|has|have|had|can|could|would|will|should|may|might|of|the|an?|in|to|for|on|with|by|"
    r"from|that|who|at|and",
    re.IGNORECASE,
)
_RELATED: Final = """
    birth birthday birthplace born|death die dead|spouse wife husband married marriage|father mother son daughter child
    parent|educated study graduated attended|burial buried|employer work|sibling brother sister|movie film|start begin
    began|buy bought purchase got|job work career|kid child children|trip travel visit went
"""


def _related() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for group in _RELATED.split("|"):
        terms = frozenset(tokenize(group))
        found.update((term, terms | found.get(term, frozenset())) for term in sorted(terms))
    return found


RELATED: Final = _related()
"""Index terms of what questions ask for, each with those in which texts say it: a spouse is a wife or is married."""


@dataclass(frozen=True)
class Question:
    """A question as far as it can be read without a model.

    Attributes:
        text: As it was asked.
        group: The kind of thing it asks for.
        terms: Its index terms, without those that only ask.
        names: Index terms of the names and numbers in it.
        head: Index terms of the noun after "which" or "how many".
        chinese: Whether it is mainly Chinese.
        before: What stands before its question word, in Chinese, where an answer takes the place of that word.
        after: What stands after it.
    """

    text: str
    group: Group
    terms: tuple[str, ...]
    names: frozenset[str]
    head: frozenset[str]
    chinese: bool
    before: str
    after: str

    @classmethod
    def of(cls, text: str) -> "Question":
        """Read a question."""
        terms = dict.fromkeys(tokenize(_CHINESE_ASKING.sub(" ", text)))
        telling = [term for term in terms if term not in _ASKING_TERMS]
        names = frozenset(term for name in sorted(names_and_numbers(text)) for term in tokenize(name))
        asked = _ASKED_WORD.search(text)
        asking = asking_part(text)
        groups: list[Group] = [group for group, pattern in _GROUPS if pattern.search(asking)]
        return cls(
            text=text,
            group=groups[0] if groups else "what",
            terms=tuple(telling or terms),
            names=names,
            head=frozenset(_head(text)),
            chinese=is_cjk(text),
            before=text[: asked.start()] if asked else "",
            after=text[asked.end() :].rstrip("？? ") if asked else "",
        )


def counted(text: str) -> frozenset[str]:
    """What a question counts: the noun after "how many", the characters after 多少 or 几.

    Example:
        >>> counted("How many nurses work there?"), counted("How many red cars passed?")
        (frozenset({'nurs'}), frozenset({'car'}))
    """
    found = _COUNTED.search(text)
    head = next((part for part in found.groups() if part), "") if found else ""
    return frozenset(tokenize(head)) | frozenset(head if is_cjk(head) else ())


_NOUN: Final = lazy_pattern(
    rf"\bhow many (?:[\w'’-]{{1,24}} )?({_PLURAL})"
    r"|\bhow many (?!people |persons |things |times )(?:[\w'’-]{1,24} ){0,2}?([\w'’-]{1,24})"
    r"(?= (?:do|does|did|are|is|was|were|has|have|had|can|may|must|should|will|would|of|in|on|at|for|per)\b|\W*$)"
    r"|\b(?:do|does|did|will|would) (?:the|an?|his|her|its|their|our|my) (?:[\w'’-]{1,24} ){0,2}?([\w'’-]{1,24}) "
    r"(?:(?:of|for|from|with|to|at|on|in) (?:[\w'’-]{1,24} ){1,4}?)?"
    r"(?:costs?|takes?|last|begin|start|end|weigh|measure|open|close|expire|run|arrive|leave|belong)\b"
    r"|\bwho (?:is|was) (?:the|an?|his|her|its|their|our|my) (?:[\w'’-]{1,24} )?([\w'’-]{1,24})"
    r"(?= (?:of|for|at|in)\b|\W*$)"
    r"|(?:哪一?[种款项门]|什么(?!时候|时间|地方|东西|原因|办法|样子?|意思|情况|事情|问题))([\u4e00-\u9fff]{2,6})(?=\W*$)"
    r"|([\u4e00-\u9fff]{2})(?:是谁|叫什么|是哪|在哪|是多少|有多少|要?多少钱|是什么时候|是几)",
    re.IGNORECASE,
)
_ANY_NOUN: Final = lazy_pattern(
    r"things?|ones?|people|persons?|ways?|times?|parts?|others?|items?|places?", re.IGNORECASE
)


def asked_noun(text: str) -> str:
    """The noun that an answer is about, where the form of the question tells: what is counted, costs, lasts, or who."""
    found = _NOUN.search(text)
    said = next((part for part in found.groups() if part), "") if found else ""
    return "" if _ANY_NOUN.fullmatch(said) else said


def _head(text: str) -> Sequence[str]:
    """The terms of the noun that is asked about: of "which red car did" those of "car"."""
    found = _HEAD.search(text)
    words = found[1].split() if found else []
    end = next((place for place, word in enumerate(words) if _NOT_NOUNS.fullmatch(word)), len(words))
    return tokenize(words[end - 1]) if end else []
