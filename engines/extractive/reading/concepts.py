"""Words of everyday documents that say the same or nearly, English and Chinese together: groups of them are concepts.

A question and what answers it are seldom in the same words ("how heavy" and "weighs 38 kg", 多少钱 and 票价), and the
small model of embeddings knows no Chinese. A word may stand in several groups. Words that say something else in most
other contexts are left out: a concept counts for less than the word itself, and wrong ones cost as much as they bring.
"""

from functools import lru_cache
from typing import Final

from agentic_memory_bank.tools.text.terms import tokenize

_GROUPS: Final = """
price cost fee charge rate tariff fare pay paid expensive cheap spend spent 价格 价钱 票价 售价 单价 费用 收费 付费
费率 付钱 要付 多少钱 元 块钱 费 花 花费 钱 付 缴 交钱 | free complimentary gratis 免费 不收费 无须付费 不收取 免
不要钱 无偿 | money amount sum total payment 金额 总额 款项 钱 总价 合计 一共 总共 共计 | refund reimburse
reimbursement repay compensate compensation 退款 退还 退费 报销 赔偿 赔钱 补偿 返还 | deposit bond 押金 保证金 定金
订金 押 | discount reduction reduced concession half-price 折扣 优惠 打折 减免 半价 便宜 | tax vat duty levy 税 税费
税金 增值税 | invoice bill receipt 发票 账单 收据 单据 凭单 | budget fund grant funding subsidy set-aside reserve
allocate 预算 经费 资金 补贴 补助 拨款 资助 补 | income revenue turnover proceeds earn earning takings 收入 营收
营业额 进账 | expense expenditure spending outlay cost 支出 开支 花费 费用 花销 | profit surplus excess gain 盈利
利润 盈余 结余 赚 | loss damage deficit 损失 亏损 亏 赔 损坏 损毁 | salary wage pay stipend remuneration 工资 薪水
薪资 月薪 年薪 报酬 待遇 | rent rental lease let tenancy hire 租金 房租 租 租赁 出租 租约 | tenant renter lodger
occupant lessee 租客 房客 承租人 租户 | landlord owner lessor proprietor 房东 业主 出租人 主人 物主 | buy bought
purchase order acquire 购买 采购 买 购置 购入 订购 买进 新增 下单 | sell sold sale vend 出售 销售 卖 售 出手 | loan
lend borrow credit instalment installment 贷款 借 借款 分期 按揭 租借 租用 | bank account transfer remit remittance
pay standing-order 银行 账户 转账 汇款 付款 | debt owe owing outstanding arrears 欠 债 欠款 债务 | insurance insure
insured cover policy premium 保险 投保 参保 上保险 保费 买保险 | warranty guarantee 保修 质保 保修期 三包 | contract
agreement clause terms 合同 协议 条款 约定 合约 | sign signature signed 签名 签字 签署 | deadline due latest until
expire expiry expiration end 截止 期限 到期 最迟 之前 失效 截至 | notice notify notification announce announcement
inform 通知 公告 告知 通报 启事 提前 | change amend amendment revise revision modify alter 变更 修改 调整 更改 改为
修订 改 | cancel cancelled call-off void revoke withdraw withdrawn 取消 作废 撤销 废止 | postpone delay put-off
reschedule defer 推迟 延期 顺延 延后 改期 改到 | begin start commence open opening launch onset 开始 起 开工 启动
开放 开门 启用 | end finish stop close completion complete conclude 结束 完成 截止 停止 关门 终止 完 到 | duration
last long period length 时长 期限 多久 多长时间 持续 周期 工期 为期 | early beforehand advance ahead prior 提前 事先
预先 预约 | open opening hours 开放 营业 开门 营业时间 开放时间 | closed close shut locked holiday rest-day 闭馆
关门 休息 停业 不开放 关闭 打烊 不营业 歇业 | weekday day monday tuesday wednesday thursday friday saturday sunday
星期 周 礼拜 星期几 周几 周一 周二 周三 周四 周五 周六 周日 星期一 星期日 | daily day everyday 每天 每日 天天 一天
日均 | week weekly fortnight 每周 周 星期 一周 | month monthly 每月 月 按月 一个月 | year yearly annual annually
每年 年度 全年 一年 年 | quarter quarterly 季度 每季度 | morning am 上午 早上 早晨 | noon midday 中午 正午 |
afternoon pm 下午 午后 | evening night tonight 晚上 傍晚 夜间 夜里 晚 今晚 过夜 | today now current currently
present presently 今天 现在 目前 当前 如今 当代 现 现已 | past former formerly previous previously old earlier 以前
过去 原来 旧 原 之前 从前 老 | new newer newest recent recently latest later 新 最新 近期 新版 新来 最近 | old older
oldest age aged 年龄 岁 旧 老 高龄 几岁 | date schedule timetable calendar 日期 时间 日程 时间表 安排 | appointment
book booking reserve reservation 预约 预订 预定 订 订座 | meeting conference session assembly call talk 会议 开会
座谈会 大会 例会 会 碰头 | talk lecture speech keynote presentation speak speaker present 演讲 讲座 报告 主讲 讲话
发言 讲 讲授 主讲人 | chair chairman president head lead leader preside 主席 主任 会长 主持 负责人 领导 馆长 校长 |
manager director boss executive supervisor head run running 经理 主管 总监 领导 负责人 老板 管理 管 | responsible
charge duty handle look-after care maintain on-call contact accountable 负责 值班 管理 联系人 责任 主管 由 承担 担当
| employee staff worker colleague personnel workforce 员工 职工 同事 工作人员 人员 雇员 | hire recruit employ
employment join 招聘 录用 入职 雇用 招 | job work post position role occupation profession 工作 职位 岗位 职业 职务
职责 | department division unit office 部门 科室 处 办公室 | company firm business enterprise corporation 公司 企业
商家 单位 厂 | customer client buyer patron guest 客户 顾客 用户 客人 消费者 | supplier vendor provider manufacturer
maker producer 供应商 厂商 生产商 厂家 制造商 | member membership join belong 会员 成员 加入 入会 | volunteer
volunteering 志愿者 义工 志愿 | participant attendee attend attendance participate take-part 参加 参与 出席 参会
学员 参加人 到场 | visitor visit tourist guest come see 游客 参观 观众 访客 来访 客人 参观者 来过 到馆 | reader
reading library 读者 阅读 图书馆 看书 | resident inhabitant live living population dwell reside 居民 住户 居住 住
人家 人口 各户 | people person persons individual human 人 人员 人数 人次 几个人 多少人 | adult grown-up 成人 大人
成年人 成年 | child children kid kids minor baby 儿童 孩子 小孩 未成年 少儿 幼儿 小朋友 | pensioner elderly senior
aged retired 老人 老年人 退休 长者 老年 | student pupil learner 学生 学员 学子 | teacher instructor lecturer trainer
tutor 老师 教师 讲师 教员 | train training course class lesson workshop teach taught learn 培训 课程 上课 讲课 课
授课 学习 教 | exam test examination assessment 考试 测验 考核 测试 | certificate diploma certification 证书 文凭
结业证 | school college university academy 学校 大学 学院 中学 小学 | family parents father mother relatives home
grew 家 家庭 父母 家人 家里 爸妈 | wife husband spouse married marry marriage partner 妻子 丈夫 爱人 老公 老婆 结婚
配偶 夫妻 | son daughter child parent brother sister sibling 儿子 女儿 兄弟 姐妹 哥哥 弟弟 姐姐 妹妹 | couple pair
pairs 对 一对 夫妇 | friend friendly mate 朋友 好友 | name named call called title 名字 名称 叫 称为 名叫 姓名 |
birth birthday birthplace born 出生 生日 诞生 生于 | death die died dead decease 死亡 去世 逝世 死 死于 | injury
injured hurt harm wounded wound casualty casualties 受伤 伤者 伤 伤员 伤亡 | victim dead killed kill fatal fatality
遇难 死者 死亡 丧生 遇害 | sick ill illness disease patient 病 疾病 患者 病人 生病 | doctor physician medic hospital
clinic 医生 医院 诊所 大夫 门诊 | nurse nursing 护士 护理 | drug medicine medication tablet pill dose dosage take 药
药物 药片 剂量 服用 用量 吃药 | pain ache painful sore 疼痛 疼 痛 | pregnant pregnancy breastfeed 怀孕 孕妇 哺乳 |
side-effect adverse reaction 副作用 不良反应 | eat meal food dine dinner lunch breakfast restaurant canteen supper
吃饭 餐 饭 午餐 晚餐 早餐 食堂 餐厅 饭菜 用餐 午饭 晚饭 盒饭 | drink beverage tea coffee water juice 喝 饮料 茶 咖啡
饮水 饮用水 | cook cooking kitchen bake baking bakery bread oven 做饭 烹饪 厨房 烘焙 面包 烤 | water tap supply pipe
main dry 水 自来水 供水 停水 水管 水龙头 | electricity power electric current energy 电 用电 电力 停电 供电 电费 |
gas fuel petrol diesel 煤气 燃气 天然气 燃料 汽油 | heat heating warm hot temperature boiler 暖气 供暖 取暖 热 温度
加热 | cold cool chilly freeze freezing degrees temperature 冷 低温 凉 寒 温度 气温 | light bright lighting daylight
lamp dark dim 采光 光线 灯 照明 光 亮 变暗 暗 | noise noisy loud sound quiet silent 噪音 噪声 吵 声音 安静 响 |
smell odor odour 气味 味道 臭 | clean cleaning cleaner wash 清洁 打扫 保洁 卫生 清洗 洗 | rubbish waste garbage
trash bin bins 垃圾 废物 垃圾桶 废弃 | smoke smoking cigarette 吸烟 抽烟 烟 | fire burn burning bonfire flame blaze
火 火灾 着火 起火 烧 烧毁 燃烧 失火 点火 | firefighter brigade 消防 消防员 消防车 消防部门 | police policeman 警察
警方 公安 派出所 | accident crash collision collide hit 事故 车祸 碰撞 相撞 | car vehicle automobile drive driver
park parking 汽车 车 车辆 开车 驾驶 司机 停车 | truck lorry van trailer load carry transport freight cargo haul 卡车
货车 运输 载货 货物 装载 拉货 货运 | tram bus train railway station metro subway 公交 公交车 火车 地铁 车站 电车
轨道 | bicycle bike cycling cycle ride 自行车 单车 骑车 电动车 骑行 | parking bay space place lot garage 停车位 车位
停车场 停车 泊位 | flight fly plane airport airline 航班 飞机 机场 飞 | boat ship ferry sail row rowing 船 轮船 渡船
乘船 坐船 游船 船票 | ticket admission entry entrance 门票 票 入场 进馆 入馆 船票 车票 | travel trip journey tour
excursion visit 旅行 出差 旅游 行程 旅程 | hotel stay lodging accommodation room overnight hostel sleep slept 酒店
住宿 宾馆 过夜 住 旅馆 客房 住宿费 投宿 | walk walking hike trail path foot footpath route 步行 走路 步道 徒步 小路
路线 走 | road street lane way avenue 路 街 道路 马路 街道 | pass mountain summit peak hill top altitude height
elevation 山 山口 海拔 山顶 高度 最高点 | river stream lake sea water pond 河 江 湖 海 水 池 | bridge cross crossing
桥 过河 渡 | forest tree wood woods trees 树 森林 树木 林 | garden plot allotment gardens yard 花园 园子 菜地 院子
庭院 | bird birds nest breed breeding 鸟 鸟类 筑巢 繁殖 | animal pet dog cat 动物 宠物 狗 猫 宠物狗 | farm farmer
crop harvest field 农场 农民 庄稼 收成 农田 | weather rain snow wind sunny storm 天气 雨 雪 风 晴 | season spring
summer autumn fall winter 季节 春季 夏季 秋季 冬季 春天 夏天 秋天 冬天 | house home flat apartment building block
dwelling property 房子 住宅 公寓 楼 房屋 楼房 家 建筑 单元 | floor storey story level 楼层 层 楼 最顶层 顶层 几楼 |
room hall chamber space 房间 厅 室 展厅 会议室 教室 场地 | door gate entrance lock key 门 大门 入口 锁 钥匙 | window
glass pane 窗 窗户 玻璃 | wall ceiling roof panel plate tile 墙 天花板 屋顶 板 顶 瓷砖 | lift elevator 电梯 升降机 |
stairs steps staircase 楼梯 台阶 | furniture desk table chair 家具 桌子 椅子 桌 | size big large dimension measure area
大小 尺寸 面积 规模 多大 | length long distance far 长度 长 全长 距离 多远 多长 | width wide broad
narrow narrower 宽度 宽 窄 | height high tall altitude 高度 高 身高 多高 | depth deep 深度 深 多深 | weight heavy
weigh mass load light 重量 重 体重 多重 载重 自重 净重 轻 | speed fast quick velocity rapid 速度 快 时速 多快 |
capacity hold accommodate volume fit seat seats 容量 容纳 能装 坐 站 载客 容积 | maximum most max limit upper
ceiling cap highest top allow 最多 最大 上限 最高 限 不超过 封顶 至多 | minimum least min lowest lower smallest
floor 最少 最低 下限 至少 最小 不低于 以上 起码 | average mean typical 平均 均值 | number count quantity many 数量
人数 件数 多少 个数 数目 | percent percentage share proportion ratio 百分比 比例 占 率 百分之 | increase rise raise
grow growth higher up 增加 上升 提高 增长 上调 涨 | decrease fall reduce drop decline lower down cut 减少 下降 降低
下调 缩减 降 | more exceed over above excess 超过 多于 以上 超 | less under below fewer 少于 低于 以下 不足 | same
equal identical alike 相同 一样 同样 等于 | different differ difference vary 不同 区别 差别 差异 | first initial
original primary main 第一 首 首次 最初 首先 | last final latest ultimate 最后 最终 末 最近 | next following
subsequent coming 下一 下次 接下来 下个 | allow permit may permitted allowed permission can let 允许 可以 准许 许可
能 批准 准 | forbid prohibit ban not-allowed must-not forbidden banned 禁止 不准 不得 不许 不允许 严禁 | must
require need necessary mandatory obligatory compulsory requirement 必须 需要 要求 应当 须 强制 | optional voluntary
choose choice option 可选 自愿 选择 任选 | rule regulation policy law statute 规定 规则 制度 政策 法律 规章 | apply
application register registration sign-up enrol enroll submit 申请 报名 登记 注册 提交 | approve approval consent
agree agreement authorise 批准 同意 审批 赞成 许可 | refuse reject deny decline oppose object 拒绝 反对 驳回 不同意
| decide decision resolve agree settle determine 决定 决议 商定 确定 定于 | plan planned intend intention aim goal
计划 打算 规划 目标 拟 | suggest propose proposal recommend advice advise 建议 提议 提案 推荐 | ask question inquire
enquiry request 询问 问 请求 咨询 要求 | answer reply respond response 回答 答复 回复 答 | explain explanation
reason cause because why 解释 原因 理由 因为 说明 为何 由于 | problem issue trouble fault defect bug error mistake
问题 故障 缺陷 错误 毛病 漏洞 | worry concern worried afraid fear 担心 担忧 顾虑 怕 忧虑 | hope wish want desire
would-like 希望 想 想要 愿望 | like love favourite favorite prefer enjoy 喜欢 爱 最爱 偏好 爱好 | repair fix mend
maintenance service servicing overhaul 维修 修理 保养 检修 维护 修 | check inspect inspection examine survey audit
review 检查 检验 审核 审查 查 检测 | replace replacement exchange swap substitute instead 更换 替换 换 代替 改由
调换 | install installation assemble assembled fit mount set-up 安装 组装 加装 装 装配 | build construct built
construction erect 建 建造 建设 修建 施工 建成 盖 | remove removal delete deleted erase take-out take-away 删除 移除
拆除 去掉 去除 拆 取下 | add added additional extra new introduce 增加 新增 添加 加 附加 额外 另外 | move moved
relocate shift transfer 搬 移动 转移 搬迁 迁 改到 | send sent ship deliver delivery dispatch post mail shipping 发送
寄 配送 送货 快递 邮寄 送 发货 运费 | receive get obtain collect pick-up fetch 收到 领取 获得 领 取 拿到 | give hand
provide supply offer grant 提供 给 发放 供应 发 | store keep storage kept retain save preserve 保存 存放 储存 保留
保管 存 放 | lose lost missing mislay 丢失 遗失 丢 失踪 | find found discover locate 找到 发现 找 | return restore
recover undo bring-back get-back undelete 恢复 归还 返回 还原 找回 还 | use using usage utilise employ 使用 用 利用
采用 | start-up found founded establish established set-up create collection 成立 创立 创建 创办 建立 设立 创始 |
found founder founded establish 创始人 创办人 创立 | write written author writer compose 写 作者 编写 撰写 作家 |
make made produce production manufacture 制造 生产 制作 做 出产 | art artist artwork work exhibition exhibit display
museum 艺术 艺术家 作品 展览 展品 陈列 展出 画 | collection collect collector gather 收藏 藏品 馆藏 收集 | museum
gallery exhibition 博物馆 美术馆 展馆 馆 | relic antique artefact heritage cultural 文物 古董 遗产 古物 | guide tour
explanation audio 讲解 导览 导游 语音 | book books volume title 书 图书 书籍 新书 册 本 | newspaper press journal
report 报纸 报 新闻 报道 | music song concert sing 音乐 歌 演唱会 唱歌 | film movie cinema 电影 影片 影院 | game
play match sport 比赛 游戏 运动 赛事 | activity event activities programme program 活动 节目 项目 | prize award win
won winner 奖 奖项 获奖 赢 奖金 | photo picture image photograph 照片 图片 图像 相片 | file document record paper
文件 文档 记录 档案 资料 | folder directory path location place 目录 文件夹 路径 位置 | backup copy copies copied
snapshot 备份 副本 拷贝 | download upload transfer 下载 上传 传输 | software program tool application app 软件 程序
工具 应用 | version release edition 版本 版 发布 | language interpreter compiler runtime environment 语言 环境
编译器 解释器 | compile build 编译 构建 | configuration setting option parameter default variable 配置 设置 选项
参数 默认 环境变量 | default standard out-of-the-box unless 默认 缺省 标准 | server host machine computer 服务器
主机 机器 电脑 | memory ram 内存 | disk storage drive ssd 硬盘 磁盘 存储 | database data table 数据库 数据 | network
internet online web wifi 网络 互联网 在线 上网 线上 | website site page webpage 网站 网页 官网 | password login
credential account sign-in 密码 登录 账号 账户 | key token credential api-key 密钥 令牌 | security safe secure
safety information-security 安全 信息安全 网络安全 保密 | connection connect simultaneous concurrent 连接 并发 接入
| parallel simultaneous concurrent same-time worker 并行 同时 并发 | request call query 请求 调用 查询 | limit quota
restriction rate-limit 限制 配额 限额 | support supported compatible work 支持 兼容 适用 | licence license
open-source copyright 许可证 许可 开源 授权 版权 | user people account 用户 使用者 | phone telephone mobile number
call 电话 手机 号码 | email e-mail mail message 邮件 邮箱 电子邮件 | address location where situated place located
地址 地点 位置 位于 哪里 在哪 场所 何处 | city town municipality council local-government 城市 市 镇 市政 政府 |
government state authority authorities ministry public 政府 市里 国家 官方 当局 主管部门 | country nation state 国家
国 | region district area zone county 地区 区 区域 县 | village rural countryside 村 农村 乡 | port harbour harbor
dock jetty pier wharf 港口 码头 渡口 | bank shore coast beach 岸 海岸 海滩 | market shop store stall trader merchant
市场 商店 店 摊位 摊子 商户 摊主 门店 铺 | stock inventory supply available 库存 现货 存货 | product item goods
article commodity model 产品 商品 货 型号 款 物品 | brand label make 品牌 牌子 | colour color red blue green white
black 颜色 色 红色 蓝色 绿色 白色 黑色 | material wood metal plastic steel timber 材料 材质 木 金属 塑料 钢 |
battery charge charging recharge charger 电池 充电 充满电 电瓶 充 | screen display monitor 屏幕 显示屏 显示器 |
waterproof water-resistant 防水 | energy consumption consume standby power watt 能耗 功率 耗电 功耗 | air
conditioner ventilation hood fan extractor 空调 通风 风扇 抽油烟机 排风 | machine device equipment appliance unit
机器 设备 装置 仪器 器材 | part component piece block chunk portion 部分 零件 部件 块 件 组件 | group team crew 组
团队 队 小组 | category class kind type sort classify 类别 种类 类 分类 类型 归类 归到 | status state condition
situation 状态 情况 状况 | result outcome effect consequence 结果 效果 成果 | success succeed successful 成功 | fail
failure failed 失败 不成功 | waiting wait queue list 等待 排队 等候 轮候 | late delay overdue penalty 迟到 逾期 延误
滞纳金 晚 | quick immediately soon instantly at-once 立即 马上 尽快 立刻 | rest break pause leave holiday vacation
休息 假期 休假 放假 假 | retire retirement 退休 | experience experienced practice 经验 经历 体验 | skill ability
able capable 能力 技能 会 | study research investigate investigation evaluate 研究 调查 考察 评估 | report statement
claim say said tell state 报告 声明 说 表示 称 说法 | know known aware 知道 了解 认识 | think believe opinion view
estimate estimated guess 认为 觉得 看法 估计 预计 大约 大概 预估 | remember memory recall memorial 记得 记住 纪念 |
war battle military army soldier front 战争 战役 军队 军事 打仗 | history historical historic 历史 史 | culture
cultural tradition 文化 传统 | religion church temple 宗教 教堂 寺庙 | election vote voting elect 选举 投票 表决 选
| treasurer accounts bookkeeping cashier finance finances 财务 会计 出纳 账目 账本 记账 | committee council board
association 委员会 理事会 董事会 协会 | secretary assistant clerk 秘书 助理 文员 | lawyer legal attorney court judge
律师 法律 法院 法官 | crime criminal theft steal stolen thief 犯罪 偷 盗窃 小偷 | textile weaving dye fabric cloth
mill 纺织 织 染 布料 布 | factory plant works mill workshop 工厂 厂 车间 作坊 | engineer technician engineering
工程师 技术员 工程 | design designer architect 设计 设计师 建筑师 设计单位 | traffic signal junction light turning
交通 信号灯 红绿灯 路口 | passenger traveller rider 乘客 旅客 | luggage bag baggage parcel package box 行李 包裹 包
箱子 | container pot tub bucket barrel box bring 桶 容器 盆 箱 罐 | household family home 户 家庭 每户 各户 人家 |
per each every 每 各 | share split apportion divide distribute 分摊 分担 平分 分配 | contribution contribute donate
donation gift 捐款 捐赠 出钱 贡献 捐 掏 | keyword match hit term 关键词 匹配 命中 关键字 | camp camping tent
campsite 露营 帐篷 营地 | swim swimming pool 游泳 泳池 | sport gym fitness exercise 运动 健身 锻炼 | bathroom toilet
restroom shower 厕所 卫生间 洗手间 浴室 | dry drought arid 干旱 干 旱 | flood flooding 洪水 水灾 | wide-angle lens
camera 相机 镜头 摄像头 | hair skin face body 头发 皮肤 脸 身体 | leg arm hand foot knee 腿 手 脚 胳膊 膝盖 |
clothes clothing wear shirt shoes 衣服 穿 鞋 鞋子 服装 | gift present souvenir 礼物 礼品 纪念品
"""

_INSTANCES: Final = """
    database: postgres postgresql mysql mariadb sqlite oracle mongodb redis cassandra dynamodb duckdb |
    language: python java javascript typescript rust golang kotlin ruby php perl scala haskell english french german
    spanish italian chinese mandarin japanese korean portuguese russian arabic dutch |
    machine: linux ubuntu debian windows macos fedora | website: firefox chrome chromium safari
"""
"""Kinds of thing, each with some of what is one: who asks for the kind is told of one, and not the other way round."""

_IRREGULAR_VERBS: Final = """
    beat beaten|become became|begin began begun|bend bent|bite bit bitten|blow blew blown|break broke broken|bring
    brought| build built|buy bought|catch caught|choose chose chosen|come came|deal dealt|dig dug|draw drew
    drawn|drink drank drunk| drive drove driven|eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought|find
    found|flee fled|fly flew flown| forget forgot forgotten|freeze froze frozen|get got gotten|give gave given|go
    went gone|grow grew grown|hear heard| hide hid hidden|hold held|keep kept|know knew known|lead led|leave
    left|lend lent|lose lost|make made|meet met|pay paid| ride rode ridden|ring rang rung|rise rose risen|run
    ran|say said|see saw seen|seek sought|sell sold|send sent|shake shook| shoot shot|show shown|sing sang sung|sink
    sank sunk|sit sat|sleep slept|speak spoke spoken|spend spent|stand stood| steal stole stolen|strike struck|swim
    swam swum|take took taken|teach taught|tell told|think thought|throw threw thrown| wake woke woken|wear wore
    worn|win won|write wrote written
"""
_LONGEST: Final = 4
"""Longest Chinese word of a concept, in characters."""
_ALONE: Final = frozenset("鞋钱元费租税车狗猫水电火药茶书船票桥门灯床山河湖海鸟鱼树雨雪")
"""Characters that are concepts by themselves; others say too much inside other words."""


@lru_cache(maxsize=1)
def _concepts() -> tuple[dict[str, frozenset[int]], dict[str, frozenset[int]]]:
    """The numbers of the groups of each English term, and of each Chinese word."""
    english, chinese = dict[str, set[int]](), dict[str, set[int]]()
    for number, group in enumerate(_GROUPS.split("|")):
        for word in group.split():
            if word.isascii():
                for form in (f for term in tokenize(word)[:1] for f in forms_of(term)):
                    english.setdefault(form, set()).add(number)
            elif len(word) > 1 or word in _ALONE:
                chinese.setdefault(word, set()).add(number)
    return (
        {term: frozenset(numbers) for term, numbers in english.items()},
        {word: frozenset(numbers) for word, numbers in chinese.items()},
    )


@lru_cache(maxsize=1)
def _verbs() -> dict[str, frozenset[str]]:
    rows = [frozenset(term for word in row.split() for term in tokenize(word)) for row in _IRREGULAR_VERBS.split("|")]
    return {form: forms for forms in rows for form in forms}


def forms_of(term: str) -> frozenset[str]:
    """An index term, and those of the other forms of an irregular verb: `broke` for `break`."""
    return _verbs().get(term, frozenset((term,)))


def of_term(term: str) -> frozenset[int]:
    """The concepts of an index term of English."""
    return _concepts()[0].get(term, frozenset())


@lru_cache(maxsize=1)
def _instances() -> dict[str, frozenset[int]]:
    rows = (row.partition(":") for row in _INSTANCES.split("|"))
    return {term: of_term(tokenize(kind)[0]) for kind, _, words in rows for term in tokenize(words)}


def of_instance(term: str) -> frozenset[int]:
    """The concepts of the kind of thing that an index term names one of."""
    return _instances().get(term, frozenset())


def of_chinese(text: str) -> list[tuple[int, int, frozenset[int]]]:
    """The Chinese words of concepts in a text, the longest at each place, each with where it stands."""
    words, found, place = _concepts()[1], list[tuple[int, int, frozenset[int]]](), 0
    while place < len(text):
        if text[place].isascii():
            place += 1
            continue
        size = next((n for n in range(_LONGEST, 0, -1) if text[place : place + n] in words), 0)
        if size:
            found.append((place, place + size, words[text[place : place + size]]))
        place += size or 1
    return found
