"""Words in which people speak of their lives, English and Chinese together: groups of words that are about one thing.

Whoever asks what they may eat told that they are allergic, whoever asks for a girlfriend's job that they are "seeing
someone, a paramedic": `reading.concepts` holds the words of documents, and these are those of talk. A word that is
joined by a hyphen stands for the phrase. What is in a group is not the same, but is asked for and told in turn.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.terms import tokenize

_GROUPS: Final = """
live lives living lived flat apartment house home place moved moving move rent renting based reside address hometown
grew-up come-from settled neighbourhood stay 住 搬 租 房子 公寓 住处 老家 家在 出租屋 宿舍 小区 落脚 | roommate
flatmate housemate share sharing shares lodger living-with moved-in 室友 合租 同住 舍友 同屋 一起住 | rent landlord
landlady lease tenant mortgage 房租 房东 租金 租约 房贷 月供 租 | job work works working worked employer company firm
office profession occupation career for-a-living trade day-job shift trainee hired quit employed business run runs
self-employed freelance startup studio 工作 上班 公司 单位 职业 岗位 跳槽 离职 入职 辞职 做什么 干什么 开店 创业
工作室 当老师 行业 本行 店 自由职业 接单 | boss supervisor supervise supervises manager manages report-to
line-manager lead head in-charge chief director mentor advisor 老板 领导 上司 主管 导师 组长 负责人 上级 经理 |
colleague coworker co-worker teammate team staff partner crew assistant deputy takes-over cover covers stand-in
replacement fill-in helper helps help-out 同事 搭档 搭班 团队 助理 接班 顶班 代班 接手 帮手 看店 帮忙 同伴 组员 |
salary wage earn earns earning paid pay
raise bucks an-hour per-hour bonus income 工资 薪水 挣 赚 时薪 月薪 年薪 奖金 收入 涨薪 | cost costs price pay paid
charge charges fee dollars pounds euros bucks quid grand expensive cheap budget spend spent bill 钱 块 元 价 费 预算
花 贵 便宜 多少钱 报价 份子 收费 单价 | money fund funds funding cash runway savings invest investor investors raise
raised treasurer finances accounts dues subs subscription membership 资金 存款 融资 投资 会费 账 财务 会计 |
discount deal off reduction tenner voucher coupon cheaper 优惠 折 打折 便宜 划算 减 券 | girlfriend boyfriend wife
husband partner fiance fiancé fiancee fiancée spouse seeing-someone dating going-out-with crush missus hubby 女朋友
男朋友 女友 男友 老婆 老公 妻子 丈夫 爱人 对象 媳妇 婆娘 太太 未婚妻 未婚夫 谈恋爱 相亲 | wedding marry marries
married marriage bride groom engaged engagement tie-the-knot ceremony honeymoon proposal proposed 结婚 婚礼 领证
登记 订婚 嫁 娶 婚 伴娘 伴郎 彩礼 蜜月 求婚 | child children kid kids son daughter baby boy girl toddler infant
newborn born pregnant expecting lad twins triplets girls boys little-one youngest eldest
孩子 儿子 女儿 娃 宝宝 小孩 闺女 丫头 怀孕 预产期 二宝 老大 老二 生了 | grandson
granddaughter grandchild grandchildren grandkid baby born 孙子 孙女 外孙 外孙女 孙 | mother mom mum mama mam
mummy mommy amma 妈 母亲 老妈 妈妈 娘 | father dad papa pops daddy baba abba appa 爸 父亲 老爸 爸爸 爹 | mother-in-law
father-in-law in-laws 岳父 岳母 老丈人 丈母娘 公公 婆婆 公婆 亲家
| grandmother grandma gran nan nana grandfather grandpa grandad 奶奶 爷爷 外婆 外公 姥姥
姥爷 | sister brother sibling siblings twin 姐 妹 哥 弟 兄弟 姐妹 | nephew niece cousin aunt uncle auntie 侄子 侄女
外甥 表姐 表妹 表哥 表弟 堂哥 堂妹 姑姑 叔叔 舅舅 阿姨 姨妈 | friend friends mate buddy bestie pal best-friend 朋友
闺蜜 哥们 发小 死党 老同学 | neighbour neighbor next-door 邻居 隔壁 楼上 楼下 对门 | name named called names surname
nickname 叫 名字 姓 名 称呼 起名 小名 | old age turns turning birthday years-old born 岁 生日 几岁 多大 年纪 大寿
周岁 | dog puppy cat kitten pet pets hamster parrot rabbit pup hound 狗 猫 宠物 小狗 小猫 鹦鹉 仓鼠 兔 | vet vets
jabs neutered spayed 兽医 绝育 驱虫 疫苗 宠物医院 | eat eats eating ate diet dietary food foods allergic allergy
allergies intolerant intolerance vegan vegetarian veggie gluten coeliac celiac pizza pizzeria pasta bread bakery
cafe canteen picnic dessert seafood milk eggs celiac halal kosher dairy avoid restaurant
meal meals menu dinner lunch breakfast dish cook cooking recipe nuts peanut shellfish pork meat salt sugar lay-off
cut-out go-easy cut-down buffet snack snacks cater taste hungry takeaway 吃 忌口 过敏 吃素 素食 饮食 点菜 餐 饭 菜
海鲜 辣 戒 碰不得 主食 零食 口味 餐馆 餐厅 饭店 不能碰 清真 香菜 做饭 下厨 | drink drinks drinking coffee tea beer
wine alcohol water sober 喝 酒 茶 咖啡 水 啤酒 饮料 | allergic allergy allergies reaction epipen rash hives sting
stings antihistamine antihistamines penicillin antibiotic antibiotics latex pollen 青霉素 抗生素 头孢 花粉 过敏
起疹子 过敏原 疹 | medicine medication meds drug pill pills tablet tablets dose prescription prescribed
mg inhaler insulin swallow vitamin antibiotics capsule injection antibiotic antihistamine ointment statin
painkiller painkillers 药 吃药 剂量 处方 一片 降压 胶囊 打针 服用 每片
半片 胰岛素 抗生素 开药 药膏 止痛药 青霉素 | doctor gp specialist consultant neurologist cardiologist dentist
surgeon physio therapist nurse 医生
大夫 主任 主刀 牙医 护士 专家 理疗 | hospital clinic surgery practice appointment checkup check-up ward 医院 诊所
门诊 看病 复查 体检 挂号 就诊 接诊 | operation operate operates operated surgery surgeon op replacement laid-up
recover recovering recovery under-the-knife 手术 开刀 住院 恢复 动手术 术后 术前 切除 | ill sick illness disease
diagnosed diagnosis condition pain hurt hurts broke broken injury injured fall fell ache ankle knee back hip wrist
病 生病 疼 痛 伤 摔 骨折 得过 毛病 扭 发烧 不舒服 大病 腱鞘炎 手腕 膝盖 颈椎 腰椎 关节 的手 的腰 的眼睛 眼睛 白内障
发炎 | exercise gym run running runs swim swimming yoga pilates
workout jog jogging training train marathon race fitness lifting climbing cycling 锻炼 运动 健身 游泳 跑步 瑜伽 打球
跳舞 马拉松 比赛 爬山 骑车 训练 | football soccer basketball tennis netball chess hockey cricket rugby badminton
volleyball sport play plays played team position club match 足球 篮球 网球 羽毛球 乒乓球 象棋 围棋 排球 球队 俱乐部
校队 | shoes trainers sneakers boots wear wears wearing clothes outfit dress shirt jacket suit uniform 鞋 穿 衣服
裙子 西装 校服 外套 | class classes lesson lessons course courses teach teaches teacher taught tutor instructor
coach workshop 课 上课 老师 教 培训 辅导 补习 教练 兴趣班 学生 | school university college primary kindergarten
nursery major degree study studies studying grade campus programme 学校 大学 小学 中学 幼儿园 年级 专业 读书 上学
念书 考研 研究生 毕业 就读 | exam exams test midterm final finals grade grades score marks results 考试 成绩 分 考
期中 期末 测验 考级 | research thesis paper dissertation article revisions corrections defense journal supervisor
phd 论文 研究 课题 答辩 返修 投稿 期刊 博士 方向 | car van truck lorry drive drives driving driver vehicle rig
motorbike bike 车 开车 驾驶 司机 货车 摩托 电动车 轿车 换车 | route lane run commute regular-run 路线 线路 通勤 跑 |
charge charging charger battery 充电 电池 充电站 充电桩 | trip travel travelling holiday vacation flight flights fly
flying tour visit visiting getaway 旅游 旅行 去玩 玩 机票 高铁 出差 度假 游 出国 | hotel hostel airbnb stay staying
sleep night before book-a-room 酒店 宾馆 民宿 住 过夜 | move moves moved moving relocate relocated 搬 搬家 搬到 搬去
| meeting meetings call calls standup catch-up sync 会 开会 例会 电话 会议 | call calls phone ring ringing rings
number 电话 打给 手机 号码 打电话 视频 | shop store market supplier supply source stock buy bought order orders
vendor wholesale 店 进货 拿货 供货 货 批发 厂家 买 下单 采购 | warehouse storage store stored kept keep keeps lives
drawer cupboard shelf box put 仓库 放 收 存 柜子 抽屉 盒子 收在 搁 | ship ships release releases launch launching
publish out comes-out 上线 发布 发售 上市 出版 发行 | game games app website project product build 游戏 项目 产品
网站 软件 | draw draws drawing artist art painter illustrator sprites paint design designer 画 画师 美术 插画 设计
设计师 | compose composes composer music song songs sing singing sings choir singers piece concert band orchestra
instrument play plays piano violin guitar cello rehearse rehearsal programme 音乐 歌 唱 曲 演出 乐队 合唱 钢琴
小提琴 吉他 弹琴 弹 乐器 排练 | photographer photos photo shoot shot pictures camera 摄影 拍照 照片 拍 写真 跟拍 |
caterer catering food feed guests headcount heads plates cook 宴席 摆酒 酒席 桌 客人 宾客 寿宴 喜酒 | people guests
members singers attendees headcount us students crowd turnout how-many 人 个人 位 多少人 几个人 名 | venue hall
ranch place location site church 场地 地点 酒楼 礼堂 会场 在哪办 | noise loud quiet music curfew 吵 噪音 安静 声音 |
lost lose left-behind forgot forget missing lost-property 丢 落 忘 失物 遗失 捡 | steps step routine procedure
checklist process first then before after order how-do-i how-to 流程 步骤 先 规矩 处理 顺序 程序 怎么做 | rule rules
ground-rules house-rules allowed permitted banned never always must 规矩 规定 不许 不准 必须 允许 禁止 | write
writes writing written style tone draft caption post posts email emails reply replies answer answers advice report
notes summary letter blurb copy word words 写 回复 语气 文案 标题 评语 说话 回答 总结 邮件 报告 朋友圈 口吻 措辞 |
language english french german spanish chinese 语言 英语 中文 法语 德语 日语 英文 | recommend recommends
recommendation suggest suggestion book books film films movie series read reading watch 推荐 书 电影 看书 剧 综艺 |
hobby hobbies weekend free-time spare-time collect knit garden gardening bake baking fish fishing 爱好 周末 空闲
养花 钓鱼 种菜 业余 | mad-about crazy-about obsessed obsessed-with fan-of keen-on passionate-about hooked-on
loves adores interests interested 喜欢 迷上 热爱 痴迷 着迷 最爱 兴趣 | calligraphy brush handwriting 书法 毛笔 练字
写字 毛笔字 | off rest day-off closed holiday
break leave 休息 停 放假 休 不上班 请假 停播 不开 打烊 营业 关门 开门 开到 开店时间 营业时间 | shift shifts hours
schedule roster rota days nights
mornings evenings timetable working-hours 班 时间 排班 夜班 白班 交班 换班 点 时段 作息 | weekly week often every
fortnight monthly daily twice how-often regularly 每周 每天 每月 隔 次 一周 每次 | afraid scared scares fear fears
frightened terrified phobia nervous 害怕 最怕 怕黑 恐惧 恐高 | when date day time appointment
scheduled 什么时候 哪天 几号 几点 日期 | deadline due submit hand-in finish deliver 截止 交 提交 到期 期限 | target
goal aim aiming hope hoping plan plans planning want wants ambition aspire 目标 打算 计划 想 希望 规划 准备 | retire
retirement pension 退休 养老 退了 | quit left gone out resigned fired sacked gave-up given-up dropped 辞 离开 走了
不干 放弃 不做 | garden plants plant vegetables allotment tomatoes compost 花园 种 菜地 花 植物 | bees hive hives
beekeeping queen swarm colony honey 蜂 蜂箱 养蜂 | repair fix mend broken boiler plumber electrician builder
contractor renovation 修 坏 装修 师傅 工长 施工 维修 水电 | ingredients flour dough oven bread cake 面 烤 蛋糕 面包
揉 | bank loan debt owe owes owed lend lent borrow borrowed iou insurance mortgage tax 银行 贷款 保险 税 信用卡 欠
赊 赊账 赊着 欠账 欠款 欠钱 还钱 还清 借钱 | religion church mosque temple pray prayer
fasting ramadan 教堂 寺 拜佛 斋戒 祷告 | weather cold hot heat warm temperature degrees fire firing 热 冷 温度 度 |
database db postgres postgresql mysql mariadb sqlite mongodb mongo redis oracle sql 数据库 | framework library stack
django flask rails react vue svelte angular spring laravel nextjs htmx fastapi 框架 技术栈 | programming-language
python
java javascript typescript rust golang ruby kotlin swift php 编程语言 | server hosting host cloud aws azure gcp
hetzner
heroku vps 服务器 云 | internet broadband wifi wi-fi fibre router 宽带 网络 路由器 无线网 光纤 |
laptop computer pc macbook thinkpad mac ubuntu linux windows operating-system 电脑 笔记本
系统 |
airline airlines carrier lufthansa ryanair easyjet klm tap emirates 航空公司 航班 | exercise exercises squat squats
lunges deadlift deadlifts push-ups planks burpees cardio weights 深蹲 硬拉 俯卧撑 动作
"""
"""Each group one thing that people are asked about."""

_KIN: Final = (
    "daughter roommate landlord colleague boss girlfriend grandson mother father in-laws grandma sister nephew"
)
"""A word of each group that says what somebody is to whoever speaks."""
_LETTERS: Final = lazy_pattern(r"[^\W\d_]+")
_LONGEST: Final = 4
_ALONE: Final = frozenset(
    "欠赊住搬租店钱块元价费花贵折券嫁娶婚娃妈爸爹娘姐妹哥弟叫姓岁狗猫兔吃餐饭菜戒喝酒茶水药病疼痛伤"
    "摔鞋穿课教考车跑玩店货放收存画歌唱曲弹拍桌吵丢落忘写书休班点交辞修面烤税热冷"
)
"""Characters that say by themselves what they are about."""
_HOURS: Final = frozenset("0123456789几一二三四五六七八九十两早晚半整")
"""What stands in front of 点 where it is an hour, and not a point: 小数点, 考点."""

_KIN_SIDES: Final = tuple(
    (frozenset(a.split()), frozenset(b.split()), frozenset(both.split()))
    for a, b, both in (
        ("son sons boy boys lad", "daughter daughters girl girls", "child children kid kids baby twins toddler"),
        ("brother brothers", "sister sisters", "sibling siblings twin twins"),
        ("uncle uncles", "aunt aunts auntie", "relatives"),
        ("nephew nephews", "niece nieces", "child children kids"),
        ("grandson grandsons", "granddaughter granddaughters", "grandchild grandchildren grandkids children kids"),
        ("father dad papa daddy baba abba appa", "mother mum mom mama mummy mommy amma", "parent parents folks"),
        ("grandfather grandpa grandad", "grandmother grandma gran nan nana", "grandparents"),
        ("husband boyfriend", "wife girlfriend", "partner spouse fiance fiancé"),
        ("儿子 男孩", "女儿 闺女 丫头", "孩子 娃 宝宝 老大 老二 双胞胎 小孩"),
        ("哥 弟", "姐 妹", "双胞胎"),
        ("爸 父亲", "妈 母亲", "父母 爹"),
        ("老公 丈夫 男朋友 男友", "老婆 妻子 媳妇 女朋友 女友", "爱人 对象 夫妻"),
        ("爷爷 外公 姥爷", "奶奶 外婆 姥姥", "老人"),
    )
)
"""Kin that are told and asked for in like words, though one is not the other, and words that may be of both."""


@lru_cache(maxsize=1)
def _groups() -> tuple[dict[str, frozenset[int]], dict[str, frozenset[int]], dict[str, frozenset[int]]]:
    """The numbers of the groups of each English term, of each phrase, and of each Chinese word."""
    terms, phrases, chinese = dict[str, set[int]](), dict[str, set[int]](), dict[str, set[int]]()
    for number, group in enumerate(_GROUPS.split("|")):
        for word in group.split():
            if word[0] >= "\u3400":
                if len(word) > 1 or word in _ALONE:
                    chinese.setdefault(word, set()).add(number)
            elif "-" in word:
                phrases.setdefault(f" {word.replace('-', ' ')} ", set()).add(number)
            else:
                for term in tokenize(word)[:1]:
                    terms.setdefault(term, set()).add(number)
    return _frozen(terms), _frozen(phrases), _frozen(chinese)


def _frozen(groups: dict[str, set[int]]) -> dict[str, frozenset[int]]:
    return {word: frozenset(numbers) for word, numbers in groups.items()}


@lru_cache(maxsize=4096)
def subjects_in(text: str) -> frozenset[int]:
    """The groups of the words of a text, each by its number."""
    terms, phrases, chinese = _groups()
    found = {number for term in tokenize(text) for number in terms.get(term, ())}
    plain = f" {' '.join(''.join(c if c.isalnum() else ' ' for c in text.casefold()).split())} "
    found.update(number for phrase, numbers in phrases.items() if phrase in plain for number in numbers)
    place = 0
    while place < len(text):
        size = next((n for n in range(_LONGEST, 0, -1) if text[place : place + n] in chinese), 0)
        is_point = size == 1 and text[place] == "点" and text[place - 1 : place] not in _HOURS
        found.update(chinese[text[place : place + size]] if size and not is_point else ())
        place += size or 1
    return frozenset(found)


_OWN: Final = lazy_pattern(r"\b(?:my|mine|I|I['’](?:m|ve|d))\b|我(?!们)", re.IGNORECASE)


def asks_for_own(question: str) -> bool:
    """Whether a question is for something of whoever asks."""
    return _OWN.search(question) is not None


def speaks_of_kin(text: str) -> bool:
    """Whether a text speaks of somebody by what they are to its speaker: whoever says so means their own."""
    return bool(kin_in(text))


def asks_of_other_kin(question: str, texts: Sequence[str]) -> bool:
    """Whether a question is about kin of whom nothing is told, while something is of the other: a son, a daughter."""
    told = frozenset[str]().union(*(kin_words(text) for text in texts))
    asked = kin_words(question)
    pairs = ((ours, theirs, both) for a, b, both in _KIN_SIDES for ours, theirs in ((a, b), (b, a)))
    return any(
        asked & ours and asked.isdisjoint(theirs) and told.isdisjoint(ours | both) and not told.isdisjoint(theirs)
        for ours, theirs, both in pairs
    )


@lru_cache(maxsize=4096)
def kin_words(text: str) -> frozenset[str]:
    """The words of a text by which kin are told apart."""
    known = frozenset[str]().union(*(frozenset[str]().union(*sides) for sides in _KIN_SIDES))
    words = frozenset(_LETTERS.findall(text.casefold()))
    return frozenset(word for word in known if word in (text if word[0] >= "\u3400" else words))


def kin_in(text: str) -> frozenset[int]:
    """The groups of kin that a text speaks of, each by its number."""
    return subjects_in(text) & _kin()


@lru_cache(maxsize=1)
def _kin() -> frozenset[int]:
    return frozenset(number for word in _KIN.split() for number in subjects_in(word))


def shared_subjects(asked: str, texts: Sequence[str]) -> list[float]:
    """Of what a question is about, the share that each of some texts is about; what few of them are counts for more."""
    wanted, told = subjects_in(asked), [subjects_in(text) for text in texts]
    held = Counter(number for numbers in told for number in numbers)
    weights = {number: math.log(1 + len(texts) / (1 + held[number])) for number in wanted}
    total = math.fsum(weights.values()) or 1.0
    return [math.fsum(weights[number] for number in wanted & numbers) / total for numbers in told]
