"""The LangGraph channel of a memory layer: a step writes its edits, and a full copy the seldomer the larger it is."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from langgraph.channels.delta import DeltaChannel

FEWEST_UPDATES = 15
"""Least number of updates between full copies, for small layers."""


class LayerChannel(DeltaChannel[Any]):
    """A `DeltaChannel` whose snapshot interval follows the size of what it holds.

    LangGraph asks the channel for `snapshot_frequency` at each checkpoint. A fixed one either rewrites a large memory
    too often or lets a small one replay a long history; a copy every n updates per n items costs a constant share.
    """

    __slots__ = ()

    updates_per_item: ClassVar[float] = 0.1
    """Updates between full copies for each item of a large layer, so that bytes per step do not grow with memory."""

    def __init__(
        self, reducer: Callable[[Any, Sequence[Any]], Any], typ: Any = None, *, snapshot_frequency: int = FEWEST_UPDATES
    ) -> None:
        super().__init__(reducer, typ, snapshot_frequency=snapshot_frequency)

    @property
    def snapshot_frequency(self) -> int:
        """Compute how many updates lie between two full copies, from the size of the layer."""
        return max(FEWEST_UPDATES, int(_items(self.value) * self.updates_per_item))

    @snapshot_frequency.setter
    def snapshot_frequency(self, value: int) -> None:
        """Ignore LangGraph's own default."""


class SeldomWrittenLayerChannel(LayerChannel):
    """A channel for layers that few super-steps write, with more frequent full copies, so that reading is short."""

    __slots__ = ()

    updates_per_item: ClassVar[float] = 0.03


def _items(layer: Any) -> int:
    if not isinstance(layer, dict):
        return 0
    return max((len(part) for part in layer.values() if isinstance(part, (dict, list))), default=0)
