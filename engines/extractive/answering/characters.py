"""Says how much a Chinese question and a text share by their characters, of which the vectors know little."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

from agentic_memory_bank.tools.text.cleaning import is_cjk

_FUNCTION: Final = frozenset(
    "的了吗呢吧啊呀是在有和就都也要会个一不来去上下到给对做用让得着过把被从跟与及或但还很太最这那哪什么怎样多少几谁我你您他她它们"
    "时候里儿家人年月日天号点大小新叫"
)
"""Characters that say nothing of what a Chinese question is about."""
COMMON: Final = 0.4
"""What one of the commonest characters counts beside any other: 比 in 比赛 says little, 赛 says what it is."""
_COMMON: Final = frozenset(
    "的一是了我不人在他有这个上们来到时大地为子中你说生国年着就那和要她出也得里后自以会家可下而过天去能对小多然于心学么"
    "之都好看起发当没成只如事把还用第样道想作种开美总从无情己面最女但现前些所同日手又行意动方期它头经长儿回位分老因很给"
    "名法间知世什两次使身者被高已其进此话常与活正感见明问力理点文几定本公特做外相西果走将十实向声全信重三机工物气每并别"
    "真打太新比才便再部像等体却加主界利受听表少代员许先口由安性光白或难望教命结更拉东神记处让应直场平报关放至认接告入内"
    "候往何度觉路带万边解任快原变通师立象数四失满远格轻目条呢该准备算决今"
)
"""The commonest characters of Chinese, which are in words of every kind."""


def shared_characters(query: str, text: str) -> float:
    """Share of the Chinese characters of a query, function words aside, that a text holds."""
    wanted = {char for char in query if is_cjk(char)} - _FUNCTION
    total = math.fsum(map(_says, wanted))
    return math.fsum(map(_says, wanted & set(text))) / total if wanted else 0.0


def rare_characters(query: str, texts: Sequence[str]) -> list[float]:
    """Share of the Chinese characters of a query that each of some texts holds; what few of them hold counts for more.

    Args:
        query: What is searched.
        texts: The texts that were found.
    """
    wanted = {char for char in query if is_cjk(char)} - _FUNCTION
    if not wanted:
        return [0.0] * len(texts)
    told = [wanted & set(text) for text in texts]
    held = Counter(char for chars in told for char in chars)
    weights = {char: _says(char) * math.log(1 + len(texts) / (1 + held[char])) for char in wanted}
    total = math.fsum(weights[char] for char in held) or 1.0
    return [math.fsum(weights[char] for char in sorted(chars)) / total for chars in told]


def _says(character: str) -> float:
    """How much a Chinese character says of what a question is about."""
    return COMMON if character in _COMMON else 1.0
