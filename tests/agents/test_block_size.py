"""The chosen block size against every number of blocks there is, and the fit against costs that are known."""

import numpy as np
import pytest

from dgraph.agents.block_size import Cost, Measured, best_blocks, block_size

PUBLISHED = {
    "SSSP": (Cost(0.03, 0.51, 0.09, 84671), 5_000_000),
    "PageRank": (Cost(0.02, 0.58, 0.1, 1970), 100_000),
    "label propagation": (Cost(0.003, 0.59, 0.006, 498), 200_000),
}


def all_times(cost: Cost, edges: int) -> np.ndarray:
    """The model written once more, for 1 to `edges` blocks at once."""
    s = np.arange(1, edges + 1)
    b = edges / s
    n, c, u = cost.k1 * b, cost.a + cost.k2 * b, cost.k3 * b
    times = n + np.maximum(n, c) + (s - 2) * np.maximum(np.maximum(n, c), u) + np.maximum(c, u) + u
    times[0] = n[0] + c[0] + u[0]
    return times


def test_no_number_of_blocks_is_better_for_thousands_of_costs():
    rng = np.random.default_rng(1)
    for _ in range(3000):
        k1, k2, k3 = rng.exponential(1, 3) * rng.choice([0, 1e-3, 1, 30], 3, p=[0.1, 0.2, 0.5, 0.2])
        cost = Cost(k1, k2, k3, float(rng.choice([0, rng.exponential(1), rng.exponential(1000)])))
        edges = int(rng.integers(1, 400))
        times = all_times(cost, edges)
        found = best_blocks(cost, edges)
        assert cost.time(edges, found) == pytest.approx(times[found - 1])
        assert times[found - 1] <= times.min() * (1 + 1e-12), (cost, edges, found)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_coefficients(name):
    cost, edges = PUBLISHED[name]
    times = all_times(cost, edges)
    assert times[best_blocks(cost, edges) - 1] == times.min()
    assert 1 < cost.in_turn(edges, 1) / times.min() < cost.most_gain
    q = (cost.a * edges / (cost.k1 + cost.k3)) ** 0.5  # computing is the slowest stage of all three
    assert abs(best_blocks(cost, edges) - edges / q) <= 1


def test_equal_coefficients_and_nothing_at_all_divide_by_nothing():
    assert best_blocks(Cost(1, 1, 1, 0), 100) == 100
    assert best_blocks(Cost(0, 1, 0, 5), 100) == 1
    assert best_blocks(Cost(0, 0, 0, 0), 100) == 1
    assert Cost(0, 0, 0, 0).most_gain == 1
    assert [block_size(Cost(1, 1, 1, 1), edges) for edges in (0, 1)] == [1, 1]
    assert block_size(Cost(1, 1, 1, 0), 10) == 1


@pytest.mark.parametrize("edges", [7, 100, 12345])
def test_blocks_of_the_chosen_size_hold_all_edges(edges):
    cost = Cost(0.3, 0.4, 0.2, 5)
    size, blocks = block_size(cost, edges), best_blocks(cost, edges)
    assert size * blocks >= edges > size * (blocks - 1) - blocks


def test_the_fit_finds_the_costs_behind_noisy_times():
    rng, true = np.random.default_rng(2), Cost(2e-9, 5e-9, 1e-9, 1e-4)
    measured = Measured()
    for edges in rng.integers(1000, 200_000, 600).tolist():
        noise = rng.normal(1, 0.02, 3)
        measured.add(
            edges, true.k1 * edges * noise[0], (true.a + true.k2 * edges) * noise[1], true.k3 * edges * noise[2]
        )
    assert len(measured.blocks) == 256
    found = measured.fit()
    assert [found.k1, found.k2, found.k3] == pytest.approx([true.k1, true.k2, true.k3], rel=0.03)
    assert found.a == pytest.approx(true.a, rel=0.2)


def test_blocks_of_one_size_tell_no_overhead():
    measured = Measured()
    for _ in range(6):
        assert measured.fit() is None
        measured.add(1000, 1.0, 3.0, 2.0)
    assert measured.fit() == Cost(0.001, 0.003, 0.002, 0.0)
