"""What global values and results tell of the last round, which engines may notice only one round later."""

import itertools

import pytest

import dgraph as dg
from dgraph.programs import reference

PATH = [(0, 1), (1, 2), (4, 3)]
WAYS = [(1, "outgoing"), *itertools.product((2, 3, 5), ("outgoing", "incoming", "cartesian", "hybrid"))]


class Paths(dg.VertexProgram):
    """The number of paths that end at a vertex. Whoever is last to hear of one has nobody to tell."""

    kind = "accumulative"
    paths = dg.State(int)
    new = dg.Delta(int)
    merge = dg.SUM

    def seed(id):
        return 1 if id == 0 else 0

    def send(new):
        return new

    def apply(paths, message):
        return paths + message, message

    @dg.Global(int, dg.SUM)
    def grown(paths, paths_before):
        return paths - paths_before

    @dg.Result(int)
    def before(paths_before):
        return paths_before


class PathsForever(Paths):
    """Workers learn the global value in each round."""

    def stop(grown, round):
        return grown < 0


@pytest.mark.parametrize("engine", ["gas", "bsp"])
@pytest.mark.parametrize("program", [Paths(), PathsForever()])
def test_states_before_the_last_round_are_the_same_in_any_partitions(program, engine):
    expected = reference.run(program, PATH, 5)
    assert (expected.results()["before"], expected.globals["grown"]) == ([1, 1, 0, 0, 0], 1)
    for parts, policy in WAYS:
        source, destination = zip(*PATH, strict=True)
        graph = dg.Graph.from_edges({"src": source, "dst": destination}, parts=parts, policy=policy)
        found = dg.run(graph, program, engine=engine)
        assert found.by_number("before").tolist() == [1, 1, 0, 0, 0], (parts, policy)
        assert found.totals["grown"] == 1, (parts, policy)
        assert found.rounds == expected.rounds, (parts, policy)


@pytest.mark.parametrize("limit", [None, 4])  # the fourth round is that in which no vertex fires
@pytest.mark.parametrize("program", [Paths(), PathsForever()])
def test_workers_agree_on_the_states_before_the_last_round(client, program, limit):
    source, destination = zip(*PATH, strict=True)
    for policy in ("outgoing", "incoming"):
        graph = dg.Graph.from_edges({"src": source, "dst": destination}, parts=3, policy=policy, client=client)
        for engine in (dg.Gas(max_rounds=limit), dg.Bsp(max_rounds=limit)):
            found = dg.run(graph, program, engine=engine)
            assert found.by_number("before").tolist() == [1, 1, 0, 0, 0], (policy, engine)
            assert (found.totals["grown"], found.rounds) == (1, 3), (policy, engine)
