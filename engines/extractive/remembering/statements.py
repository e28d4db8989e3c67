"""Tells what somebody states of their world from what they ask, order, suppose, or say to keep a conversation going.

Whatever a user says of themselves, of others, of how things are to be done is a statement, whether or not it says "I":
people who tell leave their subject out, in Chinese more often than not. So the rest is named here, and all else stays.
"""

import re
from typing import Final

from agentic_memory_bank.engines.extractive.reading import phrases
from agentic_memory_bank.engines.extractive.remembering.asking_chinese import asks_in_chinese
from agentic_memory_bank.engines.extractive.remembering.chatter import is_chatter
from agentic_memory_bank.engines.extractive.remembering.gossip import OPENING, is_gossip
from agentic_memory_bank.engines.extractive.remembering.queries import is_greeting, is_personal
from agentic_memory_bank.engines.extractive.remembering.supposing import supposed_from
from agentic_memory_bank.engines.extractive.remembering.telling import told_to_forget
from agentic_memory_bank.engines.own_words import ORDERS
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.personal_numbers import HIDDEN
from agentic_memory_bank.tools.text.sentences import sentences
from agentic_memory_bank.tools.text.terms import tokenize
from agentic_memory_bank.tools.text.traditional import simplified

LEAST_TERMS: Final = 3
"""Index terms of a statement."""
LEAST_SPECIFIC: Final = 2
"""Index terms of one with a name or a number."""
LEAST_CHINESE: Final = 5
"""Index terms of a Chinese one without a name or a number: each character counts, and each pair of them."""
_SHORT: Final = 16
"""Words of a request that says nothing else."""
_SHORT_ZH: Final = 30
"""The same in Chinese characters."""
LONGEST_MOOD: Final = 80
"""Characters of a sentence that tells of nothing but today."""
LONGEST_MOOD_ZH: Final = 24
"""The same in Chinese."""

_DEEDS: Final = (
    "make|have|eat|sleep|fly|live|like|see|hear|need|get|go|come|work|feel|die|grow|lay|bite|sting|drink|know|think|swim"
    "|dream|taste|count|keep|last|cause|contain|help|hurt|talk|understand|smell|lose|turn|run|jump|climb|float|sink|melt"
    "|freeze|burn|hibernate|mate|breathe|bark|purr|survive|recognise|recognize|remember|ripen|spoil|rot"
)
"""What anything may do, of which anybody may ask: "do wasps make honey"."""
_ENGLISH_QUESTION: Final = lazy_pattern(
    OPENING + r"(?:(?:in|on|for|with) (?:\w+ ){0,3}\w+, )?"
    r"(?!what else ?[,;:.–—-])"
    r"(?!which (?:means?|meant|leaves|makes|made|is (?:why|when|where|how|great|good|fine|lovely)|was)\b)"
    r"(?!(?:what|where|how) (?:i|we)(?:'ve|'d|'m)? ?(?:(?!know|ask|underst|wonder|get\b)\w+ ){0,4}?(?:is|are|was) \w)"
    rf"(?:{phrases.QUESTION_WORDS}|w(?:hit|ot|at)|any idea"
    r"|(?:[a-z]{2,6} )?(?:how (?:do|does)|why (?:do|does|is|are)) (?:they|people|the|an?|you)"
    r"|(?:do|does|did|is|are|was|were|can|could|would|will|should|have|has) (?:i|you|u|ya|we|they|he|she|it|there|the"
    r"|my|this|that)|(?:do|can|could|will|would|should) [a-z]{2,20}s (?:ever |really |all |actually |still )?"
    rf"(?:{_DEEDS})|(?:does|did|can|could|will|would|should) an? [a-z]{{2,20}} (?:{_DEEDS})"
    r"|(?:is|are) -\d+|(?:is|was) an? (?:\w+ ){1,2}"
    r"(?:an?|the|really|actually|made|from|bigger|better|worse|\w{3,9}er than)"
    r"|best \w+ to)(?:'s|'re)?\b(?!ever)(?![^.!?]{0,80}:)",
    re.IGNORECASE,
)
"""How English asks, with or without a mark; not "how we do it: …"."""
_VERSUS: Final = lazy_pattern(
    r"\bvs\b[^.!?]{0,60}\bwhat(?:'s| is)\b|\bwhat(?:'s| is) the diff(?:erence)?\b[^.!?]{0,12}\W*\Z", re.IGNORECASE
)
"""What parts two things: "cardioid vs omni what's the diff"."""
_WHENEVER: Final = lazy_pattern(
    r"\W*(?:(?:and|but|so|also|oh|ok) )*(?:when(?:ever)?|how) (?:you|u|ya|i|we)\b"
    r"(?:[^.!?,]{2,80},|[^.!?,]{2,60}\b(?:don'?t|do not|never|always|please|say|give|put|start|use|answer|begin|lead)"
    r" \w)",
    re.IGNORECASE,
)
"""A condition in front of a wish: "when you write for me, keep it short"."""
_RUNS_ON: Final = lazy_pattern(
    r"\W{0,3}(?:\w{1,20}\W{1,3}){3,12}?"
    r"(?:(?:right|ok|okay|yeah|anyway|well) so (?:i'm|i am|my name|we're|i (?:live|work|drive))"
    r"|so (?-i:I'm [A-Z][a-z]))\w{0,20}"
    r"(?:\W{1,3}\w{1,20}){8}[^?？]{0,600}\Z",
    re.IGNORECASE,
)
"""A question by the way that runs on into what is told: "is it on, right, so I'm Robyn and I drive the school bus"."""
_MANNER: Final = lazy_pattern(
    r"\b(?:could|can|would|will) (?:you|u|ya) (?:(?:ever|please|pls|just|js|always|maybe|kindly|only) ){0,3}"
    r"(?:write|answer|reply|respond|talk|speak|explain things?|keep (?:it|things|your \w+)|stick)\b"
    r"(?! (?:me|a|an|the|this|that|these|those|my|our|some|about|up|down|out|on|him|her|them)\b)"
    r"(?=[^,;.!?]{0,30}\b(?:in|short(?:er)?|brief(?:ly)?|simple|simply|plain(?:ly)?|slow(?:ly)?|less|more|without|big(?:ger)?"
    r"|formal(?:ly)?|casual(?:ly)?|normal(?:ly)?)\b)",
    re.IGNORECASE,
)
"""A standing wish that is put as a question: "would you write in short lines for me, my eyes are bad"."""
_LASTING: Final = lazy_pattern(
    r"\b(?:(?:could|can|would|will) (?:you|u|ya)|would you mind) (?:(?:please|pls|just|maybe|kindly|possibly) ){0,2}"
    r"(?:(?=[^.!?]{0,90}\b(?:always|from now on|in future|for the future|going forward|every time|whenever"
    r"|any ?more)\b)"
    r"(?:always )?(?:answer|reply|respond|write|keep|us(?:e|ing)|call|speak|talk|give|avoid|skip|leave out|start|end"
    r"|sign|add|put)\b|stop (?:using|adding|calling|saying|writing|starting|ending|giving)\b)"
    r"|(?:能不能|可不可以|可以|能|麻烦你?|请你?)?(?:以后|今后|往后|从现在起)(?:可以|能不能|能|请|都|每次|跟我|给我|你){0,3}"
    r"(?:用[^，。？?]{1,8}(?:回|答|写|说)|叫我|称呼我|回(?:答|复|我)|说话?|写[^，。？?]{0,6}(?:短|长|简单|正式)|短|简短|直接)",
    re.IGNORECASE,
)
"""A wish for all answers to come that is put as a question: "could you always answer in bullet points"."""
_REQUEST: Final = lazy_pattern(
    OPENING + r"(?:tell|show|give|gie|gimme|write|explain"
    r"|sing|compose|invent|quiz|entertain|roast|rank|name|translate|recommend|suggest|list|define|describe|summari[sz]e"
    r"|calculate|convert|find|draft|help|make|remind|spell|book|order|send|open|set|play|run|search|check|create|add"
    r"|remove|cancel|schedule)\b(?=\W+(?:me|us|the|an?|this|that|it|my|some|two|three"
    r"|four|five|six|ten|a few|how|what|something|dot|happy birthday|[\d'\"]|\w+ (?:in|to|into|like|from)\b))",
    re.IGNORECASE,
)
ASKED_INSIDE: Final = lazy_pattern(
    r"[,;] (?:(?:so|please|pls|just|can you|could you) )*(?:(?:draft|write|translate|proofread|compose) (?:for )?"
    r"(?:me|him|her|them|us) (?:an?|the|one|some|two|three)"
    r"|make (?:it|this) (?:a bit |a little )?(?:(?:short|nic|polit|simpl|clear|soft|warm|kind)er|less \w+y))\b",
    re.IGNORECASE,
)
"""A request behind what it is for: "my sister is fifty on Sunday, write her a card"."""
_POLITE: Final = lazy_pattern(r"\A\W*(?:(?:yes|yeah|sure|ok|okay|go on)\W+)?please\b|\bplease\W*$", re.IGNORECASE)
_EMBEDDED: Final = lazy_pattern(
    rf"\A\W*please \w+ (?:\w+ ){{0,2}}?(?:{phrases.QUESTION_WORDS}|whether|if)\b", re.IGNORECASE
)
"""A question within a request: "please look where I live"."""
_WISH: Final = lazy_pattern(
    r"\b(?:always|never|from now on|in future|for the future|don't|dont|do not|no more|keep (?:it|them|your)|when you"
    r"|only ever|(?:for|in) (?:\w+ )?(?:recipes|e-?mails|letters|messages|code|summaries|translations|reports)[,:]?"
    r" (?:please )?(?:give|use|put|write|no|leave|sign|stick))\b"
    r"|(?:写|翻译|回复|推荐|总结|修改|起草)[^，。！？]{0,8}(?:的时候|时)(?!间)|[给帮]我写[^，。]{1,12}[就要都只别先用得]|以后|不要|[唔不]准|(?<![区特个性级分告])别(?!人|的)|尽量|一律|务必|就行",
    re.IGNORECASE,
)
"""How somebody says what is to be done from now on."""
_LEAVING: Final = lazy_pattern(
    OPENING + r"(?![^.!?\n]{0,30}:)(?:(?:that's|that'll|that is) (?:me|all|it|do)"
    r"|(?:off|going|gonna|gotta|got to|have to|heading|let me) (?:to|go|home|run|dash|head|try|sleep)\b"
    r"|(?:bed|night|nope)\b"
    r"|no\b(?! (?!need|luck|idea|way|worr|rush|thank|more|time|clue|problem|doubt|use|sense|point|one)"
    r"\w+ (?:on|in|at|for|after|before|during|until|near|under)\b)"
    r"|(?:yes|yep|yeah|thanks?(?: you)?|cheers|bye)\b|talk soon|you are|(?:my )?shift starts"
    r"|(?:行|得|先这样|晚安|没事|拜拜?|下班|我去|好)(?![^!?。]{0,24}(?:\d|还有|另外|记[着得住])))[^!?。]{0,24}\W*$",
    re.IGNORECASE,
)
_SIGNS_OFF: Final = lazy_pattern(
    OPENING + r"(?:that(?:'s|s| is) (?:my|our|your|the) lot\b|(?:no more|enough)(?: of (?:this|that))?(?: for)?"
    r" (?:now|today|tonight)\b)[^.!?。]{0,80}$"
    r"|" + OPENING + r"(?:i(?:'ve| have)? )?(?:gotta|got to|gonna|off to) [^.!?\n]{2,50},"
    r" ?(?:ta|cheers|laters?|see (?:ya|you))\W*$"
    r"|" + OPENING + r"(?:[a-z]{2,5} )?let me (?:go|run|dash)\b[^.!?\n]{0,40}\W*$"
    r"|[^.!?\n]{0,60}\b(?:bye+(?: bye+)?|catch (?:ya|you)(?: later)?|cheerio|toodle-?[oi]{1,2}|ta-?ta|ttyl|g2g|gtg"
    r"|(?:talk|speak) (?:soon|later)"
    r"|nighty? night|good ?night)\W*$"
    r"|[^。！？\n]{0,12}(?:不说了|不聊了|先不说|先撤|先这样|回头(?:再)?聊|改天(?:再)?聊|下次(?:再)?聊|[忙睡]去了|拜拜|再见)[啊哈啦哦]?\W*$"
    r"|(?:不说了|不聊了|先不说了?|唔讲住|唔倾住)[，,][^，。！？我\n]{1,8}(?:关门|醒|来|去|响|开|到|没电|糊)[了咗喇]?\W*$"
    r"|(?:嗯|好|行|那|先){0,3}(?:不想了|再聊|回聊|不说了)[，,]?(?:[先我]{0,2}去?(?:跑步|做饭|睡觉?|洗澡|吃饭|忙|上课|开会|买菜|遛狗)"
    r"|带娃)?[^，。！？我\n]{0,4}\W*$"
    r"|(?:(?:客人|有人|快递|孩子|老板|外卖)[^，。！？\n]{0,3})?我去[接开拿取看忙收签倒关][^，。！？\n]{0,2}一下\W*$",
    re.IGNORECASE,
)
"""How somebody says at the end that they have to go, and why."""
_OK: Final = lazy_pattern(r"\A\W*ok(?:ay)?\b", re.IGNORECASE)
_PRAISE: Final = lazy_pattern(
    r"\W*(?:\w+\W+){0,3}(?:sounds?|looks?) (?:so |really )?(?:great|good|amazing|fun)\b", re.IGNORECASE
)
_MOOD: Final = lazy_pattern(
    r"\b(?:today|tonight|so (?:tired|sleepy|hungry|bored|full)(?: \w{2,4})?\W*$|it (?:gets|got|is getting) dark"
    r"|exhausted|raging|bored|honestly|awful|starving|i'm (?:tired|hungry|sad|happy)"
    r"|it'?s (?:(?:so|too|very|really|absolutely|bloody) ){1,3}(?:hot|cold|windy|wet|humid|grey|dark|warm|muggy))\b"
    r"|(?<![到至])今[天儿日](?!开始|起)|外[边面头].{0,6}[雨雪风]|[热累烦困饿冷]死",
    re.IGNORECASE,
)
_ESCAPED: Final = lazy_pattern(
    r"\b(?:slipped my mind|(?:gone|clean) out of my (?:head|mind)|tip of my tongue"
    r"|can(?:'t| never|not)(?: ever)? (?:remember|recall|think of|spell)"
    r"|(?:always|keep|constantly) (?:forget(?:ting)?|mix(?:ing)? (?:it|them|those|the two) up|confus(?:e|ing)"
    r"|(?:want(?:ing)? to )?(?:put|writ(?:e|ing)|spell(?:ing)?|typ(?:e|ing)|putting|say(?:ing)?)"
    r"|get(?:ting)? (?:it|them|that|those) wrong)"
    r"|(?:it's |it has been |been )?(?:bugging|driving) me)\b|想不起来|记不[住清起]|总?是?(?:记错|写错|搞混|弄混)"
    r"|(?:邻居|同事|同学|朋友|客人|孩子|学生|有人)[^，。！？]{0,6}(?:(?:用|说|念|写|读)错|问起|[争吵]起来)"
    r"|\bi (?:barely|hardly|scarcely) know (?:him|her|them|the \w+)\b",
    re.IGNORECASE,
)
"""Why somebody asks: the answer has escaped them."""
_WAS_ASKED: Final = lazy_pattern(
    r"\W{0,3}(?:(?:my|our|the|an?|some|one of (?:my|our|the)) )?(?:\w[\w-]{0,19} ){1,5}?(?:just |keeps? )?"
    r"(?:asked|asks?|asking|is asking|was asking|wants? to know|wanted to know|is wondering)(?: me| us)?"
    r"(?=\W*\Z|,? (?:(?:and|but|so) )?(?:i|we) (?:said|told|had|didn't|couldn't|made|guessed|bluffed)\b)",
    re.IGNORECASE,
)
"""Why somebody asks: somebody asked them. "A customer asked, I said no idea"."""
_GENERIC: Final = lazy_pattern(r"\b(?:if|when|unless|once|before|after|until) you\b", re.IGNORECASE)
"""Where "you" is anybody."""
_JOINT: Final = lazy_pattern(r"[,;]|\s(?=(?:so|and|but|because|cos|no)\s)", re.IGNORECASE)
"""Where a sentence goes over to its next clause."""
JOINT_ZH: Final = lazy_pattern(r"(?<=[\u3400-\u9fff\d])[ ,](?=[\u3400-\u9fff])")
"""The same in Chinese that is typed with spaces or half-width commas."""
_EXCLAIMS: Final = lazy_pattern(
    r"[,;]? ?\b(?:(?:would|can|could) you (?:credit|believe|imagine) (?:it|that|this)|would you believe"
    r"|what can (?:i|you) (?:say|do)|how about that)\b"
    r"|[，,]?你说(?:巧不巧|气不气人|气人不气人|逗不逗|怪不怪|好不好笑|烦不烦)",
    re.IGNORECASE,
)
"""What asks nothing, whatever its words."""
_WE_TOO: Final = lazy_pattern(
    r"[,;:] (?:and |but |so |because |since |as )?(?:we(?:'ve)? (?:have|had|got|own|keep|live|use|need|only|don't|never"
    r"|always|can't|are not|aren't)|our)\b(?! all\b)",
    re.IGNORECASE,
)
"""Those who speak, further on in a sentence."""
_ELLIPTIC: Final = lazy_pattern(
    r"\W*(?:(?:my|our|his|her|the) )?(?:\w{1,20} ){1,3}(?:will|would|can|could|might|'ll|is going to|are going to)"
    r" (?:do|have|get|take|try|bring|make) (?:one|it|some|that|so|those|them)\W*$",
    re.IGNORECASE,
)
"""What is understood by those alone who heard what was said before: "My cousin will do one."."""
_HEARSAY: Final = lazy_pattern(
    r"\baccording to\b|\bi (?:read|heard) (?:that|somewhere|online|in)\b|\brumou?r\b"
    r"|\A\W*(?:\w+ ){0,2}(?:apparently|supposedly)\b"
    r"|\b(?:said|told \w+|claims?|claimed) (?:that )?i\b|\bas an ai\b|\bas a language model\b"
    r"|据说|听说|有人说|网上说|报道说?|作为(?:一个)?(?:AI|人工智能|语言模型)",
    re.IGNORECASE,
)
"""What somebody else says of the world, or of the speaker."""
_SOMEBODY: Final = lazy_pattern(
    r"\b(?:she|her|he|him|his|they|them)\b|\b(?:two|three|four|five|six|seven|eight|nine|ten|both|\d{1,3}) of us\b"
    r"|\b(?:told|gave|sent|\w{2,20}ed(?: on| with| for| to)?) us\b|\bso we\b"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b",
    re.IGNORECASE,
)
"""Somebody, or a day, of whom all people are not told."""
_DOES: Final = lazy_pattern(
    r"\W*(?!(?:Every|No|Some|Any)(?:thing|one|body)\b|Work\b|Dinner\b|Lunch\b|Life\b|(?:Who|What|That|This|It|He|She|They|There)\b)"
    r"[A-Z][a-z]{1,20}(?:'s| is| will be) \w{2,15}ing (?:the|our|my|all|for|at|in|with)\b"
)
"""Who does what, named by the first word alone: "Marta is doing the catering."."""
_IS_NOW: Final = lazy_pattern(
    r"(?:\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|half|noon|midnight)\b)[^.!?]{0,30}"
    r"\b(?:now|from now on|instead|these days|any ?more|again)\b",
    re.IGNORECASE,
)
"""A new value, of which few words say enough: "retro's at 3 now"."""
_WORLD: Final = lazy_pattern(
    r"\bthe (?:\w+ )?(?:capital|population|currency|president|prime minister|largest|highest|longest|tallest|deepest)"
    r" (?:\w+ )?(?:of|in) [A-Z]",
)
"""What everybody may look up."""


_ITEM: Final = lazy_pattern(r"\A\s*\d{1,2}[.)、）] ?")
"""How an item of a list begins."""
_UNMARKED: Final = lazy_pattern(
    r"\A(\W{0,3}(?:what|who|where|how|when|why))(s|re)\b(?! (?:up|more|left)\b)", re.IGNORECASE
)
"""How a question begins that is typed without its apostrophe."""


def is_asking(sentence: str) -> bool:
    """Whether a sentence asks something, or for something to be done now."""
    marked = phrases.SPACED_CHINESE.sub("，", simplified(sentence.replace("’", "'")))
    if _LASTING.search(marked):
        return False
    plain = _UNMARKED.sub(r"\1'\2", _EXCLAIMS.sub("", marked).strip())
    if plain.endswith((":", "：")):
        return False
    is_wish = _WHENEVER.match(plain) or _RUNS_ON.match(plain) or (_MANNER.search(plain) and _JOINT.search(plain))
    if phrases.QUESTION.search(plain) or _VERSUS.search(plain) or (_ENGLISH_QUESTION.match(plain) and not is_wish):
        return True
    if _WISH.search(plain) or is_wish:
        return False
    if _REQUEST.match(plain) or _EMBEDDED.match(plain) or ASKED_INSIDE.search(plain):
        return True
    if _POLITE.search(plain) and not is_personal(plain):
        return True
    if not is_cjk(plain):
        return phrases.WANTS.search(plain) is not None
    return asks_in_chinese(plain)


def only_asks(text: str) -> bool:
    """Whether a text asks, or asks for something, and states nothing but why."""
    said = [one for start, end in sentences(text) if (one := text[start:end].strip())]
    return all(is_asking(one) or (place > 0 and is_aside(one)) for place, one in enumerate(said))


def is_statement(sentence: str) -> bool:
    """Whether a sentence states something that may be worth knowing later."""
    plain = _ITEM.sub("", _EXCLAIMS.sub("", sentence.replace("’", "'")), count=1).strip()
    if any(pattern.search(plain) for pattern in (ORDERS, _HEARSAY, _WORLD)) or _ELLIPTIC.match(plain):
        return False
    if supposed_from(plain) is not None:
        return False
    if is_gossip(plain):
        return False
    if HIDDEN in plain:  # whoever gives somebody a number tells of nothing else
        return False
    if _is_of_everybody(plain) or is_chatter(plain, _is_idle):
        return False
    return not _is_idle(plain)


def only_tells_to_forget(text: str, *, surely: bool) -> bool:
    """Whether a sentence tells a memory to forget, and has no room to tell of anything else.

    Args:
        text: The sentence.
        surely: Whether it has to tell so plainly; else it does where it may.
    """
    is_short = len(text) <= _SHORT_ZH if is_cjk(text) else len(text.split()) <= _SHORT
    told = told_to_forget(text) if is_short else None
    return told is not None and told.is_plain and (told.is_sure or not surely)


def is_aside(sentence: str) -> bool:
    """Whether a sentence beside a question only says why it is asked: "It's gone clean out of my head."."""
    plain = sentence.replace("’", "'").strip()
    if _WAS_ASKED.match(plain):
        return True
    return _ESCAPED.search(plain) is not None and not names_and_numbers(phrases.OPENING.sub("", plain))


def says_enough(text: str, *, is_resolved: bool = False) -> bool:
    """Whether what is stated is enough to be understood later.

    Args:
        text: What is stated.
        is_resolved: Whether it is known of whom or what, who are named nowhere in it: "She works for a bank."
    """
    terms = len(set(tokenize(text))) + is_resolved
    if phrases.BRIEF.match(text.replace("’", "'")) or _DOES.match(text) or _IS_NOW.search(text):
        return terms >= LEAST_SPECIFIC
    if names_and_numbers(phrases.OPENING.sub("", text)):
        return terms >= LEAST_SPECIFIC
    return terms >= (LEAST_CHINESE if is_cjk(text) else LEAST_TERMS)


def _is_idle(plain: str) -> bool:
    """Whether a text talks with the other one, and says nothing of its speaker."""
    return _is_chat(plain) or is_asking(plain) or _is_to_the_other(plain)


def _is_chat(plain: str) -> bool:
    """Whether a sentence greets, agrees, takes leave, or tells of the mood of a day."""
    if is_greeting(plain) or phrases.SMALL_TALK.match(plain) or phrases.SMALL_TALK_CHINESE.match(plain):
        return True
    if _LEAVING.match(plain) or _PRAISE.match(plain):
        return True
    if _SIGNS_OFF.match(plain) and not names_and_numbers(phrases.OPENING.sub("", _OK.sub("", plain))):
        return True
    return (
        len(plain) <= (LONGEST_MOOD_ZH if is_cjk(plain) else LONGEST_MOOD)
        and _MOOD.search(plain) is not None
        and not names_and_numbers(plain)
    )


def _is_of_everybody(plain: str) -> bool:
    """Whether "we" are all people: "books inspire us"."""
    if is_cjk(plain) or not is_personal(plain) or names_and_numbers(plain):
        return False
    if phrases.SINGULAR.search(plain) or _SOMEBODY.search(plain):
        return False
    return not any(pattern.search(plain) for pattern in (phrases.WE, _WE_TOO, phrases.PAST))


def _is_to_the_other(plain: str) -> bool:
    """Whether a sentence is about the one who is spoken to: nothing of the speaker's, unless it is a standing wish."""
    if is_cjk(plain):
        return plain.startswith(("你", "您")) and not is_personal(plain) and not _WISH.search(plain)
    led_in, colon, behind = plain.partition(": ")
    if colon and phrases.ADDRESSES.search(led_in) and says_enough(behind):
        plain = behind  # "regulars you need to know: …"
    told = phrases.ADDRESSES.search(_GENERIC.sub("", plain))
    if told is None or is_personal(plain) or _WISH.search(plain) or _MANNER.search(plain):
        return False
    joints = [found.start() for found in _JOINT.finditer(plain, 0, told.start())]
    before = plain[: joints[-1]] if joints else ""
    return not (_SOMEBODY.search(before) or names_and_numbers(f"so {phrases.OPENING.sub('', before)}"))
