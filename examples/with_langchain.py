"""Put memories into a chain of LangChain: `.venv/bin/python examples/with_langchain.py`, from the repository's root."""

import sys

from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough

from agentic_memory_bank import Memories, MemoryRetriever

with Memories() as memories:
    memories.remember("I live in Berlin.", user="ana", conversation_id="monday", end=True)
    memories.remember("I moved to Lisbon last month.", user="ana", conversation_id="tuesday", end=True)
    retriever = MemoryRetriever(memories=memories, user="ana", k=1)
    prompt = ChatPromptTemplate.from_template("Known of the user: {known}\n\n{question}")
    chain = {"known": retriever, "question": RunnablePassthrough()} | prompt  # and a chat model behind it
    sys.stdout.write(chain.invoke("Where do I live now?").to_string() + "\n")
