"""The optimisations of a run that can be switched off, and other settings of its rounds that never change the answer.

`runs/plan.py` derives them from the user's options, and `PartitionState` obeys them. Each is tested on and off.
"""

from __future__ import annotations

from dataclasses import dataclass

# If messages cross more than this share of the edges, gathering over all edges is faster than pushing along some.
# Measured on R-MAT with one thread per partition, where any value from 0.1 to 0.4 works as well.
PULL_SHARE = 0.2


@dataclass(frozen=True)
class RoundOptions:
    """Settings of how rounds run. The answer is the same for all of them."""

    active_only: bool = True  # only vertices with a message fire (Falcon), or with changed neighbours gather
    changed_only: bool = True  # only changed copies travel (Falcon)
    direction: str = "auto"  # "push", "pull", or "auto", which depends on the size of the frontier
    whole: bool = False  # every vertex has all its edges in the partition that owns it, so proxies gather nothing
    twice: bool = False  # each edge is stored twice, with the owner of its source and with the owner of its target
    random_seed: int = 0
    deterministic: bool = False  # sums do not depend on the partitions, to the last bit
    skip_exchange: bool = True  # no exchange after rounds that stay within partitions (GX-Plug)
    lazy_upload: bool = True  # masters update only copies along whose edges something is sent next (GX-Plug)

    @property
    def looks_ahead(self) -> bool:
        """Whether rounds may skip the exchange, which requires that no vertex fires or travels without news."""
        return self.skip_exchange and self.active_only and self.changed_only

    def pulls(self, work: int, edges: int) -> bool:
        """Whether receivers gather over all their `edges`, rather than senders push along their own, `work` edges."""
        if self.direction != "auto":
            return self.direction == "pull"
        return not self.active_only or work > PULL_SHARE * edges
