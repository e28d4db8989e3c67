"""Reads whether somebody tells a memory to forget, and what: said in a chat, in plain words, English or Chinese.

Only what is said as a request counts: at the beginning of a clause ("please forget ..."), as a wish ("I don't want you
keeping anything on ..."), or, in Chinese, behind the thing it is about. "Don't forget", "I forget" and "forget it" by
itself are none.
"""

import re
from typing import Final, Literal, NamedTuple

from agentic_memory_bank.engines.extractive.reading.phrases import SPACED_CHINESE
from agentic_memory_bank.engines.extractive.remembering.asides import keeps_nothing
from agentic_memory_bank.engines.extractive.remembering.edits import OF_DEVICES, OF_TEXTS
from agentic_memory_bank.engines.extractive.remembering.replies import OVER, only_ends
from agentic_memory_bank.engines.extractive.remembering.telling_chinese import (
    ALL_ZH,
    MATTER_END_ZH,
    MATTER_ZH,
    SAYS_ZH,
    SHORT_ZH,
    ForgetPhrase,
    asked_in_chinese,
)
from agentic_memory_bank.engines.extractive.remembering.telling_hints import (
    ALL,
    AND_THE,
    BETWEEN_US,
    BY_NAME,
    GOES_ON,
    INSTEAD,
    LEADS_ON,
    OF_RECORD,
    ONLY_HER,
    PRIVATE,
    SPOKE,
    TITLES,
    bare_topic,
    hinted,
    is_noun,
    spelt,
)
from agentic_memory_bank.engines.own_words import is_order, own_words
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.sentences import sentences
from agentic_memory_bank.tools.text.terms import tokenize
from agentic_memory_bank.tools.text.traditional import as_written, simplified

LONGEST: Final = 600
"""Characters of a message that is read as a request; what is longer was pasted, or tells a story."""
_CLAUSE: Final = lazy_pattern(
    r"(?:(?!(?<=[a-z]{2})\.\s+[a-z]"
    r"|\sso (?:please )?(?:don't|do not) (?:save|store|remember|record|hold on(?:to)?) )"
    r"[^,;:()，；：、！？。!?\n—–（）])+"
)
_LEAD: Final = (
    r"\A\W*(?:(?:please|pls|kindly|just|ok(?:ay)?|hey|hi|also|and|so|but|then|actually|oh|well|right|now|look"
    r"|btw|sorry|by the way|go ahead and|(?:could|can|would|will|should) (?:you|u|ya)"
    r"|e+r+m*|u+h*m+|uh+|hm+|(?:you|u)(?:'d)? (?:can|could|may|should|must|better)"
    r"|you (?:need|have|ought) to|i(?:'d| would) (?:like|want|love|prefer) (?:you )?to|i (?:want|need) (?:you )?to"
    r"|let's|feel free to|do me a favou?r and|maybe|perhaps|if you (?:can|could)|safely)\b\W*){0,8}"
)
_FORGET: Final = lazy_pattern(_LEAD + r"forget\b(?! to\b)(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_SELF: Final = lazy_pattern(
    r"\A\W*(?:and |but |so )?i(?:'d| would)? (?:like|want|need|love|prefer|try|wish|hope) to forget\b", re.IGNORECASE
)
_DELETE: Final = lazy_pattern(
    _LEAD + r"(?:delete|erase|remove|wipe|scrub|purge|expunge|redact|unlearn|(?:strike|cross)(?= \w+ off)"
    r"|(?P<handy>clear|drop|get rid of|strike|scrap|bin|ditch|discard|dump|lose|chuck|toss|axe|omit|dispose of"
    r"|do away with|let go of|(?:take|cut|leave|cross|throw|rub)(?: out| away| off)?))(?: out| away)?\b(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
"""`handy` is what people do with things of their own: it asks for something where a record is its object."""
_PRETEND: Final = lazy_pattern(
    _LEAD
    + r"(?:(?:can|could|shall) we )?(?:pretend|act as if|act like) (?:that )?(?:i (?:never|didn't|hadn't)(?: ever)?"
    r" (?:say|said|tell you|told you|mention|mentioned)\b(?P<rest>.*)"
    r"|(?P<undone>(?!(?:it|that|this|you|i|we|nothing)\b)\w.{0,60}?)(?: has| had|'s)? (?:never|didn't|doesn't)"
    r" (?:ever )?(?:happen(?:ed)?|exist(?:ed)?|took place|was a thing)\b)",
    re.IGNORECASE | re.DOTALL,
)
_IF: Final = lazy_pattern(
    r"\A\W*(?:please )?(?:i'd|i would|it'd|it would|i'll)\b.{0,40}\bif you (?:could |would |just )*(?:deleted?|erased?"
    r"|forgot|forget|removed?|wiped?|dropped)\b(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_KEEP: Final = (
    r"(?:remember|memori[sz]e|store|save|keep (?:hold of|track of)|keep|retain|record|note|log|(?:hold|hang) on ?to"
    r"|hold onto|write down)"
)
_KEEPING: Final = r"(?:remember|memori[sz]|stor|sav|keep|retain|record|not|logg|hold|hang|writ)ing(?: on ?to)?"
_KEEP_NOT: Final = lazy_pattern(
    _LEAD + rf"(?:(?:don't|do not|never|no need to|you needn't|you (?:don't|do not) (?:need|have) to|not) {_KEEP}"
    rf"|stop {_KEEPING}"
    rf"|(?:there's |there is )?no (?:need|reason|point)(?: for you)? (?:to {_KEEP}|(?:in )?{_KEEPING})"
    rf"|i (?:don't|do not|wouldn't) (?:want|like|need) you (?:to {_KEEP}|{_KEEPING})"
    rf"|i'd (?:rather|prefer) (?:if )?you (?:didn't|did not|don't) {_KEEP})\b(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_KEPT: Final = (
    r"(?:written down|kept|stored|saved|remembered|recorded|noted"
    r"|(?:on|in) (?:the |your )?(?:record|file|memory|memories|notes|here|there)|in here)"
)
_WISH: Final = lazy_pattern(
    r"\A\W*(?:and |so |please |but )?(?:"
    rf"i(?:'d| would| should)? (?:rather|prefer|like|want)\b(?: it)?(?: that| if)* (?P<spared>[^.]{{1,80}}?)"
    rf" (?:weren't|wasn't|isn't|aren't|were not|was not|is not|not be|not|didn't stay|stays? off)(?: to be)? {_KEPT}"
    rf"|i(?:'d| would| should)? (?:rather|prefer|like|want)\b(?P<wished>(?:(?!\bnot\b|n't\b)[^.]){{0,80}}?)"
    rf"\b(?:was|were|is|to be|be|got)? ?"
    r"(?:forgotten|deleted|erased|removed|wiped|gone)(?=\W*(?:please|now|for good|from .{1,20})?\W*\Z)"
    rf"|i (?:don't|do not) want (?P<unwished>[^.]{{0,80}}?) (?:to be )?{_KEPT}"
    r"|(?P<passive>[^.]{1,80}?) (?:should|can|must|may) be (?:forgotten|deleted|erased|wiped)"
    rf"|(?:make sure|ensure|see to it)(?: that)? (?P<ensured>[^.]{{1,80}}?)"
    rf" (?:(?:is|are|gets?) (?:forgotten|deleted|erased|wiped|removed)|(?:isn't|aren't|is not|are not) {_KEPT}))\b",
    re.IGNORECASE,
)
_THIS: Final = lazy_pattern(
    r"\A\W*(?:about |any of |none of |all of |all |i (?:just )?(?:said|told you) |of )*+(?:it|this|that|these"
    r"|those|them|what i(?:'ve)? (?:just )?(?:said|told you|wrote)|(?:this|that|my last|the last) (?:message|one|bit"
    r"|part|thing))\b"
    r"(?: (?:out|off|away|please|now|then|too|either|though|for me|for good|at all|any ?more|anywhere|down|on record"
    r"|on file|one|again|ok(?:ay)?|(?:in|from|to) (?:your |the )?(?:memory|memories|notes|records?)))*"
    r"\W*\Z",
    re.IGNORECASE,
)
_SOMETHING: Final = lazy_pattern(
    r"\A\W*(?:(?:any|every|some|no) ?thing?|nowt|owt|notes?|an? (?:note|record)|records?|stuff|info(?:rmation)?"
    r"|details?|things?|any(?: \w+)?|all(?: that)?)\b(?P<where>.{0,40}?)\b(?:on|about|of|regarding|concerning"
    r"|to do with)\b\s*(?P<about>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_ABOUT: Final = lazy_pattern(
    r"\b(?:about|regarding|concerning|to do with|(?:anything|everything|all) (?:on|of))\b\s*(?P<about>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_SAID: Final = lazy_pattern(
    r"\A\W*(?:(?:all|everything|anything|whatever|what|that|the (?:thing|stuff|part|bit)s?|stuff|things?)\b ?)*"
    r"(?:that )?(?:i|we|you)(?:'ve)?(?: (?:ever|just|once|have))* (?:said|told you|told|mentioned|know"
    r"|remember|have|got|hold|keep|kept|stored|saved|noted|written)(?: down)?\b(?: on\b)?",
    re.IGNORECASE,
)
_OURS: Final = lazy_pattern(
    r"\A\W*(?:(?:all|everything|any) (?:of )?)?(?:my|our|that (?:i|he|she|we|they|it|my|our|there)\b|what\b)",
    re.IGNORECASE,
)
_THING: Final = lazy_pattern(
    r"\A\W*(?:and |so |but )?(?:(?:the|that|this|my|our) (?P<about>.{1,40}?) (?:thing|stuff|business|matter|affair"
    r"|story|bit|part)\b"
    r"|i (?:really )?(?:shouldn't|should not|should never|never should) have (?:told you|mentioned|said)"
    r"(?: anything)?(?: about)? (?P<told>.+))",
    re.IGNORECASE | re.DOTALL,
)
_TOPIC: Final = lazy_pattern(
    r"\A\W*(?:and |so |but |oh |well )?(?:(?:about|as for|regarding|concerning)\b"
    r"|(?:all )?(?:that|the|this|my)?\s?(?:whole )?(?:stuff|things?|business|matter|part|bit|story) (?:about|with"
    r"|of|i)\b|(?:what|everything|all) (?:that )?i(?:'ve)? (?:said|told|mentioned)|everything about\b"
    r"|(?:all )?that \w+ (?:stuff|thing|business)\b)",
    re.IGNORECASE,
)
_WORK: Final = lazy_pattern(rf"\b(?:{OF_TEXTS}|{OF_DEVICES})\b", re.IGNORECASE)
"""What is worked on rather than remembered: "delete my last paragraph"."""


class Telling(NamedTuple):
    """What somebody tells a memory to forget."""

    kind: Literal["about", "this", "past", "all"]
    """What speaks of something; what is said in this message, or just before it; what has ceased to be true; all."""
    about: str = ""
    """What it is about, in the user's words."""
    whose: str = ""
    """Whom or what `about` goes on about, where another clause names it: "About Marcus, erase that he pays"."""
    rest: str = ""
    """What else the message says that is not to be kept, where it is about what is said in it."""
    after: str = ""
    """What the message goes on to say, after a sentence that tells not to keep what comes before."""
    is_sure: bool = True
    """Whether it plainly tells to forget; else it may, and nothing goes unless what it is about is known."""
    is_guessed: bool = False
    """Whether no pattern hears it, and only the learnt head does."""
    is_aside: bool = False
    """Whether it is said in passing of what the message tells."""
    is_plain: bool = True
    """Whether a clause of it says so; else the message as a whole only sounds like it, and is kept until a yes."""


def told_to_forget(text: str) -> Telling | None:
    """What a message tells a memory to forget; None where it tells nothing of the kind.

    Args:
        text: What a user says.
    """
    said = spelt(SPACED_CHINESE.sub("，", " ".join(own_words(text[: LONGEST + 1]).replace("’", "'").split())))
    if len(text) > LONGEST or not said or is_order(said):
        return None
    words = simplified(said)
    told = _told_in(words)
    return told and told._replace(about=as_written(told.about, words, said), after=as_written(told.after, words, said))


def _told_in(words: str) -> Telling | None:
    """What a message tells to forget; Chinese in simplified characters."""
    if only_ends(words):
        return Telling("past")
    clauses = _clauses(words)
    starts = [start for start, _ in sentences(words)]
    for place, (sentence, clause) in enumerate(clauses):
        after = ", ".join(one for _, one in clauses[place + 1 :])
        asked = _asked(clause, after) or asked_in_chinese(clause, words)
        if not (asked and asked.wants_nothing_kept) and keeps_nothing(clause, after):
            asked = ForgetPhrase("", is_aside=True)
        if asked is not None:
            before = [one for _, one in clauses[:place]]
            same = before[sum(number < sentence for number, _ in clauses[:place]) :]
            if (told := _told(asked, same, before, after)) is not None:
                told = _with_others(told, [one for _, one in clauses[place + 1 :]], words)
                is_over = told.kind == "this" and before and sentence + 1 < len(starts)
                is_over = is_over and not LEADS_ON.match(words, words.find(clause) + len(clause))
                return told._replace(after=words[starts[sentence + 1] :]) if is_over else told
    about, is_plain = hinted([clause for _, clause in clauses])
    return Telling("about", about, is_sure=False, is_plain=is_plain) if about else None


def _with_others(told: Telling, after: list[str], words: str) -> Telling:
    """A wish about something with what further clauses of the message tell to forget, too."""
    asked = [_asked(clause, "") or asked_in_chinese(clause, words) for clause in after] if told.kind == "about" else []
    if not (others := [one.about for one in asked if one and one.is_sure and tokenize(one.about)]):
        return told
    named = [MATTER_END_ZH.sub("", one) for one in (told.about, *others)]
    return told._replace(about=("和" if is_cjk(words) else " and ").join(named))


def _clauses(words: str) -> list[tuple[int, str]]:
    """The clauses of a message, each with the number of its sentence."""
    found: list[tuple[int, str]] = []
    for number, (start, end) in enumerate(sentences(words)):
        found += [(number, one[0].strip(" .\"'")) for one in _CLAUSE.finditer(words[start:end].rstrip())]
    return [(number, clause) for number, clause in found if clause]


def _told(asked: ForgetPhrase, same: list[str], before: list[str], after: str) -> Telling | None:
    """What a request is for, by its own words and those of the clauses around it."""
    if asked.about:
        if ALL.fullmatch(asked.about) or ALL_ZH.fullmatch(asked.about):
            return Telling("all")
        topic = next((one for one in same if _TOPIC.match(one)), "")
        if ONLY_HER.match(asked.about):
            about = bare_topic(topic) or _named_before(before) or _named_before([after])
            return Telling("about", about, is_sure=asked.is_sure) if about else _of_her(asked.about, before, after)
        whose = bare_topic(topic) if topic and _HE.match(asked.about) else ""
        whose = whose or (_named_before(before) if _HERS.match(asked.about) else "")
        bare = _SAID.sub("", asked.about, count=1)
        about = bare if tokenize(bare) else asked.about
        if found := AND_THE.match(after):
            about = f"{about} and {found['what']}"
        if not tokenize(about):
            return None
        return Telling("about", about, whose, is_sure=asked.is_sure, is_plain=asked.is_sure)
    if not asked.is_aside and (topic := _topic(asked, same, before)):
        return Telling("about", topic, is_sure=_is_sure_of(asked, topic, before))
    if asked.wants_nothing_kept or asked.is_aside:
        return Telling("this", rest=", ".join((*before, after)).strip(", "), is_aside=asked.is_aside)
    return None


def _is_sure_of(asked: ForgetPhrase, topic: str, before: list[str]) -> bool:
    """Whether "it" stands for what an earlier clause names, for sure: "forget it" alone may only be said so."""
    is_said_so = asked.is_idle and any(map(PRIVATE.match, before))
    return asked.is_sure and not is_said_so and not (asked.points_back and topic in before)


_HE: Final = lazy_pattern(r"\A\W*(?:that )?(?:he|she|they|it|his|her|their)\b", re.IGNORECASE)
_HERS: Final = lazy_pattern(r"\A\W*(?:about |that )?(?:he|she|they|his|her|their)\b", re.IGNORECASE)


def _of_her(asked: str, before: list[str], after: str) -> Telling | None:
    """A wish about "him" or "her", whom the message names in small letters, or does not name."""
    others = ", ".join((*before, after)).strip(", ")
    return Telling("about", others, is_sure=False) if OF_RECORD.match(asked) and tokenize(others) else None


def _named_before(before: list[str]) -> str:
    """The one name that the clauses before speak of; empty for none or several."""
    names = {name for one in before for name in names_and_numbers(f"so {one}")} - TITLES
    return names.pop().title() if len(names) == 1 else ""


def _topic(asked: ForgetPhrase, same: list[str], before: list[str]) -> str:
    """What "it" stands for: the clauses before it, where they name something and say no more."""
    if private := next((found["about"] or found["private"] for one in before if (found := PRIVATE.match(one))), ""):
        return private
    if spoken := next((found["about"] for one in (*before[-1:], *same) if (found := SPOKE.match(one))), ""):
        return "" if asked.is_idle else spoken
    if over := next((found["about"] for one in (*same, *before[-1:]) if (found := OVER.match(one))), ""):
        return "" if asked.is_idle else over
    if any(is_cjk(one) for one in before):
        matter = next((found[0] for one in before if (found := MATTER_ZH.match(one)) and not SAYS_ZH.search(one)), "")
        is_here = asked.is_idle or (asked.wants_nothing_kept and not asked.points_back)
        return matter or ("" if is_here or len(before[0]) > SHORT_ZH else before[0])
    if found := next((found for one in same if (found := _THING.match(one))), None):
        return found["about"] or found["told"]
    named = [one for one in same if _TOPIC.match(one) or (not asked.is_idle and is_noun(one))]
    return " and ".join(bare for one in named if (bare := bare_topic(one)) and tokenize(bare))


# --- English ---------------------------------------------------------------------------------------------------------


def _asked(clause: str, after: str) -> ForgetPhrase | None:
    """What an English clause asks to forget; None where it asks for nothing of the kind."""
    if BETWEEN_US.match(clause):
        return ForgetPhrase("", wants_nothing_kept=True)
    if found := _KEEP_NOT.match(clause):
        return _kept_not(found["rest"])
    if found := _WISH.match(clause):
        what = next(filter(None, found.groups()), "")
        return ForgetPhrase(what) if found["spared"] and not _THIS.match(what) else _wished(what)
    if found := _PRETEND.match(clause) or _IF.match(clause):
        return _pretended(found.groupdict().get("undone") or "", found["rest"] or "")
    found, is_sure = None if _SELF.match(clause) else _FORGET.match(clause), True
    if found is None:
        found, is_sure = _DELETE.match(clause), False
    if found is None or INSTEAD.search(after) or INSTEAD.search(found["rest"]):
        return None
    rest, is_handy = found["rest"].strip(), not is_sure and bool(found["handy"])
    if _THIS.match(rest) or not rest:
        from_record = (not is_sure and _FROM_RECORD.search(rest) is not None) or _JUST_SAID.search(rest) is not None
        return ForgetPhrase("", is_idle=is_sure or not rest, wants_nothing_kept=from_record)
    bare = _FROM_RECORD.sub("", rest)
    if is_handy:
        return ForgetPhrase(bare) if bare != rest or _RECORD.match(rest) or _IN_MEMORY.search(rest) else None
    if _WORK.search(bare) and not _is_remembered(rest):
        return ForgetPhrase(bare, is_sure=False) if is_sure else None
    is_meant = is_sure or _is_remembered(rest) or _OURS.match(rest) or ONLY_HER.match(rest)
    is_plain = _is_remembered(rest) or not (GOES_ON.match(after) or ONLY_HER.match(rest))
    return ForgetPhrase(bare, is_sure=is_plain) if is_meant else None


def _pretended(undone: str, rest: str) -> ForgetPhrase:
    return ForgetPhrase(undone, is_sure=False) if undone else ForgetPhrase("" if _THIS.match(rest) else rest)


def _is_remembered(rest: str) -> bool:
    """Whether something is named as a thing that was told or is kept."""
    return any(one.search(rest) for one in (_ABOUT, _SAID, _IN_MEMORY, _THAT_I)) or ALL.fullmatch(rest) is not None


_FROM_RECORD: Final = lazy_pattern(
    r"\s{0,3}\b(?:from|in|off|out of|on) (?:(?:your|the|my|our) (?:memory|memories|notes|records?|files?|head"
    r"|mind|system|logs?"
    r"|database|profile|history)|memory|what you know|here|there|record|file)\b(?:\W{0,3}(?:please|now"
    r"|for good|entirely|completely|altogether|for me|will you|would you|thanks?|ok(?:ay)?)\b){0,3}\W*\Z",
    re.IGNORECASE,
)
"""Where it is to be taken from: the record itself, and not a thing of the user's."""
_RECORD: Final = lazy_pattern(
    r"\A\W*(?:(?:all|any|every|of|that|the|this|those|these|my|our|your|last|whole)\b ?){0,4}(?:anything"
    r"|everything|whatever"
    r"|what|stuff|things?|parts?|bits?|details?|info(?:rmation)?|notes?|records?|mentions?|references?|memor(?:y|ies)"
    r"|entry|entries|facts?|business|subject|topic|all|that(?= about))\b[^.]{0,40}?\b(?:about|on|of|to"
    r"|regarding|concerning|where|i|i've|we|we've|you|you've)\b",
    re.IGNORECASE,
)
"""A record, or what was told, as what is done away with: "the part about Tom", "whatever you've got on Tom"."""
_IN_MEMORY: Final = lazy_pattern(
    r"\b(?:from|in) (?:(?:your|the) (?:memory|memories|notes|records?|head)|what you know)\b"
    r"|\b(?:stuff|thing|business|promise|dream|item|entry)\b",
    re.IGNORECASE,
)
_JUST_SAID: Final = lazy_pattern(r"\bi (?:just )?(?:said|told you|wrote)\b|\b(?:my|the) last message\b", re.IGNORECASE)
_THAT_I: Final = lazy_pattern(r"\A\W*that (?:i|we|my|our|he|she|they|there)\b", re.IGNORECASE)
_STORED: Final = lazy_pattern(r"\A\W*(?:that|my|our|about|what|the (?:thing|stuff|business|part|bit))\b", re.IGNORECASE)


def _kept_not(rest: str) -> ForgetPhrase | None:
    if _THIS.match(rest) or _SAID.match(rest):
        about = _ABOUT.search(rest)
        return ForgetPhrase(about["about"] if about else "", wants_nothing_kept=True)
    if found := _SOMETHING.match(rest):
        return ForgetPhrase(found["about"])
    if (thing := _THING.match(rest)) and thing["about"]:
        return ForgetPhrase(thing["about"])
    if BY_NAME.match(rest):
        return ForgetPhrase(rest, is_sure=False)
    is_thing = _ABOUT.search(rest) or _THAT_I.match(rest) or not (_WORK.search(rest) or _WAITING.search(rest))
    return ForgetPhrase(rest) if _STORED.match(rest) and is_thing else None


_WAITING: Final = lazy_pattern(r"\b\w{2,20}ing\b|\b(?:for|in|to|at|waiting)\b", re.IGNORECASE)


def _wished(what: str) -> ForgetPhrase | None:
    if _WORK.search(what):
        return None
    if found := _SOMETHING.match(what):
        return ForgetPhrase(found["about"])
    if _THIS.match(what) or not what.strip():
        return ForgetPhrase("", wants_nothing_kept=True)
    return ForgetPhrase(what, is_sure=_is_remembered(what))
