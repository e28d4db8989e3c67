"""What a document states: each sentence, row and list item with its values, what it is about, and how it is meant."""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, Literal

from agentic_memory_bank.engines.extractive.reading.lexicon import stem
from agentic_memory_bank.engines.extractive.reading.sentence import Sentence, sentences_of
from agentic_memory_bank.engines.extractive.reading.values import Value, agree, comparable, values_of
from agentic_memory_bank.tools.text import is_cjk, tokenize
from agentic_memory_bank.tools.text.places import Place, Placed, placed

FigureKind = Literal["number", "date", "clock", "weekday"]
Mode = Literal["asserted", "asked", "possible", "planned", "past", "quoted", "template", "none"]

_TOPICS: Final = """
    place: venue location place room hall address | 地点 地址 场地 会场 会议室 教室 报告厅
    when: date day time when | 日期 时间 何时
    fee: price fee cost charge ticket rent | 价格 票价 费用 门票 租金 收费 售价 单价
    due: deadline due closing | 截止 期限 截稿
    speaker: speaker lecturer talk given keynote | 主讲 讲师 讲授 主讲人 演讲
    hurt: injured hurt injury casualty wounded | 受伤 伤者 伤员
    dead: killed dead died death fatality | 死亡 遇难 身亡
    burnt: burnt burned destroyed gutted | 烧毁 被烧 烧成
    guarantee: guarantee guaranteed warranty | 保修 质保
    open: open opening hours | 开放 营业
    salary: salary wage pay | 工资 薪资 月薪
    leave: leave holiday vacation | 年假 休假
    notice: notice period | 提前通知 通知期
    staff: employee staff headcount | 员工 职工 人数
    lift: lift elevator | 电梯
    water: water | 停水 供水
    power: power electricity | 停电 供电
    weight: weigh weight | 重量 净重 自重
    load: load carry | 载重 承重
    member: member membership | 会员
    deposit: deposit | 押金 定金
    website: website site homepage webshop shop | 网站 官网 网页 网店
    brochure: brochure leaflet flyer | 宣传册 手册 折页
    catalogue: catalogue catalog | 目录 样本
    hotel: hotel guesthouse | 酒店 宾馆 旅馆
    chamber: room guestroom bedroom | 客房 房间
    museum: museum | 博物馆
    exhibit: exhibit collection | 藏品 展品 文物
    visitor: visitor guest | 游客 观众 访客
    bridge: bridge | 大桥 桥梁
    repair: repair renovation | 维修 修缮
    cost: cost costs expense expenditure | 费用 造价 耗资 支出
    income: income revenue turnover sales | 收入 营收 营业额
    pupil: pupil student | 学生 学员
    school: school | 学校
    course: course training class | 课程 培训
    parking: parking park | 停车位 停车场 停车
    seat: seat capacity | 座位 席位
    floor: floor storey | 楼层 层
    length: length long | 全长 长度
    height: height tall high | 高度 身高
    area: area | 面积
    battery: battery range | 电池 续航
    speed: speed | 速度 车速
    breakfast: breakfast | 早餐
    lunch: lunch | 午餐 午饭
    discount: discount reduction | 优惠 折扣
    delivery: delivery deliver shipping | 配送 发货 送货
    refund: refund return | 退款 退货
    limit: limit maximum upper | 上限 最高 限额
    contract: contract agreement lease | 合同 协议
    server: server host | 服务器
    version: version release | 版本
    password: password | 密码
    login: login sign | 登录
    backup: backup | 备份
    fire: fire blaze | 火灾 大火 起火
    accident: accident crash collision | 事故 车祸
    winner: winner won prize award | 获奖 冠军 得主
    founder: founder founded established | 创立 成立 创办 创始
    built: built constructed completed | 建成 竣工 建于
    closed: closed close shut | 关闭 停业 闭馆
    interrupt: interruption outage cut | 中断 停水 停电
    chair: chair chairman chairwoman chaired head | 主席 主持 会长
"""


def _topics() -> tuple[dict[str, str], tuple[tuple[str, str], ...]]:
    english: dict[str, str] = {}
    chinese: list[tuple[str, str]] = []
    for line in _TOPICS.strip().splitlines():
        name, _, words = line.partition(":")
        latin, _, han = words.partition("|")
        english.update({stem(word): f"@{name.strip()}" for word in latin.split()})
        chinese += [(word, f"@{name.strip()}") for word in han.split()]
    return english, tuple(chinese)


_ENGLISH_TOPICS, _CHINESE_TOPICS = _topics()
_HAN_TOPICS: Final = frozenset(word for word, _ in _CHINESE_TOPICS)
_POSSIBLE: Final = re.compile(
    r"\b(?:if|unless|would|maybe|perhaps|probably|suppose|supposing|whether|"
    r"(?<![^,;.] )(?<!\w )had (?:it|they|we|the)|"
    r"in case|rumou?r\w*|reportedly|estimate[ds]?|expect\w*)\b|如果|假如|要是|倘若|万一|可能|也许|或许|估计|大概|预计|的话",
    re.IGNORECASE,
)
_MODAL: Final = re.compile(r"\b(?:could|might|may)\b", re.IGNORECASE)
_PLANNED: Final = re.compile(
    r"\b(?:plan(?:s|ned|ning)?|want(?:s|ed)? to|intend\w*|aim\w*|hope\w*|goal|target|propos\w+|considering)\b"
    r"|计划|打算|希望|目标|争取|拟于|考虑",
    re.IGNORECASE,
)
_PAST: Final = re.compile(
    r"\b(?:used to|formerly|previously|in those days|back then|at that time|last (?:year|month|time)|years? ago|"
    r"originally|once)\b|以前|过去|曾经|当时|去年|上次|往年|原先",
    re.IGNORECASE,
)
_TEMPLATE: Final = re.compile(r"_{3,}|\{\{|<[a-z_ ]{2,30}>|\[(?:name|date|amount|address)[^\]]{0,20}\]", re.IGNORECASE)
_EXAMPLE: Final = re.compile(r"\b(?:for example|for instance|e\.g\.|such as)|例如|比如|示例|举例", re.IGNORECASE)
_QUOTE: Final = re.compile(r"[“\"「『][^”\"」』]{8,600}[”\"」』]?")
_OPINION: Final = re.compile(
    r"\b(?:I|thinks?|thought|believes?|feels?|reckons?|guess(?:es)?|wrote|asked|joked)\b|我(?!馆|公司|校|市|院|局|所|会|社|店|国|省|县|区)|觉得|认为|说他|说她|听说",
)
_ASKS: Final = re.compile(r"[?？][^\w?？]*+$")
_NOTE: Final = 6
"""Most sentences of a note that is more than one paragraph."""
_CLOCK: Final = re.compile(
    r"(?<![\d:.,$£€/-])(?P<part>上午|下午|晚上|傍晚|早上|中午|凌晨)?\s?(?P<hour>[0-2]?\d)"
    r"(?:(?P<mark>[:：.])(?P<minute>[0-5]\d)(?![\d.:])|\s?[点时](?P<half>半)?)?"
    r"\s{0,2}(?P<half_day>[ap]\.?m\.?(?![a-z])|o'clock)?(?![\d%:])",
    re.IGNORECASE,
)
_AT: Final = re.compile(
    r"(?:\b(?:at|from|to|until|till|by|and|before|after|between)|day,?|\||[–—,-])\s{0,2}$", re.IGNORECASE
)
_MEASURED: Final = re.compile(r"\s?[a-zA-Z%€$£]")
_WEEKDAY: Final = re.compile(
    r"\b(monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?\b|(?:星期|周|礼拜)([一二三四五六日天])",
    re.IGNORECASE,
)
_DAYS: Final = {
    day: n for n, day in enumerate(("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"), 1)
}
_HAN_DAYS: Final = {day: n for n, day in enumerate("一二三四五六日", 1)} | {"天": 7}
_CLAUSE: Final = re.compile(r"(?:[^,;，。；;()（）]|,(?=\d))+")
_LABEL: Final = re.compile(
    r"(?<![A-Za-z])(?:v(?:er(?:sion)?)?\.?\s?)?[A-Za-z]{0,4}[-_.]?\d[\w.]*|[A-Z]{1,3}\d\w*", re.IGNORECASE
)
_HAN_LABEL: Final = re.compile(
    r"(?i:\b(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)(?:[a-z]{3,8})?\b|\b(?:spring|summer|autumn|winter)\b)"
    r"|[春夏秋冬]季|[上下]半年|[一二三四五六七八九十]+(?=[号期届楼层班])|[甲乙丙丁]方?(?=队|组|班|公司)"
)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, date, time of day or day of the week, with the words it stands among.

    Attributes:
        start: Offset of its first character in the statement.
        end: Offset past its last character.
        kind: What it is.
        value: The number or date.
        minutes: Minutes after midnight of a time of day; the number of a day of the week.
        near: The terms of the clause it stands in.
    """

    start: int
    end: int
    kind: FigureKind
    value: Value | None
    minutes: int
    near: frozenset[str]

    @property
    def unit(self) -> str:
        """Its unit, or the noun it counts."""
        return self.value.unit if self.value else ""


def same_kind(first: Figure, second: Figure) -> bool:
    """Whether two figures may answer one question: of one kind and dimension, or bare numbers of what is counted."""
    one, other = first.value, second.value
    if one is None or other is None or first.kind == "date":
        return first.kind == second.kind and (one is None or other is None or comparable(one, other))
    if first.kind != second.kind or one.ordinal != other.ordinal:
        return False
    if (one.measured or other.measured) and "people" not in (one.unit, other.unit):
        return one.unit == other.unit or {one.unit, other.unit} == {"time", "months"}
    return True


def same_figure(first: Figure, second: Figure) -> bool:
    """Whether two figures of one kind can both be true."""
    one, other = first.value, second.value
    if one is None or other is None:
        return first.minutes == second.minutes
    if one.kind == "date":
        return agree(one, other)
    if {one.unit, other.unit} == {"time", "months"}:
        days = [v.amount * 30.4 if v.unit == "months" else v.amount / 86400 for v in (one, other)]
        return abs(days[0] - days[1]) <= 0.035 * max(days)
    return agree(one, other)


@dataclass(frozen=True)
class Statement:
    """A sentence, row or item of a document.

    Attributes:
        start: Offset of its first character in the document.
        end: Offset past its last character.
        text: Its words, wrapped lines joined; as long as the stretch of the document it stands in.
        place: Where it stands.
        mode: How it is meant; only what is asserted can contradict.
        terms: The words it says, as index terms and topics, numbers left out.
        about: The words of its headings, row and columns.
        number: Which statement of the document it is.
        paragraph: Which paragraph of the document it stands in.
    """

    start: int
    end: int
    text: str
    place: Place
    mode: Mode
    terms: frozenset[str]
    about: frozenset[str]
    number: int
    paragraph: int
    cells: tuple[tuple[int, int], ...] = ()

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """The numbers, dates and times, with offsets in `text`."""
        return figures_of(self.text)

    @cached_property
    def sentence(self) -> Sentence | None:
        """The words taken apart; offsets in `text`."""
        found = sentences_of(self.text)
        return found[0] if len(found) == 1 else None


@dataclass(frozen=True)
class Document:
    """A document as a list of statements.

    Attributes:
        name: What it is called.
        statements: What it states, in order.
        labels: Numbers, codes and years in its name and title, by which it is told from others of its kind.
        mould: Its name and title without those.
        is_note: Whether it is a paragraph or a few sentences, with nothing that gives them places.
        forms: The labels of its rows and its headings: documents that share most of them are forms filled in twice.
    """

    name: str
    title: str
    statements: tuple[Statement, ...]
    labels: tuple[frozenset[str], frozenset[str]]
    mould: tuple[str, str]
    forms: frozenset[str]
    is_note: bool

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """All terms of its statements and their places."""
        return frozenset(term for statement in self.statements for term in statement.terms | statement.about)


@lru_cache(maxsize=128)
def read(text: str, name: str = "") -> Document:
    """Read a document.

    Args:
        text: All of it.
        name: What it is called.
    """
    pieces = placed(text, name)
    statements: list[Statement] = []
    paragraph = end = 0
    for number, piece in enumerate(pieces):
        paragraph += text.count("\n", end, piece.start) > 1
        end = piece.end
        statements.append(_statement(text, piece, number, paragraph))
    title = next((piece.place.title for piece in pieces if piece.place.title), "")
    base = name.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    forms = frozenset(
        p.place.row.casefold() or text[p.start : p.end].casefold().strip("#* ")
        for p in pieces
        if p.place.kind in ("heading", "row")
    )
    return Document(
        name,
        title,
        tuple(statements),
        (labels_of(base), labels_of(title)),
        (_masked(base), _masked(title)),
        forms - {""},
        "\n" not in text.strip() or (len(pieces) <= _NOTE and all(p.place.kind == "text" for p in pieces)),
    )


def distinct(terms: frozenset[str]) -> frozenset[str]:
    """Terms without those that their topic stands for."""
    return frozenset(term for term in terms if term not in _ENGLISH_TOPICS and term not in _HAN_TOPICS)


def _without_values(words: str) -> str:
    """A text with spaces in the place of its numbers and dates."""
    pieces, end = list[str](), 0
    for value in values_of(words):
        pieces += [words[end : value.start], " "]
        end = max(end, value.end)
    return "".join((*pieces, words[end:]))


def labels_of(text: str) -> frozenset[str]:
    """Numbers, codes and versions in a name or heading ("2021", "db-01", "A2", "一号")."""
    return frozenset(m.group().casefold() for p in (_LABEL, _HAN_LABEL) for m in p.finditer(text))


def _masked(text: str) -> str:
    return "".join(_HAN_LABEL.sub("#", _LABEL.sub("#", text)).casefold().split())


def terms_of(text: str) -> frozenset[str]:
    """The index terms of a text, with the topics they belong to, numbers left out."""
    terms = {term for term in tokenize(text) if not term.replace(".", "").isdigit()}
    topics = {_ENGLISH_TOPICS[term] for term in terms if term in _ENGLISH_TOPICS}
    if not text.isascii():
        topics |= {topic for word, topic in _CHINESE_TOPICS if word in text}
    return frozenset(terms | topics)


def figures_of(text: str) -> tuple[Figure, ...]:
    """Numbers, dates, times of day and days of the week, in order, each with the terms of its clause."""
    times = [(match, clock) for match in _CLOCK.finditer(text) if (clock := _clock(match)) is not None]
    taken = {index for match, _ in times for index in range(*match.span())}
    found: list[tuple[int, int, FigureKind, Value | None, int]] = [
        (*match.span(), "clock", None, minutes) for match, minutes in times
    ]
    found += [(v.start, v.end, v.kind, v, 0) for v in values_of(text) if v.start not in taken]
    for match in _WEEKDAY.finditer(text):
        day = _DAYS[match[1].lower()] if match[1] else _HAN_DAYS[match[2]]
        found.append((*match.span(), "weekday", None, day))
    clauses = _clauses(text)
    figures: list[Figure] = []
    for start, end, kind, value, minutes in sorted(found, key=lambda one: one[:2]):
        near = next((terms for low, high, terms in clauses if low <= start < high), frozenset())
        figures.append(Figure(start, end, kind, value, minutes, near))
    return tuple(figures)


def _clauses(text: str) -> list[tuple[int, int, frozenset[str]]]:
    """The clauses of a sentence with their terms; a short one goes with the one before it."""
    found: list[tuple[int, int, frozenset[str]]] = []
    for match in _CLAUSE.finditer(text):
        terms = terms_of(_without_values(match.group()))
        if _MODAL.search(match.group()):
            terms = frozenset[str]()
        elif found and len(terms) < 3:
            terms |= found[-1][2]
        found.append((*match.span(), terms))
    if len(found) > 1 and len(found[0][2]) < 3:
        found[0] = (*found[0][:2], found[0][2] | found[1][2])
    return found


def _clock(match: re.Match[str]) -> int | None:
    half_day = (match["half_day"] or "").lower().replace(".", "")
    if not (match["part"] or match["mark"] or half_day or match.group().strip()[-1:] in "点时半"):
        return None
    if match["mark"] == "." and not half_day and not _is_dotted(match):
        return None
    hour, minute = int(match["hour"]), int(match["minute"] or (30 if match["half"] else 0))
    late = half_day == "pm" or match["part"] in ("下午", "晚上", "傍晚") or (match["part"] == "中午" and hour < 10)
    hour += 12 * (late and hour < 12)
    return 60 * hour + minute if hour <= 24 else None


def _is_dotted(match: re.Match[str]) -> bool:
    """Whether "9.30" is a time of day, and no number: after "at" or at the head of a row, and without a unit."""
    before = match.string[max(0, match.start() - 12) : match.start() + 1]
    return bool(_AT.search(before)) and not _MEASURED.match(match.string, match.end()) and match["minute"][1] in "05"


def _statement(text: str, piece: Placed, number: int, paragraph: int) -> Statement:
    words = text[piece.start : piece.end].replace("\n", " ")
    place = piece.place
    about = terms_of(" ".join((place.title, *place.headings, place.row, *place.columns)))
    said = terms_of(_without_values(words))
    return Statement(
        piece.start, piece.end, words, place, _mode(words, place, said), said, about, number, paragraph, piece.cells
    )


def _mode(words: str, place: Place, terms: frozenset[str]) -> Mode:
    """How a statement is meant."""
    if place.kind in ("heading", "header", "code") or len(terms) < 2 and place.kind != "row":
        return "none"
    if _ASKS.search(words[-12:]):
        return "asked"
    if _TEMPLATE.search(words) or _EXAMPLE.search(words):
        return "template"
    if place.speaker or _is_quoted(words):
        return "quoted"
    bare = _QUOTE.sub(" ", words)
    if _POSSIBLE.search(bare):
        return "possible"
    if _PLANNED.search(bare):
        return "planned"
    if _PAST.search(bare):
        return "past"
    return "quoted" if _OPINION.search(bare) else "asserted"


def _is_quoted(words: str) -> bool:
    """Whether most of a sentence stands in quotation marks, or is what one of its speakers says."""
    quoted = sum(len(match.group()) for match in _QUOTE.finditer(words))
    return quoted * 2 > len(words)


def is_chinese(statement: Statement) -> bool:
    """Whether a statement is written in Chinese."""
    return is_cjk(statement.text)
