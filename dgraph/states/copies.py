"""What masters and proxies tell each other before the first round: degrees, and the columns of vertices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dgraph.agents.edge_tables import EdgeTables
from dgraph.analysis import Analysis
from dgraph.exchange.post import BROADCAST, REDUCE, Post
from dgraph.names import key
from dgraph.states.switches import Switches


class Copies:
    """The part of a PartitionState that exchanges these; `Rounds.begin` calls its methods in this order."""

    edges: EdgeTables
    post: Post
    switches: Switches
    analysis: Analysis
    values: dict[str, Any]
    degrees: dict[str, Any]

    def count_degrees(self, alongs: Iterable[str]) -> None:
        """Count degrees over the edges here, and send the proxies' counts to their masters."""
        self.degrees = {along: self.edges.degrees(along) for along in alongs}
        if not self.switches.twice:
            found = list(self.degrees.values())
            self.post.reduce("any", found, np.logical_or.reduce([degree > 0 for degree in found]))

    def add_degrees(self) -> None:
        """Add the counts that have come from other partitions to those of masters here."""
        for _, ids, values in self.post.collect({REDUCE: "any"}):
            for degree, more in zip(self.degrees.values(), values, strict=True):
                degree[ids] += more

    def send_copies(self) -> None:
        """Send degrees and columns from masters to proxies."""
        self.post.broadcast(BROADCAST, "any", self.copied_once(), None)

    def copied_once(self) -> list[np.ndarray]:
        """The arrays that travel before the first round, and never again."""
        return [*self.degrees.values(), *(self.values[key(column.name)] for column in self.analysis.vertex_columns)]

    def take_copies(self) -> None:
        """Write the degrees and columns that have come to the proxies here."""
        for _, ids, values in self.post.collect({BROADCAST: "any"}):
            for array, value in zip(self.copied_once(), values, strict=True):
                array[ids] = value
