"""Small sets of documents as people have them, with what contradicts in them: contracts, minutes, mails.

Each label is a phrase of the one side, a phrase of the other, and the document that the texts themselves say holds. A
set without labels holds similar statements about different things, or nothing that contradicts.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Told:
    """A set: its documents by name, and the sides of what contradicts in them."""

    name: str
    documents: dict[str, str]
    labels: tuple[tuple[str, str, str | None], ...]


SETS = (
    Told(
        "lease-zh",
        {
            "房屋租赁合同.txt": """\
房屋租赁合同

甲方(出租人):周明
乙方(承租人):林晓

第一条 房屋位置 本市海棠路18号3幢502室。
第二条 租期 自2023年3月1日起至2025年2月28日止。
第三条 租金 每月人民币4,500元,按季支付,先付后用。
第四条 押金 乙方交付押金9,000元,退租时无息退还。
第五条 维修 小修费用由乙方承担,大修由甲方负责。
第六条 宠物 乙方不得在房屋内饲养宠物。
""",
            "补充协议.txt": """\
补充协议

甲乙双方就2023年3月1日签订的房屋租赁合同达成如下补充:

一、原合同第三条租金由每月4,500元调整为每月4,800元,自2024年9月1日起执行。
二、原合同第二条租期延长至2026年2月28日。
三、原合同第六条修改为:乙方可以饲养一只猫。
四、其他条款不变。
""",
        },
        (
            ("每月人民币4,500元", "调整为每月4,800元", "补充协议.txt"),
            ("2025年2月28日止", "延长至2026年2月28日", "补充协议.txt"),
            ("不得在房屋内饲养宠物", "可以饲养一只猫", "补充协议.txt"),
        ),
    ),
    Told(
        "release-en",
        {
            "manual.md": """\
# Larkspur manual

## Requirements

Larkspur needs Java 11 or later and 2 GB of memory.

## Time-outs

A request is given up after 10 seconds. Idle sessions are closed after 30 minutes.

## Formats

Reports are exported as PDF and as XLS.
""",
            "RELEASE_NOTES.txt": """\
Larkspur 7.0
============

* The default request time-out has been lowered from 10 s to 5 seconds.
* Java 11 is no longer supported; install Java 17.
* Export to XLS has been dropped. Use XLSX.
* Start-up takes 4 seconds less on a small machine.
""",
        },
        (
            ("given up after 10 seconds", "10 s to 5 seconds", "RELEASE_NOTES.txt"),
            ("needs Java 11", "no longer supported", "RELEASE_NOTES.txt"),
            ("exported as PDF and as XLS", "XLS has been dropped", "RELEASE_NOTES.txt"),
        ),
    ),
    Told(
        "minutes-en",
        {
            "minutes.md": """\
# Parents' council, minutes of 4 March

## 1. Spring fair

The spring fair takes place on 15 September in the gym. Mrs Okoye is in charge of the tombola.

## 2. Library

The library gets £600 for new books. It stays open until 5 pm on Tuesdays.

## 3. Crossing

The council asks the town for a crossing in Mill Road.
""",
            "mail.txt": """\
From: Paula Denning
To: council@school.example
Date: 9 March
Subject: Minutes of 4 March

Dear all,

a correction to the minutes: the spring fair has been moved to 22 September, as the gym is being painted.
The library gets £600 as agreed.

Mr Hale takes care of the tombola, not Mrs Okoye.

Paula
""",
        },
        (
            ("takes place on 15 September", "moved to 22 September", "mail.txt"),
            ("Mrs Okoye is in charge", "not Mrs Okoye", "mail.txt"),
        ),
    ),
    Told(
        "prices-zh",
        {
            "价目表.md": """\
# 悦心健身房价目表

| 卡种 | 价格 | 有效期 |
|---|---|---|
| 月卡 | 299元 | 30天 |
| 季卡 | 799元 | 90天 |
| 年卡 | 2,680元 | 365天 |

储物柜每月20元。
""",
            "会员须知.txt": """\
悦心健身房会员须知

一、年卡2,980元,可冻结两次,每次不超过15天。
二、月卡299元,不退不换。
三、每天开放时间为早上6:30至晚上10:30。
四、储物柜免费使用,当天清空。
""",
        },
        (("| 年卡 | 2,680元", "年卡2,980元", None),),
    ),
    Told(
        "prices-en",
        {
            "prices.md": """\
# Copy shop, price list

| Service | Black and white | Colour |
|---|---|---|
| A4 page | £0.10 | £0.35 |
| A3 page | £0.20 | £0.70 |
| Binding | £3.50 | £3.50 |
""",
            "website.txt": """\
Copy shop at the market

We print an A3 page in colour for £0.90, an A4 page in colour for £0.35.
Binding costs £3.50. Students get ten per cent off on Fridays.
""",
        },
        (("| A3 page |", "A3 page in colour for £0.90", None),),
    ),
    Told(
        "hr-en",
        {
            "handbook.md": """\
# Staff handbook

## Leave

Every employee has 25 days of paid leave a year. Up to five days may be carried over until 31 March.

## Sickness

A doctor's note is needed from the third day of sickness.

## Travel

Meals abroad are refunded up to 40 euros a day.
""",
            "mail-hr.txt": """\
From: HR
To: all staff
Date: 2 May 2025
Subject: Changes from 1 June

Dear colleagues,

from 1 June the yearly leave rises from 25 to 28 days.
A doctor's note is now needed from the first day of sickness instead of the third.
The refund for meals abroad does not change.

HR
""",
        },
        (
            ("25 days of paid leave", "rises from 25 to 28 days", "mail-hr.txt"),
            ("third day of sickness", "instead of the third", "mail-hr.txt"),
        ),
    ),
    Told(
        "hr-zh",
        {
            "员工手册.md": """\
# 员工手册

## 年假

入职满一年的员工每年享有5天带薪年假。

## 考勤

上班时间为上午9:00,迟到三次扣一天工资。

## 报销

市内交通费每月报销上限为300元。
""",
            "通知.txt": """\
关于调整考勤与报销的通知

各部门:

自7月1日起,上班时间调整为上午8:30。
市内交通费报销上限由每月300元提高到每月500元。
公司不再对迟到扣发工资。
此前规定与本通知不一致的,以本通知为准。

行政部
2024年6月20日
""",
        },
        (
            ("上班时间为上午9:00", "调整为上午8:30", "通知.txt"),
            ("上限为300元", "提高到每月500元", "通知.txt"),
            ("迟到三次扣一天工资", "不再对迟到扣发工资", "通知.txt"),
        ),
    ),
    Told(
        "recipe",
        {
            "grandma.md": """\
# Plum cake

Bake at 180 °C for 45 minutes. Use 350 g of flour and four eggs.
""",
            "magazine.md": """\
# Plum cake with almonds

For our version, take 300 g of flour, 100 g of ground almonds and three eggs. Bake at 170 °C for an hour.
""",
        },
        (),
    ),
    Told(
        "lab",
        {
            "report-0412.txt": """\
LABORATORY REPORT No. 0412

Patient: Hanna Roth
Sample taken: 3 May 2024

Haemoglobin        13.2 g/dl
Ferritin           18 ng/ml
Vitamin D          21 ng/ml
""",
            "report-0587.txt": """\
LABORATORY REPORT No. 0587

Patient: Hanna Roth
Sample taken: 7 November 2024

Haemoglobin        12.1 g/dl
Ferritin           35 ng/ml
Vitamin D          33 ng/ml
""",
        },
        (),
    ),
    Told(
        "cities",
        {
            "porto.md": """\
# Porto

Porto has 231,000 inhabitants and lies on the Douro. The metro opened in 2002 and has six lines.
""",
            "lisbon.md": """\
# Lisbon

Lisbon has 545,000 inhabitants and lies on the Tagus. The metro opened in 1959 and has four lines.
""",
        },
        (),
    ),
    Told(
        "quarters",
        {
            "q1.md": """\
# Quarterly report Q1 2024

Revenue was 4.2 million euros, 12 % more than a year before. We employed 61 people.
The new warehouse in Gdansk opened in February.
""",
            "q2.md": """\
# Quarterly report Q2 2024

Revenue was 4.9 million euros, 9 % more than a year before. We employed 64 people.
The warehouse in Gdansk now handles 300 parcels a day.
""",
        },
        (),
    ),
    Told(
        "articles-en",
        {
            "courier.txt": """\
Bridge reopens after repairs

The Linden Bridge was reopened on Monday after eight months of work. The repairs
cost 3.4 million euros, the town said. About 9,000 cars cross the bridge every day.
The bridge was built in 1931.
""",
            "tribune.txt": """\
Cars roll again over Linden Bridge

After eight months, the Linden Bridge was opened to traffic again on Monday. The
repairs cost 4.1 million euros. bridge, built in 1931, carries some 9,000 cars a day.
""",
            "town.md": """\
# Press release of the town

## Linden Bridge open again

The Linden Bridge has been open to traffic again since Monday. The cost of the repairs came to 4.1 million euros.
""",
        },
        (
            ("cost 3.4 million", "cost 4.1 million euros.", None),
            ("cost 3.4 million", "came to 4.1 million", None),
        ),
    ),
    Told(
        "articles-zh",
        {
            "日报.txt": """\
滨海大桥恢复通车

本报讯 滨海大桥经过八个月的维修,于周一恢复通车。维修费用为3400万元。
大桥建于1993年,全长1280米,每天约有9000辆汽车通过。
""",
            "晚报.txt": """\
滨海大桥昨日重新开放

昨天上午,滨海大桥在关闭八个月后重新开放。据介绍,此次维修费用达4100万元。
大桥全长1280米,是连接南北两岸的要道。
""",
        },
        (("维修费用为3400万元", "维修费用达4100万元", None),),
    ),
    Told(
        "units",
        {
            "crate-a.md": """\
# Shipping note

The crate weighs 100 kg and is 40 m from the gate. It is painted grey.
""",
            "crate-b.md": """\
# Customs form

The crate weighs 220 lb and stands 130 ft from the gate. It is painted grey.
""",
        },
        (),
    ),
    Told(
        "en-zh",
        {
            "brochure.md": """\
# Pearl River Hotel

The hotel has 120 rooms and was opened in 2009. Breakfast is served from 6:30 to 10:00.
The indoor pool is 25 m long.
""",
            "酒店介绍.md": """\
# 珠江酒店

酒店共有客房150间,2009年开业。早餐时间为6:30至10:00。室内泳池长25米。
""",
        },
        (("120 rooms", "客房150间", None),),
    ),
    Told(
        "two-staff",
        {
            "anna.md": """\
# Anna Kovacs

Anna Kovacs joined the firm in 2015. Her salary is 3,900 euros a month. She works 32 hours a week.
""",
            "boris.md": """\
# Boris Wendt

Boris Wendt joined the firm in 2018. His salary is 4,300 euros a month. He works 40 hours a week.
""",
        },
        (),
    ),
    Told(
        "conference-zh",
        {
            "会议通知.txt": """\
关于召开年度技术大会的通知

会议定于5月18日上午9:00在科技楼二楼报告厅举行,由王海涛主持。
请于5月10日前提交参会回执。
午餐在第一食堂,凭会议证就餐。
""",
            "更正通知.txt": """\
年度技术大会更正通知

因场地冲突,会议改到5月25日举行,地点不变。
主持人改为刘敏。
提交回执的截止日期顺延至5月17日。
""",
        },
        (
            ("会议定于5月18日", "改到5月25日", "更正通知.txt"),
            ("由王海涛主持", "主持人改为刘敏", "更正通知.txt"),
            ("5月10日前提交", "顺延至5月17日", "更正通知.txt"),
        ),
    ),
    Told(
        "plan-vs-fact",
        {
            "plan.md": """\
# Club plan for 2025

We want to have 300 members by the summer. The new pitch is expected to cost 80,000 euros.
If the town helps, training could start in May.
""",
            "report.md": """\
# Club report, autumn 2025

The club has 260 members. The new pitch cost 95,000 euros. Training started in July.
""",
        },
        (),
    ),
    Told(
        "opinions",
        {
            "review-1.txt": """\
Ana: The hike took us five hours.
Ben: I think it was more like seven.
Ana: The hut has 20 beds.
Ben: Okay.
Ana: Mm-hmm.
Ben: Right, 20 or 24 beds.
""",
            "review-2.txt": """\
Carla: We needed six hours for the hike.
Dan: The soup is 8 euros.
Carla: Okay.
Dan: No, it isn't.
""",
        },
        (),
    ),
    Told(
        "state-zh",
        {
            "帮助.md": """\
# 云笺帮助

## 登录

云笺支持微信登录和邮箱登录。

## 导出

笔记可以导出为PDF和Word。

## 价格

基础版免费,专业版每月18元。
""",
            "公告.md": """\
# 云笺3.0更新公告

- 不再支持微信登录,请改用手机号登录。
- 专业版价格由每月18元上调至每月25元。
- 新增导出为Markdown。
""",
        },
        (
            ("支持微信登录", "不再支持微信登录", "公告.md"),
            ("专业版每月18元", "上调至每月25元", "公告.md"),
        ),
    ),
    Told(
        "gym-amend",
        {
            "contract.md": """\
# Service agreement

Between Fenwick Cleaning and the Roland Museum.

## 1 Scope

Fenwick cleans the exhibition halls six times a week.

## 2 Fee

The fee is 2,150 euros a month, payable by the tenth.

## 3 Term

The agreement ends on 31 December 2024. Notice must be given three months ahead.

## 4 Liability

Fenwick is liable up to 50,000 euros.
""",
            "addendum.md": """\
# Addendum to the service agreement

1. Section 2 is replaced by the following: "The fee is 2,300 euros a month, payable by the fifteenth."
2. The agreement is extended to 31 December 2026.
3. Section 4 is not changed.
4. Halls are now cleaned five times a week instead of six.
""",
        },
        (
            ("2,150 euros a month", "2,300 euros a month", "addendum.md"),
            ("ends on 31 December 2024", "extended to 31 December 2026", "addendum.md"),
            ("six times a week", "five times a week instead of six", "addendum.md"),
        ),
    ),
    Told(
        "menu",
        {
            "menu-may.txt": """\
CAFE MIRA

Soup of the day     6.50
Quiche              8.90
Open from 9 am to 6 pm, closed on Mondays.
""",
            "menu-june.txt": """\
CAFE MIRA

Soup of the day     6.90
Quiche              9.20
Open from 9 am to 7 pm, closed on Mondays.
""",
        },
        (),
    ),
    Told(
        "school-zh",
        {
            "校历.md": """\
# 第三中学校历

## 重要日期

秋季学期于9月1日开学。期中考试安排在11月6日至8日。运动会于10月20日举行。

## 作息

上午第一节课8:10开始,下午放学时间为17:00。
""",
            "家长信.txt": """\
致家长的一封信

各位家长:

因天气原因,原定10月20日的运动会推迟到10月27日举行。
期中考试时间不变。
从下周起,下午放学时间提前到16:30。
学校食堂不再供应早餐,请在家用餐。

第三中学
2023年10月16日
""",
            "食堂.md": """\
# 食堂服务

食堂供应早餐、午餐和晚餐,早餐时间为6:50至7:40。
""",
        },
        (
            ("运动会于10月20日举行", "推迟到10月27日", "家长信.txt"),
            ("放学时间为17:00", "提前到16:30", "家长信.txt"),
            ("食堂供应早餐", "不再供应早餐", "家长信.txt"),
        ),
    ),
    Told(
        "api",
        {
            "guide.md": """\
# Torvik API guide

## Rate limits

Each client may send 120 requests per minute.

## Keys

API keys expire after 90 days.

## Formats

Answers are sent as JSON or XML.
""",
            "changelog.md": """\
# Changelog

## 5.2 (2024-11-02)

- The rate limit was raised to 200 requests per minute.
- XML answers are not supported any more.

## 5.1 (2024-08-11)

- Keys no longer expire.
- Fixed a crash when the answer was empty.
- Deleting a project takes 40 % less time.
""",
        },
        (
            ("120 requests per minute", "raised to 200 requests", "changelog.md"),
            ("expire after 90 days", "Keys no longer expire", "changelog.md"),
            ("JSON or XML", "XML answers are not supported", "changelog.md"),
        ),
    ),
    Told(
        "who",
        {
            "wiki.md": """\
# Hillside Choir

The choir was founded in 1987 by Elsa Brandt. It is conducted by Martin Osei and has 42 singers.
Rehearsals are on Tuesdays at 7.30 pm.
""",
            "flyer.txt": """\
Sing with us!

The Hillside Choir is looking for tenors. We rehearse on Thursdays at 7.30 pm in the old
mill. The choir was founded in 1987.
""",
            "newspaper.txt": """\
Hillside Choir gives summer concert

The Hillside Choir, founded in 1989 and conducted by Martin Osei, sings in the town hall on 14 June.
Tickets cost 12 euros.
""",
        },
        (
            ("founded in 1987 by", "founded in 1989", None),
            ("was founded in 1987", "founded in 1989", None),
            ("on Tuesdays at 7.30", "on Thursdays at 7.30", None),
        ),
    ),
    Told(
        "rooms",
        {
            "room-12.md": """\
# Room 12

Room 12 seats 30 people. The projector was replaced in 2021. Its key is at the desk.
""",
            "room-14.md": """\
# Room 14

Room 14 seats 45 people. The projector was replaced in 2019. Its key is at the desk.
""",
        },
        (),
    ),
    Told(
        "recipe-zh",
        {
            "红烧肉-1.md": """\
# 红烧肉

五花肉500克,冰糖30克,小火炖60分钟。
""",
            "红烧肉-2.md": """\
# 外婆的红烧肉

五花肉800克,冰糖45克,小火炖90分钟。
""",
        },
        (),
    ),
    Told(
        "products-zh",
        {
            "净水器说明书.txt": """\
净水器 L3 使用说明书

一、滤芯每6个月更换一次。
二、额定功率为60瓦。
三、本产品保修期为一年。
四、请勿使用热水。
""",
            "客服问答.txt": """\
净水器 L3 客服问答

滤芯建议每12个月更换一次。
本产品保修期为两年,凭发票办理。
额定功率60瓦,可以接热水吗?不可以。
""",
        },
        (
            ("滤芯每6个月", "滤芯建议每12个月", None),
            ("保修期为一年", "保修期为两年", None),
        ),
    ),
    Told(
        "mail-thread",
        {
            "invite.txt": """\
From: Ruth Amsel
To: team
Date: 2 Sept 2024
Subject: Offsite

Hi all,

the offsite is on 12 October at the lake house. We are 14 people. Please pay 80 euros until Friday.

Ruth
""",
            "followup.txt": """\
From: Ruth Amsel
To: team
Date: 9 Sept 2024
Subject: Re: Offsite

Hi all,

small change: the offsite will be on 19 October, one week later, same place. It is 95 euros now, sorry.

Ruth
""",
        },
        (),
    ),
    Told(
        "clinical",
        {
            "protocol.md": """\
# Study protocol MK-7

## Dose

Participants receive 20 mg twice daily for eight weeks.

## Visits

Visits take place in weeks 2, 4 and 8.

## Exclusion

Smokers are excluded.
""",
            "protocol-amendment.md": """\
# Protocol amendment 2, study MK-7

The dose is reduced to 10 mg twice daily.
Smokers are no longer excluded.
Section "Visits": an additional visit in week 6.
""",
        },
        (
            ("20 mg twice daily", "reduced to 10 mg", "protocol-amendment.md"),
            ("Smokers are excluded", "no longer excluded", "protocol-amendment.md"),
        ),
    ),
    Told(
        "news-plain",
        {
            "a.txt": """\
Council approves budget

The city council of Varna approved a budget of 310 million leva on Monday. Taxes stay the same.
Two schools will be renovated this year.
""",
            "b.txt": """\
Snow closes mountain road

The road over the Shipka pass was closed on Monday after 40 cm of snow. Two lorries were stuck
for six hours.
""",
        },
        (),
    ),
    Told(
        "bylaws",
        {
            "bylaws.md": """\
# Bylaws of the Rowing Club

§ 4 Membership fee. The yearly fee is 120 euros.

§ 7 Boats. Members under 16 may not row alone.

§ 9 Board. The board has five members and is elected for two years.
""",
            "resolution.md": """\
# Resolution of the general meeting, 14 March 2025

§ 4 shall read: The yearly fee is 140 euros.

§ 9 is amended: the board has seven members.

§ 7 stays as it is.
""",
        },
        (
            ("yearly fee is 120", "yearly fee is 140", "resolution.md"),
            ("board has five members", "board has seven members", "resolution.md"),
        ),
    ),
)
