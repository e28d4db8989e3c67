"""How people state attributes: the sentence patterns of home, job, likes and what else has one value at a time."""

import re
from typing import Final

from agentic_memory_bank.tools.text.patterns import lazy_pattern

_KINDS_OF_PEOPLE: Final = """
    sister brother mother father wife husband partner son daughter girlfriend boyfriend
    boss manager uncle aunt cousin grandmother grandfather niece nephew fiancé fiancée
    friend colleague roommate neighbour landlord doctor company team dog cat family
"""
KIN: Final = {word: word for word in _KINDS_OF_PEOPLE.split()} | {
    **{"mom": "mother", "mum": "mother", "dad": "father", "grandma": "grandmother", "grandpa": "grandfather"},
    **{"neighbor": "neighbour", "flatmate": "roommate", "coworker": "colleague", "best friend": "friend"},
}
"""Whom people speak of as theirs, each word with the one it is kept under."""
CHINESE_KIN: Final = {
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
FUNCTIONAL: Final = frozenset(_NOUNS.split()) | frozenset(
    ("date", "time", "day", "name", "type", "brand", "colour", "color")
)
"""Nouns that have one value at a time, so that another value takes the place of the first."""
CHINESE_FUNCTIONAL: Final = (
    "预算|截止日期|截止时间|地址|电话号码|电话|手机号码|手机号|手机|邮箱|车|工资|薪水|月薪|房租|身高|体重|鞋码|尺码|时区|母语|家乡|老家|城市|国籍|"
    "生日|纪念日|职位|职务|头衔|航班|座位|酒店|上限|目的地|专业|学校|大学|作息|版本|数据库|编辑器|电脑|套餐|保险|工号|血型|剂量|昵称|名字|代号|血压"
)
_NO_NAME: Final = (
    r"(?:I|We|You|He|She|It|They|This|That|These|Those|There|Here|Who|What|Where|When|Why|How|Which|And|But|So|Or"
    r"|If|My|Our|"
    r"Your|His|Her|Its|Their|The|An?|Everyone|Everybody|Someone|Somebody|Anyone|Nobody|One|Some|Many|Most|People"
    r"|Not|No|Yes|"
    r"Also|Actually|Now|Just|Please|Remember|Still|Currently|Today|Well|Oh|Hey|Hi|Yeah|Ok|Okay)\b"
)
NAME: Final = rf"(?-i:(?!{_NO_NAME})[A-ZÀ-Þ][\w'-]{{1,40}}(?: [A-ZÀ-Þ][\w'-]{{1,40}}){{0,2}})"
_SELF: Final = r"(?:I|we)(?![\w.])"
_WHO: Final = (
    rf"(?P<who>(?<![\w'])(?:{_SELF}|the user\b|(?:my|our) (?:{'|'.join(sorted(KIN, key=len, reverse=True))})\b"
    rf"(?: {NAME})?|(?<!\bin )(?<!\bto )(?<!\bat )(?<!\band ){NAME}))"
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
    r"[\w'.-]+(?: (?!(?:and|but|with|since|because|for|where|when|while|now|last|this|next|in|on|from|as|to|after|"
    r"before|until|by|which|who|so|right|these|at|again|any ?more|instead|too|together|alone"
    r"|permanently)\b)[\w'.-]*[\w]){0,3}"
    r"(?:, (?-i:[A-Z])[\w.]+)?)"
)
_PROFESSION: Final = (
    r"(?:\w+[ -]){0,2}?(?:\w*(?:engineer|developer|programmer|designer|scientist|teacher|nurse|doctor|lawyer"
    r"|student|writer"
    r"|accountant|architect|journalist|chef|consultant|manager|analyst|researcher|professor|dentist|pilot|actor|artist"
    r"|musician|therapist|pharmacist|electrician|plumber|mechanic|carpenter|photographer|veterinarian|translator|editor"
    r"|entrepreneur|freelancer|counselor|counsellor|coach|librarian|firefighter|paramedic|surgeon|psychologist))"
)


def _compiled(*table: tuple[str, str], flags: int = re.NOFLAG) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Compile a table. Ranges of Chinese characters take four times as long to compile where case is to be ignored."""
    return tuple((name, lazy_pattern(pattern, flags)) for name, pattern in table)


ENGLISH: Final = _compiled(
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
    ("name", rf"(?P<who>\bmy)(?: full| first)? name(?: is|'s){_ADV} (?P<value>{NAME})"),
    ("name", rf"(?P<who>\b(?:call me|I am called|I'm called|I go by)) (?P<value>{NAME})"),
    (
        "age",
        rf"{_WHO}(?:{_BE}{_ADV}| turned) (?P<value>\d{{1,3}})(?: years? old| yo\b|(?=\s*[,.!;]|\s+(?:and|now)|\s*$))",
    ),
    ("birthday", rf"(?P<who>\bmy) birthday(?: is|'s)(?: on)? {_REST}{_END}"),
    ("birthday", rf"{_WHO} (?:was|were) born on {_REST}{_END}"),
    (
        "employer",
        rf"{_WHO}(?:{_BE}{_ADV}|{_ADV}{_NOT}{_ADV})(?: started)? (?:work|works|working)(?: full-time| part-time"
        rf"| remotely)?{_ADV} (?:at|for) (?P<value>{NAME})",
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
        "diet",
        rf"{_WHO}(?:{_HAVE}|{_BE}){_ADV}(?: started| gone back to| went back to| back to)? (?:eat|eats|eating)"
        r" (?P<value>meat|fish|everything)(?= (?:again|now|these days)\b)",
    ),
    (
        "diet",
        rf"{_WHO}{_HAVE}{_ADV} (?:started|gone back to|went back to) eating (?P<value>meat)\b",
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
    flags=re.IGNORECASE,
)
_CHINESE_WHO: Final = (
    rf"(?P<who>我们?的?(?:{'|'.join(CHINESE_KIN)})|我们?|本人|用户|(?<=[，,])(?=今年|现在|目前|在|住|来自|是))"
)
_CHINESE_NOW: Final = (
    r"(?:现在|目前|今年|已经|如今|其实|刚|最近|一直|还|就|也|都|是|真的|非常|特别|上个?月|上周|今天|昨天)*"
)
_CHINESE_VALUE: Final = r"(?P<value>[^，。！？；,.!?;\s]{1,20}?)(?:了|吧|呢|啦|啊)?(?=[，。！？；,.!?;\s]|$)"
_CHINESE_PLACE: Final = (
    r"(?P<value>(?!一个|这|那|哪|了|新|家|学校|宿舍)[\u3400-\u9fffA-Za-z]{2,12}?)"
    r"(?:了|工作|生活|居住|定居|上班)*(?=[，。！？；,.!?;\s]|$)"
)
CHINESE: Final = _compiled(
    (
        "home",
        rf"{_CHINESE_WHO}(?:[跟和与][\u3400-\u9fff]{{1,5}}?(?:一起|一块儿?)?)?{_CHINESE_NOW}(?P<not>不再|不)?"
        rf"(?:居?住在|定居在?){_CHINESE_PLACE}",
    ),
    ("home", rf"{_CHINESE_WHO}{_CHINESE_NOW}(?:从[\u3400-\u9fff]{{2,8}}?)?(?:搬家?到|搬去|移居到?)了?{_CHINESE_PLACE}"),
    (
        "home",
        r"^(?:上个?(?:周末?|礼拜|月)|昨天|今天|前几天|去年|今年|终于|已经|刚刚?|最近|又)*+(?:搬家?到|搬去)了?"
        rf"{_CHINESE_PLACE}",
    ),
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
    ("diet", rf"{_CHINESE_WHO}{_CHINESE_NOW}(?:又|重新|恢复|开始|能)+吃(?P<value>肉|荤)了?(?=[，。！]|$)"),
    ("favourite", rf"{_CHINESE_WHO}最(?:喜欢|爱)的(?P<about>[\u3400-\u9fff]{{1,6}}?)是{_CHINESE_VALUE}"),
    (
        "liking",
        rf"{_CHINESE_WHO}{_CHINESE_NOW}(?P<not>不再|不|不太)?(?P<value>喜欢|爱|讨厌|热爱)(?!的|你|他|她|它|这"
        rf"|那)(?P<about>[^，。！？；,.!?;\s的]{{1,10}}?)(?:了|啦)?(?=[，。！？；,.!?;\s]|$)",
    ),
    (
        "",
        rf"(?P<who>我们?|公司|项目)?(?:的|把)?(?P<about>[\u3400-\u9fff]{{0,8}}?(?:{CHINESE_FUNCTIONAL}))"
        rf"(?P<is>从[^，。]{{1,12}}?(?:改为|改成|改到|提高到|增加到|涨到|降到|变成)|现在是|改为|改成|改到|提高到|增加到|涨到|降到|变成|换成|延期至|延长到|是|为"
        rf"|在)(?:了)?(?:大约|大概|约)?{_CHINESE_VALUE}",
    ),
)
