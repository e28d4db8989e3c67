"""Says whether a text speaks of health, religion, politics or sexuality: what some users want left out of memories."""

import re
from collections.abc import Collection, Mapping
from typing import Final

from agentic_memory_bank.state.settings import Sensitive
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.sentences import sentences

_HEALTH: Final = (
    r"health(?!y)|illness(?:es)?|ill|sick(?:ness)?|diseases?|diagnos\w{2,6}|symptoms?|allerg\w{1,6}|asthma\w{0,4}|diabet\w{1,4}"
    r"|cancer|tumou?rs?|chemo\w{0,9}|epilep\w{1,4}|migraines?|depress(?:ed|ion)|anxiety|adhd|autis\w{1,4}|bipolar|ptsd"
    r"|hiv|aids|covid|arthritis|anaemi\w|anemi\w|ferritin|blood (?:pressure|sugar|tests?|type)|cholesterol|thyroid"
    r"|pregnan\w{1,4}|miscarr\w{3,6}|menopaus\w{1,3}|ivf|medic(?:ation|ine|al)s?|prescri\w{3,7}|antidepressants?|insulin"
    r"|surger(?:y|ies)|surgeon|operation on (?:my|his|her)|hospitali[sz]ed|hospital|clinic|therap(?:y|ist)"
    r"|psychiatr\w{1,4}|doctor|physio(?:therap\w{1,4})?|cpap|apnoea|apnea|injur(?:y|ies|ed)|fractur\w{1,3}"
    r"|broke (?:my|his|her) \w+|disab(?:led|ility)|wheelchair|rehab|epi-?pen|nodules?"
    r"|(?:hip|knee) (?:replacement|surgery)|vaccin\w{1,6}"
)
_HEALTH_CHINESE: Final = (
    r"生病|患病|得了.{0,6}[病炎症癌]|[患确]诊|[肝胃肾肺心]病|病[情历假史]|疾病|糖尿病|高血压|血压|血糖|癌|肿瘤|过敏|哮喘|抑郁|焦虑症|失眠|艾滋"
    r"|怀孕|流产|孕期|手术|住院|医院|看病|医生|大夫|吃药|[服用]药|药片|处方|体检|化疗|骨折|受伤|旧伤|摔[断伤坏了]|关节炎|膝盖|腰椎|颈椎|残疾|疫苗"
    r"|康复|心理咨询|降压|沙坦|胰岛素"
)
_WORDS: Final[Mapping[Sensitive, tuple[str, str]]] = {
    "health": (_HEALTH, _HEALTH_CHINESE),
    "religion": (
        r"religio\w{1,4}|christian\w{0,4}|catholic\w{0,4}|protestant|muslim|islam\w{0,3}|jew(?:ish|s)?|judaism"
        r"|hindu\w{0,3}|buddhis\w|sikh|atheis\w|agnostic|church|mosque|synagogue|temple service|pray(?:s|ed|ing|ers?)?"
        r"|mass on sunday|bible|quran|koran|torah|ramadan|baptis\w{1,3}|bar mitzvah|bat mitzvah|pilgrimage"
        r"|imam|rabbi|priest|faith",
        r"宗教|信[仰教佛主]|基督|天主教|教堂|礼拜|佛教|拜佛|寺庙|烧香|穆斯林|伊斯兰|清真|斋月|古兰经|圣经|祷告|道教|受洗|无神论",
    ),
    "politics": (
        r"politic\w{0,6}|vot(?:e|es|ed|ing) (?:for|against|labour|tory|green|republican|democrat)|elections?|republican"
        r"|democrats?|conservatives?|labour party|tory|tories|socialis\w|communis\w|left-wing|right-wing|trade union"
        r"|union member|party member|campaign(?:ed|ing) for|protest(?:ed|ing|s)?|activis\w",
        r"政治|党员|入党|共产党|民主党|共和党|投票给|选举|左派|右派|示威|抗议|工会",
    ),
    "sexuality": (
        r"gay|lesbian|bisexual|queer|lgbt\w{0,3}|transgender|trans (?:man|woman|person)|non-?binary|sexual\w{0,4}"
        r"|sexuality|coming out|came out (?:to|as)|sex life|pronouns are|gender identity",
        r"同性恋|同志身份|双性恋|出柜|变性|跨性别|性取向|性生活|性向",
    ),
}
_PATTERNS: Final = {
    kind: lazy_pattern(rf"(?<![A-Za-z])(?:{english})(?![A-Za-z])|{chinese}", re.IGNORECASE)
    for kind, (english, chinese) in _WORDS.items()
}


def speaks_of(text: str, kinds: Collection[Sensitive]) -> bool:
    """Whether a text speaks of one of these."""
    return any(_PATTERNS[kind].search(text) for kind in kinds)


def without(text: str, kinds: Collection[Sensitive]) -> str:
    """A text without the sentences that speak of one of these."""
    if not kinds or not speaks_of(text, kinds):
        return text
    return "".join(text[start:end] for start, end in sentences(text) if not speaks_of(text[start:end], kinds)).strip()
