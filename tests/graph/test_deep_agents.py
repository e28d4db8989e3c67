"""A deep agent reads and writes a user's memories as files below `/memories/`."""

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage

from agentic_memory_bank import Memories
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

pytest.importorskip("deepagents", reason='pip install "agentic-memory-bank[deepagents]"')

from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, StateBackend

from agentic_memory_bank.runs.deep_agents import INSTRUCTIONS, MemoryBackend

SUNDAY = "Visitors see the mirror of the telescope on Sundays."


class Model(GenericFakeChatModel):
    shown: list[str] = []

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: list[Any], *given: Any, **options: Any) -> Any:
        self.shown.append("\n".join(message.text for message in messages))
        return super()._generate(messages, *given, **options)


@pytest.fixture
def memories() -> Iterator[Memories]:
    with Memories(embeddings=HashEmbeddings(), settings={"recall_threshold": 0.2}) as opened:
        opened.store("The user lives in Lisbon.", user="ana")
        opened.store(SUNDAY, user="ana", subject="telescope")
        yield opened


@pytest.fixture
def backend(memories: Memories) -> MemoryBackend:
    return MemoryBackend(memories, user="ana")


def call(tool: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": tool, "args": arguments, "id": f"{tool}{len(arguments)}"}])


class Agent:
    """A deep agent that makes the calls it is told, for a user of the runtime's context."""

    def __init__(self, memories: Memories, *calls: AIMessage) -> None:
        self.model = Model(messages=iter([*calls, AIMessage("Done.")]), shown=[])
        own = MemoryBackend(memories, user=lambda runtime: runtime.context["user"])
        self.agent: Any = create_deep_agent(
            self.model,
            backend=CompositeBackend(StateBackend(), {"/memories/": own}),
            memory=["/memories/me.md"],
            system_prompt=INSTRUCTIONS,
            context_schema=dict,
        )
        self.said = {"messages": [HumanMessage("Please.")]}

    def told(self, user: str = "ana") -> list[str]:
        """What the tools answered."""
        return self._results(self.agent.invoke(self.said, context={"user": user}))

    async def atold(self, user: str = "ana") -> list[str]:
        return self._results(await self.agent.ainvoke(self.said, context={"user": user}))

    def _results(self, out: Any) -> list[str]:
        return [message.text for message in out["messages"] if message.type == "tool"]


WORK = (
    call("ls", path="/memories/"),
    call("write_file", file_path="/memories/trip.md", content="# Trip\n- It is in May."),
    call("edit_file", file_path="/memories/me.md", old_string="Lisbon", new_string="Porto"),
    call("read_file", file_path="/memories/me.md"),
    call("grep", pattern="When do visitors see the mirror?", path="/memories/"),
    call("glob", pattern="**/*.md", path="/memories/"),
    call("delete", file_path="/memories/trip.md"),
    call("read_file", file_path="/memories/trip.md"),
    call("write_file", file_path="/notes.txt", content="not a memory"),
)


def check_work(told: list[str]) -> None:
    listed, written, edited, read, found, globbed, deleted, gone, _ = told
    assert "/memories/me.md" in listed
    assert "/memories/telescope.md" in listed
    assert "trip.md" in written
    assert "replaced 1" in edited
    assert "The user lives in Porto." in read
    assert "/memories/telescope.md" in found
    assert "/memories/trip.md" in globbed
    assert "Deleted" in deleted
    assert "not found" in gone
    assert "about/WORDS.md" in gone


def test_the_tools_of_a_deep_agent_work_on_memories(memories: Memories) -> None:
    check_work(Agent(memories, *WORK).told())

    kept = memories.list(user="ana").records
    assert {record["text"] for record in kept} == {"The user lives in Porto.", SUNDAY}
    assert [one["text"] for record in kept for one in record["history"]] == ["The user lives in Lisbon."]


async def test_the_tools_work_where_they_are_awaited(memories: Memories) -> None:
    check_work(await Agent(memories, *WORK).atold())


def test_what_is_known_of_the_user_stands_in_the_first_prompt(memories: Memories) -> None:
    agent = Agent(memories)

    agent.told()

    assert "The user lives in Lisbon." in agent.model.shown[0]
    assert INSTRUCTIONS[:40] in agent.model.shown[0]


def test_the_runtime_says_whose_memories_are_meant(memories: Memories) -> None:
    agent = Agent(memories, WORK[0], call("grep", pattern="Lisbon", path="/memories/"), WORK[1])

    listed, found, _ = agent.told("bob")

    assert "me.md" not in listed
    assert "Lisbon" not in found
    assert [record["text"] for record in memories.list(user="bob").records] == ["It is in May."]
    assert "Lisbon" not in "\n".join(agent.model.shown)


def test_what_is_refused_is_told_to_the_model(memories: Memories, backend: MemoryBackend) -> None:
    assert "would forget 1 memories" in str(backend.write("/me.md", "- Rowing is fun.").error)
    assert "no memory" in str(backend.edit("/me.md", "The user lives in Lisbon.", "Forget my sister.").error)
    assert "not found" in str(backend.edit("/no.md", "a", "b").error)
    assert "no file" in str(backend.delete("/").error)
    memories.switch("off", user="ana")
    assert backend.write("/trip.md", "- It is in May.").error
    memories.switch("on", user="ana")
    assert len(memories.list(user="ana").records) == 2


def test_a_word_is_found_where_it_stands_and_a_question_by_what_it_means(backend: MemoryBackend) -> None:
    (word,) = backend.grep("Lisbon").matches or ()
    (meant,) = backend.grep("When do visitors see the mirror of the telescope?", max_count=1).matches or ()

    assert word == {"path": "/me.md", "line": 3, "text": "- The user lives in Lisbon."}
    assert meant == {"path": "/telescope.md", "line": 3, "text": f"- {SUNDAY}"}


def test_a_search_stays_in_the_files_it_is_told(backend: MemoryBackend) -> None:
    question = "When do visitors see the mirror of the telescope?"

    assert {match["path"] for match in backend.grep(question, glob="me.md").matches or ()} <= {"/me.md"}
    assert {match["path"] for match in backend.grep(question, path="/me.md").matches or ()} <= {"/me.md"}
    assert [match["path"] for match in backend.grep(question, glob="tele*").matches or ()] == ["/telescope.md"]


def test_a_file_below_about_is_what_is_known_of_its_name(backend: MemoryBackend) -> None:
    read = backend.read("/about/the mirror of the telescope.md").file_data

    assert read is not None
    assert f"- {SUNDAY} (telescope.md)" in read["content"]
    assert backend.write("/about/tea.md", "- x").error


def test_files_are_brought_and_fetched_whole(backend: MemoryBackend) -> None:
    kept, refused = backend.upload_files([("/trip.md", "- 五月。".encode()), ("/a.png", b"\xff")])
    fetched, missing = backend.download_files(["/trip.md", "/no.md"])

    assert (kept.error, bool(refused.error)) == (None, True)
    assert fetched.content == "# trip\n\n- 五月。\n".encode()
    assert missing.error == "file_not_found"


@pytest.mark.parametrize(
    "path", ["", "/", "/../me.md", "/\ud800.md", "/a\0b.md", "/about/x.md", "/" + "a" * 10_000 + ".md"]
)
def test_a_path_that_no_file_can_have_is_refused_in_words(backend: MemoryBackend, path: str) -> None:
    assert "Name a Markdown file" in (backend.write(path, "- The sea is calm.").error or "")
    assert backend.edit(path, "calm", "rough").error
    assert backend.delete(path).error
    assert backend.read(path).error or path.startswith("/about/")
