"""Tells a question for what an occasion held, such as its agenda, its mood or somebody's advice.

That there was a workshop is mostly kept, what was taught there is not: all that is known of it is as like the question
as an answer would be. So where such a thing is asked for, who reads both has to find that a memory states it.
"""

import re
from typing import Final

from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern

_THINGS: Final = (
    "advice|tips?|recommendations?|suggestions?|guidance|techniques?|methods?|topics?|themes?|contents?|points?"
    "|arguments?|insights?|takeaways?|lessons?|strateg(?:y|ies)|agenda|curriculum"
    "|atmosphere|ambian?ce|mood|vibe|reactions?|response|reasons?|rationale|motives?|motivation"
    "|criteri(?:a|on)|qualifications?|credentials?|expertise|format|structure|layout"
)

_POLITE: Final = lazy_pattern(r"\b(?:can|could|would|will) you\b(?: please)?")
_WISHED: Final = lazy_pattern(
    r"\b(?:you|your|should|would|might|ought|need|best|good|better|some|any|want)\b|\b(?:can|could|may) (?:i|we)\b"
    r"|\bhelp me\b"
)
"""Who asks like this wants something new, and not what was."""
_ASKED: Final = lazy_pattern(
    r"\b(?:what|which)(?: (?:is|are|was|were))?"
    rf"(?: (?!(?:did|do|does|has|have|had|is|are|was|were)\b)[\w’'-]+){{0,5}}? (?:{_THINGS})\b"
    rf"|\b(?:share|give|provide|tell|describe)\b[^.?!]{{0,40}}?\b(?:the|his|her|their|\w+[’']s)"
    rf"(?: [\w’'-]+){{0,2}}? (?:{_THINGS})\b"
    r"|\bwhat (?:was|were|got) (?:[\w’'-]+ or )?(?:discussed|decided|covered|taught|debated|talked about)\b"
)
_WAS: Final = lazy_pattern(
    r"\b(?:did|was|were|had|gave|given|made|taught|covered|shared|discussed|attended|mentioned|met|read)\b"
    rf"|[’']s (?:[\w’'-]+ )?(?:{_THINGS})\b|\b(?:{_THINGS}) (?:or [\w’'-]+ )?(?:of|from|at|during)\b"
)
"""What shows that it is or was somebody's, or of some occasion."""
_CHINESE_THINGS: Final = (
    "建议|意见|技巧|方法|要点|内容|议程|主题|话题|观点|论点|策略|心得|标准|气氛|氛围|反应|感想"
    "|理由|原因|资历|资质|专长|形式|结构"
)
_CHINESE_ASKED: Final = lazy_pattern(
    rf"(?:什么|哪些|啥|怎么样的|怎样的)(?:样的|具体的?|主要的?)?(?:{_CHINESE_THINGS})"
    rf"|(?:{_CHINESE_THINGS})(?:都|具体)?(?:是|有|包括)?(?:什么|哪些|啥|怎么样|怎样|如何)"
    r"|(?:讨论|讲|聊|教|说)(?:了|过)(?:些)?(?:什么|啥|哪些)"
)
_CHINESE_WAS: Final = re.compile(r"[了过]|当时|那[次天场]|上[次周个]|[他她]|的时候")
_CHINESE_WISHED: Final = re.compile(r"你|应该|[有给]我?推荐|帮我|怎么办|想要|需要")
_LONGEST: Final = 1_000
"""Characters that are looked into."""


def asks_for_contents(query: str) -> bool:
    """Whether a question asks what an occasion or a person is to have held."""
    asked = _POLITE.sub(" ", query[:_LONGEST].casefold())
    if is_cjk(asked):
        shape, was, wished = _CHINESE_ASKED, _CHINESE_WAS, _CHINESE_WISHED
    else:
        shape, was, wished = _ASKED, _WAS, _WISHED
    return bool(shape.search(asked) and was.search(asked) and not wished.search(asked))
