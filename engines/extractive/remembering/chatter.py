"""Tells what only keeps a conversation going: thanks, moods, what is thought of an answer, what is wanted of one.

Read clause by clause: "I don't get it, can you explain that again" says nothing in either of its clauses, and "that's
too long, my boss never reads past a page" does in the second.
"""

import re
from collections.abc import Callable
from typing import Final

from agentic_memory_bank.engines.extractive.reading import phrases
from agentic_memory_bank.engines.extractive.remembering.gossip import OPENING
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.patterns import lazy_pattern

_FILLER: Final = 2
"""Words of a clause beside idle ones that says nothing of its own: "brrr", "please"."""
_FILLER_ZH: Final = 3
"""The same in Chinese characters."""
_ITEM_ZH: Final = 6
"""Characters of a clause that only says of which kind: 卖奶茶的."""

_CLAUSE: Final = lazy_pattern(
    r"(?:(?!\s(?:and|but|because|cos|so(?=\s(?:i|we|it|can|could|my)\b))\s)[^,;:，；：、…—–\n.!?。！？]){1,400}"
)
_ANCHOR: Final = lazy_pattern(r"\b(?:my|our|his|her|their|every|always|never|usually|since|until)\b", re.IGNORECASE)
"""What ties a clause to somebody's life."""
_MINE: Final = lazy_pattern(r"\bmy (?:head|brain|god|bad|mind)\b", re.IGNORECASE)
"""What is one's own, and says nothing of one."""
_DATED: Final = lazy_pattern(r"\b(?:my|our|his|her) \w+|\b[A-Z][a-z]+'s\b|\d{1,2}(?:st|nd|rd|th)\b")
"""What a wish for an answer says of somebody's life beside it."""
_PIECE: Final = (
    r"(?:one|version|option|draft|part|suggestion|line|title|answer|idea|list|text|paragraph|sentence|example|name|joke"
    r"|poem|reply|response|explanation|thing)s?"
)
"""What an answer is made of."""
_THAT: Final = (
    rf"(?:(?:that|this|it|these|those|they)(?: (?:last|first|second|other))?(?: {_PIECE})?"
    rf"|(?:the|your|all the|both) (?:(?:first|second|third|last|other|previous|new|old|next|shorter|longer) )?{_PIECE})"
)
"""An answer, or a part of one."""
_JUDGED: Final = (
    r"(?:(?:so|really|very|much|a bit|a little|a lot|way|far|just|exactly|also|not|quite|still|actually|kind of|all"
    r"|even|pretty|too|more|less)\s+){0,4}"
    r"(?:(?:\w{3,9}i|short|long|nic|clear|simpl|smooth|strong|warm|light|kind|sharp|bett)er|best|worse|perfect"
    r"|fine|wrong|right|good|great|long|short|boring|formal|helpful|useful|clear|confusing|funny|silly|vague|complicated|simple|obvious|true|odd|weird|interesting|nice|lovely|brilliant|cool|cute|awful"
    r"|amazing|enough|ok(?:ay)?|much|generic|stiff|cheesy|corny|spot on|it|all|plenty|gold|genius|hilarious"
    r"|what i \w+|(?:what|like) i(?:'m| was) [\w ]+)"
)
_REACTION: Final = lazy_pattern(
    OPENING + r"(?:(?:ha(?:ha)*|lol|hm+|ugh|argh|meh|phew|wow|ah|no|yes|yeah|nah|ok(?:ay)?|sorry|right|fair|true|well"
    r"|i think|i guess|honestly|tbh|for now)\W+){0,4}(?:"
    r"(?:good|nice|great|funny|fair|lovely|clever) (?:one|point|idea|call|stuff|thinking|work|job|answer|question)"
    rf"|{_THAT}(?:'s| is| was|'re| are| were| looks?| sounds?| seems?| feels?| reads?| isn't| wasn't| aren't)"
    rf" {_JUDGED}\b|{_THAT} (?:works?|worked|will do|would do|helps?|helped|makes? (?:more |no )?sense|does(?:n't| not)"
    r" (?:work|help|make sense|sound|look|read|feel|fit|rhyme)|did(?:n't| not) (?:work|help)|cheered me up"
    r"|made me \w+)\b"
    r"|i(?:'m| am)? ?(?:still )?(?:don't|do not|didn't|can't) (?:get|understand|follow|see|want|like|need)"
    r"(?: (?:it|that|this|the \w+|what|why|how|you)\b|\W*\Z)"
    r"|i(?:'m| am) (?:not (?:following|sure|convinced)|lost|confused|with you|stuck)\b"
    rf"|(?:i|we)(?:'d| would|'ll| will)?(?: really| quite| much)? (?:like|love|prefer|hate|want|choose|pick|take|try"
    rf"|use|go with|go for|have|do|test|give|keep) (?:that|this|it|these|those|them|the (?:first|second|third|last"
    rf"|other) {_PIECE})(?: {_PIECE})?(?= a (?:try|go|lot)| better| more| most| for now| then| and see| instead|\W*\Z)"
    r"|i(?:'ll| will| might) (?:have a (?:look|think|go)|think (?:about )?(?:it|that)|let you know|get back to you"
    r"|sleep on it|check (?:it|that)|look into (?:it|that)|see how (?:it|that) goes)"
    r"|(?:let me|i need to|i(?:'ll| will) need to) (?:think|see|check|try|have a (?:think|look)|read)\b"
    r"|get back to you\b|i(?:'m| am)? (?:give up|have no idea|dunno|don't (?:know|mind|care)|can't (?:decide|choose"
    r"|think(?: straight| of (?:anything|one|any))?))\W*\Z"
    r"|(?:thanks|thank (?:you|u)|cheers|ta|thx|much appreciated|bless you|many thanks|appreciate)\b"
    r"|(?:hang|hold) on|(?:one|just a|a) (?:sec(?:ond)?|moment|minute|min)\b|wait\b|brb\b|back in a (?:sec|bit|minute)"
    r"|(?:some(?:one|body)'s|the (?:postman|doorbell)) (?:at|is|just)\b|g[t2]g\b|gotta (?:go|run|dash)"
    r"|(?:try|do|write|make|go with|use|keep|say|send|give|put|start|cut|shorten|rewrite|carry|go) (?:it|that|this|one"
    r"|another|again|with|over|on|me|from)\b|same (?:again|but|thing)|one more|help me(?: out)?\b|you choose|your call"
    r"|up to you|surprise me)",
    re.IGNORECASE,
)
"""What somebody says of an answer, or on the way to the next."""
_MADE: Final = (
    r"(?:rhymes?|(?:syno|anto)nyms?|words?|names?|ideas?|titles?|sentences?|paragraphs?|lines?|captions?|slogans?|jokes?"
    r"|puns?|riddles?|quotes?|poems?|limericks?|haikus?|stor(?:y|ies)|tips?|suggestions?|recommendations?|recipes?"
    r"|examples?|templates?|lists?|versions?|summar(?:y|ies)|translations?|definitions?|explanations?|answers?|advice"
    r"|help|inspiration|headlines?|prompts?|regex(?:es)?|formulas?|functions?|scripts?|snippets?|quer(?:y|ies)|facts?"
    r"|outlines?|options?|alternatives?|words?|bullet points?|emojis?|questions?|trivia|distraction|laugh|pep talk)"
)
"""What is asked of an assistant, and made of words."""
_WANTED: Final = lazy_pattern(
    OPENING + r"(?:no\W+)?(?:i|we)(?:'d| would|'m| am)?(?: really| just| also| only)? (?:need|want|like|love"
    r"|could (?:use|do with)|fancy|looking for|after)(?: to have| to get)?"
    rf" (?:(?:an?|some|any|another|one|two|three|four|five|six|ten|\d{{1,2}}|a few|a couple of|more|something)\b"
    rf"(?: (?!for\b|about\b|of\b)[\w'-]+){{0,3}} {_MADE}\b"
    r"|(?:it|this|that|them)\b(?: to be| a bit| a little| much| way| more| less)* (?:\w+er\b|in\b|as\b|without\b|with\b"
    r"|formal|simple|funny|short)|something (?:\w+er|funny|short|quick|simple|light|easy)\b)"
    r"|i (?:just )?(?:want(?:ed)?|would like|'d like|need) to (?:say|ask|know|check|understand|thank)\b"
    r"|i(?:'ve| have)?(?: got)? (?:an?|another|one more|one|a quick) (?:other |last |silly |quick |weird )?question"
    r"|(?:i(?:'m| was| am)? )?(?:just )?(?:wondering|curious|asking)\b|quick one|random question"
    rf"|(?:(?:an?|one|some|another|two|three)(?: [\w'-]+)? )?{_MADE} (?:about|for|that rhymes?) (?![^:\n]{{0,40}}:)\w"
    r"|(?:some|any|no)thing (?:with|like|in|\w+er|short|funny|simple|light|easy|else|silly)\b",
    re.IGNORECASE,
)
"""What is wanted of an answer."""
_WHY: Final = lazy_pattern(
    OPENING + r"(?:\w+ ){1,4}(?:asked|asks|is asking|keeps asking|wants to know|was asking)(?: me| us)?"
    r" (?:what|who|how|why|where|when|if|whether|which)\b(?! (?:I|we|my|our)\b)|i(?:'m| am) settling a bet"
    r"|.{0,40}\b(?:autocorrect\w*|typos?|mistyped|misspel\w+)\b",
    re.IGNORECASE,
)
"""Why somebody asks, or asks once more."""
_STATE: Final = (
    r"(?:tired|bored|hungry|thirsty|starving|freezing|cold|boiling|hot|sweating|sleepy|exhausted|knackered|shattered"
    r"|wrecked|drained|sad|down|low|blue|happy|excited|nervous|anxious|stressed(?: out)?|overwhelmed|better|worse|great"
    r"|fine|ok(?:ay)?|rubbish|awful|terrible|lazy|grumpy|cross|annoyed|angry|lonely|off|meh|weird|dizzy|full|done"
    r"|fed up|frustrated|relieved|miserable|gutted|buzzing|restless|wiped(?: out)?|dead|broken|half asleep"
    r"|in (?:a|such a|no) (?:bit of a )?(?:good |bad |foul |funny |great )?(?:mood|hurry|rush))"
)
"""How somebody is just now."""
_MOOD: Final = lazy_pattern(
    OPENING + r"(?:(?:ugh|argh|god|man|honestly|phew|gosh)\W+)*(?:"
    rf"(?:i(?:'m| am)|i(?:'m| am)? ?feel(?:ing)?|feel(?:ing)?)(?: (?:so|really|very|a bit|a little|kind of|kinda|pretty"
    rf"|just|totally|absolutely|still|quite|getting|feeling|too|super|rather|all|already|completely)){{0,3}} {_STATE}"
    r"(?: (?:now|today|tonight|again|already|right now|at the moment|this (?:morning|evening|afternoon)|and"
    rf"|{_STATE})){{0,3}}\W*\Z"
    r"|(?:what|such) an? (?:\w+ )?(?:day|week|night|morning|mess|shame|relief|nightmare)\W*\Z|can't (?:think|sleep|be"
    r" bothered|even)\b|(?:i )?could (?:sleep|cry|scream|murder|kill for)\b|my (?:head|brain) (?:is|hurts)\b"
    r"|i(?:'m| am)? ?(?:just )?(?:want to|need to|need an?|could do with an?) (?:sleep|cry|scream|nap|coffee|drink"
    r"|break|rest|hug|vent|lie down|holiday)\b"
    r"|(?:it's|it is|still|it's still) (?:raining|pouring|snowing|freezing|boiling|hailing|sunny|friday|monday)\b)",
    re.IGNORECASE,
)
_CHINESE: Final = lazy_pattern(
    r"\A(?:唉|哎|啊|哦|嗯|那|就|我|还是|有点|好|真的?|太|先|不|也|又|今天|现在|感觉|觉得|好像|这个?|那个?|它|心里|哈|行吧?|反正)*"
    r"(?:[没看听不]{1,2}(?:看|听|太|明)?(?:懂|明白)|再(?:说|讲|来|写|给|换|试)[一几两三个点遍次份首段]?|(?:太|有点|好|够)[长短难简复啰]"
    r"|[短长简快慢正俏轻]\w?一?点|按(?:照)?你|你(?:真|好|说得|讲得|太|觉得|懂)|再?想想|考虑(?:一下|考虑)?|[试用选要](?:试|这个|那个|第[一二三四])"
    r"|第[一二三四]个(?=\W*$|[吧好呢啊就]|更|不错|比较|可以|太|有点|喜欢)|喜欢(?:这|那|第|你)|随便|无所谓|都(?:行|可以)|等(?:一?下|会儿?|等|我)|去(?:看看|拿|忙|吃|洗|睡|开会|接|取)"
    r"|有(?:个|一个|几个|点)?(?:小|新)?(?:问题|疑问|事)(?:想)?(?:问|请教|咨询)?|想(?:要)?(?:问|知道|了解|请教|咨询|学)|好奇|问(?:一?下|你)"
    r"|心情|难[过受]|开心|烦|累|困|饿|无聊|郁闷|崩溃|头[疼大晕]|委屈|想哭|睡不着|换个(?:说法|方式|角度|风格|思路)|陪我|聊聊|安慰|给我|换一?个|继续|接着说|谢|多谢|感谢|辛苦"
    r"|(?:想)?[要需来](?:要)?(?:一?[个句段首篇条份点些]|[两三四五六七八九十几]个?).{0,10}(?:名字?|标题|句子?|文案|建议|点子|主意|例子|方案|笑话|故事"
    r"|[菜食]谱|模板|祝福语?|口号|标语|翻译|答案|诗|段子|灵感|思路))"
)
_TIED: Final = lazy_pattern(
    r"我(?:们|家|的|妈|爸|哥|姐|弟|妹|儿|女|老|公|对|想学|在)|因为|一直|每[天周次晚]|从小|总是|经常"
)
"""What ties a Chinese clause to somebody's life."""


def is_chatter(sentence: str, is_idle: Callable[[str], bool]) -> bool:
    """Whether every clause of a sentence keeps the conversation going, and nothing else.

    Args:
        sentence: As it was said.
        is_idle: Whether a clause says nothing for another reason: it asks, or greets.
    """
    clauses = [found[0].strip() for found in _CLAUSE.finditer(sentence)]
    kinds = [(clause, _is_of_the_talk(clause)) for clause in clauses if clause]
    return any(said for _, said in kinds) and all(
        said or _is_filler(clause) or is_idle(clause) for clause, said in kinds
    )


def _is_of_the_talk(clause: str) -> bool:
    if is_cjk(clause):
        return _CHINESE.match(clause) is not None and not _TIED.search(clause)
    if _WANTED.match(clause):
        return not _DATED.search(clause)
    if _WHY.match(clause):
        return True
    is_said = _REACTION.match(clause) is not None or _MOOD.match(clause) is not None
    return is_said and not (_ANCHOR.search(_MINE.sub("", clause)) or names_and_numbers(phrases.OPENING.sub("", clause)))


def _is_filler(clause: str) -> bool:
    if is_cjk(clause):
        return len(clause) <= (_ITEM_ZH if clause.endswith("的") else _FILLER_ZH)
    return len(clause.split()) <= _FILLER and not names_and_numbers(phrases.OPENING.sub("", clause))
