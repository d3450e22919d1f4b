"""The optimisations of a run that can be switched off, and other things about its rounds that never change the answer.

`runs/choice.py` makes them of what a user said, and a PartitionState obeys them. Each is tested on and off.
"""

from __future__ import annotations

from dataclasses import dataclass

# The share of the edges from which on it is quicker to gather over all of them than to push along some: measured on
# R-MAT with partitions of one thread, where anything from 0.1 to 0.4 does.
PULL = 0.2


@dataclass(frozen=True)
class RoundOptions:
    """How rounds are run; the answer is the same for all of these."""

    active_only: bool = True  # only who has a message fires (Falcon), only whose neighbours change gather
    changed_only: bool = True  # only changed copies travel (Falcon)
    direction: str = "auto"  # "push", "pull", or by the frontier's size
    whole: bool = False  # every vertex has all its edges where it is owned: nothing is gathered by proxies
    twice: bool = False  # so that every edge is here twice, where it starts and where it ends
    random_seed: int = 0
    deterministic: bool = False  # sums do not depend on the partitions, to the last bit
    skip_exchange: bool = True  # rounds that concern one partition each are followed by the next at once (GX-Plug)
    lazy_upload: bool = True  # masters tell only those copies along whose edges something is sent next (GX-Plug)

    @property
    def looks_ahead(self) -> bool:
        """Whether rounds may be taken without an exchange: only if no vertex fires or is sent without news."""
        return self.skip_exchange and self.active_only and self.changed_only

    def pulls(self, work: int, edges: int) -> bool:
        """Whether receivers gather over all their `edges`, rather than senders push along theirs, which are `work`."""
        if self.direction != "auto":
            return self.direction == "pull"
        return not self.active_only or work > PULL * edges
