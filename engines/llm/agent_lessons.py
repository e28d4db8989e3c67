"""The conversation engine of agents: it also says what a task teaches."""

from collections.abc import Sequence

from agentic_memory_bank.engines.llm.conversation import SUMMARISE, ChatConversationEngine
from agentic_memory_bank.engines.llm.structured_output import StructuredRequest
from agentic_memory_bank.prompts import task_lesson


class ChatAgentEngine(ChatConversationEngine):
    """Judges conversations, and the tasks of agents, with chat models."""

    def lesson(self, goal: str, steps: Sequence[str], outcome: str) -> str:
        """What a task teaches, in one call of the role `summarise`; empty where that has no model.

        Args:
            goal: What was asked.
            steps: What was called, and what came of it.
            outcome: How it ended.

        Raises:
            EngineError: No answer can be had.
        """
        if SUMMARISE not in self._asker.models.roles:
            return ""
        question = StructuredRequest(
            SUMMARISE, task_lesson.INSTRUCTIONS, task_lesson.render(goal, steps, outcome), task_lesson.Lesson
        )
        (said,) = self._asker.ask([question])
        return said.lesson if said else ""
