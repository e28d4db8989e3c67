"""The graph of all-MiniLM-L6-v2 with weights, ready to run: in ONNX Runtime, or in OpenVINO.

OpenVINO multiplies in bfloat16 where the processor can, which takes half of the time. The graph for ONNX Runtime,
`minilm.onnx`, comes with this package and holds no weights; tests/project/minilm_graph.py writes it. That for OpenVINO
is put together here, of the same steps in its own operators, around weights of the same names.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from agentic_memory_bank.state.errors import EmbeddingError
from agentic_memory_bank.tools.embeddings.windows import Vectors

LAYERS: Final = 6
DIMENSION: Final = 384
Runtime = Literal["onnx", "openvino"]
Numbers = NDArray[np.int32]
Weights = Mapping[str, NDArray[np.float32]]
Session = Callable[[Numbers, Numbers, Numbers], Vectors]
"""Word pieces, segments and mask in, each (texts x pieces); one unit vector for each text out."""

_GRAPH: Final = Path(__file__).with_name("minilm.onnx")


def session(weights: Weights, threads: int | None, runtime: Runtime) -> Session:
    """Begin a session over the graph with these weights.

    Args:
        threads: How many cores are used at most: of ONNX Runtime by each call, of OpenVINO by as many calls. Default:
            all this process may use.

    Raises:
        EmbeddingError: OpenVINO is not installed.
    """
    if runtime == "onnx":
        return _onnx_session(weights, threads or cores())
    if find_spec("openvino") is None:
        raise EmbeddingError(
            "The embedding model is to run in OpenVINO, which is not installed. Install it with "
            '`pip install "agentic-memory-bank[openvino]"`, or leave MEMORY_BANK_EMBEDDING_BACKEND at onnx.'
        )
    return _OpenVinoSession(weights, threads or cores())


def _onnx_session(weights: Weights, threads: int) -> Session:
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # else it gives this machine an id, and tells its makers of use
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry(
        "session.intra_op.allow_spinning", "0"
    )  # waiting threads leave the cores to others
    options.log_severity_level = 3
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(value) for value in weights.values()]
    options.add_external_initializers(list(weights), values)
    begun: Any = onnxruntime.InferenceSession(_GRAPH.read_bytes(), options, providers=["CPUExecutionProvider"])

    def run(ids: Numbers, segments: Numbers, mask: Numbers) -> Vectors:
        (vectors,) = begun.run(None, {"ids": ids, "segments": segments, "mask": mask})
        return vectors

    return run


def cores() -> int:
    """How many cores this process may use; not every system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_HEADS: Final = 12
_EPSILON: Final = 1e-12
_UNSEEN: Final = np.float32(-1e4)
"""What is added where padding would be attended to."""
_FIRST, _SECOND, _THIRD = (np.int32(axis) for axis in range(3))


class _OpenVinoSession:
    """The graph with its weights, ready to run, for several callers at a time, each on a core of its own.

    Args:
        threads: How many cores are used, and callers served, at a time; a further one waits.
    """

    def __init__(self, weights: Weights, threads: int) -> None:
        with _untold():
            import openvino

        how = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": threads}
        compiled = openvino.Core().compile_model(_Graph(weights).model(), "CPU", how)
        self._free = SimpleQueue[Any]()
        for _ in range(threads):
            self._free.put(compiled.create_infer_request())

    def __call__(self, ids: Numbers, segments: Numbers, mask: Numbers) -> Vectors:
        """Return one unit vector for each row of word pieces."""
        request = self._free.get()
        try:
            return request.infer([ids, segments, mask])[0]
        finally:
            self._free.put(request)


_importing: Final = threading.Lock()


@contextmanager
def _untold() -> Iterator[None]:
    """Keep OpenVINO from telling its makers that it is imported, as it does by a package that it installs for that."""
    name = "openvino_telemetry"
    with _importing:
        before = sys.modules.get(name)
        sys.modules[name] = None  # type: ignore[assignment]
        try:
            yield
        finally:
            if before is None:
                del sys.modules[name]
            else:
                sys.modules[name] = before


class _Graph:
    """Puts the operators together."""

    def __init__(self, weights: Weights) -> None:
        import openvino
        from openvino import opset13

        self._does: Any = opset13  # of whose operators a type checker knows too little
        self._is: Any = openvino
        self._weights = weights

    def model(self) -> Any:
        """Word pieces, segments and their mask in, unit vectors out."""
        does = self._does
        given = [does.parameter(self._is.PartialShape([-1, -1]), self._is.Type.i32) for _ in range(3)]
        ids, segments, mask = given
        is_word = does.convert(mask, "f32")
        unseen = does.multiply(does.subtract(np.float32(1), is_word), _UNSEEN)
        unseen = does.unsqueeze(unseen, _numbers(1, 2))
        hidden = self._embedded(ids, segments)
        for layer in range(LAYERS):
            hidden = self._layer(f"{layer}.", hidden, unseen)
        words = does.multiply(hidden, does.unsqueeze(is_word, _THIRD))
        total = does.reduce_sum(words, _SECOND, False)  # its length is made one, so it need not be divided
        vectors = does.normalize_l2(total, _numbers(-1), _EPSILON, "max")
        return self._is.Model([vectors], given, "all-MiniLM-L6-v2")

    def _embedded(self, ids: Any, segments: Any) -> Any:
        does = self._does
        count = does.gather(does.shape_of(ids, "i32"), _SECOND, _FIRST)
        places = does.gather(self._weight("positions"), does.range(_FIRST, count, _SECOND, "i32"), _FIRST)
        words = does.gather(self._weight("words"), ids, _FIRST)
        kinds = does.gather(self._weight("kinds"), segments, _FIRST)
        return self._normal("", does.add(does.add(words, kinds), places))

    def _layer(self, name: str, hidden: Any, unseen: Any) -> Any:
        seen = self._attended(f"{name}attend", hidden, unseen)
        hidden = self._joined(f"{name}attended", seen, hidden)
        wide = self._does.gelu(self._times(f"{name}widen", hidden), "erf")
        return self._joined(f"{name}narrow", wide, hidden)

    def _attended(self, name: str, hidden: Any, unseen: Any) -> Any:
        """What each word takes from the others; the weights of query, key and value stand side by side."""
        does, swap = self._does, _numbers(0, 2, 1, 3)
        split = _numbers(0, 0, _HEADS, DIMENSION // _HEADS)
        matrices, shifts = (np.split(self._weights[of], 3, axis=-1) for of in (name, f"{name}.bias"))
        heads = [
            does.transpose(does.reshape(self._product(hidden, matrix, shift), split, True), swap)
            for matrix, shift in zip(matrices, shifts, strict=True)
        ]
        seen = does.scaled_dot_product_attention(*heads, unseen)
        return does.reshape(does.transpose(seen, swap), _numbers(0, 0, DIMENSION), True)

    def _joined(self, name: str, new: Any, old: Any) -> Any:
        return self._normal(f"{name}.", self._does.add(self._times(name, new), old))

    def _times(self, name: str, given: Any) -> Any:
        return self._product(given, self._weights[name], self._weights[f"{name}.bias"])

    def _product(self, given: Any, matrix: NDArray[np.float32], shift: NDArray[np.float32]) -> Any:
        does = self._does
        factor, added = (does.constant(np.ascontiguousarray(weight)) for weight in (matrix, shift))
        return does.add(does.matmul(given, factor, False, False), added)

    def _normal(self, name: str, given: Any) -> Any:
        does = self._does
        normal = does.mvn(given, _numbers(-1), True, _EPSILON, "INSIDE_SQRT")
        return does.add(does.multiply(normal, self._weight(f"{name}scale")), self._weight(f"{name}shift"))

    def _weight(self, name: str) -> Any:
        return self._does.constant(self._weights[name])


def _numbers(*numbers: int) -> Numbers:
    return np.array(numbers, np.int32)
