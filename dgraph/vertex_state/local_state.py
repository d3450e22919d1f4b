"""A partition whose program has a `LocalMethod`: it goes as far as it can without others, then exchanges news with
other partitions. Each kind of method has its own subclass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from dgraph.vertex_state.partition_state import PartitionState


class LocalState(PartitionState, ABC):
    """The methods that engines call: in rounds from `engines/local_methods/local_rounds.py`, without rounds from
    `engines/local_methods/local_rounds.py`."""

    lists_senders = False
    free_rounds: ClassVar[Any]  # the `FreeRounds` that run it without rounds; methods that need rounds lack it

    @property
    def settled(self) -> bool:
        """Whether the partition can tell by itself that the run is over. Most never can."""
        return False

    @abstractmethod
    def settle(self) -> None:
        """Go as far as possible without news from other partitions."""

    @abstractmethod
    def tell(self, side: str, target_side: str) -> None:
        """Send the changes that other partitions need: from masters to their proxies on `side`, and from proxies on
        `target_side` to their masters."""

    @abstractmethod
    def hear(self, side: str, target_side: str) -> None:
        """Take in what other partitions have sent."""

    @property
    def news(self) -> int:
        """How many vertices have something to do here, or to send to other partitions."""
        return self.waiting
