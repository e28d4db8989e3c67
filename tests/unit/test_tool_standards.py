"""LangChain's own standard tests, over the tools and embeddings of this package."""

from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import EmbeddingsUnitTests, ToolsUnitTests

from agentic_memory_bank.graph.as_tool import as_research_tool
from agentic_memory_bank.graph.researcher import build_researcher
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.embeddings.models import LocalEmbeddings
from agentic_memory_bank.tools.pages.stores import PageStores
from agentic_memory_bank.tools.search.deep_research import deep_research
from agentic_memory_bank.tools.search.deep_retrieval import deep_retrieval
from agentic_memory_bank.tools.web.client import PublicWeb, WebResponse
from agentic_memory_bank.tools.web.search import search
from agentic_memory_bank.tools.web.visit import visit


class Web(PublicWeb):
    """Answers without asking anybody."""

    def get(self, url: str, **_: Any) -> WebResponse:
        return WebResponse(url, "text/plain", "utf-8", b"Condor has 1,121 qubits.")

    def post_json(self, url: str, body: object, headers: object, **_: Any) -> Any:
        return {"organic": [{"title": "Condor", "link": "https://news.example/", "snippet": "1,121 qubits"}]}


class _Visit:
    @property
    def tool_constructor(self) -> BaseTool:
        return visit(web=Web())

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"url": "https://news.example/", "goal": "How many qubits?"}


class _Search:
    @pytest.fixture(autouse=True)
    def _key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SERPER_API_KEY", "key")

    @property
    def tool_constructor(self) -> BaseTool:
        made = search(web=Web())
        assert isinstance(made, BaseTool)
        return made

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"queries": ["How many qubits has Condor?"]}


class _DeepRetrieval:
    @property
    def tool_constructor(self) -> BaseTool:
        return deep_retrieval({}, {})

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"node_id": "n1"}


class _DeepResearch:
    @property
    def tool_constructor(self) -> BaseTool:
        return deep_research(lambda question: {"answer": question, "status": "answered", "sources": [], "findings": []})

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"question": "How many qubits has Condor?"}


class _ResearchTool:
    @property
    def tool_constructor(self) -> BaseTool:
        return as_research_tool(build_researcher(embeddings=HashEmbeddings(), stores=PageStores(in_memory=True)), "m")

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"question": "How many qubits has Condor?"}


class TestVisit(_Visit, ToolsUnitTests):
    pass


class TestVisitInvoked(_Visit, ToolsIntegrationTests):
    pass


class TestSearch(_Search, ToolsUnitTests):
    pass


class TestSearchInvoked(_Search, ToolsIntegrationTests):
    pass


class TestDeepRetrieval(_DeepRetrieval, ToolsUnitTests):
    pass


class TestDeepRetrievalInvoked(_DeepRetrieval, ToolsIntegrationTests):
    pass


class TestDeepResearch(_DeepResearch, ToolsUnitTests):
    pass


class TestDeepResearchInvoked(_DeepResearch, ToolsIntegrationTests):
    pass


class TestResearchTool(_ResearchTool, ToolsUnitTests):
    pass


class TestResearchToolInvoked(_ResearchTool, ToolsIntegrationTests):
    pass


class TestHashEmbeddings(EmbeddingsUnitTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return HashEmbeddings


class TestLocalEmbeddings(EmbeddingsUnitTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return LocalEmbeddings
