"""dgraph in the form of a peer: in this process, with float32 values, and on the workers of a cluster."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import replace
from inspect import signature
from typing import Any

import dgraph as dg
from dgraph.bench.turns import timed
from peers.memory import Needs
from peers.peer import Lacks, Trial
from peers.workloads import Workload

CALLS: dict[str, Callable[..., Any]] = {
    "pagerank": lambda graph, start, **options: dg.pagerank(graph, max_iter=20, tol=0, **options),
    "bfs": lambda graph, start: dg.bfs(graph, start),
    "sssp": lambda graph, start, **options: dg.sssp(graph, start, **options),
    "wcc": lambda graph, start: dg.wcc(graph),
    "scc": lambda graph, start: dg.scc(graph),
    "triangles": lambda graph, start: dg.triangles(graph),
    "label_propagation": lambda graph, start: dg.label_propagation(graph),
    "cdlp": lambda graph, start: dg.cdlp(graph),
    "core_number": lambda graph, start: dg.core_number(graph),
    "louvain": lambda graph, start: dg.louvain(graph),
    "leiden": lambda graph, start: dg.leiden(graph),
}
COLUMNS = {
    "pagerank": ("pagerank",),
    "bfs": ("distance", "predecessor"),
    "sssp": ("distance", "predecessor"),
    "wcc": ("component",),
    "scc": ("component",),
    "triangles": ("triangles",),
    "label_propagation": ("label",),
    "cdlp": ("label",),
    "core_number": ("core",),
    "louvain": ("community",),
    "leiden": ("community",),
}
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


class Ours:
    """dgraph as a peer. The graph is partitioned before the clock starts, which stops when the values are arrays on the
    workers that computed them."""

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
        if operation not in CALLS or not hasattr(dg, operation):
            raise Lacks("has no such operation")
        if not self.options.keys() <= signature(getattr(dg, operation)).parameters.keys():
            raise Lacks(f"has no {', '.join(self.options)}")
        return self.said or NOTES[operation]

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

    def close(self) -> None:
        self.release()

    def _graph(self, workload: Workload) -> dg.Graph:
        edges = workload.edges
        frame = {"src": edges.source, "dst": edges.destination}
        if edges.weight is not None:
            frame["weight"] = edges.weight
        weight = None if edges.weight is None else "weight"
        known = {"weight": weight, "directed": edges.directed, "vertices": edges.vertices}
        return dg.Graph.from_edges(frame, **known, parts=self.parts, client=self.client)

    def _built(self, workload: Workload) -> dg.Graph:
        graph = self._graph(workload)
        graph.partitioned(("out", "incoming"), () if graph.weight is None else (graph.weight,))
        return graph

    def _call(self, graph: dg.Graph, operation: str, workload: Workload) -> Any:
        return CALLS[operation](graph, workload.start, **self.options)

    def _trial(self, seconds: float, operation: str, result: Any) -> Trial:
        options: dict[str, Any] = {"rtol": 1e-4} if "dtype" in self.options else {}
        if operation == "label_propagation" and "restless" in result.totals:  # vertices that still oscillate at the end
            options["restless"] = result.totals["restless"] / len(result.by_number("label"))
        names = COLUMNS[operation][: 1 if self.options.get("predecessors") is False else None]
        return Trial(seconds, {name: result.by_number(name) for name in names}, options)
