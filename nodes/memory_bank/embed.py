"""Stage 4: what does each fresh memory mean, as a vector?"""

from langgraph.runtime import Runtime

from agentic_memory_bank.nodes.deps import embedding_progress
from agentic_memory_bank.nodes.memory_bank.deps import BankDeps
from agentic_memory_bank.state import query_graph
from agentic_memory_bank.state.memory_bank import MemoryBankState, MemoryBankUpdate
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.search.bank_index import embedded_texts


def embed(state: MemoryBankState, runtime: Runtime[Settings], deps: BankDeps) -> MemoryBankUpdate:
    """Encode what each fresh memory is made of. Vectors stay outside the state; a memory keeps the key of its own."""
    nodes, tree = state["query_graph"]["nodes"], state["interaction_tree"]
    texts = {node_id: embedded_texts(nodes[node_id], tree) for node_id in state["fresh"] if node_id in nodes}
    runtime.stream_writer({"stage": "embed", "memories": len(texts)})
    deps.encoder.vectors([text for said in texts.values() for text in said], embedding_progress(runtime, "embed"))
    keys = {node_id: deps.vector_key(said) for node_id, said in texts.items()}
    return {"query_graph": [query_graph.embed(keys)]}
