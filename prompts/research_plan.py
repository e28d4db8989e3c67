"""What should be searched for each request? Asked by the researcher's `plan`, from the second round on."""

from collections.abc import Sequence

from pydantic import BaseModel, Field

from agentic_memory_bank.prompts.common import instructions, numbered
from agentic_memory_bank.prompts.fence import escape, fence

INSTRUCTIONS = instructions(
    """
You plan searches in a memory of pages. You are shown a question, what is known so far, the requests that are open, and
the abstracts of the pages that seem closest, each under a number. For each request name what to search: keywords are
single words or names that stand in a page exactly so; queries are sentences that say what a page would say; pages are
the numbers of abstracts whose page should be read whole. Use what fits the request: exact names and numbers call for
keywords, descriptions for queries, a page that clearly holds it for its number. Name a page only if its abstract is
shown. Leave a list empty rather than guess.
"""
)


class RequestSearch(BaseModel):
    """What to search for one request."""

    request: int = Field(description="Number of the request.")
    keywords: list[str] = Field(description="Words or names, each searched on its own; at most five.")
    queries: list[str] = Field(description="Sentences, searched by meaning; at most three.")
    pages: list[int] = Field(description="Numbers of abstracts whose pages are read whole; at most five.")


class Searches(BaseModel):
    """The searches of a round."""

    searches: list[RequestSearch] = Field(description="One for each request.")


def render(
    question: str,
    requests: Sequence[str],
    findings: Sequence[str],
    abstracts: Sequence[tuple[str, str]],
    titles: Sequence[str],
) -> str:
    """Write the prompt.

    Args:
        question: What is to be found out in the end.
        requests: The open ones.
        findings: What is known; may be empty.
        abstracts: Title, which may be empty, and abstract of the closest pages.
        titles: Titles of further pages.
    """
    shown = [f"{title}: {said}" if title else said for title, said in abstracts]
    parts = [fence("question", question), numbered("request", requests), numbered("finding", findings)]
    parts += [numbered("abstract", shown)]
    parts += ["<titles>\n" + "\n".join(escape(title) for title in titles) + "\n</titles>"] if titles else []
    return "\n\n".join(part for part in parts if part)
