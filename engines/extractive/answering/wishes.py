"""Tells a question about how somebody wants to be answered, and the memories that hold such a wish.

The two share no word ("How should you format your replies to me?" and "short bullets, please, I read one-handed"), and
nothing of the world is asked: what the user wished for is the whole of the answer. A wish that says of itself when it
holds ("always name the brand when I ask about shoes") is told apart: it applies to a message about that.
"""

import re
from typing import Final

from agentic_memory_bank.engines.extractive.remembering.clauses import subject_terms
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.terms import tokenize

_TALK: Final = (
    "write|written|reply|answer(?:ed)?|respond|talk|speak|phrased?|word(?:ed)?|format(?:ted)?|address(?:ed)?"
    "|explain(?:ed)?|explanations?|described?|summari[sz]ed|advice|advise|replies|answers"
    "|responses|messages|summaries|emails|drafts|texts|wording|tone|style|language"
)
_ASKED: Final = lazy_pattern(
    rf"\bhow (?:should|must|ought|shall)\b(?! (?:i|we)\b)[^?.!]{{0,40}}\b(?:{_TALK})\b[^?.!]{{0,40}}\b(?:me|my|i)\b"
    rf"|\bhow (?:should|must|ought|shall) (?:you|u)\b[^?.!]{{0,30}}\b(?:{_TALK}|explaining|answering|replying)\b"
    r"|\bhow (?:should|must|ought) your\b"
    r"|\bhow (?:should|must)\b[^?.!]{1,50}\b(?:appear|look|read|come out|be (?:shown|written|spel(?:t|led)|formatted"
    r"|laid out|presented|displayed|rounded|given|quoted|cited|listed|numbered|dated))\b[^?.!]{0,30}\b(?:my|me|our)\b"
    r"|\bwhat (?:do|should) i (?:want|need|expect)\b[^?.!]{0,20}\b(?:back|in return|from you)\b"
    r"|\bhow (?:should|must)\b[^?.!]{0,20}\b(?:for|to|with) me\b[^?.!]{0,20}\b(?:written|worded|formatted|phrased)\b"
    rf"|\b(?:how|what|which)\b[^?.!]{{0,30}}\bi (?:like|want|prefer|need|asked?)\b[^?.!]{{0,20}}\b(?:you|your|my)\b"
    rf"[^?.!]{{0,20}}\b(?:{_TALK})\b"
    r"|(?:跟我|和我|对我)(?:说话|讲话|聊天)|回[答复]我[^，。？?]{0,8}(?:注意|方式|格式|什么|怎么)"
    r"|你(?:的|该|要|应该)?(?:说话|讲话|回[答复])[^，。？?]{0,8}(?:方式|讲究|要求|规矩|语气|格式|忌讳|注意)"
    r"|回[我俺](?:的?话|消息)[^，。？?]{0,8}(?:啥|什么|怎么|不能|别|注意)"
    r"|(?:给|帮|替)[我俺](?:写|起草|拟|回|翻译|改|总结|整理|做表|算)[^，。？?]{0,10}(?:时候|时)[^，。？?]{0,8}(?:格式|讲究|要求|规矩|忌讳|怎么|咋)"
    r"|(?:怎么|怎样|如何|用什么)[^，。？?]{0,10}(?:回[答复]我|跟我说|和我说|对我说|称呼我|写给我)",
)
_OF_THE_PAST: Final = lazy_pattern(
    r"\b(?:did|have) you\b|\byou (?:said|told|wrote)\b|你[^，。？?]{0,6}(?:说过|推荐|写过|提过)"
)
"""What the assistant did say is another thing."""
_FORM: Final = (
    r"bullets?|bullet points?|short|brief|briefly|concise|plain|simple|simply|jargon|idioms?|slang|emojis?|exclamation"
    r"|formal|formally|informal|casual|british|american|spelling|metric|headings?|sentences?|paragraphs?|lists?|tables?"
    r"|conclusions?|long|lengthy|step by step|steps|polite|blunt|direct|straight|honest|swear\w*|sugar-?coat"
    r"|(?:with|in|use|using|by|give me) (?:\w+ ){0,2}?"
    r"(?:pictures|examples?|analog(?:y|ies)|metaphors?|comparisons?|diagrams?)"
    r"|waffle|fluff|capitals?|first name|latin|acronyms?|abbreviations?|words?|lines?|english"
    r"|french|german|spanish|chinese|answers?|repl(?:y|ies)|tone|call me|address me"
)
_WISH: Final = lazy_pattern(
    r"\b(?:you|your|please|pls|always|never|no|don't|dont|do not|keep|avoid|use|stick to|skip|give me|talk to me"
    rf"|write to me|just)\b[^.!?]{{0,60}}\b(?:{_FORM})\b"
    rf"|\b(?:{_FORM})\b[^.!?]{{0,40}}\b(?:please|pls|only|for me|when you|with me|to me)\b"
    r"|\b(?:when(?:ever)?|every time|any ?time|anything|everything|whatever) (?:you|u)(?:'re)? (?:explain|write|draft"
    r"|answer|reply|talk|speak|word)\w*\b|\bwhen(?:ever)? i (?:send|give|show|paste) (?:you|u)\b"
    r"|\b(?:numbers?|figures?|dates?|amounts?|negatives?|measurements?) (?:are |should be )?(?:always )?(?:in|as|with)"
    r" (?:\w+ )?(?:cad|usd|gbp|euros?|dollars|metric|brackets?|iso|digits|words|bold|full|percent\w*|km|kg|minus)\b"
    r"|(?:[跟和对][我俺咱](?:说话|讲话)|回[我俺](?:的?话|消息)|[给替帮][我俺]写(?![^，。]{0,6}的))[^。！？]{0,12}(?:别|不要|不许|先|要|用)"
    r"|(?:你|别|不要|请|尽量|一律|务必|少|多)[^。！？]{0,14}(?:用|说|讲|写|分|回[答复]|称呼|叫我)[^。！？]{0,16}"
    r"(?:话|字|词|英文|中文|专业|术语|表情|语气|结论|要点|条|行|段|句|啰嗦|客套|简[单短洁]|称呼)"
    r"|(?:回[答复]|说话|讲话|写)[^。！？]{0,8}(?:简[单短洁]|直接|短一?点|分点|分条|先[说给]|别|不要)|大白话|说人话|叫我[\u4e00-\u9fff]",
)
_ABOUT: Final = (
    r"(?:ask|enquire|inquire|talk|speak|want to know|tell you|write|mention|bring up)(?: you)?(?: for| about| of| up)?"
)
_DEMANDS: Final = (
    r"(?:always|never|please|pls|make sure|remember|don['’]?t|do not|no|only|include|give|show|add|mention|use|keep"
    r"|start|answer|reply|tell|name|list|remind|explain|say|write|put|stick|avoid|skip)"
)
_CONDITION: Final = lazy_pattern(
    rf"\b(?:when(?:ever)?|if|every time|any ?time|each time) (?:i|we) {_ABOUT} "
    rf"(?P<topic>[^,;.!?\n]{{2,80}}?)(?=[,;.!?\n]|\Z| {_DEMANDS}\b)"
    r"|(?:每次|每当|只要|如果|要是)?我(?:再|一)?(?:问|聊|说|提|讲)(?:到|起|你)?"
    r"(?P<chinese>[^，。！？\n]{1,20}?)(?:的时候|时|的话|，)"
    r"(?=[^。！？\n]{0,12}(?:要|都|先|记得|别|不要|务必|一定|请|麻烦))",
    re.IGNORECASE,
)
"""What a message has to be about for a wish to hold."""
_DEMAND: Final = lazy_pattern(
    rf"(?<!\bthey )(?<!\bhe )(?<!\bshe )(?<!\bit )(?<!\bi )(?<!\bwe )\b{_DEMANDS}\b|要|都|先|记得|别|务必|一定|请|麻烦",
    re.IGNORECASE,
)
"""What is demanded of whoever answers."""
_WORKS: Final = {
    "e-mail": r"\be-?mails?\b|邮件|电邮",
    "letter": r"\bletters?\b|[写封](?:[一封给]|[^，。！？\s]{0,6}的){0,3}信(?!息|用|号|心)|[写回]信(?!息|用|号|心)",
    "message": r"\b(?:text|chat|whatsapp|slack)? ?messages?\b|\btexts\b|\btext (?:to|for|back)\b|短信|微信|消息",
    "code": r"\b(?:code|scripts?|functions?|snippets?|programs?|regex|sql)\b|代码|脚本|函数|程序|编程",
    "recipe": r"\b(?:recipes?|ingredients)\b|\bhow (?:do|can|should|to|would) ?(?:i|we|you)? (?:make|cook|bake"
    r"|roast|fry)\b"
    r"|菜谱|食谱|做法|[菜肉鱼饭面汤糕饼鸡蛋粥羹][^，。！？]{0,2}怎么[做烧炖炒煮蒸烤]|怎么[做烧炖炒煮蒸烤][^，。！？]{0,6}[菜肉鱼饭面汤糕饼鸡蛋粥羹]",
    "translation": r"\btranslat\w+\b|翻译|译成",
    "summary": r"\bsummar(?:y|ies|i[sz]e\w*)\b|总结|摘要|概括",
    "report": r"\breports?\b|报告|周报|日报|月报|汇报",
    "document": r"\bdocuments?\b|\bdocs?\b|文档|文件",
    "list": r"\b(?:shopping|packing|to-?do|reading) lists?\b|清单|列表",
    "post": r"\b(?:posts?|tweets?|captions?|newsletters?|blogs?)\b|文案|推文|帖子|朋友圈",
    "slides": r"\b(?:slides?|presentations?|decks?)\b|幻灯片|ppt",
    "plan": r"\b(?:itinerar(?:y|ies)|workouts?|training plans?|meal plans?|lesson plans?)\b|行程|攻略|训练计划|教案",
    "place to eat": r"\b(?:restaurants?|places? to eat|somewhere to eat|lunch spots?)\b|餐厅|饭店|馆子|吃饭的?地方"
    r"|好吃的?(?:[^，。！？]{0,4}[菜店吗？?])?|吃什么好",
    "any": r"\b(?:anything|everything|whatever|things|stuff) (?:that )?(?:you|u) (?:write|draft|compose)\b"
    r"|\bwhen(?:ever)? you(?:'re)? (?:write|writing|draft|drafting)(?: (?:something|things|anything|stuff))?"
    r"(?: for me)?\s?(?:[,;.]|\Z)"
    r"|(?:给|帮|替)我写(?:的)?(?:东西|任何|文字|什么)",
}
"""What somebody is asked to make, as wishes and requests name it; "any" for all of it that is written."""
_WORK: Final = {name: lazy_pattern(pattern, re.IGNORECASE) for name, pattern in _WORKS.items()}
_WRITTEN: Final = lazy_pattern(
    r"\b(?:write|draft|compose|rewrite|reword)\b|写|起草|草拟|拟一?[份个篇封]|润色", re.IGNORECASE
)
_MAKES: Final = lazy_pattern(
    r"\b(?:write|draft|compose|repl(?:y|ies)|answer|rewrite|reword|word|translate|summari[sz]e|code|give|show|help|prepare"
    r"|make|create|plan|suggest|recommend|know|find|need|want|where|how|what|can|could)\b"
    r"|写|起草|拟|回复|翻译|总结|概括|推荐|介绍|帮|给我|来一?[份个篇封]|怎么|哪|什么|有没有",
    re.IGNORECASE,
)
"""How something is asked for."""
_TO_WHOM: Final = lazy_pattern(
    r"\A\W*(?:(?:and|also|ok(?:ay)?|oh|so|hey|please|pls|just|btw|for the future|from now on|in (?:the )?future|one"
    r" (?:more )?thing|(?:with|in|on|for) (?:my |the |any |all )?[\w-]+(?: [\w-]+)?)\b\W*){0,4}"
    r"(?:keep|use|write|sign|don['’]?t|do not|never|always|no|avoid|make|put|start|begin|end|close|give|stick|limit"
    r"|show|leave|skip|quote|cite|list|round|format|spell|include|add|mention|only|mind)\b"
    r"|\b(?:you|for me|[a-z]+ my)\b|\bplease\b|\bpls\b"
    r"|别(?!人|的)|不要|不许|务必|一律|尽量|(?:\A|[，,。：:的时候])\W{0,2}(?:请|麻烦|以后|千万)?(?:别|不要|不许|要|用|按|先|保留|控制|落款|署名|只|一律|尽量|记得|都|得|结尾|开头|标|列|给)",
    re.IGNORECASE,
)
"""How a wish speaks to whoever answers."""
_OWN_HABIT: Final = lazy_pattern(
    r"\A\W*(?:i|we|he|she|they|my|our|the|his|her)\b(?! (?:want|need|like|prefer|'d|would)\b)"
    r"|\A\W*(?:我|他|她|我们)(?!问|让你|要你|希望|想让|喜欢你)",
    re.IGNORECASE,
)
"""Of what somebody does themselves."""
LIKE_ITS_TOPIC: Final = 0.45
"""Cosine with an English message from which a wish with a condition applies to it."""
SHARE_OF_TOPIC: Final = 0.5
"""Share of the words of the condition from which it does, whatever the cosine. Both chosen with
`benchmarks/long_chats.py`, which prints how many of such wishes are shown."""
_LONGEST: Final = 400
"""Characters of a memory that are looked into."""


def asks_for_a_wish(query: str) -> bool:
    """Whether a question is about how its speaker wants to be answered."""
    asked = query[:_LONGEST].casefold()
    return _ASKED.search(asked) is not None and _OF_THE_PAST.search(asked) is None


def is_a_wish(text: str) -> bool:
    """Whether a memory says how its speaker wants to be answered."""
    return _WISH.search(text[:_LONGEST].casefold()) is not None


def applies(text: str, query: str, cosine: float) -> bool:
    """Whether a memory is a wish for answers to messages about something, and a message is about that.

    Args:
        text: The memory.
        query: The message.
        cosine: How like the two are.
    """
    said = text[:_LONGEST]
    if _is_of_work(said, query[:_LONGEST]):
        return True
    found = _CONDITION.search(said)
    if found is None or not (_DEMAND.search(said, 0, found.start()) or _DEMAND.search(said, found.end())):
        return False
    topic = subject_terms(found["topic"] or found["chinese"])
    shared = len(topic.intersection(tokenize(query[:_LONGEST])))
    return shared >= SHARE_OF_TOPIC * max(1, len(topic)) or (not is_cjk(query) and cosine >= LIKE_ITS_TOPIC)


def _is_of_work(wish: str, query: str) -> bool:
    """Whether a wish says how something is to be made, and a message asks to make such a thing."""
    if _OWN_HABIT.match(wish) or not _TO_WHOM.search(wish) or not _MAKES.search(query):
        return False
    kinds = [name for name, kind in _WORK.items() if kind.search(wish)]
    if "any" in kinds:
        return _WRITTEN.search(query) is not None
    return any(_WORK[name].search(query) for name in kinds)
