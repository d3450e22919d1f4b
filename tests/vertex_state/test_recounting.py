"""In a synchronous program a vertex gathers its neighbourhood again only when it may find something else there: the
same answers after any number of rounds, with fewer looks at edges."""

import numpy as np
import pytest
from numpy import int64

import dgraph as dg
from dgraph.codegen.kernel_source import generate
from dgraph.ops.cdlp import CommunityDetection
from dgraph.ops.label_propagation import LabelPropagation, WeightedLabelPropagation
from dgraph.programs.monoid import CHOOSE, H_INDEX, MOST_FREQUENT, NONE


class Fashion(dg.VertexProgram):
    """Who has an odd label says nothing to those with the same, who has more than 40 to nobody."""

    label = dg.State(int64)
    along = "both"
    kind = "synchronous"
    merge = MOST_FREQUENT

    def start(id):
        return id % 50

    def send(label, target_label):
        return NONE if label > 40 or (label % 2 == 1 and label == target_label) else label // 2

    def apply(label, message):
        return message if 0 <= message < label else label


class Rank(dg.VertexProgram):
    """Of how many neighbours with as high a number a vertex has come to know."""

    height = dg.State(int64)
    along = "both"
    kind = "synchronous"
    merge = H_INDEX

    def start(id, degree):
        return degree + id % 3

    def send(height):
        return height

    def apply(height, message):
        return min(height, max(message, 0))


PROGRAMS = {
    "cdlp": CommunityDetection(max_iter=100),
    "label_propagation": LabelPropagation(),
    "weighted": WeightedLabelPropagation(),
    "fashion": Fashion(),
    "rank": Rank(),
}


def villages(seed: int, **options) -> dg.Graph:
    """Twelve circles of friends, some edges between them, repeats and loops."""
    draw = np.random.default_rng(seed)
    source = draw.integers(0, 240, 1500)
    destination = np.where(draw.random(1500) < 0.9, source // 20 * 20 + draw.integers(0, 20, 1500), source[::-1])
    edges = {"src": source, "dst": destination, "weight": draw.integers(0, 4, 1500)}
    return dg.Graph.from_edges(edges, weight="weight", **options)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("name", PROGRAMS)
def test_recounting_gives_the_same_rounds_and_reads_fewer_edges(name, parts, directed):
    for seed in range(3):
        graph, looks = villages(seed, parts=parts, directed=directed), [0, 0]
        for rounds in (1, 2, 3, 5, 8, 13):
            ways = [
                dg.run(graph, PROGRAMS[name], engine=dg.Gas(optimizations=how), max_rounds=rounds, random_seed=seed)
                for how in (dg.Optimizations(), dg.Optimizations(active_only=False))
            ]
            tables = [found.compute().set_index("vertex").sort_index() for found in ways]
            assert tables[0].equals(tables[1]), rounds
            looks = [found.report["edges"].sum() for found in ways]
        assert looks[0] <= looks[1] - (name in ("label_propagation", "weighted", "rank"))  # others swap, or end


def test_unchanged_neighbours_are_not_read():
    """Two cliques and an edge: once all agree, nobody looks at any edge."""
    pairs = [(u, v) for first in (0, 10) for u in range(first, first + 10) for v in range(u) if v >= first]
    graph = dg.Graph.from_edges({"src": [u for u, _ in pairs] + [3], "dst": [v for _, v in pairs] + [13]}, parts=2)
    frame = dg.cdlp(graph, engine="gas").report
    looks = frame.groupby("superstep")["edges"].sum()
    assert looks[1] == 2 * len(pairs) + 2
    assert looks[10] == 0


class Dice(CommunityDetection):
    """One of the neighbours' labels at random, another one in each round."""

    merge = CHOOSE


class Late(CommunityDetection):
    """What is sent depends on the round."""

    def send(label, round):
        return label + round % 2


class Crowd(CommunityDetection):
    """What is sent depends on all vertices."""

    @dg.Global(int64, dg.SUM)
    def total(label):
        return label

    def send(label, total):
        return min(label, total)


@pytest.mark.parametrize("program", [Dice, Late, Crowd])
def test_no_recounting_where_messages_change_without_their_sender(program):
    assert "recount" not in generate(program()).kernels
    assert "recount" in generate(CommunityDetection()).kernels
