"""Closed word classes of English and Chinese for the offline judge: negation, opposites, roles, attributes."""

import threading
from functools import lru_cache
from typing import Any, Final

import Stemmer

from agentic_memory_bank.tools.text.terms import words_of

_local: Final = threading.local()


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The English stem of one word, lower-cased; other scripts come back as they are."""
    lowered = word.lower().replace("’", "'").removesuffix("'s").strip("'.-")
    return str(_stemmer().stemWord(lowered)) if lowered.isascii() else lowered


def _stemmer() -> Any:
    """The stemmer of this thread: one of them serves one thread at a time."""
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:
        stemmer = _local.stemmer = Stemmer.Stemmer("english")  # pyright: ignore[reportUnknownMemberType]
    return stemmer  # pyright: ignore[reportUnknownVariableType]


def _listed(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in text.split())


STOP_WORDS: Final = words_of(
    """
    a an the this that these those it its he him his she her hers they them their theirs we us our ours i me my
    mine you your yours who whom whose which what when where how why there here be is am are was were been being
    do does did doing done have has had having will would shall should can could may might must of in on at to
    from by for with about into onto over under as than then and or but if so because while though although also
    too very just both either such some any each every all own same other out up down off again once only s t d
    ll re ve m
    """
)
CHINESE_FUNCTION_CHARACTERS: Final = frozenset(
    "的了是在我你他她它们吗呢啊吧呀哦嗯也就都很啦嘛么这那个和与及或而着过给对把被让从到去来有会要能可以之其"
)

NEGATORS: Final = words_of(
    """
    not no never none nobody nothing neither nor without cannot cant can't n't isn't aren't wasn't weren't don't
    doesn't didn't won't wouldn't couldn't shouldn't hasn't haven't hadn't mustn't ain't isnt arent wasnt werent
    dont doesnt didnt wont unable incapable
    """
)
NEGATING_VERBS: Final = _stems("fail refuse decline lack deny avoid forbid prevent")
NEGATIVE_VERB_OBJECTS: Final = words_of("to any")
UNDENIED_VERBS: Final = _stems("wait forget worry mind hesitate")
"""Verbs after which a negating word denies nothing: "can't wait", "don't forget"."""
CHINESE_CONDITIONS: Final = _listed(
    """
    不含 不包含 不包括 不计 不算 包含 包括 加上 算上 计入
    """
)
CHINESE_NEGATORS: Final = _listed(
    """
    从来没有 并没有 从不 从未 并非 并不 没有 不是 未能 尚未 不 没 未 无 非 别 勿
    """
)
CHINESE_NOT_NEGATION: Final = _listed(
    """
    不好意思 没有关系 没关系 差不多 不仅仅 不客气 不得不 对不起 了不起 不一会 没问题 不知不觉 无论 不管 不论
    不仅 不但 不过 不断 不同 不错 不久 不少 不只 不光 不如 非常 无线 无锡 未来 未必 特别 别人 级别 性别 区别
    分别 个别 别墅 别的 没事 没错 没准 非洲 除非 是非 要不 不然 不妨 不禁 不愧 不由 无非 无疑
    """
)
"""Chinese words that contain a negating character without denying anything."""

_ENGLISH_OPPOSITES: Final = """
    alive/dead live/die alone/together always/never ancient/modern awake/asleep awake/sleeping beautiful/ugly
    before/after begin/end begin/finish start/stop start/end start/finish begin/stop best/worst better/worse
    big/small big/little big/tiny large/small large/tiny huge/tiny black/white bottom/top bought/sold buy/sell
    bright/dark bright/dim calm/angry calm/excited cheap/expensive clean/dirty close/far near/far near/away
    clear/cloudy closed/open close/open come/go cold/hot cold/warm cool/warm cool/hot cry/laugh crying/smiling
    cry/smile crying/laughing dangerous/safe day/night daytime/nighttime deep/shallow defend/attack
    difficult/easy easy/hard dry/wet early/late east/west eastern/western empty/full enemy/friend enter/exit
    enter/leave arrive/leave arrive/depart even/odd fail/succeed failure/success false/true right/wrong
    correct/incorrect fat/thin fat/skinny few/many fewer/more find/lose first/last float/sink forget/remember
    forward/backward forwards/backwards front/back full/hungry gain/lose generous/stingy gentle/rough give/take
    good/bad good/evil great/terrible guilty/innocent happy/sad happy/unhappy happy/upset happy/angry
    happy/miserable glad/sad hard/soft hate/love hate/like dislike/like heavy/light high/low higher/lower
    highest/lowest in/out inside/outside indoors/outdoors indoor/outdoor include/exclude increase/decrease
    rise/fall raise/lower up/down upper/lower above/below over/under left/right legal/illegal lazy/hardworking
    long/short longest/shortest loose/tight loud/quiet loud/silent noisy/quiet speak/silent maximum/minimum
    most/least more/less morning/evening morning/night morning/noon narrow/wide new/old newest/oldest
    newer/older north/south northern/southern old/young older/younger oldest/youngest on/off online/offline
    past/future permit/forbid permit/prohibit allow/forbid allow/forbidden allow/prohibit allow/ban plus/minus
    poor/rich poor/wealthy
    positive/negative possible/impossible present/absent private/public professional/amateur public/secret
    pull/push profit/loss quick/slow fast/slow quickly/slowly accept/reject accept/refuse accept/decline
    approve/reject real/fake relaxed/tense rough/smooth rural/urban same/different send/receive shut/open
    sick/healthy ill/healthy sit/stand sitting/standing asleep/up single/married small/large small/huge
    smaller/larger smallest/largest smallest/biggest sour/sweet strong/weak sunny/rainy sunrise/sunset sun/moon
    sweet/bitter tall/short taller/shorter tallest/shortest teach/learn thick/thin throw/catch tie/untie
    add/remove assemble/disassemble attach/detach lock/unlock cover/uncover pack/unpack plug/unplug load/unload
    enable/disable enabled/disabled connect/disconnect appear/disappear agree/disagree top/bottom ugly/pretty
    under/above usual/unusual common/rare frequently/rarely often/rarely often/seldom victory/defeat win/lose
    winner/loser won/lost war/peace whisper/shout wild/tame willing/unwilling with/without work/rest work/play
    young/elderly young/ancient crowded/empty crowded/deserted busy/idle busy/free busy/deserted dressed/naked
    dressed/nude clothed/naked clothed/nude horizontal/vertical interior/exterior internal/external
    junior/senior landing/takeoff land/sea liquid/solid major/minor brave/cowardly bravely/cowardly
    careful/careless useful/useless visible/invisible natural/artificial simple/complex proud/ashamed pass/fail
    ascend/descend climb/descend import/export expand/shrink expand/contract partially/completely partial/total
    optional/mandatory optional/required temporary/permanent domestic/foreign majority/minority supports/opposes
    support/oppose against/for mutable/immutable synchronous/asynchronous friendly/hostile friendly/unfriendly
    boring/interesting bored/interested tired/energetic straight/curly straight/crooked starving/full
    sober/drunk polite/rude politely/rudely conscious/unconscious
"""
_CHINESE_OPPOSITES: Final = """
    大/小 多/少 高/低 高/矮 长/短 好/坏 好/差 好/糟 新/旧 快/慢 早/晚 远/近 冷/热 胖/瘦 男/女 难/易 难/简单
    困难/容易 难/容易 对/错 真/假 强/弱 上/下 左/右 前/后 里/外 内/外 东/西 南/北 黑/白 生/死 买/卖 进/出 开/关
    赢/输 胜/负 贵/便宜 昂贵/便宜 老/年轻 年老/年轻 旧/新 干净/脏 美/丑 漂亮/丑 好看/难看 好吃/难吃 好听/难听
    有/没有 有/没 是/不是 喜欢/讨厌 喜欢/厌恶 喜爱/讨厌 喜爱/厌恶 爱/恨 爱好/厌恶 热爱/憎恨 热爱/厌恶 想/不想
    忙/闲 忙碌/清闲 累/轻松 辛苦/轻松 辛苦/舒服 上班/下班 上班/放工 开始/结束 开始/停止 开始/完毕 成功/失败
    增加/减少 上升/下降 上涨/下跌 提高/降低 扩大/缩小 延长/缩短 同意/反对 支持/反对 赞成/反对 接受/拒绝
    允许/禁止 安全/危险 简单/复杂 容易/困难 公开/秘密 公开/保密 白天/晚上 白天/黑夜 早上/晚上 上午/下午 早/迟
    以前/以后 之前/之后 最大/最小 最高/最低 最多/最少 最好/最差 最早/最晚 高兴/难过 开心/难过 开心/伤心
    快乐/悲伤 快乐/痛苦 高兴/伤心 幸福/痛苦 幸福/不幸 哭/笑 朋友/敌人 单身/已婚 结婚/离婚 已婚/未婚 毕业/入学
    上学/放学 进步/退步 健康/生病 富/穷 富有/贫穷 有钱/没钱 记得/忘记 记住/忘记 来/去 出去/回来 出去/进来
    出门/回家 到达/离开 借/还 存在/消失 出现/消失 打开/关闭 开启/关闭 启用/停用 启用/禁用 开放/关闭 盈利/亏损
    正确/错误 积极/消极 主动/被动 熟悉/陌生 认识/陌生 勇敢/胆小 聪明/笨 勤奋/懒惰 懒/勤快 干燥/潮湿 城市/农村
    国内/国外 全部/部分 永久/临时 必须/可选 在线/离线 春天/秋天 夏天/冬天 夏季/冬季 最后/最初 首先/最后
    相同/不同 经常/很少 总是/从不 已经/尚未 可以/不能 能/不能 会/不会 无聊/有趣 有意思/无聊 理想/现实 热闹/冷清
    热闹/安静 安静/吵闹 温柔/粗暴 严格/宽松 重/轻 深/浅 宽/窄 厚/薄 粗/细
"""


def _opposites(table: str, normal: bool) -> frozenset[tuple[str, str]]:
    pairs: set[tuple[str, str]] = set()
    for entry in table.split():
        left, right = (stem(word) if normal else word for word in entry.split("/"))
        pairs.update(((left, right), (right, left)))
    return frozenset(pairs)


OPPOSITES: Final = _opposites(_ENGLISH_OPPOSITES, True) | _opposites(_CHINESE_OPPOSITES, False)
"""Pairs of words that exclude each other, in both orders: stems in English, words in Chinese."""

_SYNONYMS: Final = """
    happy glad pleased delighted joyful cheerful content
    small little tiny
    big large huge
    street road
    child kid
    children kids
    man guy gentleman person
    woman lady person
    start begin commence
    stop end finish cease
    fast quick rapid
    buy purchase
    sofa couch
    car automobile
    film movie picture
    sick ill
    rock stone
    boat ship
    shop store
    speak talk
    photo photograph picture
    jump leap
    shout yell
    smart clever intelligent
    sad unhappy
    near close
    phone telephone
    bike bicycle
    hat cap
    dad father
    mom mother
    crucial important key
    say tell add report announce state note
    perhaps maybe possibly
    sadness sorrow
    garbage trash rubbish
    quickly fast rapidly
    infant baby
    couple pair
    teenager teen adolescent youth
    approximately about around roughly
    forest woods
"""
SYNONYMS: Final = tuple(_stems(group) for group in _SYNONYMS.strip().splitlines())
"""Groups of stems that may stand for one another without changing what is said."""

_CLASS_TABLES: Final = {
    "country": """
        china india japan russia france germany spain italy england britain scotland ireland wales canada mexico
        brazil argentina chile peru colombia venezuela cuba egypt nigeria kenya ethiopia ghana morocco algeria
        tunisia libya sudan uganda tanzania iran iraq syria israel jordan turkey greece poland ukraine romania
        hungary austria switzerland belgium netherlands denmark sweden norway finland iceland portugal australia
        indonesia malaysia thailand vietnam philippines singapore korea mongolia nepal pakistan bangladesh
        afghanistan kazakhstan cambodia laos myanmar america usa serbia croatia bulgaria slovakia slovenia
        estonia latvia lithuania 中国 印度 日本 俄罗斯 法国 德国 西班牙 意大利 英国 加拿大 墨西哥 巴西 美国 韩国
        朝鲜 泰国 越南 新加坡 马来西亚 澳大利亚 埃及 希腊 瑞士 瑞典 挪威 芬兰 荷兰 比利时 葡萄牙 波兰 土耳其
        伊朗 以色列
    """,
    "nationality": """
        chinese indian japanese russian french german spanish italian english british scottish irish welsh
        canadian mexican brazilian argentinian argentine chilean peruvian colombian venezuelan cuban egyptian
        nigerian kenyan ethiopian ghanaian moroccan algerian iranian iraqi syrian israeli jordanian turkish
        greek polish ukrainian romanian hungarian austrian swiss belgian dutch danish swedish norwegian finnish
        icelandic portuguese australian indonesian malaysian thai vietnamese filipino singaporean korean
        mongolian nepalese pakistani bangladeshi afghan kazakh american croatian serbian bulgarian
    """,
    "colour": """
        red orange yellow green blue purple violet pink brown black white gray grey silver gold golden beige
        turquoise maroon crimson cyan magenta 红色 橙色 黄色 绿色 蓝色 紫色 粉色 棕色 黑色 白色 灰色 银色 金色
    """,
    "planet": """
        mercury venus earth mars jupiter saturn uranus neptune pluto 水星 金星 地球 火星 木星 土星 天王星 海王星
    """,
    "weekday": """
        monday tuesday wednesday thursday friday saturday sunday 周一 周二 周三 周四 周五 周六 周日 星期一
        星期二 星期三 星期四 星期五 星期六 星期日 星期天
    """,
    "season": "spring summer autumn winter 春天 夏天 秋天 冬天 春季 夏季 秋季 冬季",
    "direction": "north south east west northeast northwest southeast southwest",
    "material": """
        wood wooden metal steel iron plastic glass stone brick concrete cement marble leather cotton wool silk
        copper bronze aluminium aluminum paper rubber clay ceramic
    """,
    "instrument": """
        guitar piano violin cello flute drum drums trumpet saxophone accordion harp clarinet trombone banjo
        ukulele harmonica mandolin oboe tuba viola keyboard 吉他 钢琴 小提琴 大提琴 长笛 古筝 二胡 琵琶 萨克斯
    """,
    "drink": """
        beer wine whisky whiskey vodka gin rum champagne brandy coffee tea milk juice water lemonade soda cola
        cocktail cider tequila 啤酒 白酒 红酒 咖啡 牛奶 果汁
    """,
    "room": """
        kitchen bedroom bathroom garage office basement attic cellar hallway classroom library lobby closet
        pantry den nursery
    """,
    "vegetable": """
        carrot onion potato tomato celery zucchini cauliflower broccoli cabbage lettuce spinach cucumber pumpkin
        eggplant garlic radish turnip leek asparagus pepper corn beet pea
    """,
    "fruit": """
        apple banana orange pear peach grape lemon lime mango cherry plum melon watermelon pineapple strawberry
        raspberry blueberry kiwi apricot fig coconut
    """,
    "sport": """
        football soccer basketball baseball tennis volleyball rugby cricket golf hockey badminton boxing
        wrestling swimming surfing skiing snowboarding 足球 篮球 网球 排球 乒乓球 羽毛球 棒球
    """,
    "animal": """
        dog cat horse cow pig sheep goat lion tiger bear elephant monkey rabbit mouse rat wolf fox deer duck
        chicken fish bird snake turtle frog kangaroo zebra giraffe 猫 狗 马 牛 羊 兔子
    """,
    "gender": """
        man woman boy girl guy lady gentleman men women male female father mother son daughter brother sister
        husband wife king queen uncle aunt actor actress 父亲 母亲 爸爸 妈妈 哥哥 姐姐 弟弟 妹妹 儿子 女儿 丈夫
        妻子 老公 老婆 先生 女士 男生 女生 男孩 女孩 男人 女人 男的 女的 帅哥 美女
    """,
}  # fmt: skip


def _classes() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for name, table in _CLASS_TABLES.items():
        for word in table.split():
            found.setdefault(stem(word), set()).add(name)
    return {word: frozenset(names) for word, names in found.items()}


WORD_CLASSES: Final = _classes()
"""Stem -> the closed classes it belongs to; two members of one class exclude each other in the same place."""
PROPER_CLASSES: Final = frozenset({"country", "nationality", "planet", "weekday"})

ROLE_STEMS: Final = _stems(
    """
    ceo cto cfo coo president chairman chairwoman chairperson chair director directed author written writer
    capital mayor king queen emperor founder founded husband wife spouse father mother winner head manager coach
    governor minister chancellor principal editor designer designed architect inventor invented discovered
    discoverer born located headquartered headquarters owner owned host hosted successor predecessor captain
    leader led married maintainer painted painter composed composer sculpted architect commander narrator
    successor publisher published speaker
    """
)
CHINESE_ROLES: Final = _listed(
    """
    首席执行官 首席技术官 首席财务官 总裁 董事长 总经理 主席 总统 总理 市长 省长 校长 院长 部长 导演 作者 首都
    省会 创始人 丈夫 妻子 父亲 母亲 冠军 负责人 主编 设计师 建筑师 发明者 教练 队长 总部 位于 出生于 主持人 班长
    站长 所长
    """
)

ATTRIBUTES: Final = {
    name: (_stems(english), tuple(chinese.split()))
    for name, english, chinese in (
        ("height", "height tall high elevation", "高度 高达 身高 海拔 总高 高"),
        ("length", "length long", "长度 全长 总长 长达 长"),
        ("width", "width wide", "宽度 宽"),
        ("depth", "depth deep", "深度 水深 深"),
        ("diameter", "diameter mirror aperture", "直径 口径 主镜"),
        ("area", "area acreage", "面积"),
        ("weight", "weight weigh mass", "重量 重达 质量 体重 重"),
        ("speed", "speed", "速度 时速 车速"),
        ("temperature", "temperature", "温度 气温"),
        ("cost", "cost price budget", "造价 成本 费用 耗资 价格 投资 预算 售价"),
        ("population", "population inhabitant resident people", "人口 居民"),
        ("capacity", "capacity seat", "容量 容纳 座位"),
        ("age", "age aged", "年龄 年纪"),
        ("founded", "founded established formed founding inception creation", "成立 创立 创办 创建 建立 设立"),
        ("start", "start began begin begun commence", "开始 启动 开工 动工"),
        (
            "built",
            "built build constructed construction completed erected completion",
            "建成 建于 修建 竣工 落成 建造 完工 完成",
        ),
        ("opened", "opened opening inaugurated open", "开放 开幕 启用 开业 开通 投入使用 开馆"),
        ("first light", "light", "首次观测 首光 初光"),
        ("closed", "closed closing closure shut", "关闭 闭馆 停业"),
        ("deadline", "deadline due", "截止 截稿 期限"),
        ("born", "born birth", "出生 生于 诞生"),
        ("died", "died death dies", "去世 逝世 死于 卒于 身亡"),
        ("released", "released release published publication", "发布 发行 上映 出版 推出 上市"),
        ("aired", "aired airing premiered premiere debuted", "播出 首播 首映"),
        ("ended", "ended end finished finale concluded", "结束 闭幕"),
        ("launched", "launched launch", "发射 升空"),
        ("discovered", "discovered discovery", "发现"),
        ("operating", "operating operation operational", "运行 运营"),
        ("married", "married marriage", "结婚"),
        ("elected", "elected election", "当选"),
        ("held", "held", "举行 举办 召开"),
        ("listed", "listed added", "列入"),
        ("revenue", "revenue grossed gross sales", "收入 营收 营业额 票房"),
        ("conference date", "conference", "会议时间"),
    )
}
"""Attribute -> (English stems, Chinese words) that name it. Those not measured are events; their value is a date."""
_MEASURED: Final = """
    height length width depth diameter area weight speed temperature cost population capacity age revenue
"""
MEASURED_ATTRIBUTES: Final = frozenset(_MEASURED.split())
REVISION_WORDS: Final = words_of(
    """
    extended corrected correction updated revised postponed rescheduled moved changed amended delayed erratum
    latest 更正 延期 延长 推迟 最新 修订 改为 更新 调整为 勘误 顺延 改到 改期
    """
)
QUALIFIERS: Final = words_of(
    """
    with without including excluding include includes before after if when whereas while versus depending except
    only nominal gross net original originally formerly initially now currently indoor outdoor unloaded loaded
    含 不含 包括 不包括 包含 不包含 加上 算上 若 如果 其中 原先 最初 现在 计入 不计
    """
)
"""Words that tie a value to a condition."""
INCLUSIONS: Final = _stems("with including includes inclusive 含 包含 包括 加上 算上 计入")
EXCLUSIONS: Final = _stems("without excluding excludes exclusive 不含 不包含 不包括 不计 不算")
"""Words that add something to what is measured, and those that leave it out."""
LABELS: Final = _stems(
    "apartment appendix article batch block building bus case chapter document edition episode exhibit experiment "
    "figure file flat flight floor gate generation grade group highway issue item lane level line lot model note "
    "office page paragraph part phase platform player point project question room round route sample season section "
    "series session step table team terminal test track type unit version volume ward week zone"
)
"""Nouns that a number after them tells apart from others of their kind ("room 12"): a name, not an amount."""
WITHDRAWING: Final = (
    *("from", "instead of", "not", "previously", "formerly", "originally", "rather than", "no longer", "was"),
    *("由", "从", "原定", "原定于", "原为", "而非", "不是", "原", "已按", "原按", "曾按", "先前按", "此前按", "之前按"),
)
"""What stands right before a value that a correction takes back."""
REJECTING: Final = (
    *("instead of", "not", "rather than", "no longer", "already paid", "have paid", "had paid"),
    *("而非", "而不是", "不是", "已按", "原按", "曾按", "先前按", "此前按", "之前按"),
)
"""What stands right before a value that a sentence takes back in favour of another: a correction without its word. What
has been paid by then was due before: 每人10元，已按20元缴费的退回差额."""
