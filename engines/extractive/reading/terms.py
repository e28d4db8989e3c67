"""The words that a text says something with: index terms, with the topics that English and Chinese words share."""

from typing import Final

from agentic_memory_bank.engines.extractive.reading.lexicon import stem
from agentic_memory_bank.engines.extractive.reading.values import values_of
from agentic_memory_bank.tools.text.terms import tokenize

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
    force: force effect effective | 生效 施行 实施 起效
    yearly: annual annually year yearly | 每年 年度
    need: need require required requirement prerequisite | 需要 要求
    newer: newer later above higher upward onwards | 以上 及以上
    begin: begin start commence beginning | 开始 起始 开工
    end: end expire finish ending conclude | 结束 到期 终止
    meeting: meeting session assembly | 会议 例会 大会
    register: register registration enrol enroll enrolment signup | 报名 注册 登记
    attend: participant attendee attendance delegate | 参加者 参会 与会
    employer: company firm employer | 公司 企业
    supplier: supplier vendor contractor | 供应商 承包商 供货
    customer: customer client buyer | 客户 顾客 买方
    tenant: tenant lessee | 租客 承租
    landlord: landlord lessor | 房东 出租
    doctor: doctor physician | 医生 大夫
    patient: patient | 患者 病人
    medicine: medicine drug medication | 药物 药品
    bus: bus coach shuttle | 班车 大巴 公交
    train: train rail railway | 火车 列车
    car: car vehicle | 车辆 汽车
    bicycle: bicycle bike cycle | 自行车 单车
    child: child children kid | 儿童 孩子
    pet: pet animal dog | 宠物 动物
    phone: phone telephone mobile | 电话 手机
    mail: mail email | 邮件 邮箱
    payment: payment pay paid | 付款 支付 缴费
    invoice: invoice bill | 发票 账单
    fine: fine penalty | 罚款 违约金
    budget: budget | 预算
    total: total altogether overall | 总计 合计 总额
    average: average mean | 平均
    temperature: temperature | 温度 气温
    width: width wide | 宽度
    depth: depth deep | 深度 水深
    volume: volume capacity | 容量 容积
    memory: memory ram | 内存
    storage: disk storage | 硬盘 存储
    timeout: timeout expiry | 超时 时限
    interval: interval frequency | 间隔 频率
    retry: retry retries attempt | 重试
    default: default preset factory | 默认 缺省
    size: size | 大小 尺寸
    team: team group | 小组 团队
    director: director manager head | 经理 主任 负责人
    author: author writer | 作者
    engineer: engineer | 工程师
    flight: flight | 航班
    luggage: luggage baggage | 行李
    ticket: ticket admission entry | 门票 入场
    road: road street | 道路 马路
    insurance: insurance insured | 保险
    loan: loan credit | 贷款
    tax: tax vat | 税费 税
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


def terms_of(text: str) -> frozenset[str]:
    """The index terms of a text, with the topics they belong to, numbers left out."""
    terms = {term for term in tokenize(text) if not term.replace(".", "").isdigit()}
    topics = {_ENGLISH_TOPICS[term] for term in terms if term in _ENGLISH_TOPICS}
    if not text.isascii():
        topics |= {topic for word, topic in _CHINESE_TOPICS if word in text}
    return frozenset(terms | topics)


def distinct(terms: frozenset[str]) -> frozenset[str]:
    """Terms without those that their topic stands for."""
    return frozenset(term for term in terms if term not in _ENGLISH_TOPICS and term not in _HAN_TOPICS)


def without_values(words: str) -> str:
    """A text with spaces in the place of its numbers and dates."""
    pieces, end = list[str](), 0
    for value in values_of(words):
        pieces += [words[end : value.start], " "]
        end = max(end, value.end)
    return "".join((*pieces, words[end:]))
