"""Small public graphs with reference results, as plain lists of edges between vertex numbers."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

DATA = Path(os.environ.get("DGRAPH_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
FILES = {
    "ldbc_example-directed": "ldbc_example/example-directed.e",
    "ldbc_example-undirected": "ldbc_example/example-undirected.e",
    "graphx": "graphx/followers.txt",
    "karate": "cugraph_small/karate.csv",
    "dolphins_s_loop": "cugraph_small/dolphins_s_loop.csv",
    "dolphins_multi_edge": "cugraph_small/dolphins_multi_edge.csv",
}


class SmallGraph:
    """Edges, weights and what the references say."""

    def __init__(self, name: str):
        if not DATA.exists():
            pytest.skip("the public graphs are not here")
        facts = json.loads((DATA / "refs" / f"{name}.json").read_text())["facts"]
        self.expected = np.load(DATA / "refs" / f"{name}.npz")
        self.directed = facts["directed"]
        self.vertices = len(self.expected["pagerank"])
        self.ids = (
            self.expected["id"] if "id" in self.expected else self.expected["id_first"] + np.arange(self.vertices)
        )
        number = {str(identifier): v for v, identifier in enumerate(self.ids)}
        rows = [line.split() for line in (DATA / FILES[name]).read_text().splitlines()]
        self.edges = [(number[row[0]], number[row[1]]) for row in rows]
        if not self.directed:  # some files list both directions of an undirected edge
            self.edges = list(dict.fromkeys((min(edge), max(edge)) for edge in self.edges))
        self.weights = [self.derived_weight(u, v) for u, v in self.edges]
        if facts["sssp_weights"] == "file":
            self.weights = [float(row[2]) for row in rows]
        self.source = number[facts["source_id"]]

    def derived_weight(self, u: int, v: int) -> float:
        """The weight that the references give to an edge without one."""
        u, v = (u, v) if self.directed else (min(u, v), max(u, v))
        return 1.0 + (7919 * u + 104729 * v) % 64

    @property
    def simple(self) -> list[tuple[int, int]]:
        """The simple undirected graph."""
        return list(dict.fromkeys((min(edge), max(edge)) for edge in self.edges if edge[0] != edge[1]))
