"""Reads what a Chinese clause asks a memory to forget: before the thing it is about, or behind it."""

from typing import Final, NamedTuple

from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern

LONGEST_ZH: Final = 150
"""Characters of a message that is read as a request."""

_LEAD_ZH: Final = (
    r"(?:请|麻烦|拜托|你|您|帮我|帮忙|可以|能不能|可不可以|能|那|就|也|还有|对了|嗯|好了?|先|直接|赶紧|给我|以后|千万|都"
    r"|希望|最好|还是){0,6}"
)
_DELETE_ZH: Final = (
    r"(?:忘掉|删(?:掉|除|了|咗)|抹掉|抹去|清掉|清除|擦掉|去掉|划掉|删去|移除|剔除|抹除|抹了|清空"
    r"|\s?(?:delete|remove|erase|forget|clear|del)(?:\s?(?:掉|了))?)"
)
_FORGET_ZH: Final = r"(?:忘了|忘记|忘)"
_KEEP_NOT_ZH: Final = (
    r"(?:别|不要|不用|不必|甭|不许|无需|唔好|唔使|莫要?)再?(?:[帮给]我)?(?:往[下里])?"
    r"(?:记录|记住|记着|记得|记下来?|记|保存|保留|留存|留着|留|存着|存|储存)(?:着|住|下来|下|记录|底)?"
)
_UNSAID_ZH: Final = (
    r"当(?:作|做|成)?我?(?:没|从没|从来没|不)(?:有|存在)?(?:(?:说|提|讲|听|聊|发生)(?:过|见)?|知道|晓得"
    r"|这(?:回|件|个)?事儿?)?"
)
_FROM_RECORD_ZH: Final = lazy_pattern(
    r"(?:从|在)?(?:你的?|您的?)?(?:记录|记忆|档案|笔记本?|资料|备忘录?|脑子|小本本?|系统|数据库|备注)(?:里面?|中|上|里头)"
)
"""Where it is to be taken from."""
_TAIL_ZH: Final = (
    r"(?:它|她|他|佢)?(?:吧|了|啊|哈|呗|呢|哦|嘛|喇|啦|喽|咯|好吗|好不好|行吗|行不行|可以吗|可好|吗|谢谢|掉|在记忆里"
    r"|到记忆里)*"
)
_BEHIND_ZH: Final = lazy_pattern(
    r"\s*+(?P<before>.{0,80}?)(?P<verb>(?:都|[给帮替]我?|就|全部?|一起|也|统统|赶紧|可以|还是){0,4}"
    rf"(?:{_DELETE_ZH}|{_FORGET_ZH}|{_KEEP_NOT_ZH}|{_UNSAID_ZH}))"
    rf"{_TAIL_ZH}\s*"
)
_FRONT_ZH: Final = lazy_pattern(
    rf"\s*{_LEAD_ZH}(?:(?P<delete>{_DELETE_ZH}|忘了|忘记)|(?P<kept>{_KEEP_NOT_ZH}))(?P<about>.{{1,80}}?)(?:吧|了|啊|好吗|行吗"
    rf"|可以吗|谢谢)*\s*"
)
_DEAD_ZH: Final = lazy_pattern(
    r"先(?:别|不要)(?:存|保存)|存[档盘]|被|怎么|如何|(?:不想|不希望|不愿意?|别让|不要让|怕|担心)[^，。]{0,24}(?:忘|删|清掉|抹)|要(?:不要)?(?:删|忘|清|抹).{0,3}吗|是不是|该不该|加以|予以|要求|必须|为了|(?:别|不要|(?<!能)不能|不会|没有?|(?<!能)不|勿|难|老是?|总是?|经常|常常?|差点|容易|怕|免得|以免|千万别)(?:再|把.{0,20})?忘|忘不|忘带|忘[了记](?:带|拿|关|做|写"
    r"|吃|买|去|发|交|告诉|跟|说|提|问|给)"
)
_STATED_ZH: Final = lazy_pattern(
    r"\s*(?:我|他|她|我们|他们|她们|大家|谁|我[妈爸姐哥弟妹]{1,2}|结果)(?:又|都|也|早|就|给|已经|全){0,3}"
    r"(?:把.{1,20}?)?(?:又|都|给|全|就){0,2}(?:忘|删|去掉|清|抹|划掉|当(?:作|做|成)?(?:没|不))"
    r"|[^，。]{1,12}(?:(?<![给帮替])我|他|她)(?:已经|都|早|就|刚|给){0,2}删(?:掉)?了|\s*我(?:让|叫|请|找|托)[^，。你]{1,8}把"
    r"|\s*我跟(?!你|您)[^，。]{1,8}(?:说|讲)"
    r"|\s*(?:你|您)(?:又|都|是不是|怎么|居然|竟然|已经|肯定|好像|该不会)*(?:把.{1,20}?)?(?:又|都|给|全)?忘(?:了|记)(?!掉)(?!.*吧\s*$)"
)
_CUE_ZH: Final = lazy_pattern(
    r"(?:关于|有关|跟|和|我|咱|那[次个件些]|这[次个件些])|的(?:私?事情?|内容|信息|消息|记忆|情况|那些)|嘅(?:事|嘢)|[呢嗰]啲|说的|告诉你|说过"
)
_INTENDED_ZH: Final = lazy_pattern(r"\A\s*我(?:想|要|打算|准备)")
_TOLD_ZH: Final = lazy_pattern(r"\A(?:关于|有关|这|那|我(?:说|讲|提|跟你|告诉))|的(?:私?事情?|信息|消息|情况)")
_WITH_ZH: Final = lazy_pattern(
    rf"\s*{_LEAD_ZH}(?:别|不要|不用|不必|甭)再?[把将](?P<about>.{{1,60}}?)(?:记|存|留|保存|保留)(?:着|住|下来|下|在.{{1,6}})?(?:吧|了|啊|哈)*\s*"
)
_WORK_ZH: Final = lazy_pattern(
    r"[段句行列页字]$|文件|闹钟|纹身|朋友圈|代码|邮件|照片|图片|标点|表格|应用|软件|账号|评论|段落|章|笔记|日历|重复|第[一二三四五六七八九十\d]+[段句行列页章]|指令|提示"
)
_HANDS_ZH: Final = lazy_pattern(
    r"\A(?:请|麻烦|你|您|帮我|可以|能不能|能|那|就|也|还是|最好|把|将|都|一并|这?那?些|这?件?事情?|这个|那个|这些|这|那|它|她|他|的|话|条|句|所以|先|希望|给我"
    r"|[你您那这](?:边|头|儿|里))*"
)
_POINTS_ZH: Final = lazy_pattern(
    r"(?:[跟和与有了都全它他她其这那这些边个件条档茬段桩摊一子的儿人事]|有关|相关|关联|所有|一切|全部|内容|东西|事情|信息|名字|记录)++"
)
"""What only points to what was named before: 相关的, 那档子事, 他的那些."""
_POINTS_BACK_ZH: Final = lazy_pattern(r"[他她那]|[有相]关|档|茬|桩|摊")
_ENDS_ZH: Final = lazy_pattern(
    r"(?:你|您|请|就|都|也|可以|那些|这件事情?|这些|这个|给我|帮我|麻烦|还是|最好|希望|[,，\s]){1,6}\Z"
)
MATTER_ZH: Final = lazy_pattern(
    r".{1,40}?的?(?:私?事情?|毛病|问题|情况|消息)(?!业|实|故|务)|.{1,20}?(?:那|这)[些段茬块回件个]儿?"
    r"(?:东西|话|人|病|结果|玩意儿?)?(?=\Z)"
)
SHORT_ZH: Final = 20
"""Characters of a clause that may be all that a later one means by "it"."""
SAYS_ZH: Final = lazy_pattern(r"\A(?:我|他|她)(?:刚|今天|昨天|又|就是)|\A我?[跟给]你[说讲]")
"""How a Chinese clause begins that tells something, and does not only name it."""
MATTER_END_ZH: Final = lazy_pattern(r"(?:的|那个|这个)(?:私?事情?|情况|问题)\Z")
"""What ends the name of a matter, and names nothing itself."""
ALL_ZH: Final = lazy_pattern(
    r"(?:把|将|关于|有关)*(?:我的?)?(?:所有|一切|全部)(?:关于)?(?:我的?|记忆|内容|信息|事情|东西|说过的话?|的)*|(?:关于)?我的(?:记忆|信息)"
)
INSTEAD_ZH: Final = lazy_pattern(
    r"(?:新的?[\u4e00-\u9fff]{0,4}(?:是|叫|在)|(?<!我)(?<!我们)(?:现在|目前|以后|如今)(?:[\u4e00-\u9fff]{0,4}的?是|改|换|用|去|找|看|住|归)"
    r"|[改换变挪搬](?:成|到|为|在)|推迟到|提前到)"
)
"""Something is put in the place of what is to be forgotten: a correction."""
_THIS_ZH: Final = lazy_pattern(
    r"(?:我?(?:刚才|刚刚|刚)?(?:说|讲|提|告诉你)的?)?(?:这|那|刚才)?(?:个|件|条|句|些|段|番)?(?:事情?|话|消息|内容|东西)?(?:下来|了|吧|哈|啊)*"
    r"|(?:我?[跟给]你[说讲][一个]{0,2}(?:秘密|事儿?|事情|话)?)?(?:[你您]?听(?:听|过|一听|完)?[就便](?:得|行|好|算|罢|完)了?)?[你您]?"
)


_CAN_YOU_ZH: Final = lazy_pattern(r"\s*(?:你|您)?(?:能不能|可不可以|能|可以)")
_JUST_SAID_ZH: Final = lazy_pattern(r"(?:刚才|刚刚|上面|上一?)[^，。]{0,4}(?:说|讲|话|句|条)")
_TELLS_ZH: Final = lazy_pattern(r"\s*(?:请|麻烦|帮我)?忘记(?!.*了\s*\Z)")
_BIT_ZH: Final = lazy_pattern(r"(?P<what>[\u4e00-\u9fff]{2,8})(?<!的)那段话?")
_SOMEBODY_ZH: Final = lazy_pattern(
    r"[A-Z][A-Za-z]{1,20}|[老小阿][\u4e00-\u9fff]|[\u4e00-\u9fff]{1,2}(?:医生|老师|教练|总)"
)
"""Somebody by name alone: 不用记Marcus了."""
_MEMORY_ZH: Final = lazy_pattern("[忘记存留没不删抹]")
"""What is done to memories, and not to things."""
_IS_DONE_ZH: Final = lazy_pattern(r"[^把将请你您都给]{1,60}掉了")
"""What has been cleared away, and is not to be: "冰箱里的剩菜清掉了"."""
_LAST_ZH: Final = 4
"""Characters by which the end of a clause is found again, where the place it speaks of was taken out."""


class ForgetPhrase(NamedTuple):
    """What one clause asks to forget; `about` is empty where it only says "it" or "this"."""

    about: str
    is_idle: bool = False
    """Whether "forget it" is all it says, which asks for nothing by itself."""
    wants_nothing_kept: bool = False
    is_sure: bool = True
    """Whether memories are meant, and no thing of the user's that is to be cleared away."""
    points_back: bool = False
    """Whether it points to what another clause names, and not to what is said here."""
    is_aside: bool = False
    """Whether it says in passing that what the message tells is not to be kept."""


def asked_in_chinese(clause: str, words: str) -> ForgetPhrase | None:
    """What a Chinese clause asks to forget; None where it asks for nothing of the kind."""
    if not is_cjk(clause) or len(words) > LONGEST_ZH or _DEAD_ZH.search(clause) or _STATED_ZH.match(clause):
        return None
    if INSTEAD_ZH.search(words, words.find(clause) + len(clause)):
        return None
    bare = _FROM_RECORD_ZH.sub("", clause)
    is_of_record, clause = bare != clause, bare
    if (found := _WITH_ZH.fullmatch(clause)) and not _WORK_ZH.search(found["about"]):
        return ForgetPhrase("" if _THIS_ZH.fullmatch(found["about"]) else found["about"], wants_nothing_kept=True)
    found = _BEHIND_ZH.fullmatch(clause)
    if found and (is_of_record or not _IS_DONE_ZH.fullmatch(clause)):
        asked = _behind(found["before"], found["verb"], clause, words)
        named = _INTENDED_ZH.sub("", found["before"], count=1)
        is_plain = is_of_record or _MEMORY_ZH.search(found["verb"]) or _CUE_ZH.search(named)
        return asked if asked is None or is_plain else asked._replace(is_sure=False)
    found = _FRONT_ZH.fullmatch(clause)
    if found is None or _WORK_ZH.search(found["about"]):
        return None
    about = found["about"]
    if _THIS_ZH.fullmatch(about) or _POINTS_ZH.fullmatch(about):
        return ForgetPhrase("", wants_nothing_kept=True, points_back=_points_back(about))
    is_sure = found["delete"] in ("忘掉", "删掉", "删除", "删了") or _CUE_ZH.search(about) is not None or is_of_record
    if found["kept"] and "记" not in found["kept"]:  # what is kept may be money, or company
        is_sure = _TOLD_ZH.search(about) is not None
    elif found["kept"] and clause.rstrip().endswith("了"):
        is_sure = "着" in found["kept"] or "住" in found["kept"] or is_sure
    if is_sure:
        return ForgetPhrase(about)
    is_request = found["kept"] or _CAN_YOU_ZH.match(clause) or _TELLS_ZH.match(clause)
    who = about.removesuffix("吗")
    return ForgetPhrase(who, is_sure=False) if is_request and _SOMEBODY_ZH.fullmatch(who) else None


def _behind(before: str, verb: str, clause: str, words: str) -> ForgetPhrase | None:
    """What stands before the verb: "把我妹妹的事忘了吧"."""
    is_not_kept = "记" in verb or "留" in verb or "存" in verb
    about = _ENDS_ZH.sub("", _HANDS_ZH.sub("", before, count=1))
    if not is_not_kept and "忘" in verb and "掉" not in verb and not _asks_zh(before, clause, words):
        return None
    if bit := _BIT_ZH.fullmatch(about):
        return ForgetPhrase(bit["what"], is_sure=False)
    if _WORK_ZH.search(about):
        return None
    if not about or _THIS_ZH.fullmatch(about) or _POINTS_ZH.fullmatch(about):
        is_idle, back = "忘" in verb and "掉" not in verb and not about, _points_back(before)
        is_not_kept = is_not_kept or _JUST_SAID_ZH.search(before) is not None
        return ForgetPhrase("", is_idle and not back, wants_nothing_kept=is_not_kept, points_back=back)
    return ForgetPhrase(about) if not is_not_kept or _CUE_ZH.search(before) or "把" in before else None


def _points_back(about: str) -> bool:
    return about.startswith("那") or (_THIS_ZH.fullmatch(about) is None and _POINTS_BACK_ZH.search(about) is not None)


def _asks_zh(before: str, clause: str, words: str) -> bool:
    """Whether "忘了" asks for it, and does not tell that somebody has forgotten."""
    end = words.find(clause[-_LAST_ZH:]) + len(clause[-_LAST_ZH:])
    is_question = words[end : end + 1] in ("?", "？") or clause.endswith("吗")
    return not is_question and ("你" in before or "请" in before or before.startswith(("把", "将")) or "吧" in clause)
