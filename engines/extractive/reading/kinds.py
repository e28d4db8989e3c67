"""What kind of thing a question asks for, and which kinds a text holds: an amount of money, a date, a person, a reason.

A question is a statement with a hole; this is the shape of the hole. A text that holds nothing of the kind does not
answer, however much it speaks of the same things.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, Literal

from agentic_memory_bank.engines.extractive.reading.questions import asking_part
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.names import names_and_numbers, numbers_with_offsets
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.terms import tokenize

Kind = Literal[
    "money", "duration", "age", "clock", "date", "weekday", "weight", "length", "temperature", "percent", "version",
    "frequency", "contact", "count", "person", "name", "place", "reason", "choice", "occasion",
]  # fmt: skip
"""`count` is any number; `choice` is yes or no; `occasion` is a time told by what happens then."""

_DIGITS: Final = r"(?<![\d,.])\d[\d,.\u2009]*+"
_SMALL: Final = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|eighteen|twenty|thirty|"
    "forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|half|once|twice|dozen"
)
_HAN_DIGITS: Final = "一二两三四五六七八九十百千万亿半几〇零"
_NUMBER: Final = rf"(?:{_DIGITS}|\b(?:{_SMALL})\b|(?<![{_HAN_DIGITS}])[{_HAN_DIGITS}]{{1,8}}+)"
_MONTH: Final = r"(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)(?:[a-z]{2,6})?|may"
_WEEKDAY: Final = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"


def _pattern(*parts: str) -> re.Pattern[str]:
    return lazy_pattern("|".join(parts), re.IGNORECASE)


_HELD: Final[dict[Kind, re.Pattern[str]]] = {
    "money": _pattern(
        rf"[$€£¥￥]\s?\d|\d\s?(?:[$€£¥]|元|块|圆|[万亿]元?(?![\w人个件])|美元|欧元)|{_NUMBER}[ -]?(?:euros?|"
        rf"dollars?|pounds?|cents?|pence|francs?|yuan|rmb|usd|eur|gbp|p\b)",
        r"\b(?:costs?|price|paid|pays?|charges?|fee|rent|worth)\b[^.\n]{0,30}?\d",
        rf"[{_HAN_DIGITS}]{{1,6}}+(?:元|块)|免费|免收|不收|半价|"
        r"\bfree\b(?! software| and open| to | from | of (?!charge))|\bno (?:charge|cost|fee)\b|"
        rf"\bwithout charge\b|\bnothing\b.{{1,40}}\bpaid\b",
    ),
    "duration": _pattern(
        rf"{_NUMBER}[\s-]{{0,2}}(?:more |full |working |calendar )?(?:seconds?|secs?|minutes?|mins?|hours?|hrs?|"
        rf"days?|nights?|weeks?|months?|years?|decades?|h\b|min\b|s\b)",
        rf"{_NUMBER} ?(?:多)?(?:个)?(?:秒|分钟|小时|钟头|天|日|夜|晚|周|星期|礼拜|月|季度|年)|\b(?:a|an|"
        rf"per) (?:hour|day|week|fortnight|month|year)\b",
    ),
    "age": _pattern(
        rf"(?:\b(?:is|was|are|were|aged?|turns?|turned|turning)|\b(?:s?he|it|who|they|I)['’](?:s|re|m)) "
        rf"(?:only |just |already |nearly |almost |about )?(?:{_NUMBER})|{_NUMBER}[\s-](?:years?|months?|weeks?)\b",
        rf"\b(?:from|in|since|of|built|born)\W{{1,3}}(?:1[5-9]|20)\d\d\b|, \d{{1,3}},|{_NUMBER} ?(?:岁|年|个月|世纪)",
    ),
    "clock": _pattern(
        r"(?<!\d)\d{1,2}[:：.]\d{2}(?!\d)|\b\d{1,2} ?(?:a\.?m|p\.?m|o'clock)\b|\bnoon\b|\bmidnight\b|\bo'clock\b",
        rf"(?:\d{{1,2}}|[{_HAN_DIGITS}]{{1,3}}+)(?:点|时)(?!间)|中午|\bat (?:{_SMALL})\b|\b(?:past|"
        rf"to) (?:{_SMALL})\b",
    ),
    "date": _pattern(
        rf"\b(?:1[5-9]|20)\d\d\b|\b(?:{_MONTH})\b\.? \d|\d(?:st|nd|rd|th)?(?: of)? (?:{_MONTH})\b|"
        rf"\b(?:{_MONTH}) \d|\b{_WEEKDAY}\b",
        r"(?<!\d)\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\b(?:january|february|march|april|june|july|august|september|"
        r"october|november|december)\b",
        r"\b(?:yesterday|today|tomorrow|tonight|ago|(?:last|next) (?:week|month|year|night|summer|spring|autumn|"
        r"winter)|century|decade)\b",
        rf"[\d{_HAN_DIGITS}] ?[年月日号]|[昨今明前后去]天|[去今明前]年|世纪|年代|时期|[上下]个?[周月]|(?:周|"
        rf"星期|礼拜)[一二三四五六日天末]|[春夏秋冬][天季]",
    ),
    "occasion": _pattern(
        r"\b(?:after|before|once|until|as soon as|whenever|at the (?:end|start|beginning)|"
        r"on (?:start-?up|exit|receipt))\b|[以之]?[前后](?=[，,。；;的]|$)|[以之][前后]|之时|的时候|一旦",
    ),
    "weekday": _pattern(
        rf"\b{_WEEKDAY}\b|\bweekends?\b|\bweekdays?\b|\bdaily\b|(?:周|星期|礼拜)[一二三四五六日天末]|每天"
    ),
    "weight": _pattern(
        rf"{_NUMBER}\s?(?:mg|g|kg|kilos?|kilograms?|grams?|lbs?|pounds?|tons?|tonnes?|t|oz|ounces?|公斤|千克|克|"
        rf"斤|吨|毫克)(?![a-z])"
    ),
    "length": _pattern(
        rf"{_NUMBER}[\s-]?(?:mm|cm|km|m|metres?|meters?|kilomet\w{{2,3}}|miles?|feet|foot|ft|inch(?:es)?|yards?|"
        rf"hectares?|square|acres?|litres?|m²|m2|公里|千米|米|厘米|毫米|里|平方|公顷|亩|英里)(?![a-z])"
    ),
    "temperature": _pattern(rf"{_NUMBER}\s?(?:°|degrees?|℃|celsius|fahrenheit|摄氏度|度)"),
    "percent": _pattern(rf"{_NUMBER}\s?(?:%|percent|per cent)|百分之|[\d{_HAN_DIGITS}]成"),
    "version": _pattern(r"\d\.\d|\b(?:version|release|v)\s?\d|[a-z]\s?\d"),
    "count": _pattern(_NUMBER, r"\b(?:no|none|several|few|couple|both|single)\b"),
    "frequency": _pattern(
        rf"\b(?:once|twice|never|always|daily|weekly|monthly|yearly|hourly|every|each)\b|{_NUMBER} times\b|"
        r"\b(?:a|an|per) (?:hour|day|week|fortnight|month|year)\b",
        rf"每[天日周月年季晚隔次个]|天天|[\d{_HAN_DIGITS}] ?[次趟回遍]",
    ),
    "contact": _pattern(r"(?<!\d)\+?\d[\d ()/-]{5,24}\d|[\w.]@\w|\b(?:https?://|www\.)\w"),
}
_PLACE: Final = lazy_pattern(
    r"\b(?:in|at|from|to|near|of|into|behind|above|under|on|opposite|next to|between) (?:the |a |an |our |his |"
    r"her |my )?\w"
)
_PLACE_CHINESE: Final = lazy_pattern(r"[省市县区国州镇乡村岛山湖河港湾路街楼层室厅馆院校园站门口号]|位于|地点|地址")
SURNAMES: Final = (
    "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜谢邹喻苏潘葛范彭郎鲁韦马苗方俞任袁柳唐罗薛"
    "雷贺倪汤殷毕郝安常于傅齐康伍余顾孟黄穆萧尹姚邵汪毛狄戴宋庞熊纪舒屈项祝董梁杜阮闵季贾江颜郭梅林钟徐邱骆高夏"
    "蔡田樊胡凌霍虞万柯卢莫房丁邓洪包左石崔吉龚程邢裴陆翁段侯全班宁甘厉武符刘景龙叶司黎白卓池乔温庄晏柴瞿阎曾"
)
"""Chinese family names of one character, the commonest."""
_PERSON_CHINESE: Final = lazy_pattern(
    rf"[{SURNAMES}][\u4e00-\u9fff]{{1,2}}|[老小阿][\u4e00-\u9fff]|[\u4e00-\u9fff](?:先生|女士|老师|教授|主任|"
    rf"经理|工程师|医生|阿姨|总|工)|[\u4e00-\u9fff]{{1,4}}·[\u4e00-\u9fff]{{1,4}}|[A-Z][a-z]"
)

_ROLE: Final = lazy_pattern(
    r"\b(?:[Tt]he|[Oo]ur|your|[Mm]y|[Hh]is|[Hh]er|its|[Aa]n?) (?:[\w-]{2,16} ){0,2}"
    r"(?:manager|director|teacher|driver|treasurer|caretaker|owner|leader|officer|member|worker|player|writer|author|"
    r"editor|inspector|contractor|supplier|visitor|doctor|nurse|tenant|landlord|assistant|accountant|consultant|"
    r"applicant|participant|student|pupil|president|chair|secretary|agent|client|customer|buyer|seller|lender|"
    r"borrower|employer|employee|plumber|builder|gardener|farmer|engineer|architect|artist|council|company|"
    r"department|office|staff|team|club|school|board|committee|police|head|mother|father|brother|sister|son|daughter|"
    r"wife|husband|aunt|uncle|cousin|friend|man|woman|boss|cook|master|keeper|captain|mayor|vicar|warden|guard|nurse|chef|"
    r"baker|neighbour|neighbor|widow|judge|minister|clerk|coach|trainer)s?\b"
)
_ROLE_CHINESE: Final = lazy_pattern(
    r"[甲乙丙]方|业主|房东|租客|住户|物业|公司|部门|科室|中心|委员会|校方|院方|厂家|商家|我方|对方|"
    r"[\u4e00-\u9fff](?:处|部|局|科|院|员|长|师|者|生)|爸|妈|哥|姐|弟|妹|爷|奶|叔|姑|舅|姨|同学|同事|朋友"
)
_SHOUTED: Final = lazy_pattern(r"\b[A-Z]{2,}\b")
"""Headings and labels are written like this, rarely a person."""

_ASKED: Final[tuple[tuple[tuple[Kind, ...], re.Pattern[str]], ...]] = (
    (
        ("contact",),
        _pattern(r"\b(?:tele)?phone number\b|\be-?mail address\b|\bweb ?(?:site|address)\b|电话号码?|手机号|邮箱|网址"),
    ),
    (
        ("weekday",),
        _pattern(r"\b(?:which|what) (?:week)?days? of the week\b|\b(?:which|what) weekdays?\b|(?:星期|周|礼拜)几"),
    ),
    (
        ("weekday", "date"),
        _pattern(r"\b(?:which|what) (?:evening|night|morning|afternoon)s?\b"),
    ),
    (
        ("clock", "date"),
        _pattern(
            r"\b(?:what|which) time\b|\b(?:until|till|from|by) when\b|\bwhat hour\b|几点|什么钟点|\bhow (?:late|"
            r"early)\b"
        ),
    ),
    (
        ("date", "clock", "occasion"),
        _pattern(r"\bwhen\b(?! it\b)", r"何时|什么时候|什么时间"),
    ),
    (
        ("date", "clock"),
        _pattern(
            r"\bsince when\b|\b(?:what|which) (?:year|date|day|month|century|decade|"
            r"season)s?\b|\bdate of\b|birthday\?",
            r"何日|何年|哪一?年|哪一?[天日]|几月|(?:[于在到至从自哪元国]几|[一二三四五六七八九]{2}几几)年|什么年代|什么时期|什么朝代",
            r"几月|几号|哪个月",
        ),
    ),
    (
        ("money",),
        _pattern(
            r"\b(?:how (?:much|high)\b.{0,80}?\b)?(?:price|costs?|fees?|fares?|charges?|charged|rent|salary|"
            r"wages?|income|taxe?s?|budget|deposit|(?<!how )fine|surplus|profit|bill|subsidy|spent|paid|pay)\b",
            r"\b(?:makes?|making|earn(?:s|ed|ing)?) (?:an hour|per hour|a (?:day|week|month|year))\b",
            r"多少钱|好多钱|多少元|几块钱|几元|(?:个月|一年|一天)(?:能|现在)?[开拿](?:多少|好多)|[挣赚]了?(?:多少|好多)|(?:价格|票价|费用|房租|租金|押金|工资|水电费|学费|罚款|补贴|总价|造价|"
            r"薪水)[^，。]{0,6}(?:多少|几|是什么)|花[了费]?多少|付多少|交多少|赔多少|补多少|亏了?多少|"
            r"要多少(?:费|元)",
        ),
    ),
    (
        ("weight",),
        _pattern(r"\bhow heavy\b|\bweigh\b|\bweight\b|\b(?:dose|dosage)\b|多重|重量|体重|多少(?:公斤|千克|斤|吨|克)"),
    ),
    (
        ("temperature",),
        _pattern(r"\bhow (?:warm|cold|hot|cool)\b|\btemperature\b|多少度|温度|气温|几度"),
    ),
    (
        ("percent",),
        _pattern(r"\b(?:what|which) (?:percentage|share|proportion)\b|\bhow many per ?cent\b|百分之几|占比|比例"),
    ),
    (
        ("length",),
        _pattern(
            r"\bhow (?:far(?! ahead| back| in advance)|tall|high|wide|deep|thick)\b",
            r"\b(?:altitude|distance|elevation|height|width|depth)\b|"
            r"多远|多高|多宽|多深|多厚|海拔|距离|多少(?:米|公里|千米)|面积",
        ),
    ),
    (
        ("age",),
        _pattern(r"\bhow old\b|\bwhat age\b|\b(?:the|his|her|its|their) age\b|多大年[纪龄]|几岁|多少岁"),
    ),
    (
        ("frequency",),
        _pattern(r"\bhow (?:often|many times|frequently)\b|\bwhat frequency\b|多久[^，。]{0,4}一次|几次|多少次|频率"),
    ),
    (
        ("duration", "length"),
        _pattern(
            r"\bhow long\b|\bhow many (?:seconds|minutes|hours|days|nights|weeks|months|years)\b|\bhow (?:soon|"
            r"far (?:ahead|back))\b",
            r"多久|多长|多少(?:天|年|小时|分钟|个月|周)|几(?:天|年|个?月|小时|分钟|周|个?星期)|(?<!施)工期|期限",
        ),
    ),
    (
        ("version",),
        _pattern(r"\b(?:which|what|oldest|newest|latest|minimum) (?:\w+ ){0,2}(?:versions?|releases?)\b|版本"),
    ),
    (
        ("count",),
        _pattern(
            r"\bhow (?:many|much|big|large|fast)\b|\bwhat (?:number|amount|quantity|size)\b|\bnumber of\b|"
            r"\bat most\b|\bat least\b|\bmaximum\b|\bminimum\b",
            r"多少|几(?=[\u4e00-\u9fff])|多大|多快|最多|最少|数量|人数",
        ),
    ),
    (
        ("name",),
        _pattern(r"\bwhat (?:is|was|are|were) the names?\b|\bwhat'?s the name\b|\bname of\b|(?<!\w)姓什么|姓名|叫什么"),
    ),
    (
        ("person",),
        _pattern(
            r"\bwho(?:m|se)?\b|\b(?:which|what) (?:person|people|man|woman)\b",
            r"谁|哪位|何人|什么人|哪一?(?:个人|方)(?!面|法|向|式|案|便)",
        ),
    ),
    (
        ("place",),
        _pattern(
            r"\bwhere\b|\b(?:what|which|whose|to which|in which) (?:[\w'’-]+ ){0,2}(?:city|country|place|state|"
            r"town|village|county|province|region|room|hotel|"
            r"(?<!\bi )(?<!\bwe )(?<!he )(?<!\bthey )building|street|hospital|clinic|hall|station|"
            r"school|address)\b",
            r"哪里|哪儿|何处|何地|什么地方|在哪(?![天年月日])|地点|地址|哪[一个座间]*(?:国家|城市|省|市|县|地区|地方|国|展厅|"
            r"教室|楼|房间|医院)",
        ),
    ),
    (
        ("reason",),
        _pattern(
            r"\bwhy\b|\bwhat (?:is|was) the reason\b|\bfor what reason\b|\bhow come\b|为什么|为何|原因|为啥|怎么会"
        ),
    ),
    (
        ("choice",),
        _pattern(
            r"^\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|may|might|must|shall|should|will|would)\b",
            r"吗\W*$|没有\W*$|是否|能不能|可不可以|有没有|会不会|是不是|要不要|[了]没\W*$|可以.{1,20}吗",
        ),
    ),
)


@lru_cache(maxsize=512)
def asked_for(question: str) -> tuple[Kind, ...]:
    """The kinds of thing of which one answers a question, by what it asks first; none where it may be anything."""
    asking = asking_part(question)
    found = ((mark.start(), kinds) for kinds, pattern in _ASKED if (mark := pattern.search(asking)))
    return min(found, key=lambda one: one[0], default=(0, ()))[1]


@lru_cache(maxsize=8192)
def holds(kind: Kind, text: str, named: frozenset[str] = frozenset()) -> bool:
    """Whether a text holds something of a kind; of a person, one that is not named already."""
    if kind in ("choice", "reason"):  # a reason is seldom called one
        return True
    if kind == "place":
        return (_PLACE_CHINESE if is_cjk(text) else _PLACE).search(text) is not None
    if kind in ("person", "name"):
        is_role = kind == "person"
        if is_cjk(text):
            return bool(_PERSON_CHINESE.search(text) or is_role and _ROLE_CHINESE.search(text))
        said = _SHOUTED.sub(" ", text)
        numbers = {number for number, _ in numbers_with_offsets(said)}
        known = any(named.isdisjoint(tokenize(name)) for name in names_and_numbers(said) - numbers)
        return known or is_role and _ROLE.search(said) is not None
    return _HELD[kind].search(text) is not None


def may_hold(kinds: Sequence[Kind], text: str) -> bool:
    """Whether a text holds something of one of some kinds, or of any where there are none.

    Whoever talks leaves the unit out where both know it ("it's 17 now"), so that a bare number may be most of them.
    """
    if not kinds or any(holds(kind, text) for kind in kinds):
        return True
    return not _NUMBERS.isdisjoint(kinds) and holds("count", text)


_NUMBERS: Final = frozenset[Kind](
    ("money", "duration", "clock", "weight", "length", "temperature", "percent", "version", "count")
)
