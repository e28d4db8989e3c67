"""Reads a message of a conversation: whether memories are worth a search for it, and what to search."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from agentic_memory_bank.engines.conversation import GateDecision, Hints, RewrittenQuery, Turn
from agentic_memory_bank.engines.extractive.reading.phrases import CHINESE_QUESTION_WORDS, SMALL_TALK
from agentic_memory_bank.engines.extractive.remembering.life import speaks_of_kin
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.terms import STOP_WORDS, tokenize

LONGEST_GREETING: Final = 25
"""Characters, white space around them not counted."""
SELF_CONTAINED: Final = 20
"""Characters; only a longer English query is understood without the conversation."""
SELF_CONTAINED_CHINESE: Final = 8
EARLIER_MESSAGES: Final = 3
"""How many messages of the user give their key terms to a query."""
MOST_TERMS: Final = 12
"""Key terms in front of a query, at most."""

_MARKS: Final = r"[\s!.,~！。，～、]*"
_GREETING: Final = lazy_pattern(
    r"(?:(?:hi|hello|hey|howdy|hiya|yo|greetings)(?: (?:there|again|all|everyone|you))?"
    r"|good (?:morning|afternoon|evening|night|day)|(?:what'?s up|sup|how are you(?: today| doing)?|how's it going)\??"
    r"|(?:many )?thanks?(?: you)?(?: (?:so|very) much| a lot)?|thx|ty|cheers"
    r"|(?:good)?bye(?: bye)?|see (?:you|ya)(?: later| soon| tomorrow)?|later|take care|cya"
    r"|ok(?:ay)?|k|yes|yeah|yep|yup|no|nope|nah|sure|great|cool|nice|perfect|got it|alright|fine|right|will do"
    r"|你好呀?|您好|大家好|嗨|哈[喽啰罗]|早安?|早上好|上午好|中午好|下午好|晚上好|晚安|谢谢(?:你|您|啦)?|多谢|感谢"
    r"|再见|拜拜|回头见|明天见|好的?|好吧|好呀|行|嗯+|是的?|对的?|不是?|没事|可以|知道了|明白了?|收到|没问题|辛苦了|在吗[?？]?"
    rf"|[ ,.!，。！]+)+{_MARKS}",
    re.IGNORECASE,
)
_LETTER: Final = lazy_pattern(r"[^\W\d_]")
_POLITE: Final = lazy_pattern(
    r"\b(?:tell|show|give|teach|remind me what|explain to|let|help) me\b(?! (?:about )?my\b)"
    r"|\b(?:can|could|may|should) i (?:ask|know)\b|\bi(?:'d| would) like to know\b|\bi (?:wonder|want to know)\b"
    r"|告诉我|跟我说|给我(?:讲|说|解释)|我想(?:知道|问|了解)|请问|帮我(?:查|算|看|翻译|解释)?",
    re.IGNORECASE,
)
_PLEASE: Final = lazy_pattern(r"^\W*(?:please\b\W*)?", re.IGNORECASE)
_PERSONAL: Final = lazy_pattern(
    r"(?<![\w-])(?:i|me|my|mine|myself|i[’'](?:m|ve|ll|d)|we|us|our|ours|ourselves|we[’'](?:re|ve|ll|d))(?![\w-])"
    r"|[我俺咱]|(?<!本)本人",
    re.IGNORECASE,
)
_EARLIER: Final = lazy_pattern(
    r"\b(?:remember|remind|recall|again|last time|before|earlier|previous(?:ly)?|already|yesterday|we (?:said"
    r"|discussed)"
    r"|(?:you|did you) (?:said|say|told|mentioned?|suggested?|recommended?))\b"
    r"|记得|上次|之前|以前|刚才|昨天|提过|说过|你推荐",
    re.IGNORECASE,
)
_FACT: Final = lazy_pattern(
    r"(?:(?:(?:what|which|who|where)(?:'s| is| are| was| were)(?: the)?|the) (?:\w+ )?(?:capital|population|currency"
    r"|president|prime minister|area|language|anthem|flag|formula|chemical symbol|atomic (?:number|mass)|boiling point"
    r"|melting point|speed of (?:light|sound)|square root|definition|meaning|plural|past tense|synonym|antonym|opposite"
    r"|distance|difference between|inventor|author|etymology)\b"
    r"|(?:what|which)(?:'s| is) the (?:largest|smallest|highest|longest|tallest|deepest)\b"
    r"|what (?:does|do) .{1,200} (?:mean|stand for)\b|(?:define|translate|spell)\b"
    r"|who (?:invented|discovered|wrote|painted|composed|founded|directed)\b"
    r"|how (?:do|does) (?:an? |the )?[a-z-]+(?: [a-z-]+)? (?:work|function)\b"
    r"|how (?:far|big|tall|old|deep|heavy|large) is (?:the )?(?:moon|sun|earth|universe|mount \w+)\b"
    r"|how many [a-z]+ (?:are )?(?:there )?(?:in|make) (?:an?|one|the)\b"
    r"|(?:when|what year|in (?:which|what) year) (?:did|was|were) (?:the )?(?:(?:first|second) )?(?:\w+ )?"
    r"(?:war|revolution|empire|treaty|moon landing|berlin wall|titanic|constitution)\b"
    r"|explain (?:how|what|why|the (?:theory|concept|principle|law|idea|difference))\b"
    r"|what (?:is|are) (?:an? )?[a-z][a-z-]*(?: [a-z-]+)?\s*+\?*+$)"
    r"|什么是|是什么意思|的(?:首都|人口|面积|货币|总统|定义|化学式|平方根|沸点|熔点|近义词|反义词)|(?:世界|全球|全世界|地球|太阳系)上?(?:里|中)?(?:最|第[一二三])|谁(?:发明|发现|创立|创作|写)了?"
    r"|(?:怎么翻译|的英文(?:是|怎么说))|原理是什么|的区别是什么",
    re.IGNORECASE,
)
_ABOUT_TALK: Final = lazy_pattern(
    r"\b(?:she|he|her|his|him|they|their|them|it|its|that|this|these|those|there|then|plan|next|up|new|you|your)\b"
    r"|[他她它们这那你您]",
    re.IGNORECASE,
)
_TOOL_QUESTIONS: Final = (
    (
        lazy_pattern(r"calc|math|arithm|comput|python|code", re.IGNORECASE),
        lazy_pattern(
            r"\d\s*(?:[-+*/^×÷%]|plus|minus|times|divided by|to the power of|加|减|乘以?|除以)\s*\d"
            r"|\bsquare root of \d",
            re.IGNORECASE,
        ),
    ),
    (
        lazy_pattern(r"time|clock|date|calendar|now", re.IGNORECASE),
        lazy_pattern(
            r"\bwhat(?:'s| is)? (?:the )?(?:current )?(?:time|date|day)(?: is it)?(?:\W*$| (?:now|today|in)\b)|几点"
            r"|今天(?:是)?(?:几号|星期几|周几)",
            re.IGNORECASE,
        ),
    ),
    (
        lazy_pattern(r"weather|forecast|meteo", re.IGNORECASE),
        lazy_pattern(
            r"\b(?:(?:what|how)(?:'s| is| will) the weather|weather (?:in|for|today|tomorrow|forecast|like)"
            r"|temperature in|(?:going to|will it) (?:rain|snow))\b|天气|气温|下雨吗",
            re.IGNORECASE,
        ),
    ),
    (
        lazy_pattern(r"stock|quote|price|finance|exchange|currency|convert", re.IGNORECASE),
        lazy_pattern(r"\b(?:stock price|share price|exchange rate|convert \d)|股价|汇率", re.IGNORECASE),
    ),
    (
        lazy_pattern(r"search|browse|web|news|google|bing|duckduckgo", re.IGNORECASE),
        lazy_pattern(
            r"\b(?:latest|breaking|today's) (?:news|headlines)\b|\bsearch the (?:web|internet)\b"
            r"|最新(?:的)?(?:新闻|消息)|上网查",
            re.IGNORECASE,
        ),
    ),
)
_VAGUE: Final = lazy_pattern(
    r"\W*(?:(?:and|but|so|also|ok|then)[ ,]+)*(?:how much|how many|how about|what about|what else|why not"
    r"|which one|and\b|or\b"
    r"|that|this|these|those|it|they|them|he|she|the (?:first|second|third|last|other|same) (?:one)?|same|why|when"
    r"|where|who)"
    r"\b(?:\W*$|(?=.))|\W*(?:那|这|它|他|她|还有|多少|为什么|然后|另外|再|第[一二三]个|哪个)",
    re.IGNORECASE,
)
_ASKS_WHOLLY: Final = lazy_pattern(r"\W*(?:why|when|where|who)\b", re.IGNORECASE)
_COUNTS: Final = lazy_pattern(r"\W*(?:how (?:much|many)\b|多少)", re.IGNORECASE)
_ASKS: Final = lazy_pattern(
    r"\W*(?:what(?! about| else)|which(?! one)|where|when|who|whose|whom|how(?! about)|why(?! not)|is|are|was|were|am"
    r"|do|does|did|has|have|had|can|could|should|will|would)\b",
    re.IGNORECASE,
)
_OF_MYSELF: Final = lazy_pattern(
    r"\b(?:my|our) \w|\b(?:am|do|did|was|were|have|had|can|should) (?:i|we)\b|[我咱]", re.IGNORECASE
)
_POINTS_BACK: Final = lazy_pattern(
    r"\b(?:it|they|them|he|she|him|her|that one|this one|those|these)\b|[它他她]|那个|这个|那里|这里", re.IGNORECASE
)
_KEY: Final = lazy_pattern(
    r"[$€£¥]?\d[\d.,:%-]*\w*|[^\W\d_\u3400-\u9fff]+(?:['’&.-][^\W_\u3400-\u9fff]+)*|[\u3400-\u9fff]+"
)
_CHINESE_PARTS: Final = lazy_pattern(
    rf"{CHINESE_QUESTION_WORDS}|哪个|可以|能不能|是不是|有没有|我们|你们|他们|她们|我的|你的|一下|一个|这个|那个|"
    r"因为|所以|但是|如果|已经|现在|打算|觉得|想要|需要|准备|正在|告诉|知道|请问|谢谢|应该|"
    r"[我你您他她它的了吗呢吧啊呀嘛么是在有和与或也都就还很要想会能去到给把被让从对于不没个这那请帮说最]"
)
_IDLE_WORDS: Final = """
    please thanks thank hi hello hey ok okay yes no want need like would tell know think going get got go let make help
    i'm i've i'll i'd it's that's don't can't what's lot really maybe something anything
"""
_IDLE: Final = STOP_WORDS | frozenset(_IDLE_WORDS.split())


def gate(turn: Turn, hints: Hints, history: Sequence[Turn] = ()) -> GateDecision:
    """Say whether memories are worth a search; in doubt they are."""
    text = " ".join(turn.text.replace("’", "'").split())
    if not text:
        return GateDecision("empty")
    personal = is_personal(text) or _EARLIER.search(text) is not None
    if _is_fact(text, hints, history) and not personal:
        return GateDecision("fact")
    if _needs_tool(text, hints, personal):
        return GateDecision("tool")
    return GateDecision("greeting") if is_greeting(text) else GateDecision("search")


def is_greeting(text: str) -> bool:
    """Whether a message is nothing but a greeting, thanks, a farewell or a short yes or no."""
    bare = text.strip().replace("’", "'")
    return len(bare) <= LONGEST_GREETING and _LETTER.search(bare) is not None and _GREETING.fullmatch(bare) is not None


def is_small_talk(text: str) -> bool:
    """Whether a sentence greets, or only keeps a conversation going."""
    return is_greeting(text) or SMALL_TALK.match(text) is not None


def is_personal(text: str) -> bool:
    """Whether a message refers to the one who says it; "tell me" does not."""
    return _PERSONAL.search(_POLITE.sub(" ", text)) is not None


def _is_fact(text: str, hints: Hints, history: Sequence[Turn]) -> bool:
    """Whether a fact of the world is asked for; one that points back to a conversation may be about anything."""
    if hints.is_fact is not None:
        return hints.is_fact
    if not asks_of_the_world(text) or _ABOUT_TALK.search(text):
        return False
    return not (history and _VAGUE.match(text) and not _ASKS_WHOLLY.match(text))


def asks_of_the_world(text: str) -> bool:
    """Whether a message is worded like a question for what is in every encyclopaedia."""
    if _FACT.match(_PLEASE.sub("", _POLITE.sub(" ", text))):
        return True
    return is_cjk(text) and _FACT.search(text) is not None


def _needs_tool(text: str, hints: Hints, personal: bool) -> bool:
    if hints.needs_tool is not None:
        return hints.needs_tool
    if personal:
        return False
    return any(
        asked.search(text) and any(named.search(tool) for tool in hints.tools) for named, asked in _TOOL_QUESTIONS
    )


def rewrite(query: str, history: Sequence[Turn]) -> RewrittenQuery:
    """Put the key terms of the last messages of the user in front of a query that needs them."""
    asked = " ".join(query.split())
    if not asked or is_self_contained(asked):
        return RewrittenQuery(asked)
    added = tuple(islice(_new_terms(_said_before(asked, history), asked), MOST_TERMS))
    return RewrittenQuery(" ".join((*added, asked)), added)


def is_self_contained(query: str) -> bool:
    """Whether a query can be understood without the conversation: it is long enough, and points back to nothing.

    A query that names somebody first says by itself whom "she" means; a short question that says what it asks about
    ("How old is Ida?") needs no more, and what was talked about before would lead away from it.
    """
    points_back = _POINTS_BACK.search(query)
    if points_back and not _names_anybody(query[: points_back.start()]):
        return False
    if len(query) <= (SELF_CONTAINED_CHINESE if is_cjk(query) else SELF_CONTAINED) or _COUNTS.match(query):
        return _is_whole(query)
    return _VAGUE.match(query) is None or _ASKS_WHOLLY.match(query) is not None


def _is_whole(question: str) -> bool:
    """Whether a question names somebody, or two things, or something of the user."""
    if is_cjk(question):
        return _OF_MYSELF.search(question) is not None and bool(key_terms(question))
    if not _ASKS.match(question):
        return False
    named = len(key_terms(question))
    is_own = _OF_MYSELF.search(question) is not None and _COUNTS.match(question) is None
    return named > 1 or _names_anybody(question) or (named == 1 and is_own)


def _names_anybody(words: str) -> bool:
    """Whether a name stands in an English text; a month or a number names nobody."""
    return not is_cjk(words) and any(name[0].isalpha() for name in names_and_numbers(words))


def _said_before(query: str, history: Sequence[Turn]) -> list[str]:
    """The last messages of the user, oldest first; some histories end with the query itself."""
    said = [turn.text for turn in history if turn.role == "user" and turn.text.strip()]
    if said and " ".join(said[-1].split()) == query:
        said.pop()
    return said[-EARLIER_MESSAGES:]


def _new_terms(texts: Iterable[str], query: str) -> Iterable[str]:
    """Key terms of the latest text first, each once, without those of the query."""
    known = set(tokenize(query))
    for text in reversed(list(texts)):
        for term in key_terms(text):
            own = set(tokenize(term))
            if own and not own <= known:
                known |= own
                yield term


def key_terms(text: str) -> list[str]:
    """The words of a text that say what it is about, as written, each once, in order."""
    found = [piece for match in _KEY.finditer(text) for piece in _pieces(match[0])]
    return list({term.casefold(): term for term in reversed(found)}.values())[::-1]


def _pieces(word: str) -> list[str]:
    if word[0] >= "\u3400":
        return [piece for piece in _CHINESE_PARTS.split(word) if len(piece) > 1]
    bare = word.strip(".,:-'’")
    return (
        [bare] if len(bare) > 1 and bare.casefold() not in _IDLE and bare.casefold().strip("s'’") not in _IDLE else []
    )


_ASKED_FOR: Final = (
    ("home", lazy_pattern(r"\bwhere (?:do|are) you (?:live|living|based|located)\b|住在?哪|家在哪", re.IGNORECASE)),
    (
        "name",
        lazy_pattern(r"\bwhat(?:'s| is) your name\b|\bwho am i (?:talking|speaking)|叫什么|怎么称呼", re.IGNORECASE),
    ),
    ("age", lazy_pattern(r"\bhow old are you\b|多大|几岁", re.IGNORECASE)),
    (
        "job",
        lazy_pattern(
            r"\bwhat do you do\b|\bwhat(?:'s| is) your (?:job|profession|occupation)\b|做什么工作|什么职业",
            re.IGNORECASE,
        ),
    ),
    ("employer", lazy_pattern(r"\bwhere do you work\b|在哪(?:里|儿)?(?:工作|上班)", re.IGNORECASE)),
    ("origin", lazy_pattern(r"\bwhere are you from\b|哪里人|来自哪", re.IGNORECASE)),
    ("birthday", lazy_pattern(r"\bwhen(?:'s| is) your birthday\b|生日是(?:什么时候|哪天)", re.IGNORECASE)),
    ("budget", lazy_pattern(r"\bwhat(?:'s| is) your budget\b|预算(?:是)?多少", re.IGNORECASE)),
)


_SOMEBODY: Final = lazy_pattern(r"[他她它]|朋友|同事|老板|老师|室友")
"""A Chinese question about somebody else."""
_MYSELF: Final = {"i": "you", "my": "your", "am": "are", "i'm": "you are"}


def attribute_asked_for(text: str) -> str | None:
    """Name the attribute of their own that somebody asks for: "Where do I live?"; None where it has no single value."""
    if is_cjk(text) and (speaks_of_kin(text) or _SOMEBODY.search(text)):
        return None
    turned = " ".join(_MYSELF.get(word, word) for word in text.casefold().replace("’", "'").split())
    return attribute_asked(turned)


def attribute_asked(question: str) -> str | None:
    """Name the attribute that a question asks its hearer for: "Where do you live?"; None for any other question."""
    return next((name for name, pattern in _ASKED_FOR if pattern.search(question)), None)
