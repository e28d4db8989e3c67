"""Writes tools/embeddings/minilm.onnx, the default model without its weights: `python tests/project/minilm_graph.py`.

A BERT of six layers (hidden size 384, 12 heads, 1536 inside a layer), then the mean over the words, normalised. The
steps are those for which ONNX Runtime has fused operators of its own (`com.microsoft`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from onnx import ModelProto, TensorProto, helper

from agentic_memory_bank.tools.embeddings.sessions import DIMENSION, LAYERS

PLACE: Final = Path(__file__).parents[2] / "tools" / "embeddings" / "minilm.onnx"

_HEADS, _INSIDE, _WORDS, _POSITIONS = 12, 1_536, 30_522, 512
_EPSILON: Final = 1e-12
_FUSED: Final = "com.microsoft"


class _Graph:
    """Nodes and weights in the order in which they are added."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def weight(self, name: str, *shape: int) -> str:
        """Name a weight that is handed over when a session begins."""
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="model.safetensors")
        self.weights.append(tensor)
        return name

    def number(self, name: str, value: int) -> str:
        self.weights.append(helper.make_tensor(name, TensorProto.INT64, [1], [value]))
        return name

    def add(
        self, operator: str, inputs: Sequence[str], output: str, *more: str, fused: bool = False, **how: Any
    ) -> str:
        node = helper.make_node(operator, inputs, [output, *more], domain=_FUSED if fused else "", **how)
        self.nodes.append(node)
        return output


def model() -> ModelProto:
    """The graph: word pieces and their mask in, unit vectors out."""
    graph = _Graph()
    hidden = _embedded(graph)
    for layer in range(LAYERS):
        hidden = _layer(graph, str(layer), hidden)
    _pooled(graph, hidden)
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT32, ["texts", "pieces"])
        for name in ("ids", "segments", "mask")
    ]
    output = helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["texts", DIMENSION])
    made = helper.make_graph(graph.nodes, "all-MiniLM-L6-v2", inputs, [output], graph.weights)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(_FUSED, 1)]
    return helper.make_model(made, opset_imports=opsets, ir_version=10)


def _embedded(graph: _Graph) -> str:
    tables = [
        graph.weight("words", _WORDS, DIMENSION),
        graph.weight("positions", _POSITIONS, DIMENSION),
        graph.weight("kinds", 2, DIMENSION),
        graph.weight("scale", DIMENSION),
        graph.weight("shift", DIMENSION),
    ]
    given = ["ids", "segments", *tables]
    return graph.add("EmbedLayerNormalization", given, "embedded", "unused", fused=True, epsilon=_EPSILON)


def _layer(graph: _Graph, name: str, hidden: str) -> str:
    def weight(of: str, *shape: int) -> str:
        return graph.weight(f"{name}.{of}", *shape)

    def joined(new: str, old: str, of: str) -> str:
        given = [new, old, *(weight(f"{of}.{part}", DIMENSION) for part in ("scale", "shift", "bias"))]
        return graph.add("SkipLayerNormalization", given, f"{name}.{of}.out", fused=True, epsilon=_EPSILON)

    attend = [weight("attend", DIMENSION, 3 * DIMENSION), weight("attend.bias", 3 * DIMENSION)]
    seen = graph.add("Attention", [hidden, *attend, "mask"], f"{name}.seen", fused=True, num_heads=_HEADS)
    told = graph.add("MatMul", [seen, weight("attended", DIMENSION, DIMENSION)], f"{name}.told")
    attended = joined(told, hidden, "attended")
    wide = graph.add("MatMul", [attended, weight("widen", DIMENSION, _INSIDE)], f"{name}.wide")
    gated = graph.add("BiasGelu", [wide, weight("widen.bias", _INSIDE)], f"{name}.gated", fused=True)
    narrow = graph.add("MatMul", [gated, weight("narrow", _INSIDE, DIMENSION)], f"{name}.narrowed")
    return joined(narrow, attended, "narrow")


def _pooled(graph: _Graph, hidden: str) -> None:
    """The mean over the words of a text; its length is one, so it need not be divided by their number."""
    axis_of_pieces, last_axis = graph.number("axis of pieces", 1), graph.number("last axis", 2)
    graph.add("Cast", ["mask"], "weights", to=TensorProto.FLOAT)
    graph.add("Unsqueeze", ["weights", last_axis], "column")
    graph.add("Mul", [hidden, "column"], "masked")
    graph.add("ReduceSum", ["masked", axis_of_pieces], "sum", keepdims=0)
    graph.add("LpNormalization", ["sum"], "vectors", axis=-1, p=2)


if __name__ == "__main__":
    PLACE.write_bytes(model().SerializeToString(deterministic=True))
