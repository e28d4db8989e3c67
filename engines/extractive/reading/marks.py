"""What a sentence does besides stating: it asks, supposes, amends, or says nothing at all. Short: patterns alone."""

import re
from typing import Final

from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.terms import words_of

ASKS: Final = lazy_pattern(r"[?？][\"'”’»)\]）」』*_\s]*\Z")
"""It is a question."""
SUPPOSES: Final = lazy_pattern(
    r"(?:^|[,;(] ?)(?:if|unless|suppose|supposing|should you|in case|assuming)\b|\b(?:would have|could have|"
    r"would be|might have)\b|"
    r"如果|假如|要是|倘若|假设|本来会",
    re.IGNORECASE,
)
"""It holds on a condition, or not at all."""
_CHANGED: Final = (
    r"(?:replaced|changed|moved|shifted|raised|lowered|increased|reduced|extended|postponed|amended|deleted)"
)
AMENDS: Final = lazy_pattern(
    rf"\b(?:amendment|erratum|errata|corrigendum|correction|corrected|(?:is|are|been) {_CHANGED}"
    rf"|(?:was|were) {_CHANGED} (?:to|by|from|with|until)|shall read|must read|should read|"
    r"rises? from|with immediate effect|"
    r"instead of|no longer|in (?:its|their) place|as of now|from now on|with effect from|now)\b"
    r"|改为|改由|改到|改在|调整为|变更|顺延|推迟至|更正|作废|取消|不再|以本通知为准|自即日起|现已|有误|为准",
    re.IGNORECASE,
)
"""It, or the text it stands in, puts something in the place of what was said before."""
PLANS: Final = lazy_pattern(
    r"\b(?:plan(?:s|ned)? to|intend(?:s|ed)? to|(?:we|they|he|she|I) (?:wants?|hopes?|would like) to|aims? to|is to be|"
    r"are to be|expected to|proposed|budgeted|estimated|we will|shall try)\b"
    r"|计划|打算|拟|预计|争取|希望|准备(?:在|于)?|力争|目标",
    re.IGNORECASE,
)
"""It is meant to become so."""
POINTS: Final = lazy_pattern(
    r"\A[\W_]{0,6}(?:for [^.!?\n]{1,60}?,? )?(?:please )?(?:see|refer to|consult|cf\.)\s"
    r"(?!(?:you|him|her|them|me|us|if|whether)\b)"
    r"|\b(?:is|are) (?:set out|laid down|described|listed|given|explained|found|defined|specified) in (?:the |an? )?"
    r"(?:annex|appendix|schedule|section|clause|chapter|article|table|file|documentation|manual)\b[^.,;]{0,30}\.?\W{0,4}\Z"
    r"|(?:参见|参阅|参看|请参考|请见|详见|见)(?:本[\u4e00-\u9fff]{1,3})?(?:附件|附录|附表|下文|上文|第[^，。]{1,8}[条章节款页]|《[^》]{1,30}》)"
    r"[^，。]{0,8}\W{0,3}\Z",
    re.IGNORECASE,
)
"""It says no more than where something is said."""
SPEAKS_OF_SELF: Final = lazy_pattern(r"\b(?:I|I'll|I've|we|me|my)\b|我|咱")
"""It says something of whoever speaks."""
NUMBERED_NAME: Final = lazy_pattern(r"(?<![\w/])[A-Za-z]{2,20}/\d{1,4}(?![\w/])")
"""A name that is told from others by its number: `HTTP/2`."""
COUNTED: Final = lazy_pattern(
    r"(?:(?<![\d,.])\d[\d,.]*+|(?<![一二两三四五六七八九十百千万亿])[一二两三四五六七八九十百千万亿]++) ?"
    r"(?:[\w'’-]{1,24} )?([A-Za-z'’-]{1,24}|[\u4e00-\u9fff]{1,2})"
)
"""What stands beside a number."""
CALENDAR: Final = words_of(
    """
    january february march april may june july august september october november december monday tuesday
    wednesday thursday friday saturday sunday
    """
)
"""The months and the days of the week: written like names, and none."""
OF_THE_DOCUMENT: Final = lazy_pattern(
    r"[\W_]*(?:date(?:d)?|signed|issued|printed|posted|circulated|edited|updated|last (?:changed|updated|edited)|"
    r"version|ref(?:erence)?|(?:签订|签署|签发|发布|打印|编制|填表|落款)?日期|编号|文号|版本)"
    r"(?:[ \t*_]{0,8}[:：]|[ \t]{2,40}|\b(?: on| at)?(?= \d))",
    re.IGNORECASE,
)
"""A field that each document fills in for itself."""
DATED: Final = lazy_pattern(
    r"\b(?:(?:dated|posted|issued|published|printed)(?: on)?|(?:signed|executed) on) (?:the )?$"
    r"|\b(?:announcement|letter|e-?mail|mail|newsletter|notice|minutes|report|message|memo|circular|post) "
    r"(?:of|from) (?:the )?$"
    r"|(?:签订|签署|订立)于 ?$",
    re.IGNORECASE,
)
"""What makes a date in a sentence that of a document."""
PREVAILS: Final = lazy_pattern(
    r"\A(?!.{0,60}(?:改|调整|变更|取消|推迟|提前|替换|删除|作废|废止|\d))[^，,；;]{0,24}[，,]?[^，,；;]{0,10}"
    r"以(?:本|原|此)\S{1,8}为准|同等(?:法律)?效力|(?:更正|修改|变更|调整|补充)如下"
    r"|\bshall prevail\b|\btakes? precedence\b"
    r"|\bgo by this (?:mail|letter|e-?mail|notice|sheet|list)\b",
    re.IGNORECASE,
)
"""What says which of two documents holds, and nothing of what they are about."""
SIGNED: Final = lazy_pattern(r" ?(?:共同)?(?:签订|签署|订立|发布|印发)")
"""What does behind it."""
