"""The numbers that kernels tell the host in every superstep, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph.devices.device_memory import DeviceArray, Memory


class DeviceCounters:
    """Named numbers on the device that kernels write. They lie side by side, so one small copy brings them all."""

    SLOT = 8  # bytes

    def __init__(self, memory: Memory, dtypes: Mapping[str, Any]):
        self.memory, self.known = memory, True
        size = self.SLOT * len(dtypes)
        self._there, self._here = memory.empty(size, np.uint8), memory.pinned(size)
        self._places = {name: slice(self.SLOT * i, self.SLOT * (i + 1)) for i, name in enumerate(dtypes)}
        memory.fill(self._there, 0)
        self._here[:] = 0
        views = {name: (place, np.dtype(dtypes[name])) for name, place in self._places.items()}
        self.there = {n: DeviceArray(memory, self._there.raw[place].view(dtype)) for n, (place, dtype) in views.items()}
        self._read = {name: self._here[place].view(dtype) for name, (place, dtype) in views.items()}

    def clear(self, first: str, last: str) -> None:
        """Set the numbers from `first` to `last` to 0, also in the host's copy, so that no old number is told again."""
        places = slice(self._places[first].start, self._places[last].stop)
        self.memory.fill(self._there[places], 0)
        self._here[places] = 0

    def __getitem__(self, name: str) -> Any:
        """A number, once kernels are done."""
        if not self.known:
            self.memory.get(self._there, self._here)
            self.known = True
        return self._read[name][0].item()
