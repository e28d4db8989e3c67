"""Finds the numbers that stand for a person or their money: identity cards, passports, accounts, patients, taxpayers.

Those with a check digit or an unmistakable form are found by it, the others by the words around them. Order numbers,
phone numbers, dates and amounts are none. Every pattern takes time in proportion to the text: repeats are bounded.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import Final

from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.spans import Span, merged

HIDDEN: Final = "***"
"""Stands where a number stood."""
FULL_WIDTH: Final = str.maketrans({code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {"’": "'", "‐": "-"})
_LEAST_DIGITS: Final = 5
"""Digits from which what follows the name of a personal number is one."""
_LEAST_BARE: Final = 6
"""The same, where the name may also be that of the document or the account itself."""
_FEWEST_DIGITS: Final = 4
"""Digits of the shortest number that is found by its form or by what it is called: most texts have fewer."""
_DIGIT: Final = re.compile(r"\d")
_NUMBER: Final = re.compile(r"(?:\d[ ./A-Z-]*){4}\d")
"""What every number has that is found by what it is called; it takes longer to look for what that is."""
_SHORT_ANSWER: Final = 8
"""Words of an answer that may be nothing but the number that was asked for."""

_BEFORE: Final = r"(?<![A-Za-z0-9])"
_AFTER: Final = r"(?![A-Za-z0-9])"
_VALUE: Final = (
    r"(?P<value>(?<![A-Za-z0-9])(?:[A-Z]{1,5}[ -]?)?\d(?:[ ./-]{0,2}(?:\d|[A-Z](?![a-z]))){3,27}(?![A-Za-z0-9]))"
)
_NO: Final = r"(?:numbers?|nos?\b\.?|nr\b\.?|id|#)"

_NAMED: Final = (
    rf"iban|passport {_NO}|(?:identity|id) (?:card|{_NO}|document)|national (?:id|insurance)(?: {_NO})?"
    rf"|social security(?: {_NO})?|ssn|sin number|nhs {_NO}|nino"
    rf"|medicare(?: {_NO})?|medicaid(?: {_NO})?|medical record(?: {_NO})?"
    rf"|record number|mrn|(?:patient|chart|hospital) {_NO}"
    rf"|health (?:card|insurance)(?: {_NO})?|insurance (?:policy )?{_NO}|policy {_NO}|(?:member|subscriber) {_NO}"
    rf"|(?:driv(?:er|ing|er'?s)'? )?licen[cs]e {_NO}|(?:bank )?account {_NO}|acct\.? {_NO}|routing {_NO}"
    rf"|sort code|bsb"
    rf"|(?:tax|vat|gst)(?:payer'?s?)?(?: \w{{2,14}}){{0,2}} (?:{_NO}|ref(?:erence)?\b|code)|utr|tfn|vat {_NO}"
    rf"|(?:citizens?|citizenship|citizen service|resident|residence|residency|registry|civil"
    rf"|personal(?: identity| public service)?"
    rf"|fiscal|pension|benefit|immigration|foreigners?|alien|visa|permit|voter|birth|military|service"
    rf"|social(?: insurance)?"
    rf"|state|government|residence permit|disability|health|customer reference|pps|nhs) {_NO}|ppsn?|brp"
    rf"|hkid|nric|curp|rut"
    rf"|tin|ein|steuer-?(?:id|nummer|identifikationsnummer)|codice fiscale"
    r"|cpf|aadhaa?r(?: number| card)?|pan (?:card|number)|nif|nie|dni|bsn|pesel|personnummer|(?:credit|debit|bank)"
    rf" card(?: {_NO})?|card number"
)
_NAMED_CHINESE: Final = (
    r"身份证|身份號碼|身分證|证件号|護照號碼?|护照号码?|社保(?:电脑)?[号卡]|社会保障[号卡]|医保[号卡]|醫保[號卡]|病历号|病歷號"
    r"|就诊卡|住院号|门诊号|保单号|驾驶证号?|驾照号|档案编号|[卡账帐]号|银行卡|信用卡|储蓄卡|借记卡|工资卡|[账帐]户"
    r"|税务?(?:登记)?号码?|稅號|纳税人识别号|统一?社会信用代码|信用代码|居住证|居留证|居留许可|通行证|签证号?|台胞证|港澳证|户口号|军官证|学籍号|证号|公积金[号账]"
)
_BARE: Final = (
    r"passport|licen[cs]e|account|acct|insurance|policy|sort code|tax id|health card|card|(?:my|his|her|their|our) id"
)
_BARE_CHINESE: Final = r"护照|護照|驾照|医保|社保|保单|卡"

_WIDE: Final = lazy_pattern(
    rf"(?:{_BEFORE}(?i:{_NAMED}){_AFTER}[^\d\n.!?]{{0,40}}?|(?:{_NAMED_CHINESE})[^\d\n。！？!?]{{0,24}}?){_VALUE}"
)
_TIGHT: Final = lazy_pattern(
    rf"(?:{_BEFORE}(?i:{_BARE})(?:'s)?{_AFTER}(?: ?(?i:is|was|:|=|,|\(|{_NO})){{0,4}}"
    rf"|(?:{_BARE_CHINESE})(?:号码?|是|为|:|=|\s){{0,4}}) {{0,2}}{_VALUE}"
)
_OTHER: Final = (
    r"phone|mobile|cell|tel|telephone|whatsapp|fax|contact|office|work|home|order|tracking|parcel|shipment|booking"
    r"|confirmation|reservation|flight|train|invoice|receipt|ticket|part|model|serial|batch|lot|item|product|case"
    r"|issue"
    r"|version|room|house|bus|gate|raffle|lottery|catalogue|isbn|lucky|phone's|hotline|helpline|extension|her|his"
    r"|my|the"
    r"|other|new|old|wrong|same|employee|staff|exact|total|large|big|whole"
)
_CALLED: Final = lazy_pattern(
    rf"{_BEFORE}(?!(?i:{_OTHER}){_AFTER})[A-Za-z]{{2,20}} (?i:numbers?|no\.?|id"
    rf"|nr\.?){_AFTER}[^\d\n.!?]{{0,25}}?{_VALUE}"
)
"""A number of something that no one else has, whatever it is called; not what one is rung by, or has ordered."""
_LEAST_CALLED: Final = 7
_LETTERED_CODE: Final = lazy_pattern(
    rf"{_BEFORE}[a-z]{{2,20}}['’]s (?i:numbers?|no\.?|id|card){_AFTER}[^\d\n.!?]{{0,40}}?"
    r"(?P<value>(?<![A-Za-z0-9-])(?:[A-Z]{2,5}[ -]?){1,3}\d(?:[ ./-]{0,2}\d){3,20}(?![A-Za-z0-9]))"
)
"""A number of somebody's that begins with letters, as no phone's does: "the seaman's number is CDN-SEA-448120-7"."""
_INSURANCE: Final = lazy_pattern(
    rf"{_BEFORE}(?:SIN|sin)(?: number| no\.?)?(?:'s| is| was|:| =|,)?(?: it(?:'s| is))? ?"
    rf"(?P<value>\d{{3}}[ -]?\d{{3}}[ -]?\d{{3}}){_AFTER}"
)
"""The social insurance number of a Canadian."""
_VERIFIED: Final = lazy_pattern(
    rf"{_BEFORE}(?:BVN|bvn|NIN)(?: number| no\.?)?[^\d\n]{{0,12}}(?P<value>\d{{11}}){_AFTER}"
)
"""The number by which banks, or the state, know a Nigerian."""
_TRAVELLER: Final = lazy_pattern(
    rf"(?:{_BEFORE}(?i:passports?){_AFTER}|护照|護照)[^.!?。！？\n]{{0,60}}?(?P<value>{_BEFORE}[A-Z]{{1,2}}\d{{6,8}}{_AFTER})"
)
"""The number of a passport that is spoken of further on in the sentence."""
_TRANSFER: Final = lazy_pattern(
    r"(?P<value>(?<![\w-])\d\d-\d\d-\d\d(?:,| and| /| &)? ?(?:acc(?:oun)?t\.? ?)?\d{8}(?![\w-]))", re.IGNORECASE
)
"""A British sort code and the number of an account beside each other."""
_ANSWERED: Final = lazy_pattern(_VALUE)
_AMOUNT: Final = lazy_pattern(
    r"\s{0,2}(?:dollars?|euros?|pounds?|bucks|usd|eur|gbp|rmb|cny|yuan|kr|k\b|%|percent|points?|miles|km|people|users"
    r"|followers|[万亿]?[元块人个年月天分]|[万亿])",
    re.IGNORECASE,
)
_DAY: Final = lazy_pattern(r"\d{1,2}[-/. ]\d{1,2}[-/. ](?:19|20)\d\d|(?:19|20)\d\d[-/. ]\d{1,2}[-/. ]\d{1,2}")
_ASKS: Final = lazy_pattern(
    rf"(?:{_BEFORE}(?:{_NAMED}|{_BARE}){_AFTER}|{_NAMED_CHINESE}|{_BARE_CHINESE})[^.!?。！？\n]{{0,60}}[?？:：]\s*\Z",
    re.IGNORECASE,
)

_CITIZEN: Final = lazy_pattern(rf"{_BEFORE}[1-9]\d{{5}}[ -]?(?:18|19|20)\d{{6}}[ -]?\d{{3}}[\dXx]{_AFTER}")
_SOCIAL: Final = lazy_pattern(rf"{_BEFORE}(?!000|666|9)\d{{3}}-(?!00)\d\d-(?!0000)\d{{4}}{_AFTER}(?!-\d)")
_INSURED: Final = lazy_pattern(rf"{_BEFORE}[A-Z]{{2}} ?\d\d ?\d\d ?\d\d ?[A-D]{_AFTER}")
_MEDICARE: Final = lazy_pattern(
    rf"{_BEFORE}[1-9][A-Z][A-Z0-9]\d(?P<joint>-?)[A-Z][A-Z0-9]\d(?P=joint)[A-Z]{{2}}\d\d{_AFTER}"
)
_ACCOUNT: Final = lazy_pattern(rf"{_BEFORE}[A-Za-z]{{2}}\d\d(?:[ -]?[A-Za-z0-9]){{11,30}}")
_CARD: Final = lazy_pattern(r"(?<![\d.,+-])[2-6]\d{3}(?:[ -]?\d{4}){2}[ -]?\d{1,4}(?:[ -]?\d{1,3})?(?![\d.,]?\d)")
_CARD_NAMED: Final = lazy_pattern(
    rf"(?:{_BEFORE}(?i:card|visa|mastercard|amex|maestro){_AFTER}|[卡])[^\d\n.!?。！？]{{0,60}}?"
    r"(?P<value>(?<!\d)[2-6]\d{3}(?P<joint>[ .-]?)\d{4}(?P=joint)\d{4}(?P=joint)\d{3,4}(?:(?P=joint)\d{1,3})?(?!\d))"
)
"""What is called a card and grouped like one, whatever its check digit: people mistype."""
_CARD_DATED: Final = lazy_pattern(
    r"(?P<value>(?<!\d)[2-6]\d{3}(?P<joint>[ .-]?)\d{4}(?P=joint)\d{4}(?P=joint)\d{3,4}(?!\d))"
    r"(?=[^\n]{0,40}?(?:\bexp(?:iry|ires|iration)?\b|\bvalid\b|\bcv[vc]\b|有效期|到期|安全码))",
    re.IGNORECASE,
)
"""The same beside the day until which it is valid, or its code."""
_VALID: Final = lazy_pattern(
    r"(?:\bexp(?:iry|ires|iration)?\b|\bvalid (?:to|thru|until|till)\b|有效期)[^\d\n]{0,12}"
    r"(?P<value>\d{1,2}/\d{2,4})(?!\d)",
    re.IGNORECASE,
)
"""That day itself."""
_DIGIT_WORDS: Final = {
    word: digit
    for digit, words in enumerate(
        ("zero oh", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    )
    for word in words.split()
}
_SPELT: Final = lazy_pattern(
    rf"\b(?:(?:{'|'.join(_DIGIT_WORDS)})[\s,.-]{{1,3}}){{12,18}}(?:{'|'.join(_DIGIT_WORDS)})\b"
    r"|[零〇一二三四五六七八九幺][零〇一二三四五六七八九幺\s，、-]{12,24}[零〇一二三四五六七八九幺]",
    re.IGNORECASE,
)
"""A number read out digit by digit."""
_WORDS: Final = lazy_pattern(r"[A-Za-z]+")
_CHINESE_DIGITS: Final = {char: digit for digit, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "幺": 1}
_TAXED: Final = lazy_pattern(
    rf"{_BEFORE}(?:[A-Z]{{6}}\d\d[A-Z]\d\d[A-Z]\d{{3}}[A-Z]|[A-Z]{{3}}[ABCFGHJLPT][A-Z]\d{{4}}[A-Z]){_AFTER}"
)
_LETTERED: Final = lazy_pattern(rf"{_BEFORE}(?P<lead>[XYZ]?)-?(?P<digits>\d{{7,8}})-?(?P<check>[A-Z]){_AFTER}")
_CHECK_LETTERS: Final = "TRWAGMYFPDXBNJZSQVHLCKE"
"""The letter that ends the number of a Spanish identity card, or a foreigner's, by the rest of its digits by 23."""
_HONG_KONG: Final = lazy_pattern(rf"{_BEFORE}[A-Z]{{1,2}}\d{{6}} ?[(（][\dA][)）]")
_GROUPED: Final = lazy_pattern(rf"{_BEFORE}[A-Z]{{2}}[ -]?\d{{4}}(?:[ -]\d{{4}}){{2,6}}{_AFTER}")
"""A country and groups of four digits: the number of an account where there is no IBAN."""
_NOT_KEPT: Final = lazy_pattern(
    r"\b(?:no need|(?:do not|don't) need|needn't|no reason) (?:for you )?to (?:keep|store|save|remember|note)\b"
    r"|\b(?:do not|don't) (?:keep|store|save|note|write) (?:it|that|this|the number)\b|\bforget i said (?:it|that)\b"
    r"|\bignore (?:this|these|those|that|the) numbers?\b"
    r"|(?:不用|不必|别|不要)(?:你|帮我|给我)?(?:留|记|存)",
    re.IGNORECASE,
)
"""How people say that what they give is not to be kept."""
_LONG: Final = lazy_pattern(r"(?<!\d)\+?\d(?:[ .-]?\d){6,19}(?!\d)")
"""A number of whatever kind, long enough to be somebody's."""
_MIXED: Final = lazy_pattern(r"(?<![\w./@-])(?=[a-z]{0,20}\d|\d{1,20}[A-Za-z])[a-z0-9]{0,40}[A-Za-z0-9](?![\w./@-])")
"""Letters and digits in one word, as in a password or a code."""
_LEAST_MIXED: Final = 5
_LOGIN: Final = lazy_pattern(
    r"\b(?:log-?in|creds|credentials|sign-?in|account|access)\b[^\n/@]{0,30}?(?P<value>[^\s/@]{1,64}@[^\s/@]{1,64}"
    r"\s{0,2}(?:/|\||:)\s{0,2}\S{4,64}(?<![.,;!?]))",
    re.IGNORECASE,
)
"""An address and a password beside each other."""

_LENGTHS: Final = {
    country: int(length)
    for lengths in (
        "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 "
        "FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 "
        "LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24 "
        "SI19 SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20",
    )
    for country, length in ((one[:2], one[2:]) for one in lengths.split())
}
"""How long the number of an account is in each country that has an IBAN."""
_WEIGHTS: Final = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)


def numbers_in(text: str) -> list[Span]:
    """The stretches of a text that are personal numbers, in order, none within another."""
    plain = text.translate(FULL_WIDTH)
    found = {*_without_digits(plain)}
    if len(_DIGIT.findall(plain)) >= _FEWEST_DIGITS:
        found |= {*_formed(plain), *_checked(plain), *_named(plain)}
    return merged(sorted(found))


def masked(text: str, before: str = "") -> str:
    """A text with `HIDDEN` in place of its personal numbers; the rest is as it was.

    Args:
        text: A turn, word for word.
        before: What was said just before; where it asks for such a number, a short answer is one.
    """
    spans = numbers_in(text)
    if not spans and _ASKS.search(before.translate(FULL_WIDTH)[-400:]) and len(text.split()) <= _SHORT_ANSWER:
        spans = [found.span("value") for found in _ANSWERED.finditer(text) if _digits(found["value"]) >= _LEAST_DIGITS]
    for start, end in reversed(spans):
        text = f"{text[:start]}{HIDDEN}{text[end:]}"
    return text


def _without_digits(text: str) -> Iterator[Span]:
    """What may be there in a text without digits: a login, and a number that is read out."""
    yield from (found.span("value") for found in _LOGIN.finditer(text))
    yield from (found.span() for found in _SPELT.finditer(text) if is_card(_dictated(found[0])))


def _formed(text: str) -> Iterator[Span]:
    """What has a form that nothing else has."""
    for pattern in (_SOCIAL, _INSURED, _MEDICARE, _TAXED, _GROUPED, _HONG_KONG):
        yield from (found.span() for found in pattern.finditer(text))
    if _NOT_KEPT.search(text):
        yield from (found.span() for found in _LONG.finditer(text))
        yield from (found.span() for found in _MIXED.finditer(text) if _is_mixed(found[0]))
    for pattern in (_INSURANCE, _VERIFIED, _TRAVELLER, _TRANSFER):
        yield from (found.span("value") for found in pattern.finditer(text))


def _checked(text: str) -> Iterator[Span]:
    """What its check digits, or the day of birth in it, show to be one."""
    for found in _CITIZEN.finditer(text):
        if _is_citizen(found[0].replace(" ", "").replace("-", "")):
            yield found.span()
    for found in _LETTERED.finditer(text):
        lead, digits = found["lead"], found["digits"]
        number = int(str("XYZ".index(lead)) + digits) if lead else int(digits)
        if len(lead + digits) == 8 and _CHECK_LETTERS[number % len(_CHECK_LETTERS)] == found["check"]:
            yield found.span()
    for found in _ACCOUNT.finditer(text):
        end = _end_of_account(found[0])
        if end:
            yield found.start(), found.start() + end
    yield from (found.span() for found in _CARD.finditer(text) if is_card(found[0]))
    cards = [found.span("value") for pattern in (_CARD_NAMED, _CARD_DATED) for found in pattern.finditer(text)]
    yield from cards
    if cards:
        yield from (found.span("value") for found in _VALID.finditer(text))


def _dictated(words: str) -> str:
    """The digits of a number that is read out."""
    if words[0] in _CHINESE_DIGITS:
        return "".join(str(_CHINESE_DIGITS[char]) for char in words if char in _CHINESE_DIGITS)
    return "".join(str(_DIGIT_WORDS[word.casefold()]) for word in _WORDS.findall(words))


def _named(text: str) -> Iterator[Span]:
    """What the words in front of it say to be one."""
    if not _NUMBER.search(text):
        return
    for pattern, least in (
        (_WIDE, _LEAST_DIGITS),
        (_TIGHT, _LEAST_BARE),
        (_CALLED, _LEAST_CALLED),
        (_LETTERED_CODE, _LEAST_DIGITS),
    ):
        for found in pattern.finditer(text):
            value, end = found["value"], found.end("value")
            is_day = _DAY.fullmatch(value.strip()) and "sort" not in found[0].casefold()
            if _digits(value) >= least and not is_day and not _AMOUNT.match(text, end):
                yield found.span("value")


def _is_mixed(word: str) -> bool:
    """Whether a word of letters and digits is no time, size or ordinal: those have fewer digits, or fewer letters."""
    return len(word) >= _LEAST_MIXED and _digits(word) >= _FEWEST_DIGITS and not word.isdigit()


def _digits(value: str) -> int:
    return sum(char.isdigit() for char in value)


def _is_citizen(number: str) -> bool:
    """Whether a Chinese identity number has its check digit, or at least a day of birth."""
    total = sum(int(digit) * weight for digit, weight in zip(number, _WEIGHTS, strict=False))
    if "10X98765432"[total % 11] == number[-1].upper():
        return True
    try:
        return 1900 <= date(int(number[6:10]), int(number[10:12]), int(number[12:14])).year <= 2100
    except ValueError:
        return False


def _end_of_account(written: str) -> int | None:
    """Where an international account number ends in what may be one; None where it is none."""
    places = [place for place, char in enumerate(written) if char.isalnum()]
    length = _LENGTHS.get(written[:2].upper())
    if length is None or len(places) < length:
        return None
    plain = "".join(written[place] for place in places[:length]).upper()
    value = int("".join(str(int(char, 36)) for char in plain[4:] + plain[:4]))
    return places[length - 1] + 1 if value % 97 == 1 else None


def is_card(number: str) -> bool:
    """Whether a number has the check digit of a card (Luhn), whatever parts its digits, and not one digit alone."""
    digits = [int(char) for char in number if char.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return len(digits) > 11 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0 and len(set(digits)) > 1
