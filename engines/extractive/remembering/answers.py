"""Tells whether a few words answer a question about somebody's life: "Any allergies?", "yeah, penicillin and latex"."""

import re
from typing import Final

from agentic_memory_bank.engines.extractive.reading import phrases
from agentic_memory_bank.engines.extractive.remembering.queries import is_greeting
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern

LONGEST_QUESTION: Final = 120
"""Characters of a question that is answered in a few words."""
MOST_WORDS: Final = 7
"""Words of such an answer, or twice as many Chinese characters."""

_OF_THE_ANSWER: Final = lazy_pattern(
    r"\b(?:shall|should|can|could|would|do|may) (?:i|we)\b|\bwould you (?:like|prefer|rather)\b"
    r"|\b(?:do|did) you (?:want|mean|need|like|prefer|agree|see|understand|think|fancy)\b"
    r"|\b(?:want|need|like|prefer) (?:me|it|this|that|a|another|the|some)\b|\bwhich (?:one|option|version|of|do|would"
    r"|language)\b"
    r"|\b(?:option|version|tone|format|style|length|draft|layout|font|paragraph|wording|topic"
    r"|subject line|audience|poem|letter|story|e-?mail|message|title|text|speech|essay|caption)s?\b"
    r"|\b(?:ready|sure|right|correct|okay|ok|clear|helpful|anything else|what else"
    r"|how (?:about|does|is) (?:that|this|it))\b"
    r"|\bhow (?:are you|do you feel)\b|\bwhat(?:'s| is) (?:up|wrong|the matter)\b|\bhow can i\b"
    r"|要不要|需不需要|要我|我[来帮给]|哪[个一]?(?:版|种风格|种语气)|可以吗|好吗|行吗|对吗|是吗|怎么样|满意|还有(?:什么|别的)|想要|喜欢哪",
    re.IGNORECASE,
)
"""A question about what is being written, or about the talk."""
_OF_LIFE: Final = lazy_pattern(
    r"\b(?:you|your|yours|yourself|the (?:wedding|trip|party|kids?|children|baby|dog|cat|house|flat|car|exam|interview"
    r"|appointment|surgery|budget|deadline|flight|venue|landlord|boss|team|school|course|job|family))\b"
    r"|\A\W*(?:any|which|what|who|where|when|how (?:many|much|old|long|often|far)|whose)\b"
    r"|[你您]|几|多[少大久远长]|哪|谁|什么|啥|过敏|忌口",
    re.IGNORECASE,
)
_EMPTY: Final = lazy_pattern(
    r"\W*(?:(?:yes|yeah|yep|yup|no|nope|nah|sure|ok(?:ay)?|please|thanks?|maybe|perhaps|not (?:really|sure|yet|now)"
    r"|i don't know|dunno|idk|none|nothing|never|both|either|neither|all|that one|this one"
    r"|the (?:first|second|last) one|a bit"
    r"|fine|great|good|later|nevermind|never mind|whatever|you|me|it|that|this|do|go|skip|why|what|hm+|lol|haha"
    r"|是的?|不是?|没有?|对|嗯+|好的?|行|可以|不用|随便|都行|不知道|不清楚|算了|谢谢|第[一二三]个|这个|那个|没|有|要|不要)\W*){1,6}",
    re.IGNORECASE,
)
_SAYS_ITSELF: Final = lazy_pattern(
    r"\b(?:i|i'm|i've|im|we|we're|my|our|it's|he|she|they|let's|can|could|would|please|make|write|give|tell|show|try|use"
    r"|keep|add|change|remove)\b|\A\W*(?-i:[A-Z])[a-z]+ (?:\w{2,}(?:s|ed)|has|will|can|does|did) \w"
    r"|[我咱]|帮|请|改成|写|换成|继续",
    re.IGNORECASE,
)
"""What is a sentence of its own, or an order."""


def answers_of_life(question: str, answer: str) -> bool:
    """Whether a few words answer what somebody was asked of their life, and say nothing without the question.

    Args:
        question: The last sentence of who asked.
        answer: What was said next.
    """
    size = sum(map(is_cjk, answer)) / 2 if is_cjk(answer) else len(answer.split())
    if len(question) > LONGEST_QUESTION or size > MOST_WORDS or not question.rstrip(" \"'”’)").endswith(("?", "？")):
        return False
    if _OF_THE_ANSWER.search(question) or _OF_LIFE.search(question) is None:
        return False
    plain = answer.replace("’", "'")
    idle = is_greeting(plain) or phrases.QUESTION.search(plain) or phrases.UNSURE.search(plain)
    return not (idle or _EMPTY.fullmatch(plain) or _SAYS_ITSELF.search(plain))
