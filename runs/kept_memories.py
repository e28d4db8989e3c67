"""The part of `Memories` that keeps what somebody wants kept: pins, and copies to bring back what was deleted."""

from collections.abc import Collection, Sequence

from agentic_memory_bank.runs.agent_memories import AgentMemories
from agentic_memory_bank.state.records import Record
from agentic_memory_bank.tools.memories.deletion import several
from agentic_memory_bank.tools.memories.keeping import MemoryCopy


class KeptMemories(AgentMemories):
    """Memories that are pinned, and copies of memories that are about to be deleted."""

    def pin(self, id: str, *, user: str, pinned: bool = True) -> Record:
        """Pin a memory, or pin it no longer.

        One that is pinned stays as it is until it is deleted: it does not expire, is not pruned, gives way to no
        quota, and is merged with no other. A new value may still take its place.

        Args:
            pinned: False to let it go like any other.

        Raises:
            UnknownMemoryError: This user has no such memory.
            NoUserError, StorageError: As `get`.
        """
        self._check_on(user)
        return self._records.pin(user, id, pinned=pinned)

    def copy_of(self, ids: Collection[str], *, user: str) -> MemoryCopy:
        """Copy what `delete` of these ids would delete, with its history, so that `restore` can bring it back.

        Nothing else keeps what is deleted: whoever keeps the copy decides how long it can come back.

        Args:
            ids: Ids of memories, or of parts of them as a `DeletionPreview` names them.

        Raises:
            InputError, NoUserError, StorageError: As `delete`.
        """
        return self._records.copy_of(user, several(ids))

    def restore(self, copy: MemoryCopy, *, user: str) -> Sequence[str]:
        """Bring back what was deleted since a copy was made, under its ids, with its history, use and place.

        What was erased besides stays erased, with what was derived from it: all memories by `delete_all`, the same
        words once more, or what had been left of a memory. Nor does come back what a deletion takes besides memories:
        its words in conversations that wait to be remembered, and in the conversations of agents.

        Returns:
            The ids of all memories that came back.

        Raises:
            InputError: The copy is of another user's memories.
            NoUserError, StorageError: As `get`.
        """
        self._check_on(user)
        return self._records.restore(user, copy)
