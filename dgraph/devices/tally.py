"""The numbers that kernels report to the host in every superstep, in one small array."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph.devices.device_memory import Memory


class DeviceCounters:
    """Named numbers on the device that kernels write. They are adjacent, so one small copy fetches all of them."""

    SLOT = 8  # bytes

    def __init__(self, memory: Memory, dtypes: Mapping[str, Any]):
        self.memory, self.known = memory, True
        size = self.SLOT * len(dtypes)
        self._device, self._host = memory.empty(size, np.uint8), memory.pinned(size)
        self._places = {name: slice(self.SLOT * i, self.SLOT * (i + 1)) for i, name in enumerate(dtypes)}
        memory.fill(self._device, 0)
        self._host[:] = 0
        places = {name: (place, np.dtype(dtypes[name])) for name, place in self._places.items()}
        self.device = {name: self._device[place].view(dtype) for name, (place, dtype) in places.items()}
        self._read = {name: self._host[place].view(dtype) for name, (place, dtype) in places.items()}

    def clear(self, first: str, last: str) -> None:
        """Set the numbers from `first` to `last` to 0, also in the host's copy, so that no old number is read again."""
        places = slice(self._places[first].start, self._places[last].stop)
        self.memory.fill(self._device[places], 0)
        self._host[places] = 0

    def __getitem__(self, name: str) -> Any:
        """A number, after waiting for the kernels that write it."""
        if not self.known:
            self.memory.get(self._device, self._host)
            self.known = True
        return self._read[name][0].item()
