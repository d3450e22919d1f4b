"""A random number that `send` reads is drawn for each edge: independently of all others, and the same everywhere."""

from itertools import product

import numpy as np
import pytest

import dgraph as dg
from dgraph.programs import reference
from dgraph.programs.random_draws import uniform, uniform_of_edge, word_of_round

VERTICES, SEED = 14, 3
RNG = np.random.default_rng(1)
EDGES = {  # each edge has about two repeats, half of them with equal weights; there are loops
    "src": RNG.integers(0, 9, 260),
    "dst": RNG.integers(0, 12, 260),
    "toll": RNG.choice([1.0, 2.0, np.nan], 260, p=[0.5, 0.4, 0.1]),
}


class Drawn(dg.VertexProgram):
    """Adds up, in whole numbers, what is drawn on all edges of the vertices that have just received something."""

    total = dg.State(int)
    news = dg.Delta(int)
    merge = dg.SUM
    toll = dg.EdgeColumn(float)

    def seed(id):
        return id + 1 if id < 5 else 0

    def send(news, random, toll, round):
        return int(random * (1 << 20)) * (int(toll) if toll > 0 else 5) if round < 5 and news != 0 else 0

    def apply(total, message):
        return total + message, message


class DrawnAgainst(Drawn):
    """The same against the edges."""

    along = "in"


class DrawnBothWays(Drawn):
    """The same along and against."""

    along = "both"


class InAllRounds(dg.VertexProgram):
    """The same from all vertices in every round."""

    kind = "synchronous"
    total = dg.State(int)
    merge = dg.SUM
    along = "both"
    toll = dg.EdgeColumn(float)

    def send(random, toll):
        return int(random * (1 << 20)) * (int(toll) if toll > 0 else 5)

    def apply(total, message):
        return total + message

    def stop(round):
        return round == 4


PROGRAMS = Drawn, DrawnAgainst, DrawnBothWays, InAllRounds


def by_ends(source, destination, parts):
    return (source + 3 * destination) % parts


def expected(program, directed):
    pairs = list(zip(EDGES["src"].tolist(), EDGES["dst"].tolist(), strict=True))
    columns = {"toll": EDGES["toll"].tolist()}
    return reference.run(program(), pairs, VERTICES, columns, directed=directed, random_seed=SEED).results()["total"]


def found(program, directed, edges=EDGES, engine="gas", device="cpu", **options):
    graph = dg.Graph.from_edges(edges, directed=directed, vertices=VERTICES, **options)
    result = dg.run(graph, program(), engine=engine, random_seed=SEED, device=device)
    return result.compute()["total"].tolist()


CUTS = (1, "auto"), *product((2, 5), ("outgoing", "incoming", "cartesian", "hybrid", by_ends))


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("program", PROGRAMS)
def test_partitions_engines_and_directions_draw_alike(program, directed):
    answer = expected(program, directed)
    assert len(set(answer)) > 9
    for i, ((parts, policy), direction) in enumerate(product(CUTS, ("push", "pull"))):
        engine = (dg.Gas, dg.Bsp)[i % 2](direction=direction)
        assert found(program, directed, parts=parts, policy=policy, engine=engine) == answer


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_order_in_which_edges_are_listed_does_not_matter(program):
    order = np.random.default_rng(2).permutation(len(EDGES["src"]))
    shuffled = {name: values[order] for name, values in EDGES.items()}
    assert found(program, True, shuffled, parts=3) == expected(program, True)


class Heard(dg.VertexProgram):
    """The sum of what arrived in the last round, in which every edge carried what was drawn for it."""

    kind = "synchronous"
    heard = dg.State(float)
    merge = dg.SUM
    rounds = dg.Parameter(int, 1)

    def send(random):
        return random

    def apply(message):
        return message

    def stop(round, rounds):
        return round == rounds


def heard(source, destination, program=Heard, directed=True, seed=0, **parameters):
    graph = dg.Graph.from_edges({"src": source, "dst": destination}, directed=directed)
    return dg.run(graph, program(**parameters), random_seed=seed).compute()["heard"].to_numpy()


MANY = 20_000
NUMBERS = np.arange(MANY)


def correlation(first, second):
    """In standard deviations of what independent draws have."""
    return abs(np.corrcoef(first, second)[0, 1]) * MANY**0.5


def test_edges_of_a_hub_fire_independently():
    draws = heard(NUMBERS * 0, NUMBERS + 1)[1:]
    counts = np.histogram(draws, 20, (0, 1))[0]
    assert len(np.unique(draws)) == MANY
    assert ((counts - MANY / 20) ** 2 / (MANY / 20)).sum() < 55  # chi squared with 19 degrees of freedom
    assert correlation(draws, np.roll(draws, 1)) < 5
    for others in ({"rounds": 2}, {"seed": 1}):
        assert correlation(draws, heard(NUMBERS * 0, NUMBERS + 1, **others)[1:]) < 5
    both = heard(np.r_[NUMBERS * 0, NUMBERS * 0 + MANY + 1], np.r_[NUMBERS + 1, NUMBERS + 1])[1:-1]
    assert correlation(draws, both - draws) < 5  # what another hub sends to the same vertices


def test_repeated_edges_fire_independently():
    total = heard(NUMBERS * 0, NUMBERS * 0 + 1)[1]
    assert abs(total - MANY / 2) < 5 * (MANY / 12) ** 0.5


def test_both_directions_of_an_undirected_edge_fire_independently():
    draws = heard(NUMBERS, NUMBERS + MANY, directed=False)
    assert correlation(draws[:MANY], draws[MANY:]) < 5


class HeardBothWays(Heard):
    """Along the edges and against them."""

    along = "both"


def test_an_edge_and_the_reverse_of_another_fire_independently():
    pairs = np.r_[NUMBERS, NUMBERS + MANY], np.r_[NUMBERS + MANY, NUMBERS]
    draws = heard(*pairs, HeardBothWays)  # each vertex hears along one edge and against the other from the same vertex
    assert abs(draws.var() - 1 / 6) < 0.01  # twice the same draw would have 1 / 3


def test_no_two_of_the_rounds_ends_repeats_and_components_share_a_draw():
    words = [word_of_round(SEED, round) for round in (0, 1, 2, 5)]
    edges = {uniform_of_edge(*key) for key in product(words, *[(0, 1, 2, 5)] * 4)}
    vertices = {uniform(*key) for key in product(words, *[(0, 1, 2, 5)] * 2)}
    assert len(edges | vertices) == 4**5 + 4**3


class OneForAll(dg.VertexProgram):
    """A vertex sends one draw along all its edges, and holds the draw itself."""

    kind = "synchronous"
    heard = dg.State(float)
    drawn = dg.State(float)
    same = dg.State(bool)
    merge = dg.SUM

    def send(vertex_random):
        return vertex_random

    def apply(message, random, vertex_random):
        return message, vertex_random, random == vertex_random

    def stop(round):
        return round == 2


def test_vertex_random_is_one_draw_for_all_edges():
    graph = dg.Graph.from_edges({"src": [0, 0, 0, 1], "dst": [1, 2, 3, 0]})
    found = dg.run(graph, OneForAll(), random_seed=4).compute()
    assert found["heard"].tolist() == found["drawn"][[1, 0, 0, 0]].tolist() and found["same"].all()
    assert found["drawn"].nunique() == 4


class OwnRandom(Heard):
    """A field that is called as a draw is."""

    random = dg.State(float, start=0.25)

    def apply(message, random):
        return message, random


def test_a_field_named_random_is_read_instead():
    assert heard([0, 0], [1, 2], OwnRandom).tolist() == [0.0, 0.25, 0.25]


class DrawnAtTheStart(dg.VertexProgram):
    """What `start` draws in round 0, and `seed` for the messages that arrive in round 1."""

    drawn = dg.State(float)
    seeded = dg.State(float)
    arrived = dg.State(int)
    message = dg.Message(float, dg.SUM)
    sent_in = dg.Message(int, dg.SUM)

    def start(random):
        return random, 0.0, 0

    def seed(random, round):
        return random, round

    def send(seeded):
        return 0.0, 0

    def apply(drawn, message, sent_in, vertex_random):
        return drawn, message if message == vertex_random else -1.0, sent_in


@pytest.mark.parametrize("engine", ["gas", "bsp"])
def test_a_seed_draws_the_numbers_of_the_first_round(engine):
    graph = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]}, parts=2)
    found = dg.run(graph, DrawnAtTheStart(), engine=engine, random_seed=SEED).compute()
    plain = reference.run(DrawnAtTheStart(), [(0, 1), (1, 2)], 3, random_seed=SEED).results()
    assert {name: found[name].tolist() for name in plain} == plain
    assert plain["arrived"] == [1, 1, 1]
    assert plain["seeded"] == [uniform(word_of_round(SEED, 1), v) for v in range(3)]


class DrawnPerComponent(dg.VertexProgram):
    """A global vector whose function reads a vector only as a sum."""

    kind = "synchronous"
    place = dg.State(float, start=1.0, shape=2)
    merge = dg.SUM

    def send(place):
        return place

    def apply(place):
        return place

    @dg.Global(float, dg.MAX, shape=2)
    def drawn(place, random):
        return dg.total(place) + random

    def stop(round):
        return round == 1


def test_each_component_of_a_global_vector_has_its_own_draw():
    graph = dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]}, parts=2)
    found = dg.run(graph, DrawnPerComponent(), random_seed=SEED).totals["drawn"]
    plain = reference.run(DrawnPerComponent(), [(0, 1), (1, 2)], 3, random_seed=SEED).globals["drawn"]
    assert list(plain) == list(found)
    assert plain[0] != plain[1]
