"""Reads whether somebody may want something forgotten, in words that are no plain order to forget it.

"I'd sooner you didn't hang on to the stuff about my landlord", "the pottery bit can go": a wish that is put politely,
as a state of affairs, or behind what it is about. Whoever hears one asks before anything is erased.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from agentic_memory_bank.engines.extractive.remembering.edits import OF_PAPERS, OF_TEXTS
from agentic_memory_bank.engines.extractive.remembering.telling_chinese import INSTEAD_ZH
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.terms import tokenize

_OPENING: Final = (
    r"\A\W*+(?:(?:please|pls|hey|hi|so|and|but|ok(?:ay)?|look|listen|actually|also|oh|well|btw|sorry|right|now|then"
    r"|just"
    r"|kindly|maybe|perhaps|honestly|to be honest|in fact|by the way|one thing|um+|yeah)\b\W*){0,6}"
)
_BY: Final = r"(?:(?:just|please|maybe|possibly|kindly|simply|also|safely|happily|now|then|really|all)\s+){0,3}"
_YOU: Final = r"(?:you|u|we)(?:'d|'ll| would| could| can| will| might| should| just| were to| to)*"
_LEAD: Final = (
    rf"(?:(?:could|can|would|will|might|may) (?:you|u|we)\s+{_BY}(?:mind\s+)?"
    r"|(?:could|can|may|might) i (?:\w+ )?(?:ask|get|trouble|beg) you (?:to\s+)?|(?:do you |would you )?mind\s+"
    r"|any chance (?:you could|of(?: you)?)\s+|(?:is it|would it be) (?:possible|ok(?:ay)?|alright)"
    r" (?:for you )?to\s+|is there (?:a|any) way (?:for you )?to\s+|let's\s+|go ahead and\s+|feel free to\s+"
    r"|best (?:to\s+)?"
    rf"|i(?:'d| would)?(?: much| really| far| just)? (?:sooner|rather|prefer(?: it)?|like(?: it)?|love(?: it)?"
    rf"|appreciate"
    r"(?: it)?|want|need|ask|beg|be \w+(?: \w+)?|feel \w+(?: \w+)?|sleep \w+|hope|wish)"
    rf"(?: if| that| for)* {_YOU}\s+{_BY}"
    rf"|it(?:'d| would| might) be (?:\w+ )?\w+(?: of you)?(?: if| to)(?: {_YOU})?\s+{_BY}"
    rf"|you(?:'re)?(?:'d| could| can| may| might| should| must| need to| ought to| better| free to"
    rf"| welcome to)+\s+{_BY})"
)
"""How a wish is put to somebody."""
_FORGETS: Final = (
    r"(?:forget(?:ting)?|forgot(?:ten)?|un-?remember(?:ing|ed)?|unlearn(?:ing|ed|t)?|unknow|eras(?:e|ed|ing)"
    r"|delet(?:e|ed|ing)|wip(?:e|ed|ing)|expung(?:e|ed|ing))\b"
)
"""What is done to memories, and little else."""
_REMOVES: Final = (
    r"(?:(?:remov|purg|los|ax)(?:e|ed|ing)|lost|(?:scrub|scrap|bin|drop)(?:ped|bed|ned|ping|bing|ning)?|str(?:ike"
    r"|uck)"
    r"|(?:ditch|dump|discard|toss|chuck|clear|redact)(?:ed|ing)?|bur(?:y|ied|ying)|(?:get(?:ting)?|got) rid of"
    r"|(?:do|did|doing) away with|let(?:ting)? go of|part(?:ing)? with"
    r"|(?:tak|leav|throw|threw|took|left|cross|rub|cut|tear|rip|put|let)(?:e|ed|ing|ting|bing|ping)?"
    r"(?=[^.]{0,80}\b(?:out|away|off|go|aside)\b))\b"
)
"""What is done to things, memories among them."""
INSTEAD: Final = lazy_pattern(
    r"\b(?:the new \w+(?:'s| is| are)|new one(?:'s| is)"
    r"|instead|make (?:it|that)|let's|let us|go with|it's (?:now|actually)|(?:it|that)(?:'s| is) .{1,40} now"
    r"|we(?:'re| are) (?:now|going)|change (?:it|that) to"
    r"|(?:i|we)(?:'ve| have)? (?:now )?(?:switched|changed|swapped|went|gone|moved|settled) (?:to|for|with|over|on))\b",
    re.IGNORECASE,
)
"""Something is put in the place of what is to be forgotten: a correction."""
GOES_ON: Final = lazy_pattern(
    r"\A\W*(?:it|that|there|this|i|we|he|she|they|[a-z]+)(?:'(?:s|m|re|ve|d)| (?:is|was|am|are|have|had|met))\b",
    re.IGNORECASE,
)
"""Something is told behind it: "Forget the diet, it's my birthday!" may be no more than an exclamation."""
_NEWS: Final = r"(?:\w+ed|forgot(?:ten)?|lost|took|threw|left|struck|got|did)\b"
"""What somebody has done, who is not named: "Forgot my inhaler." tells, and asks for nothing."""
_KEEPS: Final = (
    r"(?:(?:keep|hold|hang|remember|retain|record|log|track|hang|cling|know)(?:ing|ed|ging)?|kept|held|hung|knew"
    r"|(?:stor|sav|memoris|memoriz)(?:e|ed|ing)|carry(?:ing)?)\b(?: (?:hold|track|a note|notes) of| on ?to| onto"
    r"| about)?"
)
_NOT: Final = (
    r"(?:didn't|did not|don't|do not|not|never|no longer|stop(?:ped)?|quit|cease|needn't|need not"
    r"|(?:don't|do not|no longer) (?:have|need) to|no (?:need|reason) (?:for you )?to|won't (?:need|have) to)"
)
_PLACE: Final = (
    r"(?:(?:in|on|from|off|out of) (?:your|the) (?:notes?|memor(?:y|ies)|heads?|minds?|records?|files?|system|brain"
    r"|books?"
    r"|profile|history|database|data|logs?|picture)|(?:in|from) (?:there|here)|(?:from )?what you know|on (?:record"
    r"|file)"
    r"|(?:off|from|on|in) your lists?)\b"
)
"""Where memories are."""
_KIND: Final = (
    r"(?:things?|stuff|business|bits?|part|idea|saga|story|problem|plan|subject|topic|matter|episode|affair|situation"
    r"|drama|phase|mess|fiasco|chapter)"
)
TITLES: Final = frozenset(("mr", "mrs", "ms", "miss", "dr", "prof", "sir"))
"""What stands before a name, and is none."""
SPOKE: Final = lazy_pattern(
    r"\A\W*(?:(?:and|so|but|look|ok(?:ay)?) )?i(?:'ve| have)? (?:(?:once|just|also) )?"
    r"(?:said|told you|mentioned|wrote|let slip|spoke|talked)"
    r"(?: (?:some ?things?|a bit|a thing or two|stuff|a lot|things|to you))? (?:about|of|on) (?P<about>\S.{1,80})",
    re.IGNORECASE | re.DOTALL,
)
"""What was spoken of, in a sentence before the wish: "I said something about the bailiff. Please take that out"."""
ALL: Final = lazy_pattern(
    r"\W*(?:about )?(?:me|(?:all|everything|anything)(?: (?:of (?:it|that)|about me))?"
    r"|(?:all |all of |everything in )?(?:your|my|the) (?:memory|memories)(?: of me)?"
    r"|(?:all|everything|anything|whatever|what)(?: that)? (?:i(?:'ve)?|you|we(?:'ve)?)(?: (?:have|ever))* "
    r"(?:told you|said|know|remember|have|stored|kept|mentioned)(?: (?:about|of|on) me| to you| so far| ever)*)\W*",
    re.IGNORECASE,
)
"""All that is known of somebody."""
PRIVATE: Final = lazy_pattern(
    r"\A\W*(?:(?:and|so|but|look|ok(?:ay)?) )?(?P<about>(?!(?:it|that|this|which|what)\b)\w[^.]{2,60}?)"
    r"(?:'s| is| are|'re) (?:\w+ )?"
    r"(?:private|confidential|a secret|(?:nobody's|(?:his|her|their)(?: own)?) business|not mine to tell)\W*\Z"
    r"|(?P<private>[^，。]{2,20}?)(?:是|属于)(?:我的|个人|我们家的?|他的|她的)?(?:隐私|秘密|私事)\W*\Z",
    re.IGNORECASE,
)
"""What is named as private, in a clause before the wish: "Tom's divorce is private, please forget it"."""
BY_NAME: Final = lazy_pattern(
    r"\A\W*(?:(?:Dr|Mr|Mrs|Ms|Miss|Prof)\.? )?[A-Z][\w-]{1,24}(?: [A-Z][\w-]{1,24})?(?:'s \w{2,20})?\W*\Z"
)
"""Somebody, or something of theirs, by name alone."""
AND_THE: Final = lazy_pattern(
    r"(?:and|or|plus) (?:also )?(?:about )?(?P<what>(?:the|my|our|his|her|their) (?:\w+ ?){1,3})(?=,|\Z)", re.IGNORECASE
)
"""A clause behind a wish that only names another thing: "my sugar, and the tablets"."""
ONLY_HER: Final = lazy_pattern(
    r"\A(?:(?:any|every|some)?thing|all|notes?|stuff|whatever|what|you|know|have|got|hold|keep|i|i've|told|said|of|on"
    r"|about|with|to do|regarding|the|every|mention|word|trace|any|\W)*+\b(?:him|her|them)\b"
    r"(?: (?:off|in it|in there|in here|please|now|at all|any ?more|for good))*\W*\Z",
    re.IGNORECASE,
)
"""Somebody who is named elsewhere, and nothing else: "anything with her in it"."""
OF_RECORD: Final = lazy_pattern(r"\W*(?:\w+ing|all|notes?|stuff|what\w*|the|every|any)\b", re.IGNORECASE)
"""How what is known of "her" is named, and not she herself."""
BETWEEN_US: Final = lazy_pattern(
    r"\A\W*(?:(?:please|and|but|all) )*(?:(?:this|that|it|what i (?:just )?(?:said"
    r"|told you)) (?:all )?(?:stays?|is|remains?)|(?:let's |please )?keep (?:this|that|it)|this is|that's|that was)"
    r" (?:(?:just |strictly )?between (?:you and me|us|the two of us)|off the record)\W*\Z",
    re.IGNORECASE,
)
LEADS_ON: Final = lazy_pattern(r"\s{0,2}[:：–—-]")
"""What stands behind a wish that announces what is not to be kept: "don't save this: …"."""
_UNMARKED: Final = lazy_pattern(r"\b(do|did|does|is|are|was|were|would|should|could|have|has|need)nt\b", re.IGNORECASE)
"""What is typed without its apostrophe: "dont"."""
_TYPED: Final = lazy_pattern(r"\bu\b", re.IGNORECASE)
_RECORD: Final = lazy_pattern(
    rf"\b(?:the|that|this|my|our|whole) (?:[\w'-]+ ){{1,4}}{_KIND}\b(?! (?:of the|in the|on the)\b)"
    rf"|(?<!\ba )\b(?:{_KIND}|what|everything|anything|all(?: that)?|whatever|details?|info|mentions?|news|fact"
    rf"|details?)"
    r" (?:about|of|on|with|regarding|concerning|where|that|i(?:'ve| have)?(?: once| just)?"
    r" (?:told|said|mentioned|wrote|shared)|to do with)\b"
    r"|\bi\b[^,]{0,30}?\b(?:told (?:you|about)|telling you|mention(?:ed|ing)|shar(?:ed|ing)|brought up|confided"
    r"|(?:spoke|spoken|talked) (?:to you )?(?:of|about))\b",
    re.IGNORECASE,
)
"""What was told, as a thing: "the bit about my landlord", "the visa problem", "what I told you"."""
_OWN: Final = lazy_pattern(r"\b(?:my|our|about me)\b|\bname of\b|'s\b|\bthe \w+", re.IGNORECASE)
_THAT: Final = lazy_pattern(
    r"\A\W*(?:(?:it|that|this|them|those|these|all|go|out|away|off|around|about|on|in|please|now|too|then|for me"
    r"|would you|will you|could you"
    r"|any ?more|any longer|on ?to|hold of|again|entirely|completely|for good|in mind|thanks?|ok(?:ay)?)\b\W*)*\Z",
    re.IGNORECASE,
)
_ASKED: Final = lazy_pattern(
    rf"{_OPENING}(?:{_LEAD}|(?!{_NEWS}))(?:(?P<sure>{_FORGETS})|(?P<removes>{_REMOVES}))(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_KEEP_NOT: Final = lazy_pattern(
    rf"{_OPENING}(?:{_LEAD}|(?:you|we) )?(?:{_NOT}\s+)(?:have to |need to |to )?(?P<verb>{_KEEPS})(?P<rest>.*)"
    rf"|{_OPENING}(?:{_LEAD})(?:stop|quit) (?P<verb2>{_KEEPS})(?P<rest2>.*)"
    rf"|{_OPENING}(?P<before>.{{2,60}}?) (?:you|we) (?:{_NOT})\s+(?P<verb3>{_KEEPS})(?P<rest3>[^.]{{0,30}})",
    re.IGNORECASE | re.DOTALL,
)
_KNOWS_NOTHING: Final = lazy_pattern(
    rf"{_OPENING}{_LEAD}(?:knew|know|had|have|kept|keep|held|hold) (?:nothing|no (?:records?|memory|notes?|trace"
    rf"|idea))"
    r" (?:of|about|on|that)\b(?P<rest>.*)"
    rf"|{_OPENING}no (?:need|reason) for you to (?:know|keep|have|hold|remember)\b(?P<rest2>.*)",
    re.IGNORECASE | re.DOTALL,
)
_NOT_THERE: Final = lazy_pattern(
    rf"{_OPENING}(?:i(?:'d| would)?(?: much| really| far)? (?:sooner|rather|prefer|like|love|want|don't want"
    rf"|be \w+(?: \w+)?"
    rf"|feel \w+(?: \w+)?)(?: it)?(?: if| that)* )?(?P<rest>[^.]{{2,90}}?)"
    rf" (?:(?:was|were|is|are|be)(?:n't| not| no longer)|(?:doesn't|don't|does not|do not) (?:need|have"
    rf"|belong)(?: to be)?"
    rf"|needn't(?: be)?|need not(?: be)?|shouldn't(?: be)?|should not(?: be)?|has no (?:business|place"
    rf"|need)(?: being| to be)?"
    rf"|not|off|out of|gone from|stays? out of|remembered|kept|known)"
    rf" ?(?:remembered|kept|known|stored|held|noted|there|{_PLACE}|(?:your|the) (?:notes?|memory|head|mind|records?"
    rf"|list"
    rf"|files?)|any(?:where|more))(?:\W|\Z)"
    rf"|{_OPENING}(?P<rest2>[^.]{{3,80}}?) (?:can|could|may|should|might as well) (?:(?:just|safely|now|all) )*"
    rf"(?:go|be (?:forgotten|deleted|erased|wiped|removed|dropped|binned|scrapped|cleared|struck|lost))\b(?! (?:to"
    rf"|on|with|for"
    rf"|in|into|by|through|home|out|back|ahead|there|back)\b)",
    re.IGNORECASE,
)
_IDLE: Final = lazy_pattern(
    r"\b(?:how (?:do|can|could|should|would|to)|should (?:i|we)|what (?:if|happens))\b|\A\W*(?:why|where|who|when)\b",
    re.IGNORECASE,
)
_WORK: Final = lazy_pattern(rf"\b(?:{OF_TEXTS}|{OF_PAPERS})\b", re.IGNORECASE)
_TALK: Final = lazy_pattern(
    rf"\b(?:{_PLACE}|please|any ?more|any longer|would you|will you|could you|for (?:me|good|now)|you know|remember"
    r"|i(?:'ve| have)? (?:once |just )?(?:told you|told|mentioned|said|shared|brought up"
    r"|(?:spoke|talked) (?:to you )?(?:of|about))|that was(?:n't)?|you can"
    r"|you"
    rf"|the whole|stuff|things?|bits?|business|saga|list of|in mind|hold on to|(?:{_NOT}) (?:{_KEEPS}))(?:\b|(?=\W"
    rf"|\Z))",
    re.IGNORECASE,
)
"""What is said of the telling and the wish, and not of what it is about."""

_AWAY: Final = lazy_pattern(
    r"(?:\A|[,;:.!?-]|\b(?:please|pls|you|to|so|and|just|then|can|could|i(?= take)|let's|now|simply))\s*"
    r"(?:forget|unlearn|unhear|un-?know|unremember|erase|delete|remove|wipe|scrub|purge|expunge|strike|scratch"
    r"|scrap|bin"
    r"|trash|ditch|drop|lose|dump|discard|toss|chuck|nix|nuke|zap|shred|bury|clear|ignore|disregard|undo|get rid of"
    r"|do away with|(?:take|took) (?:it |that |this )?back|let go of|make (?:\S+ ){1,8}(?:disappear|vanish|go away)"
    r"|(?:throw|take|leave|cross|rub|cut|put|let|keep|blot|rule)\b(?=[^,.;]{0,60}\b(?:out|away|off|go|aside"
    r"|behind)\b))\b"
    r"|\bgone\W*(?:please|now)|\bstays? out of\b|\bpretend(?:ing)? (?:you|i)\b|\byou (?:never|didn't) hear\w*",
    re.IGNORECASE,
)
"""What is done away with, in whatever word, by somebody who is spoken to."""
_NOT_KEPT: Final = lazy_pattern(
    r"\b(?:not|never|don't|do not|stop|no longer|quit|nothing|isn't|shouldn't|needn't|no (?:need|point|reason)"
    r"|(?:not|isn't|un) ?(?:comfortable|happy|keen|easy|something))\b"
    r" (?:(?!when\b|if\b)\w+ ){0,5}?(?:keep|hold|hang|have|having|remember|retain|stor|know|bring(?:ing)? (?:it "
    r"|that "
    r"|this )?up"
    r"|mention"
    r"|speak(?:ing)? of|talk(?:ing)? about|refer)\w*",
    re.IGNORECASE,
)
"""What is not to be kept, or spoken of again."""
_TO_OTHERS: Final = lazy_pattern(r"\b(?:mention|talk|speak|say|tell)\w* [^,.]{0,40}\bto (?:[A-Z]|my|him|her|them|any)")
_THING: Final = lazy_pattern(r"(?:the|my|our) [\w'-]+(?: [\w'-]+)?\Z", re.IGNORECASE)
"""A thing that is named by itself: "remove the bypass"."""
_YOURS: Final = lazy_pattern(
    rf"\byou(?:'ve| have)? know\b|\bwant(?:ed)? you to\b|\byou (?:know|hav|keep|hold|remember)ing\b|{_PLACE}"
    r"|\b(?:holding|keeping|hold|keep|have|having) (?:it|that|this|them|any of (?:it|that)) in mind\b|\brelat(?:ed"
    r"|ing) to\b"
    r"|\bwritten down\b|\b(?:lying|sitting|hanging|floating|kicking) (?:about|around|there|here|in there)\b"
    r"|\bi(?:'ve)? (?:gave|given) you\b|\bfrom me\b|\byou(?:r| don't know)\b|\bwhat i (?:just )?(?:said|told"
    r"|wrote)\b",
    re.IGNORECASE,
)
"""What the one who is spoken to knows."""
_CORRECTED: Final = lazy_pattern(
    r"\b(?:the new \w+(?:'s| is| are)|new one(?:'s| is)|instead|make (?:it|that)|it's (?:now|actually)"
    r"|(?:it|that)(?:'s| is) .{1,40} now|i meant"
    r"|should(?: have)? be(?:en)?"
    r" (?!\w+ed\b)|change (?:it|that) to|(?:we|i)(?:'ve| have)? (?:switched|changed|swapped|moved|settled))\b",
    re.IGNORECASE,
)
"""Something is put in the place of what was told: a correction."""
_LONGEST: Final = 40
"""Words of a message that is read for a wish as a whole."""

_VERBLESS: Final = lazy_pattern(
    r"\b(?:i|he|she|they|we|it|you|is|are|was|were|am|be|has|have|had|will|would|can|i'm|i've|it's|he's|she's)\b",
    re.IGNORECASE,
)
_MOST_NOUN: Final = 8
_MANNERS: Final = lazy_pattern(
    r"(?:(?:thanks?|thank you|actually|hey|hi|ok(?:ay)?|sorry|well|look|please|yes|no)\W*){1,4}", re.IGNORECASE
)
""""Thanks, but …" names nothing."""


def is_noun(clause: str) -> bool:
    """Whether a clause only names something: "my voice problem", "the nodules and all that"."""
    is_short = len(clause.split()) <= _MOST_NOUN and not _VERBLESS.search(clause)
    return is_short and not _MANNERS.fullmatch(clause)


# --- Chinese ---------------------------------------------------------------------------------------------------------

_WISHED_ZH: Final = lazy_pattern(
    r"(?:[你您请][^，。]{0,4}把[它这那][^，。]{0,6}丢(?:了|掉)[吧嘛]|忘(?:掉|了吧|干净|得|光)|别再?(?:提|说起)|(?:别|不要|甭)再?[往在]?心[里上]头?[记搁装挂]|收回|翻篇|(?:[删抹划擦撤]|(?<![还付结算看听说分])清)(?:掉|除|去|一下|一[删清抹]|了吧|干净|了(?=\W*\Z))|[拿去](?:掉|走)"
    r"|(?:别|不要|不用|不必|甭|无需|不许|请勿|可以不)(?:再)?(?:往心里|放心上|帮我|替我|给我)?(?:记(?!得|账|错|住单)|留着|保留|存|惦记|往心里记|当真)"
    r"|不(?:想|希望|愿意?)(?:让|叫)?你(?:再)?(?:们)?(?:记|留|存|保留|知道|惦记)|当(?:作|做)?我?没[说讲提有这]|听过就(?:算|好|忘))"
)
_YOURS_ZH: Final = lazy_pattern(
    r"你|您|请|麻烦|帮|替|我(?:说|讲|提|告诉|跟你)|之前说|记忆|记录|关于|有关|的事|那[事个件段些茬]|这[事个件段些]|别再?记"
)
_NONE_ZH: Final = lazy_pattern(
    r"被|^我(?:就|只|只好)?当|[要该].{0,6}吗$|怎么|如何|为什么|[他她](?:把|又)|老是|总是|经常|常常|差点|(?:别|不要|不会|没|千万别)忘|忘(?:带|不|了(?:带|说|拿|关|做"
    r"|买))|记账|记错"
    r"|油渍|污渍|衣服|冰箱|[文照图软应]件?片?用?|第[一二三四五六七八九十\d]+[段句行列页章]|微博|账号|邮件|代码|两个字|句话"
)
_THAT_ZH: Final = lazy_pattern(r"[这那]?[个件条些]?[哈呀哦点的]*")
_TALK_ZH: Final = lazy_pattern(
    r"能不能|可不可以|可以|请|麻烦|希望|不[想希望愿意]{1,2}让?你?|[你您](?:那边?儿?|脑子里?|心里)?|帮我|替我|给我|关于|有关|任何|所有|一切|那些|这些|那[段个件茬]"
    r"|之前|以前|说的|说过|我?跟你?[讲说]过?的?|告诉你?的?|的?(?:事情?|内容|信息|东西|那事儿)|记忆里?|从|把|都|就|也|吧|了|啊|呢|再|别|不要|不用"
)


_TOPIC_OPENS: Final = lazy_pattern(
    r"\A\W*(?:(?:and|so|but|oh|well|about|as for|regarding|concerning|all|that|the|this|whole|stuff|things?"
    r"|business|matter|part|bit|story|everything|what|with|of|i|i've|said|told|you|mentioned)\b\W*)*",
    re.IGNORECASE,
)
_TOPIC_CLOSES: Final = lazy_pattern(
    r"\s(?:and|or) (?:all (?:that|of that)|so on|such|everything|stuff|the rest)\W*\Z", re.IGNORECASE
)


def spelt(words: str) -> str:
    """Words as they are spelt where nobody types in a hurry: "dont", "u"."""
    return _TYPED.sub("you", _UNMARKED.sub(r"\1n't", words))


def bare_topic(clause: str) -> str:
    """What a clause names, without what only leads to it: "all that stuff about my knee"."""
    return _TOPIC_CLOSES.sub("", _TOPIC_OPENS.sub("", clause, count=1))


def hinted(clauses: Sequence[str]) -> tuple[str, bool]:
    """What a message may want forgotten, in its own words, empty for nothing; and whether one of its clauses says so.

    Args:
        clauses: The clauses of the message, in order.
    """
    is_of = is_cjk("".join(clauses))
    words = ", ".join(clauses)
    if _CORRECTED.search(words) or INSTEAD_ZH.search(words):
        return "", False
    for place, clause in enumerate(clauses):
        others = [one for number, one in enumerate(clauses) if number != place]
        about = _in_chinese(clause, others) if is_of else _in_english(clause, others)
        if about and tokenize(about):
            return about, f"{about}了" not in words  # what has happened is news
    return "" if is_of else _in_all(clauses), False


def _in_all(clauses: Sequence[str]) -> str:
    """What a whole message may want forgotten: it does away with something, and speaks of what was told."""
    words = ", ".join(clauses)
    idle = (_IDLE, _WORK, _TO_OTHERS)
    if len(words.split()) > _LONGEST or any(pattern.search(words) for pattern in idle):
        return ""
    ends = _AWAY.search(words) or _NOT_KEPT.search(words)
    if ends is None or not (_RECORD.search(words) or _YOURS.search(words)):
        return ""
    told = [one for one in clauses if _RECORD.search(one)] or [one for one in clauses if not _AWAY.search(one)]
    named = [bare for one in (*told, *clauses) if tokenize(bare := _bare(_AWAY.sub(" ", _NOT_KEPT.sub(" ", one))))]
    also = [bare for one in clauses if _AWAY.match(one) and _THING.match(bare := _bare(_AWAY.sub(" ", one)))]
    return " and ".join(dict.fromkeys((*named[:1], *also)))


def _in_english(clause: str, others: Sequence[str]) -> str:
    if _IDLE.search(clause):
        return ""
    for about, is_sure in _wanted(clause):
        if _THAT.match(about):
            told = [one for one in others if _RECORD.search(one)]
            return _bare(told[0]) if told else ""
        is_told = _RECORD.search(about) or re.search(_PLACE, clause, re.IGNORECASE)
        if _WORK.search(about) and not is_told:
            continue
        if is_told or (is_sure and _OWN.search(about)):
            return _bare(about)
    return ""


def _wanted(clause: str) -> Iterator[tuple[str, bool]]:
    """What a clause may want gone, and whether its verb is one for memories."""
    if found := _KNOWS_NOTHING.match(clause):
        yield found["rest"] or found["rest2"], True
    if found := _KEEP_NOT.match(clause):
        verb = found["verb"] or found["verb2"] or found["verb3"]
        rest = found["before"] if found["before"] else found["rest"] or found["rest2"] or ""
        yield rest, verb.lower().startswith(("remember", "memori", "know", "knew")) or " of" in verb
    if found := _ASKED.match(clause):
        yield found["rest"], bool(found["sure"])
    if found := _NOT_THERE.match(clause):
        yield found["rest"] or found["rest2"], bool(found["rest"])


def _bare(about: str) -> str:
    return " ".join(_TALK.sub(" ", about).split())


def _in_chinese(clause: str, others: Sequence[str]) -> str:
    found = _WISHED_ZH.search(clause)
    if found is None or _NONE_ZH.search(clause) or not any(_YOURS_ZH.search(one) for one in (clause, *others)):
        return ""
    rest = _TALK_ZH.sub("", clause[: found.start()] + clause[found.end() :])
    rest = "" if _THAT_ZH.fullmatch(rest) else rest
    if tokenize(rest) and len(rest) > 1:
        return rest
    return next((bare for one in others if len(bare := _TALK_ZH.sub("", one)) > 1), "")
