"""Stage 4: what does each fresh memory mean, as a vector?"""

from langgraph.runtime import Runtime

from agentic_memory_bank.nodes.deps import embedding_progress
from agentic_memory_bank.nodes.memory_bank.deps import BankDeps
from agentic_memory_bank.state import query_graph
from agentic_memory_bank.state.memory_bank import MemoryBankState, MemoryBankUpdate
from agentic_memory_bank.state.query_graph import embedded_text
from agentic_memory_bank.state.settings import Settings


def embed(state: MemoryBankState, runtime: Runtime[Settings], deps: BankDeps) -> MemoryBankUpdate:
    """Encode all fresh memories in one batch. Vectors stay outside the state; a memory keeps their key."""
    nodes = state["query_graph"]["nodes"]
    texts = {node_id: embedded_text(nodes[node_id]) for node_id in state["fresh"] if node_id in nodes}
    runtime.stream_writer({"stage": "embed", "memories": len(texts)})
    deps.encoder.vectors(list(texts.values()), embedding_progress(runtime, "embed"))
    return {"query_graph": [query_graph.embed({node_id: deps.encoder.key(text) for node_id, text in texts.items()})]}
