"""Units of English and Chinese, each with what it measures and how many base units it is."""

from typing import Final

_UNIT_TABLE: Final = """
    length 1 m metre metres meter meters 米 公尺
    length 1000 km kilometre kilometres kilometer kilometers 公里 千米
    length 0.01 cm centimetre centimetres centimeter centimeters 厘米 公分
    length 0.001 mm millimetre millimetres millimeter millimeters 毫米
    length 1609.344 mile miles mi 英里
    length 0.3048 ft foot feet 英尺
    length 0.9144 yard yards 码
    length 0.0254 inch inches 英寸
    mass 1 kg kilogram kilograms kilo kilos 公斤 千克
    mass 0.001 g gram grams 克
    mass 1e-6 mg milligram milligrams 毫克
    mass 0.5 斤
    length 500 里地 里路
    mass 1000 t ton tons tonne tonnes 吨
    mass 0.4536 lb lbs pound pounds 磅
    share 1 % percent per-cent 百分点
    time 1 second seconds sec secs 秒 秒钟
    time 60 minute minutes min mins 分钟
    time 3600 hour hours hr hrs h 小时 个小时 钟头 个钟头
    time 86400 day days 天 日内 日以内 日之内
    time 604800 week weeks 周 星期 个星期
    months 1 month months 个月
    months 12 year years 年
    data 1 byte bytes 字节
    data 1e3 kb kilobyte kilobytes
    data 1e6 mb megabyte megabytes
    data 1e9 gb gigabyte gigabytes
    data 1e12 tb terabyte terabytes
    data 1024 kib
    data 1048576 mib
    data 1073741824 gib
    area 1 sqm m2 m² squaremetre squaremetres squaremeter squaremeters 平方米 平米
    area 0.0929 sqft squarefoot squarefeet 平方英尺
    area 1e6 km2 km² squarekilometre squarekilometres squarekilometer squarekilometers 平方公里 平方千米
    area 1e4 hectare hectares ha 公顷
    temperature 1 °c ℃ celsius degreec degreesc degreecelsius degreescelsius 摄氏度
    fahrenheit 1 °f ℉ fahrenheit degreef degreesf degreefahrenheit degreesfahrenheit
    dollar 1 $ us$ dollar dollars usd 美元
    euro 1 € euro euros eur 欧元
    sterling 1 £ gbp 英镑
    yuan 1 ¥ yuan rmb cny 元 人民币 元人民币
    krone 1 nok dkk krone kroner 克朗
    krona 1 sek krona kronor
    franc 1 chf franc francs 法郎
    yen 1 jpy yen 日元
    rupee 1 inr rupee rupees 卢比
    aud 1 aud
    cad 1 cad
    nzd 1 nzd
    sgd 1 sgd
    hkd 1 hkd
    twd 1 twd
    krw 1 krw
    pln 1 pln zloty
    czk 1 czk
    huf 1 huf forint
    brl 1 brl
    zar 1 zar
    mxn 1 mxn
    voltage 1 v volt volts 伏 伏特
    voltage 1e3 kv kilovolt kilovolts 千伏
    volume 1000 m3 m³ cubicmetre cubicmetres cubicmeter cubicmeters 立方米 立方
    volume 1 l litre litres liter liters 升
    volume 0.001 ml millilitre millilitres milliliter milliliters 毫升
    energy 1 kwh kilowatt-hour kilowatt-hours 千瓦时 度电
    people 1 people person persons inhabitant inhabitants resident residents 人 名
    age 1 岁
    power 1 w watt watts 瓦
    power 1e3 kw kilowatt kilowatts 千瓦
    power 1e6 mw megawatt megawatts 兆瓦
    qubit 1 qubit qubits 量子比特 个量子比特
    light 1 lumen lumens lm 流明
    sound 1 db decibel decibels 分贝
    speed 1 km/h kmh kph 公里/小时 千米/小时
    speed 1.609 mph
    speed 1.852 knot knots kn
    current 1 amp amps ampere amperes 安 安培
    charge 1 mah 毫安时
    floor 1 层 层楼
    seat 1 seat seats 个座位 座
    times 1 times 次
"""


def _units() -> dict[str, tuple[str, float]]:
    return {
        name: (dimension, float(factor))
        for dimension, factor, *names in (line.split() for line in _UNIT_TABLE.strip().splitlines())
        for name in names
    }


UNITS: Final = _units()
"""Unit, as written -> dimension, and how many base units of it."""

CURRENCY: Final = {
    **{"$": "dollar", "us$": "dollar", "usd": "dollar", "€": "euro", "eur": "euro", "£": "sterling", "gbp": "sterling"},
    **{"¥": "yuan", "￥": "yuan", "cny": "yuan", "rmb": "yuan", "jpy": "yen", "inr": "rupee"},
    **{"chf": "franc", "sek": "krona", "nok": "krone", "dkk": "krone"},
    **{
        code: code
        for code in ("aud", "cad", "nzd", "sgd", "hkd", "twd", "krw", "pln", "czk", "huf", "brl", "zar", "mxn")
    },
}
"""What stands before an amount, and the unit that it is in."""
CURRENCY_CODES: Final = "|".join(code.upper() for code in CURRENCY if code.isalpha())
"""Codes of currencies, as a pattern."""
