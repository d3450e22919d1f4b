"""What an update did, for the graph that it made."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class UpdateReport:
    """What `Graph.updated` changed; `Graph.changes` of the new graph.

    Attributes
    ----------
    added, removed : int
        The number of edges that were added, as listed, and that were removed.
    missing : int
        The number of edges to remove that the graph did not have.
    vertices : int
        The number of new vertices.
    merging : str
        Whether the changes have been merged into the partitions, and what that cost.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]})
    >>> G.updated(added={"src": [2, 3], "dst": [0, 0]}).changes
    <2 edges added, 0 removed, 1 new vertex; not merged yet>
    """

    added: int
    removed: int
    missing: int
    vertices: int
    merging: str = "not merged yet"

    def __repr__(self) -> str:
        missing = f" ({self.missing:,} more were not there)" if self.missing else ""
        new = f"{self.vertices:,} new {'vertex' if self.vertices == 1 else 'vertices'}"
        edges = f"{self.added:,} {'edge' if self.added == 1 else 'edges'} added"
        return f"<{edges}, {self.removed:,} removed{missing}, {new}; {self.merging}>"
