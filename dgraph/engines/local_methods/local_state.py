"""A partition whose program brings a `LocalMethod`: it goes as far as it can by itself, then tells others, then hears
of them. There is a class for each kind of method."""

from __future__ import annotations

from abc import ABC, abstractmethod

from dgraph.vertex_state.partition_state import PartitionState


class LocalState(PartitionState, ABC):
    """Engines drive it by these methods: in rounds (`local_rounds.py`), or without (`free_local_rounds.py`)."""

    lists_senders = False

    @property
    def settled(self) -> bool:
        """Whether it knows that the run is over. Most never know by themselves."""
        return False

    @abstractmethod
    def settle(self) -> None:
        """Go as far as can be gone without news from others."""

    @abstractmethod
    def tell(self, side: str, target_side: str) -> None:
        """Send what others must know: to proxies on `side` from their masters, and to the masters of those on
        `target_side`."""

    @abstractmethod
    def hear(self, side: str, target_side: str) -> None:
        """Take in what others have told."""

    @property
    def news(self) -> int:
        """How many vertices have something to do here, or to tell others."""
        return self.waiting
