"""Estimate what an operation needs from a sample, before any work is done.

Some vertices are followed through all their edges in the sample. The number of copies that a policy makes of them,
divided by their share of all vertices, estimates the total. For a graph in memory this is unbiased; for a lazy graph,
copies that the sample does not show are estimated too, and its edges and ids are counted in one pass over all pieces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from dask.utils import format_bytes

from dgraph.arguments import check_bytes, check_choice, check_flag, check_integer
from dgraph.cluster.shares import MOST_PARTS
from dgraph.errors import OptionError
from dgraph.estimates.footprints import FOOTPRINTS, LARGEST_RANK, USUAL_RANK, Footprint
from dgraph.estimates.sample import Sample, estimate_distinct, sample
from dgraph.native.free_memory import explain_lack_of_memory
from dgraph.partition import build_kernels, placement, policies
from dgraph.partition.ids.bitmaps import IDENTITY
from dgraph.partition.placement import DegreeTable
from dgraph.phrases.phrases import format_count

if TYPE_CHECKING:
    from dgraph.building.partitioned_graph import PartitionedGraph

POLICIES = [name for name, one in policies.POLICIES.items() if one.by_rule]  # other cuts are known only once they exist
SAMPLE = 1 << 16  # vertices to follow
MERGING = 48  # bytes per edge while repeated edges are merged, before partitions are built


@dataclass(frozen=True)
class Estimate:
    """An estimate with one row per policy.

    The columns of `frame` are: bytes per worker to build and to run, bytes exchanged in a round in which every vertex
    changes, edges of the largest partition, average copies of a vertex, and whether the policy fits.
    """

    op: str
    workers: int
    memory: int | None
    vertices: int
    edges: int
    exact: bool  # whether vertices are counted, not estimated
    frame: pd.DataFrame
    pieces: tuple[int, int] | None = None  # if edges are estimated, too: from how many pieces, and of how many

    @property
    def policy(self) -> str | None:
        """The policy that exchanges the least among those that fit; None if none fits."""
        fitting = self.frame[self.frame["fits"]]
        return None if fitting.empty else str(fitting["exchange"].idxmin())

    def __repr__(self) -> str:
        sizes = self.frame.assign(**{c: self.frame[c].map(format_bytes) for c in ("build", "run", "exchange")})
        about, of_edges = "" if self.exact else "about ", "about " if self.pieces else ""
        limit = "" if self.memory is None else f" of {format_bytes(self.memory)}"
        if self.policy is not None:
            advice = f"least traffic: {self.policy}{policies.unless_auto(self.policy, self.workers)}"
        else:
            least = format_bytes(int(self.frame[["build", "run"]].max(axis=1).min()))
            advice = f"no policy fits: use at least {least} per worker, or more workers"
        graph = f"{about}{format_count(self.vertices, 'vertex')}, {of_edges}{format_count(self.edges, 'edge')}"
        if self.pieces:
            graph += f" (from {self.pieces[0]} of {self.pieces[1]} pieces; the number of vertices may be far off)"
        return f"{self.op} on {format_count(self.workers, 'worker')}{limit}: {graph}\n{sizes.to_string()}\n{advice}"

    def _repr_html_(self) -> str:
        from dgraph.display.cards import estimate_card

        return estimate_card(self)


@explain_lack_of_memory("an estimate", "make it")
def estimate(
    graph: PartitionedGraph,
    op: str,
    workers: int | None,
    memory: int | str | None,
    quick: bool = False,
    rank: int | None = None,
) -> Estimate:
    """Estimate an operation for every policy: see `Graph.estimate`."""
    check_choice("op", op, sorted(FOOTPRINTS), operations=True)
    need = _footprint(op, rank)
    if workers is None:
        workers = graph.asked.parts or graph.workers.number
    workers = check_integer("workers", workers, 1, MOST_PARTS)
    limit = graph.memory if memory is None else check_bytes("memory", memory, 1)
    sampled = sample(graph, check_flag("quick", quick))
    rows = {
        name: estimate_policy(graph, sampled, need, policies.choose_policy(name, workers), workers) for name in POLICIES
    }
    frame = pd.DataFrame.from_dict(rows, orient="index")
    frame["fits"] = True if limit is None else frame[["build", "run"]].max(axis=1) <= limit
    return Estimate(op, workers, limit, sampled.vertices, sampled.edges, sampled.exact, frame, sampled.pieces)


def _footprint(op: str, rank: int | None) -> Footprint:
    """What an operation needs; for `factorize`, with factors of this length."""
    if op == "factorize":
        return FOOTPRINTS[op].of_rank(USUAL_RANK if rank is None else check_integer("rank", rank, 1, LARGEST_RANK))
    if rank is not None:
        raise OptionError(f'rank={rank!r} is only for "factorize", and the operation is {op!r}; leave it out')
    return FOOTPRINTS[op]


@explain_lack_of_memory("an estimate", "make it")
def estimate_policy(
    graph: PartitionedGraph, sample: Sample, need: Footprint, policy: policies.Policy, workers: int
) -> dict[str, Any]:
    """The row of one policy, with one partition per worker."""
    mirror, skip = not graph.directed, graph.input_edges.rules.skip_loops
    degrees = placement.degrees(sample.chunk, sample.size, out=True, into=True, mirror=mirror, skip_loops=skip)
    masters = DegreeTable(
        *(None if d is None else (d / sample.share).astype(np.uint32) for d in (degrees.out, degrees.into))
    )
    where = placement.ranges(policy, masters, sample.size, [1.0] * workers)
    reduced, broadcast, copies, load = _copies(sample, where, mirror, skip)

    arcs = sample.edges * (1 + mirror)
    column = 8 if need.weighted and graph.weight is not None else 0
    own = need.alone if workers == 1 else need.spread
    orders = 1 if workers == 1 and mirror else len(own.orders)  # one worker needs one order of an undirected graph
    held = _copies(sample, where, True, skip)[2] if need.both_ends and workers > 1 and not mirror else copies
    local = (sample.vertices + held) / workers
    edges = arcs * load
    side = edges * (4 + column) + 8 * local
    run = orders * side + 4 * local + 8 * sample.vertices / workers + 4 * (reduced + broadcast) / workers
    pieces = edges * (16 + column) if workers > 1 else 2 * edges
    merges = graph.input_edges.rules.repeats != "keep" or (need.simple and workers > 1)
    merging = MERGING * sample.edges / workers if merges else 0
    each = own.edge_bytes + (0 if mirror else own.directed_bytes)
    run_bytes = run + own.vertex_bytes * local + each * edges + own.everywhere * sample.vertices
    passed, sent = float(arcs * (workers - 1)), held if need.sweeps else reduced + broadcast
    if need.gathered is not None and workers > 1:
        run_bytes += need.gathered.vertex_bytes * sample.vertices + need.gathered.edge_bytes * sample.edges
        passed = sample.edges * (workers - 1) / workers
    return {
        "build": int(max(run + pieces + sample.vertices / 4, merging)),
        "run": int(run_bytes),
        "exchange": int(need.message_bytes * sent + need.passed_bytes * passed),
        "edges": int(edges),
        "replication": 1 + copies / max(sample.vertices, 1),
        "reduced": int(reduced),
        "broadcast": int(broadcast),
    }


def _copies(sample: Sample, where: placement.Placement, mirror: bool, skip: bool) -> tuple[float, float, float, float]:
    """Proxies that gather, proxies that need a state, all proxies, and the largest share of edges on one worker."""
    rate = min(1.0, SAMPLE / max(sample.size, 1))
    chosen = _chosen(sample.size, rate)
    owner = where.owner
    pairs: dict[str, list[np.ndarray]] = {"in": [], "out": []}
    load = np.zeros(where.parts, np.int64)
    columns = policies.grid_columns(where.parts)
    ends = sample.chunk.sources, sample.chunk.destinations
    for sources, destinations, flip in ((*ends, False), *([(*ends[::-1], True)] if mirror else [])):
        at = np.empty(len(sources), np.uint16)
        build_kernels.place(
            sources, destinations, *IDENTITY.arguments, owner, where.policy.rule, columns, where.high, at
        )
        load += np.bincount(at, minlength=where.parts)
        for kind, end in (("in", destinations), ("out", sources)):
            mine = chosen[end]
            if flip or skip:
                mine &= sources != destinations
            vertex, part = end[mine].astype(np.int64), at[mine]
            away = part != owner[vertex]
            pairs[kind].append(vertex[away] * where.parts + part[away])
    kinds = {kind: np.concatenate(pieces) for kind, pieces in pairs.items()}
    kinds["any"] = np.concatenate([kinds["in"], kinds["out"]])
    shares = {k: estimate_distinct(np.unique(v, return_counts=True)[1], sample.share) / rate for k, v in kinds.items()}
    largest = load.max() / load.sum() if load.sum() else 1 / where.parts
    return shares["in"], shares["out"], shares["any"], float(largest)


def _chosen(size: int, rate: float) -> np.ndarray:
    """Which vertices to follow: the same pseudo-random share every time."""
    if rate >= 1:
        return np.ones(size, bool)
    mixed = np.arange(size, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    return (mixed * np.uint64(0xBF58476D1CE4E5B9) >> np.uint64(40)) < np.uint64(rate * (1 << 24))
