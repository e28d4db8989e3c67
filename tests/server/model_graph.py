"""A memory bank over hashed vectors, judged by whatever chat model the environment names."""

from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

graph = build_memory_bank(embeddings=HashEmbeddings())
