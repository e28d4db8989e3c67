"""Tells gossip from what is worth knowing: what somebody does with their own life who is only met, or only known.

Whoever stands in some relation to the speaker ("she has our spare key", 帮我收快递) is none of it.
"""

import re
from typing import Final

from agentic_memory_bank.tools.text.patterns import lazy_pattern

OPENING: Final = (
    r"\W*(?:(?:ok(?:ay)?|al(?:l )?right|so|and|but|well|hey|also|oh|right|anyway|btw|by the way|quick(?: unrelated)?"
    r"(?: one| question| q)?|please|pls|hmm|um|now|then|nah|lol"
    r"|唉|哎|嗯|对了|顺便(?:问[下一]?)?|另外|还有|那|你说说|考考你|麻烦)"
    r"(?:[\s,:.，：…]++|(?=[\u3400-\u9fff])))*+"
)
_STRANGER: Final = lazy_pattern(
    OPENING
    + r"(?:(?:(?:an?|some|this|the|that|one|two|these) )?(?:(?:random|old|older|young|nice|poor|other|elderly) )?"
    r"(?:guys?|blokes?|man|men|woman|women|lad(?:y|ies)?|girls?|boys?|chaps?|fella|dude|strangers?|couple|passenger"
    r"|tourists?|cashier|barista|cabbie|(?:taxi|bus|uber) driver|people)|some(?:one|body))"
    r" (?:(?:on|at|in|from|by|behind|opposite|across|next to|in front of|down|up|over|along|round) "
    r"|(?:just |once )?(?:told|asked|said|was|were|had)\b)"
    r"|\W*(?:刚才|刚刚|今天|昨天|早上|晚上|上午|下午|[，,])*(?:在)?"
    r"(?:火车|高铁|地铁|公交|飞机|电梯|马路|路|街|车|超市|咖啡店|食堂|楼下|隔壁桌|排队)(?:上|里|边|时|的时候)?"
    r"(?:看到|碰到|遇到)?有?(?:一?[个位对]).{0,4}(?:人|大哥|大爷|大妈|小伙子?|阿姨|男的|女的|哥们|姑娘|司机|老头|老太太|情侣|小孩)",
    re.IGNORECASE,
)
"""Somebody who was only met, of whom nothing is to be known later unless it is about the speaker."""
_TOLD_ME: Final = lazy_pattern(
    r"\b(?:told|asked|showed|informed|assured) (?:me|us)\b|\bto (?:me|us)\b|\b(?:next to|behind|opposite"
    r"|beside|in front of)"
    r" (?:me|us)\b|\bi mean\b|\bi (?:told|said to|asked|warned) (?:him|her|them)\b[^.;!?]{0,60}"
    r"|\bi (?:can't|could never|couldn't|can barely|would never|'d never|wish|envy)\b[^.;!?]{0,60}"
    r"|\b(?:it's|that's|and it's) all (?:we|i)\b"
    r"[^.;!?]{0,60}|\bi'm (?:so |a bit |quite )?(?:jealous|envious|impressed)\b|跟我(?:说|讲|聊)|我(?:旁边|对面)"
    r"|[在到来](?:我|我们|咱)(?:这|这儿|这里|店里|家)|我(?:都|也|可)?(?:服了|羡慕|酸了|佩服|无语)",
    re.IGNORECASE,
)
"""What ties a stranger to whoever tells of them, and says no more of the teller."""
_ACQUAINTANCE: Final = lazy_pattern(
    OPENING + r"(?:(?:my|our|the|an?|some|one of (?:my|our|the)) )?(?:[\w-]{1,20} ){0,2}?"
    r"(?:(?:neighbou?rs?|colleagues?|co-?workers?|workmates?|classmates?|schoolmates?|acquaintances?|coursemates?"
    r"|teammates?)\b(?: (?:two|three|next|a few) doors? (?:down|up|away)"
    r"| (?:of|at|from|in|on) [\w-]{1,20}(?: (?!is\b|has\b)[\w-]{1,20})?)?"
    r"|(?<=the )[a-z]{3,20}(?= (?-i:[A-Z])[a-z]))"
    r"(?:,? (?:called )?(?-i:[A-Z])\w{0,20})?,?"
    r"(?: (?:he|she|they|who))?(?:'s|'re|'ve| (?:is|are|has|have|was|just|only|now|also|still)){0,3}"
    r" (?:wants? to|would love|dreams?|think(?:s|ing) (?:of|about)|planning|hoping|saving|trying (?:to|for)|going to"
    r"|off to|about to|moving|buying|selling|building|training|learning|writing|studying|getting|taking up"
    r"|starting|opening"
    r"|quitting|retiring|expecting|swears?|hates?|loves?|adores?|can't stand|reckons?|believes?|says?|said|keeps?"
    r"|obsessed|mad about|won|bought|sold|got|broke|split|ran|taken|started|applied|adopted|collects?"
    r"|breeds?|had|having)\b"
    r"|\W*(?:我们?|咱们?)?的?(?:那个|有个)?(?:老|公司|单位|店里|班里|办公室)?的?"
    r"(?:邻居|同事|同学|老乡|同行|工友|网友|校友|战友|群友|群里|隔壁|对门|楼上|楼下|同站|同班|同组)"
    r"(?!聚|会|群|一起)[^，。！？]{0,12}?[，,]?(?:人家)?[他她]?说?[他她]?"
    r"(?:上个?[月周]|最近|今年|昨天|刚|又|也|还|天天|老是?){0,3}"
    r"(?:要(?:离婚|结婚|去|辞职|生|考|搬|开|买)|想|打算|准备|升|买了|中了|离婚|结婚|考上|出国|创业|减肥|练|迷上|闹|跳槽|辞职|发财|炒股)",
    re.IGNORECASE,
)
"""Somebody known who does, wants or thinks something of their own life."""
_OF_SPEAKER: Final = lazy_pattern(
    r"\b(?:i|me|my|mine|we|us|our|ours|i'(?:m|ve|d|ll)|we'(?:re|ve|d|ll))\b|我|咱", re.IGNORECASE
)


def is_gossip(plain: str) -> bool:
    """Whether a sentence tells of somebody's own life, who is nothing to its speaker but met or known.

    Args:
        plain: A sentence with straight apostrophes.
    """
    if _STRANGER.match(plain):
        return _OF_SPEAKER.search(_TOLD_ME.sub("", plain)) is None
    known = _ACQUAINTANCE.match(plain)
    return known is not None and _OF_SPEAKER.search(_TOLD_ME.sub("", plain[known.end() :])) is None
