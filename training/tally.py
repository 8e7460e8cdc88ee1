"""Means over micro-batches and ranks: sums and counts are added up, and divided once.

The mean of micro-batch means would be another number as soon as they differ in size.
"""

from __future__ import annotations

from torch.distributed.device_mesh import DeviceMesh

from training.shard import summed


class Tally:
    """Sums and counts over micro-batches, from which come the means of an update."""

    def __init__(self) -> None:
        self._sums: dict[str, list[float]] = {}

    def add(self, name: str, total: float, count: int) -> None:
        held = self._sums.setdefault(name, [0.0, 0.0])
        held[0] += total
        held[1] += count

    def means(self, mesh: DeviceMesh | None) -> dict[str, float]:
        """Over all ranks."""
        return {name: summed(a, mesh) / max(1.0, summed(n, mesh)) for name, (a, n) in sorted(self._sums.items())}
