"""What a user is told who wants something forgotten: what went, what would go, or that nothing of it is known."""

from collections.abc import Sequence
from typing import Final

MOST: Final = 10
"""How many memories are shown at most; the others are counted."""
LONGEST: Final = 200
"""Characters that are shown of each."""

ERASE: Final = "This is exact and small: erase it now with `delete_memories`, and tell the user what went."
"""To an agent that was told to forget, behind what it found."""
ASK: Final = "Show this to the user first, and erase it with `delete_memories` after a yes."
_NEAR: Final = ("Nothing says all of that; this comes near:", "没有完全对得上的内容，相近的有这些：")
_EXACT: Final = ("This would be erased for good, with the words it was said in", "要删除的有这些（")
_QUESTIONS: Final = ("Shall I erase it?", "要删除吗？", "确定都删除吗？")


def not_stored(tool: str) -> str:
    """To an agent that would keep a wish to forget as a memory of what is to be gone.

    Args:
        tool: The tool that finds what is meant.
    """
    return (
        f"Nothing was kept: this tells to forget. Hand the user's words to `{tool}`; a fact that stands beside them is "
        "stored by itself."
    )


def news_stored(news: str, tool: str = "") -> str:
    """To an agent that would keep such a wish as well: only what is told beside it is kept. Args as `not_stored`."""
    then = f" Hand it to `{tool}`: nothing was erased yet." if tool else ""
    return f"Only this is kept: “{_cut(news)}”. The rest tells to forget, and is no memory.{then}"


def erased(texts: Sequence[str], *, chinese: bool) -> str:
    """What was erased."""
    return f"已经删除，不会再记得：\n{_list(texts)}" if chinese else f"Erased for good:\n{_list(texts, 'and {} more')}"


def would_erase(texts: Sequence[str], *, chinese: bool, is_near: bool = False) -> str:
    """What would be erased; ends with a question. What only comes near is called so."""
    if is_near and chinese:
        return f"{_NEAR[1]}\n{_list(texts)}\n要删除吗？"
    if is_near:
        return f"{_NEAR[0]}\n{_list(texts, 'and {} more')}\nShall I erase it?"
    if chinese:
        return f"{_EXACT[1]}{len(texts)}条），以及当时的原话：\n{_list(texts)}\n确定都删除吗？"
    shown = _list(texts, "and {} more")
    opening = f"{_EXACT[0]} ({len(texts)} in all):"
    return f"{opening}\n{shown}\nShall I erase it?"


def asks_back(answer: str) -> bool:
    """Whether an answer asks if something is to be erased."""
    return answer.lstrip().startswith((*_NEAR, *_EXACT)) and answer.rstrip().endswith(_QUESTIONS)


def nothing_found(about: str, *, chinese: bool) -> str:
    """That nothing is known of it, and so nothing was erased."""
    about = _cut(about)
    if chinese:
        return f"我的记忆里没有提到“{about}”的内容，没有什么可删的。"
    return f'I keep nothing that speaks of "{about}", so there was nothing to erase.'


def not_kept(*, chinese: bool, is_erased: bool) -> str:
    """That what was just said is not remembered."""
    if chinese:
        return "好，刚才说的已经删除，不会记住。" if is_erased else "好，这些话不会记下来。"
    return "What you said just before is erased." if is_erased else "I keep nothing of this message."


def left_alone(*, chinese: bool) -> str:
    """That nothing was erased."""
    return "好，什么都没有删除。" if chinese else "Nothing was erased."


def say_what(*, chinese: bool) -> str:
    """That everything at once is not erased from a chat."""
    if chinese:
        return "全部记忆不能在聊天里一次删除，什么都没有删。请说明要忘掉什么，或者用 `memory-bank forget --all`。"
    return (
        "Nothing was erased: all memories at once are not erased from a chat. Name what is to be forgotten, or run "
        "`memory-bank forget --all`."
    )


def say_which(*, chinese: bool) -> str:
    """That it is not known what has ceased to be true."""
    if chinese:
        return "什么都没有改：我不知道说的是哪一条。请说明什么不对了，或者现在是怎样。"
    return "Nothing was changed: I do not know what it is about. Say what is no longer true, or what holds now."


def failed(*, chinese: bool) -> str:
    """That the memories could not be reached, or have changed meanwhile."""
    if chinese:
        return "现在没能删除：记忆暂时读不到，或者内容刚刚变了。请再说一遍要忘掉什么。"
    return (
        "I could not erase it: the memories could not be reached, or have changed since. Please say again what is to "
        "be forgotten."
    )


def _list(texts: Sequence[str], more: str = "还有{}条") -> str:
    rest = [more.format(len(texts) - MOST)] if len(texts) > MOST else []
    return "\n".join(f"- {line}" for line in (*map(_cut, texts[:MOST]), *rest))


def _cut(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= LONGEST else plain[:LONGEST].rstrip() + " …"
