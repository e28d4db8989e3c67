"""The words that announce what has changed, is corrected or ends: patterns, with the old value and the new one."""

import re
from typing import Final, Literal

from agentic_memory_bank.tools.text.patterns import lazy_pattern

Kind = Literal["replace", "cancel", "end", "correct"]
CHANGES: Final = (
    r"(?:ris(?:e|es|en|ing)|rose|rais(?:e[sd]?|ing)|increas\w+|grow[sn]?|grew|go(?:es)?|went|gone|drop\w*|falls?|fell|"
    r"reduc\w+|lower(?:s|ed|ing)?|cuts?|chang\w+|extend\w*|shorten\w*|mov(?:e[sd]?|ing)|shift(?:s|ed)?|postpon\w+|"
    r"adjust(?:s|ed)?|brings?|brought)"
)
FROM_TO: Final = lazy_pattern(
    rf"\b{CHANGES}\b[^.;:]{{0,40}}?\bfrom (?P<old>[^;:]{{1,50}}?) to (?P<new>[^;:]{{1,60}})", re.IGNORECASE
)
BE: Final = (
    r"\b(?:is|are|was|were|(?<!can )(?<!could )(?<!to )(?<!may )(?<!not )(?<!never )be|been|have|has|had|now)\s+"
)
MOVES: Final = lazy_pattern(
    r"(?<!be )(?<!been )(?<!not )\b(?:moves?|moved|shifts?|shifted|changes?|changed|switch(?:es|ed)?|goes|slips?|"
    r"slipped) (?:[a-z ]{1,20} )?(?:to|until) (?P<new>(?:the )?(?:[A-Z0-9£$€]|[a-z]+day|noon)[^;:]{0,80})"
)
TO: Final = lazy_pattern(
    rf"{BE}(?!not\b|never\b)(?:\w+ ){{0,2}}?(?:moved|postponed|rescheduled|changed|extended|shortened|raised|"
    r"increased|reduced|lowered|brought forward|shifted|relocated|transferred|corrected|amended|put back|put off|"
    r"adjusted|updated|replaced|superseded|(?:put|set) right|pushed|delayed|revised|rearranged)\b"
    r"(?: back| forward)?(?: to| until| till| by| with| for)? (?!from )(?P<new>[^;:]{1,80})",
    re.IGNORECASE,
)
STRUCK: Final = lazy_pattern(
    r"[\"“'‘](?P<old>[^\"”]{1,60})[\"”'’]\s+(?:\w+ ){0,3}?"
    r"(?:struck out|deleted|replaced|substituted|removed|crossed out)\b[^\"“]{0,40}[\"“](?P<new>[^\"”]{1,80})",
    re.IGNORECASE,
)
READS: Final = lazy_pattern(
    r"\b(?:shall|should|must|will|has to|is to|to)(?: now| hereby| instead)? (?:read|be replaced)\b"
    r"|\bread(?:s|ing)? as follows|\bis (?:hereby )?(?:replaced (?:by|with)|amended|substituted)\b"
    r"|\b(?:put )?in (?:its|his|her|their) (?:place|stead)\b|\bsupersedes?\b|\breplaces\b"
    r"|\b(?:delete|strike out|cross out|take out) (?:[^.;:]{0,40}? )?and (?:replace|put|substitute|insert|write)\w*",
    re.IGNORECASE,
)
COMPARED: Final = lazy_pattern(
    r"\b(?:later|earlier|sooner|longer|shorter|more|less|fewer|higher|lower|dearer|cheaper) than "
    r"(?:(?:was|were|is|had been|first|originally|previously|we|I) ){0,2}"
    r"(?:announced|planned|stated|scheduled|printed|advertised|published|told you|wrote|agreed|foreseen)\b",
    re.IGNORECASE,
)
"""What holds in place of something announced ("two weeks later than planned, on 18 March")."""
NOW: Final = lazy_pattern(
    r"\b(?:is|are|costs?|has|have|begins?|starts?|meets?|lasts?|takes?|opens?|closes?) now\b(?P<new>[^;:]{1,80})"
    r"|\b(?:may|can|must|will) now [a-z]+(?P<may>[^;:]{1,80})"
    r"|\bnow (?:is|are|costs?|has|have|begins?|starts?|meets?|lasts?|takes?|opens?|closes?)\b(?P<now>[^;:]{1,80})",
    re.IGNORECASE,
)
"""What is otherwise now than it was: found where a figure of the same kind is given elsewhere."""
FOR_READ: Final = lazy_pattern(
    r"\b(?:for|instead of) [\"“‘](?P<old>[^\"”’]{1,60})[\"”’],? (?:please )?read [\"“‘]?(?P<new>[^\"”’;]{1,80})"
    r"|\bread [\"“‘](?P<now>[^\"”’]{1,80})[\"”’] (?:for|instead of) [\"“‘](?P<was>[^\"”’]{1,60})",
    re.IGNORECASE,
)
FORGET: Final = lazy_pattern(
    r"\b(?:forget|ignore|disregard|cross out)\b(?P<old>[^:;.]{2,80}?(?:\d[\d.:]{0,20}[^:;.]{0,20})?)"
    r"[:;.](?P<new> [^;]{2,80})",
    re.IGNORECASE,
)
NOT_FIGURE: Final = lazy_pattern(
    r"(?:[,(] ?|\band |\bbut )not (?:on |at |in |from |until |the )?"
    r"(?P<old>(?:\d|[A-Z][a-z]+days?\b|[£$€])[^,.;()]{0,30})"
)
GOT: Final = lazy_pattern(
    r"\b(?:is|are|gets?|got|becomes?|became|starts?|begins?|opens?|closes?)\b[^.:;]{0,30}\b"
    r"(?:later|earlier|longer|shorter|dearer|cheaper|more expensive)\b[^.:;]{0,20}[:,](?P<new>[^;]{2,60})",
    re.IGNORECASE,
)
NOT_BUT: Final = lazy_pattern(
    r"\bnot (?:[a-z]{2,12} )?(?P<old>(?:at|in|on|by|from|with|to|under|before|after|until|for) [^,;:.]{2,60}?)"
    r"(?: as [^,;:.]{4,60})?,? but (?P<new>[^;:.]{2,80})",
    re.IGNORECASE,
)
ENDS: Final = lazy_pattern(r"\bno longer\b|\bdo(?:es)? not\b[^.;:]{0,40}\b(?:any ?more|any longer)\b", re.IGNORECASE)
CANCELS: Final = lazy_pattern(
    r"\b(?:not|nobody|no one|never)\b[^.;:]{0,40}\b(?:any ?more|any longer)\b"
    r"|\b(?:is|are|been|(?<!can )(?<!may )(?<!to )be)\s+(?:\w+ )?(?:deleted|struck out|cancell?ed|withdrawn|revoked|"
    r"abolished|dropped|discontinued|scrapped|waived|lifted|repealed|rescinded|suspended|void|"
    r"superseded|called off|out of date|outdated|obsolete|overtaken|"
    r"invalid)\b|\bclosed for good\b|\bdo(?:es)? not (?:apply|hold)\b|\bceases? to (?:apply|be|have)\b|\bfalls? away\b",
    re.IGNORECASE,
)
INSTEAD: Final = lazy_pattern(
    r"\b(?:instead of|in place of|rather than) (?P<old>[^,;:.]{1,60})|\binstead\b|\b(?:will|is to) now be\b",
    re.IGNORECASE,
)
GIVEN_BY: Final = lazy_pattern(
    r"\bwill be (?:given|held|chaired|taken|led|taught|presented|done) by (?P<new>[^;:]{1,60})", re.IGNORECASE
)
CORRECTS: Final = lazy_pattern(
    r"\b(?:printed|given|stated|listed|announced|quoted|was|were|is|are|had)\b[^.;:]{0,30}"
    r"\b(?:wrong(?:ly)?|incorrect(?:ly)?|mistaken(?:ly)?|in error|by mistake)\b"
    r"|\bcorrected\b|\bthe wrong \w+",
    re.IGNORECASE,
)
OPENS: Final = lazy_pattern(
    r"\bmistakes?\b|\berrat\w+|\bcorrections?\b|\bchange:|\bchange of\b|更正|勘误", re.IGNORECASE
)
NAME: Final = r"(?<![\w'-])[A-Z][\w'-]{0,24}(?: [A-Z][\w'-]{0,24})?"
AMOUNT: Final = r"(?<![\w.,])[£$€]?\d[\w.,]{0,16}"
NOT: Final = lazy_pattern(rf"(?P<new>{NAME}|{AMOUNT}(?: \w{{1,16}}){{0,3}}),? (?:and )?not (?P<old>{NAME}|{AMOUNT})")
NOT_QUOTED: Final = lazy_pattern(
    r"[\"“](?P<new>[^\"“”]{1,40})[,.]?[\"”],? (?:and |but )?not [\"“](?P<old>[^\"“”]{1,40}?)[,.]?[\"”]"
)
TAKEN_BACK: Final = lazy_pattern(
    r"(?:(?:That|This|It|Both|Those|These|The (?:figure|number|date|name|statement))(?: figures?| dates?| names?)? "
    r"(?:is|was|are|were)(?: both| all)? (?:wrong|incorrect|not (?:true|right|correct|so)|a mistake|an error|in error|"
    r"mistaken|a misprint|out of date)|(?:It|That|This|They|These) "
    r"should (?:have (?:been|read|said)|be|read|say)\b|应为|应是|实为|"
    r"(?:这|此|该)[^，。]{0,6}(?:有误|是错|错了|不对|不准|不实))"
)
"""What takes back what the sentence before it reports ("The leaflet says 148 m. That is wrong.")."""
NOT_NAME: Final = lazy_pattern(
    r", (?:and )?not (?:the )?(?P<old>[A-Z][\w'.-]*(?: [A-Z][\w'.-]*){0,2})(?=[.,;]|$)"
    r"|(?:而非|而不是|不是)(?P<han>[^，,。;；]{2,8})"
)
HAN_TO: Final = lazy_pattern(
    r"(?:改|调整|变更|更正|修改|修订|更改)(?:为|成|到|至|在|由|于)|(?:推迟|延期|延长|延后|提前|提高|增加|上调|下调|降低|减少|缩短)(?:到|至|为)"
    r"|(?:增|减|降|升|延|移|迁|搬|换|改期|更换)(?:至|到|成|为)|顺延(?!期[间内])|替换为|改用|现定(?:于|为)"
)
HAN_STRUCK: Final = lazy_pattern(
    r"[“\"「『](?P<old>[^“”\"「」『』]{1,40})[”\"」』][^，,。;；“”\"「」『』]{0,6}"
    r"(?:改|修改|修订|调整|变更|更改|更正|替换)[为成][“\"「『]?(?P<new>[^“”\"「」『』，,。;；]{1,60})"
)
HAN_FROM: Final = lazy_pattern(
    r"(?:由|从|原)(?P<old>[^，,。;；到至为]{1,20}?)(?:调整|提高|增加|改|降|升|减|延长|缩短|上调|下调|变更)[^，,。;；]{0,4}?(?:为|到|至)"
)
HAN_ENDS: Final = lazy_pattern(r"不再(?!变|调整)")
HAN_CANCELS: Final = lazy_pattern(
    r"取消(?!(?:[^，。,;；]{1,12}的)?(?:[^，。,;；的]{1,4})?资格)|删除|删去|废止|作废|停用|撤销|停止(?!入|供)|终止|失效|(?:已经?|均)过时|已不适用"
)
HAN_CORRECTS: Final = lazy_pattern(
    r"有误|错误|误[写为印记]|应为|应是|实为|以[^，,。;；]{0,10}?(?:本|此|新版|最新|通知|公告|合同|协议|文件|启事|网站|官网|手册|册|表|原件|文本)[^，,。;；]{0,4}?为准"
)
LEADS_IN: Final = lazy_pattern(r"(?:[:：]|\b(?:by|with|read|follows?|following))[\s*_]*$", re.IGNORECASE)
"""What ends a sentence that only leads in the new text."""
THEREIN: Final = lazy_pattern(
    r"\b(?:in this respect|on this point|to this extent|in that respect|here|thereby)\b|这一点|此处|这方面",
    re.IGNORECASE,
)
"""What makes a sentence say of the one before it what it replaces."""
STANDS_IN: Final = lazy_pattern(
    r"\binstead\b|\bin (?:its|his|her|their) (?:place|stead)\b|代替|替代|顶替", re.IGNORECASE
)
NAMED: Final = lazy_pattern(
    r"[\"“][A-Z][^\"“”]{2,30}[\"”]|《[^》]{2,20}》"
    r"|(?<=[a-z,;:] )(?:[A-Z][\w'’-]{2,24}(?: (?:[A-Z][\w'’-]{1,24}|\d{1,3}\b)){0,2})"
    r"|^[A-Z][\w'’-]{2,24}(?: (?:[A-Z][\w'’-]{1,24}|\d{1,3}\b)){1,2}"
)
GONE: Final = lazy_pattern(
    r"(?P<name>[A-Z][\w'’-]{1,24}(?: (?:[A-Z][\w'’-]{1,24}|\d{1,3}\b)){1,2}) "
    r"(?:(?:is|are|was|has|have) (?:now |been |already )?"
    r"(?:closed|gone|left|ill|shut|retired|resigned|demolished|sold)|left us|no longer works)\b"
)
"""What says that something with a name is not to be had any more ("Ward 6 is closed")."""
BECOMES: Final = (FROM_TO, TO, HAN_FROM, HAN_TO)
PATTERNS: Final[tuple[tuple[Kind, re.Pattern[str]], ...]] = (
    ("replace", STRUCK),
    ("replace", HAN_STRUCK),
    ("replace", FROM_TO),
    ("replace", HAN_FROM),
    ("correct", TAKEN_BACK),
    ("correct", NOT_QUOTED),
    ("correct", NOT),
    ("correct", NOT_NAME),
    ("replace", FOR_READ),
    ("replace", FORGET),
    ("correct", NOT_BUT),
    ("correct", NOT_FIGURE),
    ("replace", GOT),
    ("replace", READS),
    ("replace", COMPARED),
    ("replace", TO),
    ("replace", MOVES),
    ("replace", HAN_TO),
    ("end", ENDS),
    ("replace", NOW),
    ("cancel", CANCELS),
    ("end", HAN_ENDS),
    ("cancel", HAN_CANCELS),
    ("replace", INSTEAD),
    ("replace", GIVEN_BY),
    ("correct", CORRECTS),
    ("correct", HAN_CORRECTS),
    ("correct", OPENS),
)
