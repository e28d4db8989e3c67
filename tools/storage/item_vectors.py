"""The vectors of a store's items, in its own file: search by meaning, as LangGraph defines `index` and `query`.

The table is made when it is first needed, and triggers keep it in step: whoever deletes or changes an item, by whatever
process, takes its vectors along.
"""

import asyncio
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from langgraph.store.base import IndexConfig, Op, PutOp, SearchItem, SearchOp, get_text_at_path, tokenize_path
from langgraph.store.base.embed import ensure_embeddings

from agentic_memory_bank.state.errors import EmbeddingError

Place = tuple[tuple[str, ...], str]
"""Namespace and key of an item."""

SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS vectors (namespace TEXT NOT NULL, key TEXT NOT NULL, part INTEGER NOT NULL, "
    "vector BLOB NOT NULL, PRIMARY KEY (namespace, key, part))",
    "CREATE TRIGGER IF NOT EXISTS vectors_deleted AFTER DELETE ON items BEGIN DELETE FROM vectors "
    "WHERE namespace = old.namespace AND key = old.key; END",
    "CREATE TRIGGER IF NOT EXISTS vectors_changed AFTER UPDATE OF value ON items BEGIN DELETE FROM vectors "
    "WHERE namespace = old.namespace AND key = old.key; END",
)


@dataclass(frozen=True, slots=True)
class EmbeddedOps:
    """The vectors that a batch needs, made before its transaction: a model may take its time."""

    items: Mapping[Place, Sequence[Sequence[float]]]
    queries: Mapping[str, Sequence[float]]


class ItemVectors:
    """Makes the vectors of items and queries.

    Args:
        config: As LangGraph defines it: `embed`, and `fields` whose texts are embedded, by default the whole value.
    """

    def __init__(self, config: IndexConfig) -> None:
        self._embeddings = ensure_embeddings(config.get("embed"))
        self._dims = config.get("dims")
        named: Any = config  # LangGraph's own SQLite and Postgres stores call the fields so
        self._fields = _tokenized(config.get("fields") or named.get("text_fields") or ["$"])

    def embed(self, ops: Iterable[Op]) -> EmbeddedOps:
        """Make the vectors of a batch.

        Raises:
            EmbeddingError: The model makes vectors of another dimension than was said.
        """
        texts, queries = self._wanted(ops)
        flat = [text for some in texts.values() for text in some]
        made = self._embeddings.embed_documents(flat) if flat else []
        asked = {query: self._embeddings.embed_query(query) for query in queries}
        return self._embedded(texts, made, asked)

    async def aembed(self, ops: Iterable[Op]) -> EmbeddedOps:
        """Do what `embed` does, asynchronously. Raises as `embed`."""
        texts, queries = self._wanted(ops)
        flat = [text for some in texts.values() for text in some]
        made = await self._embeddings.aembed_documents(flat) if flat else []
        asked = await asyncio.gather(*map(self._embeddings.aembed_query, queries))
        return self._embedded(texts, made, dict(zip(queries, asked, strict=True)))

    def _wanted(self, ops: Iterable[Op]) -> tuple[dict[Place, list[str]], list[str]]:
        """The texts of each item that is put, and the queries."""
        texts: dict[Place, list[str]] = {}
        queries: dict[str, None] = {}
        for op in ops:
            if isinstance(op, PutOp):
                texts[op.namespace, op.key] = list(self._texts(op))
            elif isinstance(op, SearchOp) and op.query:
                queries[op.query] = None
        return texts, list(queries)

    def _texts(self, op: PutOp) -> Iterator[str]:
        if op.value is None or op.index is False:
            return
        for tokens in self._fields if op.index is None else _tokenized(op.index):
            yield from get_text_at_path(op.value, tokens)

    def _embedded(
        self,
        texts: Mapping[Place, Sequence[str]],
        made: Sequence[Sequence[float]],
        queries: Mapping[str, Sequence[float]],
    ) -> EmbeddedOps:
        for vector in (*made, *queries.values()):
            if self._dims is not None and len(vector) != self._dims:
                raise EmbeddingError(f"A vector has {len(vector)} dimensions, and `index` says {self._dims}.")
        rest = iter(made)
        return EmbeddedOps({place: [next(rest) for _ in some] for place, some in texts.items()}, queries)


def write_vectors(database: sqlite3.Connection, embedded: EmbeddedOps) -> None:
    """Write the vectors of the items that a batch has put, in its transaction."""
    import numpy as np

    for statement in SCHEMA:
        database.execute(statement)
    for (namespace, key), vectors in embedded.items.items():
        place = ".".join(namespace), key
        database.execute("DELETE FROM vectors WHERE namespace = ? AND key = ?", place)
        rows = ((*place, part, np.asarray(vector, dtype="<f4").tobytes()) for part, vector in enumerate(vectors))
        database.executemany("INSERT INTO vectors VALUES (?, ?, ?, ?)", rows)


def ranked(
    database: sqlite3.Connection, items: Sequence[SearchItem], query: Sequence[float], op: SearchOp
) -> list[SearchItem]:
    """The items nearest to a query, with the cosine of their nearest part; those without a vector come last."""
    import numpy as np

    nearest = _cosines(database, np.asarray(query, dtype="f8"))
    for item in items:
        item.score = nearest.get((".".join(item.namespace), item.key))
    known = sorted((item for item in items if item.score is not None), key=lambda item: -(item.score or 0.0))
    return [*known, *(item for item in items if item.score is None)][op.offset : op.offset + op.limit]


def _cosines(database: sqlite3.Connection, query: Any) -> dict[tuple[str, str], float]:
    """The cosine of each item's nearest part; what cannot be compared with the query is left out."""
    import numpy as np

    if not database.execute("SELECT 1 FROM sqlite_schema WHERE name = 'vectors'").fetchone():
        return {}
    found: dict[tuple[str, str], float] = {}
    length = float(np.linalg.norm(query))
    for namespace, key, raw in database.execute("SELECT namespace, key, vector FROM vectors"):
        vector = np.frombuffer(raw, dtype="<f4").astype("f8")
        lengths = length * float(np.linalg.norm(vector))
        if len(vector) == len(query):
            cosine = float(vector @ query) / lengths if lengths else 0.0
            found[namespace, key] = max(cosine, found.get((namespace, key), cosine))
    return found


def _tokenized(fields: Iterable[str]) -> list[list[str] | str]:
    return [tokenize_path(field) if field != "$" else field for field in fields]
