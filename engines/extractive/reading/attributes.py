"""Reads what a sentence says of somebody: whom it is about, which attribute, and its value (Ana, home, Lisbon)."""

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from agentic_memory_bank.engines.conversation import USER
from agentic_memory_bank.engines.extractive.reading.lexicon import WORD_CLASSES
from agentic_memory_bank.engines.extractive.reading.values import Value, agree, comparable, values_of
from agentic_memory_bank.tools.text.spans import Span
from agentic_memory_bank.tools.text.terms import tokenize

MOST_WORDS: Final = 8
"""A longer value is a sentence of its own, and no value."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One attribute of somebody, as a sentence states it.

    Attributes:
        subject: Whom it is about: the speaker, "Ana's sister", or a name.
        attribute: "home", "job", "budget hawaii", "liking fish" …
        value: As written.
        denied: Whether it is said not to be so ("I no longer live in Lisbon").
        span: Where it stands in the sentence, from its subject to the end of its value.
        revises: Whether it says itself that something has changed ("is now").
    """

    subject: str
    attribute: str
    value: str
    denied: bool
    span: Span
    revises: bool = False


_KIN: Final = {
    **{
        word: word
        for word in [
            "sister",
            "brother",
            "mother",
            "father",
            "wife",
            "husband",
            "partner",
            "son",
            "daughter",
            "girlfriend",
            "boyfriend",
        ]
    },
    **{
        word: word
        for word in [
            "boss",
            "manager",
            "uncle",
            "aunt",
            "cousin",
            "grandmother",
            "grandfather",
            "niece",
            "nephew",
            "fiancé",
            "fiancée",
        ]
    },
    **{
        word: word
        for word in [
            "friend",
            "colleague",
            "roommate",
            "neighbour",
            "landlord",
            "doctor",
            "company",
            "team",
            "dog",
            "cat",
            "family",
        ]
    },
    **{"mom": "mother", "mum": "mother", "dad": "father", "grandma": "grandmother", "grandpa": "grandfather"},
    **{"neighbor": "neighbour", "flatmate": "roommate", "coworker": "colleague", "best friend": "friend"},
}
_CHINESE_KIN: Final = {
    **{"姐姐": "sister", "妹妹": "sister", "哥哥": "brother", "弟弟": "brother", "妈妈": "mother", "母亲": "mother"},
    **{"爸爸": "father", "父亲": "father", "老婆": "wife", "妻子": "wife", "太太": "wife", "老公": "husband"},
    **{"丈夫": "husband", "先生": "husband", "儿子": "son", "女儿": "daughter", "女朋友": "girlfriend"},
    **{"男朋友": "boyfriend", "老板": "boss", "经理": "manager", "奶奶": "grandmother", "爷爷": "grandfather"},
    **{"朋友": "friend", "同事": "colleague", "室友": "roommate", "公司": "company", "狗": "dog", "猫": "cat"},
}
_NOUNS: Final = """
    budget deadline address phone number email car employer salary rent height weight size timezone language
    hometown city nationality birthday anniversary diet title role position codename username flight seat hotel
    limit target price destination major school university bedtime shift schedule appointment extension
    version stack framework database editor os device laptop bike subscription insurance
    bank airline gym
    dosage dose medication score rating mileage pace record handicap rank headcount quota launch-date
"""
_FUNCTIONAL: Final = frozenset(_NOUNS.split()) | frozenset(
    ("date", "time", "day", "name", "type", "brand", "colour", "color")
)
"""Nouns that have one value at a time, so that another value takes the place of the first."""
_CHINESE_FUNCTIONAL: Final = (
    "预算|截止日期|截止时间|地址|电话号码|电话|手机号码|手机号|手机|邮箱|车|工资|薪水|月薪|房租|身高|体重|鞋码|尺码|时区|母语|家乡|老家|城市|国籍|"
    "生日|纪念日|职位|职务|头衔|航班|座位|酒店|上限|目的地|专业|学校|大学|作息|版本|数据库|编辑器|电脑|套餐|保险|工号|血型|剂量|昵称|名字|代号|血压"
)

_OWN: Final = frozenset(("i", "we", "my", "our", "the", "the user", "user"))
_SEVERAL: Final = frozenset(
    ["friend", "colleague", "cousin", "neighbour", "roommate", "uncle", "aunt", "niece", "nephew"]
)
"""Whom one may have several of: without a name it is not known which."""
_NO_NAME: Final = (
    r"(?:I|We|You|He|She|It|They|This|That|These|Those|There|Here|Who|What|Where|When|Why|How|Which|And|But|So|Or"
    r"|If|My|Our|"
    r"Your|His|Her|Its|Their|The|An?|Everyone|Everybody|Someone|Somebody|Anyone|Nobody|One|Some|Many|Most|People"
    r"|Not|No|Yes|"
    r"Also|Actually|Now|Just|Please|Remember|Still|Currently|Today|Well|Oh|Hey|Hi|Yeah|Ok|Okay)\b"
)
_NAME: Final = rf"(?-i:(?!{_NO_NAME})[A-ZÀ-Þ][\w'-]{{1,40}}(?: [A-ZÀ-Þ][\w'-]{{1,40}}){{0,2}})"
_SELF: Final = r"(?:I|we)(?![\w.])"
_WHO: Final = (
    rf"(?P<who>(?<![\w'])(?:{_SELF}|the user\b|(?:my|our) (?:{'|'.join(sorted(_KIN, key=len, reverse=True))})\b"
    rf"(?: {_NAME})?|(?<!\bin )(?<!\bto )(?<!\bat )(?<!\band ){_NAME}))"
)
_ADV: Final = (
    r"(?: (?:currently|now|actually|still|just|really|also|recently|finally|always|absolutely|both|even|only|already"
    r"|presently|temporarily|so|very|officially)(?=\W)){0,2}"
)
_BE: Final = r"(?:'m|'s|'re| am| is| are)"
_HAVE: Final = r"(?:'ve|'s| have| has)?"
_NOT: Final = r"(?P<not> no longer| don't| doesn't| do not| does not| never| not|n't| am not| can't| cannot)?"
_REST: Final = r"(?P<value>(?:\d++(?:[.,]\d++)*+|[^\d,;.!?\n，。！？；]){0,100}?)"
_END: Final = (
    r"(?=[,;!?\n，。！？；]|\.(?!\d)|$|\s{1,20}(?:[,;!?\n，。！？；]|\.(?!\d)|$|(?:and|but|with|since|because|for|where|when|while|which|who|so|though"
    r"|although|"
    r"after|before|until|these days|right now|at the moment|any ?more|now|instead|last|this|next|as well|too"
    r"|from now on|"
    r"in (?:19|20)\d\d|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|every)\b))"
)
_PLACE: Final = (
    r"(?P<value>(?!(?:an?|the (?!hague|netherlands|uk|us|usa|bronx)|my|our|his|her|their|this|that|these|those|it|"
    r"fear|peace|harmony|such|different|same|one|two|town|person|love|pain|march|april|june|july|january|\d)\b)"
    r"[\wÀ-ɏ'.-]+(?: (?!(?:and|but|with|since|because|for|where|when|while|now|last|this|next|in|on|from|as|to|after|"
    r"before|until|by|which|who|so|right|these|at|again|any ?more|instead|too|together|alone"
    r"|permanently)\b)[\wÀ-ɏ'.-]*[\wÀ-ɏ]){0,3}"
    r"(?:, (?-i:[A-Z])[\w.]+)?)"
)
_PROFESSION: Final = (
    r"(?:\w+[ -]){0,2}?(?:\w*(?:engineer|developer|programmer|designer|scientist|teacher|nurse|doctor|lawyer"
    r"|student|writer"
    r"|accountant|architect|journalist|chef|consultant|manager|analyst|researcher|professor|dentist|pilot|actor|artist"
    r"|musician|therapist|pharmacist|electrician|plumber|mechanic|carpenter|photographer|veterinarian|translator|editor"
    r"|entrepreneur|freelancer|counselor|counsellor|coach|librarian|firefighter|paramedic|surgeon|psychologist))"
)


_NAMED: Final = re.compile(_NAME)
_CHINESE_NOUN: Final = re.compile(f"(?:{_CHINESE_FUNCTIONAL})$")
_MY_KIN: Final = re.compile(rf"(?:my|our) (?P<kin>{'|'.join(sorted(_KIN, key=len, reverse=True))})\b")


def _compiled(*table: tuple[str, str]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((name, re.compile(pattern, re.IGNORECASE)) for name, pattern in table)


_ENGLISH: Final = _compiled(
    (
        "home",
        rf"{_WHO}(?:{_ADV}{_NOT}{_ADV} (?:live|lives|reside|resides)|{_BE}{_ADV} (?:living|based"
        rf"|settled)){_ADV} (?:in|at) {_PLACE}",
    ),
    (
        "home",
        rf"{_WHO}{_HAVE}{_ADV} (?:moved|relocated)(?: (?:back|over|out|here|away"
        rf"|house))?{_ADV}(?: from [\w ]{{2,30}}?)? (?:to|into) {_PLACE}",
    ),
    ("home", rf"(?P<who>\b(?:my|our)) (?:home city|current city|home address) (?:is|are){_ADV} {_PLACE}"),
    ("origin", rf"{_WHO}(?:{_BE}{_ADV}(?: originally)? from| grew up in| (?:was|were) born in) {_PLACE}"),
    ("name", rf"(?P<who>\bmy)(?: full| first)? name(?: is|'s){_ADV} (?P<value>{_NAME})"),
    ("name", rf"(?P<who>\b(?:call me|I am called|I'm called|I go by)) (?P<value>{_NAME})"),
    (
        "age",
        rf"{_WHO}(?:{_BE}{_ADV}| turned) (?P<value>\d{{1,3}})(?: years? old| yo\b|(?=\s*[,.!;]|\s+(?:and|now)|\s*$))",
    ),
    ("birthday", rf"(?P<who>\bmy) birthday(?: is|'s)(?: on)? {_REST}{_END}"),
    ("birthday", rf"{_WHO} (?:was|were) born on {_REST}{_END}"),
    (
        "employer",
        rf"{_WHO}(?:{_BE}{_ADV}|{_ADV}{_NOT}{_ADV})(?: started)? (?:work|works|working)(?: full-time| part-time"
        rf"| remotely)?{_ADV} (?:at|for) (?P<value>{_NAME})",
    ),
    (
        "job",
        rf"{_WHO}(?:{_BE}{_ADV}|{_ADV}{_NOT}{_ADV})(?: started)? (?:work|works|working)(?: full-time"
        rf"| part-time)?{_ADV} as (?:an? |the )?{_REST}{_END}",
    ),
    ("job", rf"{_WHO}{_BE}{_ADV}(?P<not> not| no longer)? an? (?P<value>{_PROFESSION})\b"),
    ("job", rf"(?P<who>\bmy) job(?: title)?(?: is|'s){_ADV} (?:an? )?{_REST}{_END}"),
    (
        "marital status",
        rf"{_WHO}(?:{_BE}{_ADV}(?P<not> not| no longer)?|{_HAVE}{_ADV} got(?:ten)?) (?P<value>single|married"
        rf"|divorced|engaged|widowed)\b",
    ),
    (
        "diet",
        rf"{_WHO}(?:{_BE}{_ADV}(?P<not> not| no longer)?|{_HAVE} (?:became|become|gone|went"
        rf"|turned))(?: an?)?{_ADV} (?P<value>vegan|vegetarian|pescatarian|flexitarian|omnivore)\b",
    ),
    (
        "favourite",
        rf"(?P<who>(?<!one of )\b(?:my|our))(?: all-time| current| new"
        rf"| absolute)* favou?rite (?P<about>\w+(?: \w+){{0,2}}?)(?: is| are"
        rf"|'s){_ADV}(?: not)? (?!not\b){_REST}{_END}",
    ),
    (
        "liking",
        rf"{_WHO}{_ADV}{_NOT}{_ADV} (?P<value>like|love|enjoy|adore|hate|dislike|detest)(?P<s>s)?{_ADV} (?!to be\b"
        rf"|is\b|are\b|was\b|makes?\b|it\b"
        rf"|that\b|this\b|how\b|when\b|what\b|your?\b|the idea|him\b|her\b"
        rf"|them\b)(?P<about>[^,;.!?\n]{{2,40}}?){_END}",
    ),
    ("car", rf"{_WHO}{_ADV} drives? (?:an? |my |the )?(?P<value>(?-i:[A-Z])[\w-]+(?: [\w-]+){{0,3}}?){_END}"),
    (
        "",
        rf"(?P<who>\b(?:my|our|the))(?: new| current| total| overall"
        rf"| final)* (?P<about>[\w$-]+(?: [\w'-]+){{0,3}}?(?: (?:for|of) (?:the |my |our "
        rf"|a )?[\w-]+(?: [\w-]+){{0,2}}?)?)"
        rf"(?P<is> is| are|'s| has changed to| has been (?:changed|moved|raised|increased|reduced|lowered"
        rf"|extended) to| (?:changed|moved|went up|went down|increased|dropped|grew) to){_ADV}"
        rf"(?: (?:on|at|by|up to|set to|called|named|in))? {_REST}{_END}",
    ),
    (
        "",
        rf"(?P<who>{_SELF}){_HAVE}{_ADV}(?: decided to)? (?P<is>raised?|increased?|changed?|reduced?|lowered?"
        rf"|moved?|cut|updated?|set|extended?|bumped?|switched?)"
        rf" (?:my|our|the) (?P<about>[\w-]+(?: [\w'-]+){{0,3}}?(?: (?:for|of) (?:the |my |our "
        rf"|a )?[\w-]+(?: [\w-]+){{0,2}}?)?)(?: from [^,.;]{{1,20}}?)? to {_REST}{_END}",
    ),
)
_CHINESE_WHO: Final = (
    rf"(?P<who>我们?的?(?:{'|'.join(_CHINESE_KIN)})|我们?|本人|用户|(?<=[，,])(?=今年|现在|目前|在|住|来自|是))"
)
_CHINESE_NOW: Final = (
    r"(?:现在|目前|今年|已经|如今|其实|刚|最近|一直|还|就|也|都|是|真的|非常|特别|上个?月|上周|今天|昨天)*"
)
_CHINESE_VALUE: Final = r"(?P<value>[^，。！？；,.!?;\s]{1,20}?)(?:了|吧|呢|啦|啊)?(?=[，。！？；,.!?;\s]|$)"
_CHINESE_PLACE: Final = (
    r"(?P<value>(?!一个|这|那|哪|了|新|家|学校|宿舍)[\u3400-\u9fffA-Za-z]{2,12}?)"
    r"(?:了|工作|生活|居住|定居|上班)*(?=[，。！？；,.!?;\s]|$)"
)
_CHINESE: Final = _compiled(
    ("home", rf"{_CHINESE_WHO}{_CHINESE_NOW}(?P<not>不再|不)?(?:居?住在|定居在?){_CHINESE_PLACE}"),
    ("home", rf"{_CHINESE_WHO}{_CHINESE_NOW}(?:从[\u3400-\u9fff]{{2,8}}?)?(?:搬家?到|搬去|移居到?)了?{_CHINESE_PLACE}"),
    ("origin", rf"{_CHINESE_WHO}{_CHINESE_NOW}(?:来自|出生于|出生在){_CHINESE_PLACE}"),
    (
        "name",
        r"(?P<who>我)(?:的名字(?:是|叫)|名叫|叫(?!做))(?P<value>[\u3400-\u9fffA-Za-z·]{2,12}?)(?=[，。！,.!\s]|$)",
    ),
    ("age", rf"{_CHINESE_WHO}{_CHINESE_NOW}(?P<value>[0-9〇一二三四五六七八九十]{{1,4}})岁"),
    ("birthday", rf"{_CHINESE_WHO}的?生日(?:是|在){_CHINESE_VALUE}"),
    (
        "employer",
        rf"{_CHINESE_WHO}{_CHINESE_NOW}(?P<not>不再|不)?在(?P<value>[\u3400-\u9fffA-Za-z]{{2,14}}?)(?:工作|上班|任职|就职)",
    ),
    (
        "job",
        rf"{_CHINESE_WHO}{_CHINESE_NOW}(?:是|当了?)(?:一?[名个位])(?P<value>[\u3400-\u9fffA-Za-z]{{2,12}}?)(?=[，。！,.!\s]|$)",
    ),
    ("diet", rf"{_CHINESE_WHO}{_CHINESE_NOW}(?P<not>不再|不)?(?:是|吃)(?P<value>素食主义者|素食者?|纯素|素)"),
    ("favourite", rf"{_CHINESE_WHO}最(?:喜欢|爱)的(?P<about>[\u3400-\u9fff]{{1,6}}?)是{_CHINESE_VALUE}"),
    (
        "liking",
        rf"{_CHINESE_WHO}{_CHINESE_NOW}(?P<not>不再|不|不太)?(?P<value>喜欢|爱|讨厌|热爱)(?!的|你|他|她|它|这"
        rf"|那)(?P<about>[^，。！？；,.!?;\s的]{{1,10}}?)(?:了|啦)?(?=[，。！？；,.!?;\s]|$)",
    ),
    (
        "",
        rf"(?P<who>我们?|公司|项目)?(?:的|把)?(?P<about>[\u3400-\u9fff]{{0,8}}?(?:{_CHINESE_FUNCTIONAL}))"
        rf"(?P<is>从[^，。]{{1,12}}?(?:改为|改成|改到|提高到|增加到|涨到|降到|变成)|现在是|改为|改成|改到|提高到|增加到|涨到|降到|变成|换成|延期至|延长到|是|为"
        rf"|在)(?:了)?(?:大约|大概|约)?{_CHINESE_VALUE}",
    ),
)
_HAN: Final = re.compile(r"[\u3400-\u9fff]")
_PAST: Final = re.compile(
    r"\b(?:used to|back then|at that time|in those days|when i was|as a (?:kid|child)|previously|formerly"
    r"|years ago|if|suppose"
    r"|imagine|would|might|could|unless|wish)\b|以前|曾经?|过去|小时候|当时|如果|要是|假如|可能|也许",
    re.IGNORECASE,
)
_REVISES: Final = re.compile(
    r"\b(?:now|actually|changed?|moved?|instead|no longer|any ?more|raised?|increased?|reduced?|lowered?|updated?"
    r"|extended|switched|correction|new)\b"
    r"|现在|改|不再|换|搬|提高|增加|涨到|降到|其实|更正|延",
    re.IGNORECASE,
)
_IDLE: Final = frozenset(
    tokenize("currently now still new current total overall final actually just really")
) | frozenset(("的", "了"))
_ANY_MORE: Final = re.compile(r"\s+any ?more\b")
_DISLIKES: Final = re.compile(r"hate|dislike|detest|讨厌", re.IGNORECASE)
_MODIFIED: Final = re.compile(r"\b(?:for|of)\b")
_VAGUE_VALUE: Final = re.compile(
    r"(?:a |an |the |very |so |too |quite |really |pretty |still |almost |not )*(?:good|bad|great|nice|fine|ok"
    r"|okay|tight|high|low|big|small|limited|"
    r"flexible|important|coming(?: up)?|soon|close|close by|here|there|over|done|ready|amazing|awesome|hard|tough"
    r"|easy|fun|broken|dead|"
    r"old|new|different|same|busy|full|empty|packed|crazy|late|early|near|approaching|on track|gone|better|worse"
    r"|what|where|how|why|who)\b.*",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def claims_of(words: str, owner: str = USER) -> tuple[Claim, ...]:
    """What a text says of attributes that have one value at a time, in order, each stretch of it read once.

    Past and supposed things are left out: "I used to live in Porto" says nothing of where somebody lives.

    Args:
        words: One sentence, or a few.
        owner: Whom "I" and "my" stand for.
    """
    plain = words.replace("’", "'")
    if not plain or _PAST.search(plain):
        return ()
    found: list[Claim] = []
    read = bytearray(len(plain))  # which characters a claim has taken: with many claims, comparing each pair is slow
    by_speaker = plain.lstrip().startswith("我")
    for attribute, pattern in (*_ENGLISH, *(_CHINESE if _HAN.search(plain) else ())):
        for match in pattern.finditer(plain):
            claim = _claim(plain, attribute, match, owner, by_speaker)
            if claim and not any(read[slice(*claim.span)]):
                found.append(claim)
                read[slice(*claim.span)] = bytes([1]) * (claim.span[1] - claim.span[0])
    if found and _REVISES.search(plain):
        found = [replace(claim, revises=True) for claim in found]
    return tuple(sorted(found, key=lambda claim: claim.span))


def _claim(text: str, attribute: str, match: re.Match[str], owner: str, by_speaker: bool) -> Claim | None:
    """What a match states; whether its text is by its speaker decides where the match itself names nobody."""
    groups = match.groupdict()
    value = (groups.get("value") or "").strip(" '\"“”.")
    named = _attribute(attribute, groups, value)
    if not value or named is None or len(value.split()) > MOST_WORDS:
        return None
    denied = bool((groups.get("not") or "").strip())
    if attribute == "liking":
        denied, value = denied != bool(_DISLIKES.search(value)), value
    tail = text[match.end() : match.end() + 10]
    denied = denied or bool(_ANY_MORE.match(tail) and groups.get("not"))
    if groups.get("who") == "" and not by_speaker:
        return None
    subject = _subject(groups.get("who") or "", owner)
    if subject is None or not _agrees(groups):
        return None
    return Claim(subject, named, value, denied, match.span())


def _agrees(groups: dict[str, str | None]) -> bool:
    """Whether verb and subject agree where that tells a verb from a preposition: "Events like these" like nothing."""
    if "s" not in groups or groups.get("not") or not groups.get("who"):
        return True
    return (groups["s"] is None) == ((groups["who"] or "").casefold() in ("i", "we"))


def _subject(who: str, owner: str) -> str | None:
    """Whom the words in front of a claim name; None where they do not tell which of several."""
    folded = who.casefold().strip()
    chinese = [kin for word, kin in _CHINESE_KIN.items() if folded.startswith("我") and folded.endswith(word)]
    found = _MY_KIN.match(folded)
    if not chinese and found is None:
        return who if _NAMED.fullmatch(who) and folded not in _OWN else owner
    kin = chinese[0] if chinese else _KIN[found["kin"]] if found else ""
    named = who[found.end() :].strip() if found else ""
    return named or (None if kin in _SEVERAL else f"{owner}'s {kin}")


def _attribute(attribute: str, groups: dict[str, str | None], value: str) -> str | None:
    """The name of an attribute; None where the words in its place name none that has one value at a time."""
    about = (groups.get("about") or "").strip()
    if attribute in ("favourite", "liking"):
        terms = sorted(set(tokenize(about)) - _IDLE)
        return f"{attribute} {' '.join(terms)}" if terms and len(about.split()) <= MOST_WORDS else None
    if attribute:
        return attribute
    return _functional(about, value)


def _functional(about: str, value: str) -> str | None:
    """What is owned, as its noun and what modifies it: "Hawaii budget" and "budget for Hawaii" are the same."""
    chinese = _CHINESE_NOUN.search(about)
    if chinese:
        return " ".join((chinese[0], *sorted(tokenize(about[: chinese.start()].removesuffix("的")))))
    head, *rest = _MODIFIED.split(about.casefold(), maxsplit=1)
    words = head.split()
    if not words or words[-1].removesuffix("'s") not in _FUNCTIONAL or _VAGUE_VALUE.fullmatch(value):
        return None
    terms = set(tokenize(" ".join((*words[:-1], *rest)))) - _IDLE
    return " ".join((words[-1], *sorted(terms)))


# --- comparing -----------------------------------------------------------------------------------------------------


def same_attribute(first: Claim, second: Claim) -> bool:
    """Whether two claims state the same attribute of the same subject.

    A modifier may be missing in one ("the Hawaii trip budget", "the Hawaii budget"), all of them only where it says
    that something has changed ("my budget is now …").
    """
    if first.subject.casefold() != second.subject.casefold():
        return False
    if first.attribute == second.attribute:
        return True
    (head, *left), (other, *right) = first.attribute.split(), second.attribute.split()
    if head != other or head in ("favourite", "liking"):
        return False
    fewer, more = sorted((set(left), set(right)), key=len)
    return fewer <= more and (bool(fewer) or first.revises or second.revises)


def same_value(first: Claim, second: Claim) -> bool:
    """Whether two claims of one attribute can both be true: one value, more exact in one, or said in other words."""
    if first.attribute.startswith("liking "):
        return first.denied == second.denied
    return first.denied == second.denied and same_words(first, second)


def same_words(first: Claim, second: Claim) -> bool:
    """Whether two claims name the same value, said or denied."""
    return _equal(first.value, second.value)


def _equal(first: str, second: str) -> bool:
    ours, theirs = values_of(first), values_of(second)
    if ours and theirs:
        return _agree(ours, theirs)
    left, right = set(tokenize(first)) - _IDLE, set(tokenize(second)) - _IDLE
    return left <= right or right <= left or _wider(first, second)


def _agree(first: tuple[Value, ...], second: tuple[Value, ...]) -> bool:
    """Whether each number or date finds one that it agrees with; a bare number agrees with one that has a unit."""
    return any(
        agree(a, b) if comparable(a, b) else a.kind == b.kind == "number" and a.amount == b.amount
        for a in first
        for b in second
    )


def _wider(first: str, second: str) -> bool:
    """Whether one of two places is a country and the other is none: it may lie in there."""
    kinds = [any("country" in WORD_CLASSES.get(term, ()) for term in tokenize(value)) for value in (first, second)]
    return kinds[0] != kinds[1]
