"""Validation of a graph: counts of unusual features, and how the graph and each operation treat them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from dgraph.building import assembly
from dgraph.building.input_edges import EdgeRules
from dgraph.cluster.retry import retry_on_loss
from dgraph.frames.any_frame import frame_column, to_main_memory, to_pandas
from dgraph.partition import placement

if TYPE_CHECKING:
    from dgraph.building.partitioned_graph import PartitionedGraph


@dataclass(frozen=True)
class Counts:
    """Counts of the edges as listed, and of the graph after its rules. Counts of weights are None in an unweighted
    graph."""

    directed: bool
    listed: int  # edges as listed
    edges: int  # after the rules
    vertices: int
    loops: int  # among the listed edges
    repeats: int  # listed edges beyond the first between the same ends
    isolated: int  # vertices without edges, after the rules
    dangling: int  # vertices without out-edges, including isolated ones
    kept_loops: int = 0  # after the rules
    kept_repeats: int = 0
    missing_weights: int | None = None
    negative_weights: int | None = None
    zero_weights: int | None = None
    components: str = "unknown"  # `dg.wcc` finds them, with more work than all other counts


@dataclass(frozen=True)
class Validation:
    """The result of `G.validate()`; its `repr` is a readable report.

    Attributes
    ----------
    counts : Counts
        The number of listed edges, edges, vertices, loops, repeats, isolated and dangling vertices, unusual weights.
    rules : list of str
        How the graph's own rules treat loops, repeats, reverses and missing weights.
    operations : dict of str to str
        How each operation treats unusual features; operations that they do not affect are left out.
    blocks : int
        The number of blocks of a saved graph, all of which have correct checksums.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 1, 1], "dst": [1, 1, 2]})
    >>> G.validate().counts.loops
    1
    >>> G.validate().operations["triangles"]
    'self loops (1) are ignored'
    """

    counts: Counts
    rules: list[str]
    operations: dict[str, str] = field(default_factory=dict)
    blocks: int = 0

    def __repr__(self) -> str:
        rows = [f"{name.replace('_', ' '):>16}  {_shown(value)}" for name, value in asdict(self.counts).items()]
        if self.blocks:
            rows.append(f"{'saved blocks':>16}  {self.blocks}, all checksums right")
        notes = [*self.rules, *(f"{operation}: {line}" for operation, line in self.operations.items())]
        return "\n".join([*rows, "", *notes]) if notes else "\n".join(rows)

    def _repr_html_(self) -> str:
        from dgraph.display.cards import validation_card

        return validation_card(self)


@retry_on_loss
def validate(graph: PartitionedGraph, weight: Any = None) -> Validation:
    """Read the whole graph and count its features. `weight` is a column to count as weights if the graph has none."""
    blocks = graph.input_edges.opened.verify() if graph.input_edges.opened is not None else 0
    workers, ids, size = graph.workers, graph.numbering, graph.num_vertices
    listed = graph.input_edges.as_listed()
    once = EdgeRules(graph.directed, repeats="first")
    pairs = sum(workers.get([workers.call(len, c) for c in assembly.merge_repeats(workers, listed, ids, once)]))
    options: dict[str, Any] = {"out": True, "into": True, **graph.input_edges.rules.arc_options}
    tasks = [workers.call(placement.degrees, chunk, size, **options) for chunk in graph.input_edges.by_number()]
    (degrees,) = workers.bring([workers.reduce(placement.sum_degrees, tasks)])
    loops, repeats = graph.input_edges.num_loops, graph.input_edges.num_input_edges - pairs
    counts = Counts(
        directed=graph.directed,
        listed=graph.input_edges.num_input_edges,
        edges=graph.num_edges,
        vertices=size,
        loops=loops,
        repeats=repeats,
        isolated=int(((degrees.out == 0) & (degrees.into == 0)).sum()),
        dangling=int((degrees.out == 0).sum()),
        kept_loops=0 if graph.input_edges.rules.skip_loops else loops,
        kept_repeats=repeats if graph.input_edges.rules.repeats == "keep" else 0,
        **_weights(graph, weight),
    )
    operations = {operation: text for operation in REMARKS if (text := remarks_for(operation, counts))}
    return Validation(counts, _rules(graph, counts), operations, blocks)


def _weights(graph: PartitionedGraph, column: Any) -> dict[str, Any]:
    name = column if graph.weight is None else graph.weight
    if name is None:
        return {}
    pieces = graph.input_edges.pieces_with([name])
    counts = graph.workers.get([graph.workers.call(_count_weights, piece, name) for piece in pieces])
    missing, negative, zero = np.sum(counts, axis=0).tolist()
    return {"missing_weights": missing, "negative_weights": negative, "zero_weights": zero}


def _count_weights(piece: Any, name: str) -> tuple[int, int, int]:
    column = frame_column(to_pandas(to_main_memory(piece)), name)
    values = pd.to_numeric(column, errors="coerce")
    return int(values.isna().sum()), int((values < 0).sum()), int((values == 0).sum())


def _rules(graph: PartitionedGraph, counts: Counts) -> list[str]:
    """How the graph's own rules treat loops, repeats, reverses and missing weights."""
    notes, rules = [], graph.input_edges.rules
    if counts.loops:
        done = 'dropped (loops="drop")' if rules.skip_loops else 'kept (loops="drop" removes them)'
        notes.append(f"self loops ({counts.loops:,}) are {done}")
    if counts.repeats:
        kept = rules.repeats == "keep"
        done = 'kept (repeats="first" merges them)' if kept else f'merged (repeats="{rules.repeats}")'
        notes.append(f"repeated edges ({counts.repeats:,}) are {done}")
    if rules.symmetrize:
        notes.append("the reverse of every edge was added (symmetrize=True)")
    edges = graph.input_edges.edges
    if edges.possible_weights:
        notes.append(f"the graph has no weights; {edges.weight_remedy}")
    if counts.missing_weights:
        refused = f"missing weights ({counts.missing_weights:,}) are refused by operations that read them"
        notes.append(f"{refused}; fill or drop them")
    return notes


def _shown(value: Any) -> str:
    if value is None:
        return "no weights"
    return f"{value:,}" if type(value) is int else str(value)


# -- remarks on operations, according to docs/semantics.md -------------------------------------------------------------


class Remark(NamedTuple):
    """How an operation treats an unusual feature of a graph; {} stands for how often the graph has it."""

    feature: str  # a field of Counts
    text: str
    undirected: str | None = None  # the text for undirected graphs, if it is another one


ALL_COUNT = Remark("kept_repeats", "repeated edges ({:,}) all count")
REFUSED_WEIGHTS = Remark("negative_weights", "negative weights ({:,}) are refused with weighted=True")
LOOPS_INSIDE = Remark("kept_loops", "self loops ({:,}) lie inside a community, and add 2 to the degree of their vertex")
SEPARATE = Remark("isolated", "isolated vertices ({:,}) are separate components")
UNREACHABLE = Remark("isolated", "isolated vertices ({:,}) are unreachable")
VOTES = (
    Remark("kept_repeats", "repeated edges ({:,}) all vote"),
    Remark(
        "kept_loops",
        "self loops ({:,}) vote twice for the vertex's own label",
        "self loops ({:,}) vote for the vertex's own label",
    ),
)
SIMPLE = (
    Remark("kept_loops", "self loops ({:,}) are ignored"),
    Remark("kept_repeats", "repeated edges ({:,}) are ignored"),
)
DEGREES = (
    ALL_COUNT,
    Remark("kept_loops", "self loops ({:,}) add 2 to a degree", "self loops ({:,}) add 1 to a degree"),
)
REFUSED_ZEROS = Remark("zero_weights", "edges of length 0 ({:,}) are refused with weighted=True")
DISTANCES = (Remark("isolated", "isolated vertices ({:,}) have the value 0"), REFUSED_ZEROS, REFUSED_WEIGHTS)
REMARKS: dict[str, tuple[Remark, ...]] = {
    "betweenness": (
        Remark("kept_repeats", "repeated edges ({:,}) make paths of their own"),
        REFUSED_ZEROS,
        REFUSED_WEIGHTS,
    ),
    "bfs": (UNREACHABLE,),
    "closeness": DISTANCES,
    "cdlp": VOTES,
    "coloring": SIMPLE,
    "core_number": SIMPLE,
    "degree_centrality": DEGREES,
    "degrees": DEGREES,
    "eccentricity": (
        Remark("isolated", 'isolated vertices ({:,}) make every eccentricity infinite, unless components="largest"'),
        REFUSED_WEIGHTS,
    ),
    "eigenvector": (ALL_COUNT, REFUSED_WEIGHTS),
    "fast_rp": (ALL_COUNT, REFUSED_WEIGHTS),
    "harmonic": DISTANCES,
    "hits": (ALL_COUNT, REFUSED_WEIGHTS),
    "k_core": SIMPLE,
    "katz": (ALL_COUNT, REFUSED_WEIGHTS),
    "label_propagation": (*VOTES, REFUSED_WEIGHTS),
    "lcc": SIMPLE,
    "leiden": (ALL_COUNT, LOOPS_INSIDE, REFUSED_WEIGHTS),
    "louvain": (ALL_COUNT, LOOPS_INSIDE, REFUSED_WEIGHTS),
    "matching": (Remark("kept_loops", "self loops ({:,}) are refused: they connect a side with itself"),),
    "maximal_independent_set": (Remark("isolated", "isolated vertices ({:,}) are in the set"),),
    "pagerank": (
        ALL_COUNT,
        Remark("kept_loops", "self loops ({:,}) count, and pass rank back to their own vertex"),
        Remark(
            "dangling",
            "vertices without out-edges ({:,}): their rank goes where jumps go; set dangling= to change that",
        ),
        REFUSED_WEIGHTS,
    ),
    "scc": (SEPARATE,),
    "sssp": (
        Remark("missing_weights", "missing weights ({:,}) are refused"),
        Remark(
            "negative_weights",
            "negative weights ({:,}): the slower Bellman-Ford algorithm is used",
            "negative weights ({:,}), each of which is a negative cycle in an undirected graph: refused if reached",
        ),
        Remark("zero_weights", "edges of length 0 ({:,}): strictly nearer predecessors are preferred"),
        Remark("kept_repeats", "repeated edges ({:,}): only the lightest counts"),
        UNREACHABLE,
    ),
    "topological_generations": (Remark("kept_loops", "self loops ({:,}) are refused: a loop is a cycle"),),
    "triangles": SIMPLE,
    "wcc": (SEPARATE,),
}


def remarks_for(operation: str, counts: Counts) -> str:
    """The remarks for an operation; empty if nothing is unusual."""
    remarks, texts = REMARKS[operation], []
    if operation == "sssp" and counts.negative_weights is None:
        remarks, texts = (UNREACHABLE,), ["no weights: every edge has length 1"]
    for feature, text, undirected in remarks:
        if count := getattr(counts, feature):
            texts.append((text if counts.directed else undirected or text).format(count))
    return "; ".join(texts)
