"""Tells a question for what an occasion held, such as its agenda, its mood or somebody's advice, and who tells of it.

That there was a workshop is mostly kept, what was taught there is not: all that is known of it is as like the question
as an answer would be. So where such a thing is asked for, a memory has to name it, or to say it in words as people do.
"""

import re
from collections.abc import Iterable
from typing import Final

from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern

_SAID: Final = (
    "advice|tips?|recommendations?|suggestions?|guidance|techniques?|methods?|topics?|themes?|contents?|points?"
    "|arguments?|insights?|takeaways?|lessons?|strateg(?:y|ies)|agenda|curriculum"
)
_FELT: Final = "atmosphere|ambian?ce|mood|vibe|reactions?|response"
_WHY: Final = "reasons?|rationale|motives?|motivation"
_SHOWN: Final = "criteri(?:a|on)|qualifications?|credentials?|expertise|format|structure|layout"
_THINGS: Final = f"{_SAID}|{_FELT}|{_WHY}|{_SHOWN}"

_POLITE: Final = lazy_pattern(r"\b(?:can|could|would|will) you\b(?: please)?")
_WISHED: Final = lazy_pattern(
    r"\b(?:you|your|should|would|might|ought|need|best|good|better|some|any|want)\b|\b(?:can|could|may) (?:i|we)\b"
    r"|\bhelp me\b"
)
"""Who asks like this wants something new, and not what was."""
_ASKED: Final = lazy_pattern(
    r"\b(?:what|which)(?: (?:is|are|was|were))?"
    rf"(?: (?!(?:did|do|does|has|have|had|is|are|was|were)\b)[\w’'-]+){{0,5}}? (?P<what>{_THINGS})\b"
    rf"|\b(?:share|give|provide|tell|describe)\b[^.?!]{{0,40}}?\b(?:the|his|her|their|\w+[’']s)"
    rf"(?: [\w’'-]+){{0,2}}? (?P<the>{_THINGS})\b"
    r"|\bwhat (?:was|were|got) (?:[\w’'-]+ or )?(?P<done>discussed|decided|covered|taught|debated|talked about)\b"
)
_WAS: Final = lazy_pattern(
    r"\b(?:did|was|were|had|gave|given|made|taught|covered|shared|discussed|attended|mentioned|met|read)\b"
    rf"|[’']s (?:[\w’'-]+ )?(?:{_THINGS})\b|\b(?:{_THINGS}) (?:or [\w’'-]+ )?(?:of|from|at|during)\b"
)
"""What shows that it is or was somebody's, or of some occasion."""
_TELLS: Final = {
    "said": lazy_pattern(
        r"\b(?:told|advised|urged|warned|reminded|taught|showed|asked|wants?|wanted) (?:me|us|him|her|them|everyone)\b"
        r"|\b(?:said|says|suggested|suggests|recommended|recommends|explained|argued|insisted|stressed|emphasi[sz]ed"
        r"|advised|reckons|swears by|warned|pointed out|focus(?:ed|es) on|covered|covers|taught|talked about"
        r"|spoke about|discussed|decided|agreed)\b"
        r"|\byou (?:should|ought to|need to|have to|might like)\b|\byou[’']d (?:love|better)\b"
        r"|(?:\A|[.!?:,;] )(?:make sure|remember|always|never|don[’']t|try)\b"
    ),
    "felt": lazy_pattern(
        r"\b(?:it|she|he|they|everyone|everybody|nobody|people|the (?:room|crowd|place|night|evening|party|mood))"
        r"(?: all)? (?:was|were|felt|seemed|got|went|looked|reacted|laughed|cried|cheered|clapped|smiled|sulked|loved"
        r"|hated)\b"
        r"|\b(?:happy|glad|thrilled|delighted|relieved|proud|excited|thankful|furious|angry|mad|upset|annoyed|hurt|sad"
        r"|shocked|surprised|stunned|disappointed|worried|tense|lively|warm|awkward|relaxed|electric|festive|gloomy"
        r"|packed|noisy|cheerful|hostile|over the moon|in tears)\b"
    ),
    "why": lazy_pattern(
        r"\b(?:because|cause|cuz|since|due to|so that|in order to|too \w+|as (?:it|they|we|i|he|she))\b"
    ),
}
_FAMILY: Final = (("said", _SAID), ("felt", _FELT), ("why", _WHY))

_CHINESE_THINGS: Final = (
    "建议|意见|技巧|方法|要点|内容|议程|主题|话题|观点|论点|策略|心得|标准|气氛|氛围|反应|感想"
    "|理由|原因|资历|资质|专长|形式|结构"
)
_CHINESE_ASKED: Final = lazy_pattern(
    rf"(?:什么|哪些|啥|怎么样的|怎样的)(?:样的|具体的?|主要的?)?(?P<what>{_CHINESE_THINGS})"
    rf"|(?P<the>{_CHINESE_THINGS})(?:都|具体)?(?:是|有|包括)?(?:什么|哪些|啥|怎么样|怎样|如何)"
    r"|(?P<done>讨论|讲|聊|教|说)(?:了|过)(?:些)?(?:什么|啥|哪些)"
)
_CHINESE_WAS: Final = re.compile(r"[了过]|当时|那[次天场]|上[次周个]|[他她]|的时候")
_CHINESE_WISHED: Final = re.compile(r"你|应该|[有给]我?推荐|帮我|怎么办|想要|需要")
_CHINESE_TELLS: Final = lazy_pattern(
    r"说|告诉|建议|让[我他她]|叫[我他她]|劝|提醒|推荐|教[我了会]|主要讲|讲了|聊了|讨论了|决定|因为|由于|所以|嫌|太|怕|为了|觉得"
    r"|高兴|开心|生气|热闹|冷清|紧张|尴尬|难过|感动|惊讶|激动|失望|哭|笑"
)
_LONGEST: Final = 1_000
"""Characters that are looked into."""


def is_untold(query: str, texts: Iterable[str]) -> bool:
    """Whether it is asked what an occasion held, and none of some memories tells of it."""
    asked = contents_asked_for(query)
    return asked is not None and not any(tells_contents(text, asked) for text in texts)


def contents_asked_for(query: str) -> str | None:
    """Name what an occasion or a person is to have held, as the question says it; None where none is asked for."""
    asked = _POLITE.sub(" ", query[:_LONGEST].casefold())
    if is_cjk(asked):
        shape, was, wished = _CHINESE_ASKED, _CHINESE_WAS, _CHINESE_WISHED
    else:
        shape, was, wished = _ASKED, _WAS, _WISHED
    found = shape.search(asked)
    if found is None or wished.search(asked) or not was.search(asked):
        return None
    return next(word for word in found.groups() if word)


def tells_contents(text: str, asked: str) -> bool:
    """Whether a memory names what was asked for, or says it in words of telling, feeling or giving a reason.

    Args:
        text: Its words.
        asked: What `contents_asked_for` has named.
    """
    told = text[:_LONGEST].casefold()
    if is_cjk(asked):
        return asked in told or _CHINESE_TELLS.search(told) is not None
    if re.search(rf"\b{re.escape(asked.removesuffix('s'))}", told):
        return True
    if re.fullmatch(_SHOWN, asked):
        return False
    family = next((name for name, things in _FAMILY if re.fullmatch(things, asked)), "said")
    return _TELLS[family].search(told) is not None
