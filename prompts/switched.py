"""What a user is told who has switched their memory off or on."""

from typing import Final

from agentic_memory_bank.state.conversations import MemoryMode

_SAYS: Final[dict[tuple[MemoryMode, bool], tuple[str, str]]] = {
    ("off", False): (
        "Memory is off: nothing you say is kept, and nothing is looked up.",
        "记忆已关闭：你说的话不会保存，也不会查找以前的内容。",
    ),
    ("off", True): (
        "Memory is off in this conversation: nothing you say here is kept, and nothing is looked up.",
        "这次对话的记忆已关闭：这里说的话不会保存，也不会查找以前的内容。",
    ),
    ("recall", False): (
        "From now on I keep nothing of what you say; what I know already I still look up.",
        "从现在起你说的话不会保存；以前记得的内容还会查找。",
    ),
    ("recall", True): (
        "From now on I keep nothing of this conversation; what I know already I still look up.",
        "从现在起这次对话的内容不会保存；以前记得的内容还会查找。",
    ),
    ("on", False): ("Memory is on: I keep what you tell me.", "记忆已打开：你告诉我的会记住。"),
    ("on", True): ("Memory is on in this conversation.", "这次对话的记忆已打开。"),
}
_STAYS: Final = (
    'What was kept before stays until you have it forgotten. "Turn your memory on" switches it back.',
    "之前保存的内容仍在，可以让我忘掉。说“打开记忆”就会恢复。",
)


def answer(holds: MemoryMode, *, is_here: bool, chinese: bool) -> str:
    """What holds now.

    Args:
        holds: The stricter of what was said for the user and for the conversation.
        is_here: Whether it was said of this conversation alone.
        chinese: Whether it is said in Chinese.
    """
    says = _SAYS[holds, is_here][chinese]
    return says if holds == "on" else f"{says}{'' if chinese else ' '}{_STAYS[chinese]}"


def failed(*, chinese: bool) -> str:
    """That it could not be switched."""
    if chinese:
        return "现在没能切换：记忆暂时不可用，请再说一遍。"
    return "I could not switch it: the memories could not be reached. Please say it again."
