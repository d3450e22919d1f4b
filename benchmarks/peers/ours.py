"""dgraph in the form of a peer: in this process, with float32 values, and on the workers of a cluster."""

from __future__ import annotations

import gc
from dataclasses import replace
from inspect import signature
from typing import Any

import dgraph as dg
from dgraph.bench.resources import timed
from dgraph.testing.verify import OPERATIONS
from peers.peer import Lacks, Needs, Peer, Trial
from peers.workloads import PATHS, ROUNDS, Workload

FIXED: dict[str, dict[str, Any]] = {"pagerank": {"max_iter": ROUNDS, "tol": 0}}  # options of the operation
NOTES = {
    "pagerank": "float64; ranks of vertices without out-edges are spread",
    "bfs": "distances, smallest predecessors",
    "sssp": "float64, distances, smallest predecessors",
    "wcc": "smallest members",
    "scc": "smallest members",
    "triangles": "of every vertex",
    "label_propagation": "to the end",
    "cdlp": "10 rounds",
    "core_number": "exact",
    "louvain": "modularity; until an iteration gains 1 %",
    "leiden": "modularity; until an iteration gains 1 %; connected",
}


class Ours(Peer):
    """dgraph as a peer. The graph is partitioned before the clock starts, which stops when the values are arrays on the
    workers that computed them."""

    notes = NOTES
    warms_up = True

    def __init__(
        self, name: str = "dgraph", said: str = "", *, client: Any = None, parts: int | None = None, **options: Any
    ):
        """`said` describes what these options compute."""
        self.name, self.said, self.client, self.parts, self.options = name, said, client, parts, options
        self.graphs: dict[Any, dg.Graph] = {}
        self.needs: dict[Any, Needs] = {}

    def version(self) -> str:
        return f"dgraph {dg.__version__}"

    def note(self, operation: str) -> str:
        note = super().note(operation)
        if not self.options.keys() <= signature(getattr(dg, operation)).parameters.keys():
            raise Lacks(f"has no {', '.join(self.options)}")
        return self.said or note

    def load(self, operation: str, workload: Workload) -> None:
        """Run once, to compile and to build the orders of edges that the operation needs."""
        if workload not in self.graphs:
            self.needs[workload] = Needs()
            self.graphs[workload] = self.needs[workload].load(lambda: self._built(workload))
        self._call(self.graphs[workload], operation, workload)

    def trial(self, operation: str, workload: Workload) -> Trial:
        graph = self.graphs[workload]
        (seconds, result), memory = self.needs[workload].trial(
            lambda: timed(lambda: self._call(graph, operation, workload))
        )
        if self.client is not None:  # the memory is used on the workers
            memory = None
        return replace(self._trial(seconds, operation, result), memory=memory)

    def build(self, operation: str, workload: Workload) -> Trial:
        """Time from edge arrays in memory to partitions with both orders of the edges, and weights if there are any."""
        seconds, _ = timed(lambda: self._built(workload))
        return Trial(seconds)

    def with_frame(self, operation: str, workload: Workload) -> Trial:
        """Time until `compute()` has returned the pandas frame with the user's ids."""
        graph = self.graphs[workload]

        def both() -> Any:
            result = self._call(graph, operation, workload)
            frame = result.compute()
            return result, frame

        seconds, (result, _) = timed(both)
        return self._trial(seconds, operation, result)

    def whole(self, operation: str, workload: Workload) -> Trial:
        """Time from edge arrays in memory to values."""
        seconds, result = timed(lambda: self._call(self._graph(workload), operation, workload))
        return self._trial(seconds, operation, result)

    def release(self) -> None:
        self.graphs.clear()
        self.needs.clear()
        gc.collect()

    def _graph(self, workload: Workload) -> dg.Graph:
        return workload.graph(parts=self.parts, client=self.client)

    def _built(self, workload: Workload) -> dg.Graph:
        graph = self._graph(workload)
        graph.partitioned(("out", "incoming"), () if graph.weight is None else (graph.weight,))
        return graph

    def _call(self, graph: dg.Graph, operation: str, workload: Workload) -> Any:
        source = {"source": workload.start} if operation in PATHS else {}
        return getattr(dg, operation)(graph, **source, **FIXED.get(operation, {}), **self.options)

    def _trial(self, seconds: float, operation: str, result: Any) -> Trial:
        options: dict[str, Any] = {"rtol": 1e-4} if "dtype" in self.options else {}
        if operation == "label_propagation" and "restless" in result.totals:  # vertices that still oscillate at the end
            options["restless"] = result.totals["restless"] / len(result.by_number("label"))
        names = OPERATIONS[operation][1][: 1 if self.options.get("predecessors") is False else None]
        return Trial(seconds, {name: result.by_number(name) for name in names}, options)
