"""A partition whose program has a `LocalMethod`: it goes as far as it can by itself, then exchanges news with other
partitions. Each kind of method has its own subclass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from dgraph.vertex_state.partition_state import PartitionState


class LocalState(PartitionState, ABC):
    """The methods that engines call, in rounds or without: `local_rounds.py` and `free_local_rounds.py` in
    `engines/local_methods/`."""

    lists_senders = False
    free_rounds: ClassVar[Any]  # the `FreeRounds` that run it without rounds; not for methods that need rounds

    @property
    def settled(self) -> bool:
        """Whether the partition knows by itself that the run is over. Most never do."""
        return False

    @abstractmethod
    def settle(self) -> None:
        """Go as far as possible without news from other partitions."""

    @abstractmethod
    def tell(self, side: str, target_side: str) -> None:
        """Send what other partitions must know: from masters to their proxies on `side`, and from proxies on
        `target_side` to their masters."""

    @abstractmethod
    def hear(self, side: str, target_side: str) -> None:
        """Take in what other partitions have sent."""

    @property
    def news(self) -> int:
        """How many vertices have something to do here, or to tell other partitions."""
        return self.waiting
