"""deterministic=True: sums of floats are the same to the last bit, wherever and by however many they are added up."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from cases import PROGRAMS, expected, graph_for

import dgraph as dg
from dgraph.errors import OptionError
from dgraph.native import threads

SUMS = ["PageRank", "PersonalPageRank", "Katz", "Residuals", "Factorize"]
SAME_BITS = dg.Gas(deterministic=True)


def values(name, directed, engine=SAME_BITS, **where):
    found = dg.run(graph_for(name, directed, **where), PROGRAMS[name], random_seed=11, engine=engine).compute()
    return table(found[column].tolist() for column in found if column != "vertex")


def table(columns):
    """Columns of numbers and of vectors, side by side."""
    return np.hstack([np.array(column, float).reshape(40, -1) for column in columns])


@cache
def alone(name, directed):
    return values(name, directed, parts=1, engine=dg.Bsp(deterministic=True))


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("name", SUMS)
def test_sums_have_the_same_bits_in_any_number_of_partitions(name, directed, monkeypatch, client):
    first = alone(name, directed)
    oracle = table(expected(name, directed).results().values())
    np.testing.assert_allclose(first, oracle, rtol=1e-5 if name == "Factorize" else 1e-9, atol=1e-9)
    all_vertices = dg.Optimizations(active_only=False, changed_only=False)
    for options in (
        {"parts": 2, "policy": "outgoing"},
        {"parts": 3, "policy": "cartesian", "engine": dg.Gas(deterministic=True, direction="pull")},
        {"parts": 8, "policy": "hybrid"},
        {"parts": 3, "policy": "metis", "engine": dg.Gas(deterministic=True, optimizations=all_vertices)},
        {"parts": 4, "client": client},
    ):
        assert np.array_equal(values(name, directed, **options), first), options
    monkeypatch.setattr(threads, "cores", lambda: 5)
    monkeypatch.setattr("dgraph.devices.cpu.SMALLEST_RANGE", 4)
    assert np.array_equal(values(name, directed, parts=1), first)


@pytest.mark.parametrize("directed", [True, False])
def test_sums_have_the_same_bits_in_many_blocks(directed):
    """Sums over blocks of vertices, too, and rows whose neighbours are on other partitions."""
    ranks = []
    for parts in (1, 2, 3, 5):
        G = dg.rmat(scale=13, edge_factor=8, seed=3, directed=directed, parts=parts)
        ranks.append(dg.run(G, PROGRAMS["PageRank"], engine=SAME_BITS).compute().iloc[:, 1].to_numpy())
    assert all(np.array_equal(one, ranks[0]) for one in ranks)
    plain = dg.run(dg.rmat(scale=13, edge_factor=8, seed=3, directed=directed, parts=3), PROGRAMS["PageRank"])
    assert not np.array_equal(plain.compute().iloc[:, 1], ranks[0])  # so that the test can fail


def test_sums_have_the_same_bits_in_any_order_of_edges():
    frame = pd.DataFrame(np.random.default_rng(1).integers(0, 50, (700, 2)), columns=["src", "dst"])
    one, other = (
        dg.run(dg.Graph.from_edges(f, parts=2), PROGRAMS["PageRank"], engine=SAME_BITS).compute()
        for f in (frame, frame.sample(frac=1, random_state=5))
    )
    pd.testing.assert_frame_equal(one, other, check_exact=True)


def test_deterministic_with_incompatible_options_is_refused():
    for engine in (dg.Gas, dg.Bsp):
        with pytest.raises(OptionError, match="deterministic=True and direction='push' are mutually exclusive"):
            engine(deterministic=True, direction="push")
    for engine in (dg.BulkAsync, dg.BlockDescent):
        with pytest.raises(OptionError, match=r"has no option deterministic=True; dg.Gas and dg.Bsp have it"):
            engine(deterministic=True)
    for device in ("cuda", dg.Cuda(memory="1 GiB")):
        with pytest.raises(OptionError, match=r"deterministic=True.* and device=dg.Cuda.* are mutually exclusive"):
            dg.run(graph_for("Katz", parts=2), PROGRAMS["Katz"], engine=SAME_BITS, device=device)
