"""The graph of the default embedding model is the one that its script draws."""

from importlib import util
from pathlib import Path

SCRIPT = Path(__file__).with_name("minilm_graph.py")


def test_the_graph_that_is_shipped_is_the_one_that_the_script_draws() -> None:
    spec = util.spec_from_file_location("minilm_graph", SCRIPT)
    assert spec
    assert spec.loader
    drawing = util.module_from_spec(spec)
    spec.loader.exec_module(drawing)

    assert drawing.PLACE.read_bytes() == drawing.model().SerializeToString(deterministic=True)
