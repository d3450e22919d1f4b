"""The chosen block size against every number of blocks there is, and the fit against costs that are known."""

import numpy as np
import pytest

from dgraph.pipeline.block_size import FEWEST_EDGES, FIRST_SIZE, Cost, CostFit, best_blocks, block_size, size_for
from dgraph.pipeline.blocks import cut_blocks

PUBLISHED = {
    "SSSP": (Cost(0.03, 0.51, 0.09, 84671), 5_000_000),
    "PageRank": (Cost(0.02, 0.58, 0.1, 1970), 100_000),
    "label propagation": (Cost(0.003, 0.59, 0.006, 498), 200_000),
}


def all_times(cost: Cost, edges: int) -> np.ndarray:
    """The model written once more, for 1 to `edges` blocks at once."""
    s = np.arange(1, edges + 1)
    b = edges / s
    n, c, u = cost.a1 + cost.k1 * b, cost.a + cost.k2 * b, cost.a3 + cost.k3 * b
    times = n + np.maximum(n, c) + (s - 2) * np.maximum(np.maximum(n, c), u) + np.maximum(c, u) + u
    times[0] = n[0] + c[0] + u[0]
    return times


def test_the_chosen_number_of_blocks_is_the_best_for_random_costs():
    rng = np.random.default_rng(1)
    for _ in range(3000):
        k1, k2, k3 = rng.exponential(1, 3) * rng.choice([0, 1e-3, 1, 30], 3, p=[0.1, 0.2, 0.5, 0.2])
        a, a1, a3 = rng.choice([0, rng.exponential(1), rng.exponential(1000)], 3)
        cost = Cost(k1, k2, k3, a) if rng.random() < 0.5 else Cost(k1, k2, k3, a, a1, a3)
        edges = int(rng.integers(1, 400))
        times = all_times(cost, edges)
        found = best_blocks(cost, edges)
        assert cost.time(edges, found) == pytest.approx(times[found - 1])
        assert times[found - 1] <= times.min() * (1 + 1e-12), (cost, edges, found)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_best_number_of_blocks_for_published_costs_matches_the_formula(name):
    cost, edges = PUBLISHED[name]
    times = all_times(cost, edges)
    assert times[best_blocks(cost, edges) - 1] == times.min()
    stages = cost.k1, cost.k2, cost.k3
    assert 1 < cost.sequential_time(edges, 1) / times.min() < sum(stages) / max(stages)
    q = (cost.a * edges / (cost.k1 + cost.k3)) ** 0.5  # computing is the slowest stage of all three
    assert abs(best_blocks(cost, edges) - edges / q) <= 1


def test_equal_or_zero_costs_do_not_divide_by_zero():
    assert best_blocks(Cost(1, 1, 1, 0), 100) == 100
    assert best_blocks(Cost(0, 1, 0, 5), 100) == 1
    assert best_blocks(Cost(0, 0, 0, 0), 100) == 1
    assert [block_size(Cost(1, 1, 1, 1), edges) for edges in (0, 1)] == [1, 1]
    assert block_size(Cost(1, 1, 1, 0), 10) == 1


@pytest.mark.parametrize("edges", [7, 100, 12345])
def test_blocks_of_the_chosen_size_hold_all_edges(edges):
    cost = Cost(0.3, 0.4, 0.2, 5)
    size, blocks = block_size(cost, edges), best_blocks(cost, edges)
    assert size * blocks >= edges > size * (blocks - 1) - blocks


def test_the_fit_finds_the_costs_behind_noisy_times():
    rng, true = np.random.default_rng(2), Cost(2e-9, 5e-9, 1e-9, 1e-4)
    measured = CostFit()
    for edges in rng.integers(1000, 200_000, 600).tolist():
        noise = rng.normal(1, 0.02, 3)
        measured.add(
            edges, true.k1 * edges * noise[0], (true.a + true.k2 * edges) * noise[1], true.k3 * edges * noise[2]
        )
    assert len(measured.blocks) == 256
    found = measured.fit()
    assert [found.k1, found.k2, found.k3] == pytest.approx([true.k1, true.k2, true.k3], rel=0.03)
    assert found.a == pytest.approx(true.a, rel=0.2)


def test_blocks_of_equal_size_give_a_fit_without_overhead():
    measured = CostFit()
    for _ in range(6):
        assert measured.fit() is None
        measured.add(1000, 1.0, 3.0, 2.0)
    assert measured.fit() == Cost(0.001, 0.003, 0.002, 0.0)


SETTLING = {  # seconds an edge and a call, and edges
    "equal stages": (Cost(1e-7, 1e-7, 1e-7, 9e-5, 8e-5, 8e-5), 1 << 22),
    "a download that is a tenth slower": (Cost(1.1e-7, 1e-7, 1e-7, 8e-5, 8e-5, 8e-5), 1 << 22),
    "a download that is four times slower": (Cost(4e-7, 1e-7, 1e-7, 8e-5, 8e-5, 8e-5), 1 << 22),
    "an upload that is a tenth slower, few edges": (Cost(1e-7, 1e-7, 1.1e-7, 8e-5, 8e-5, 8e-5), 1 << 17),
    "costly calls": (Cost(4e-7, 4e-7, 4e-7, 1e-3, 8e-5, 8e-5), 1 << 20),
}


class Rounds:
    """Rounds on a simulated clock: each stage of a block takes what `cost` says, and a little by chance."""

    def __init__(self, cost: Cost, edges: int):
        self.cost, self.ends, self.measured = cost, np.arange(0, edges + 1, 16), CostFit()
        self.rng = np.random.default_rng(5)

    def run(self, size: int) -> None:
        per_edge = np.array([self.cost.k1, self.cost.k2, self.cost.k3])
        per_call = np.array([self.cost.a1, self.cost.a, self.cost.a3])
        for block in cut_blocks(self.ends, size, taper=True):
            chance = self.rng.normal(1, 0.01, 3), self.rng.exponential(2e-5, 3)
            self.measured.add(block.edges, *(per_call + per_edge * block.edges) * chance[0] + chance[1])

    def chosen(self) -> int:
        fitted, edges = self.measured.fit(), int(self.ends[-1])
        return FIRST_SIZE if fitted is None else max(FEWEST_EDGES, block_size(fitted, edges))

    def worse(self, size: int) -> float:
        """What a round with such blocks takes of one with the best."""
        edges = int(self.ends[-1])
        times = all_times(self.cost, edges)
        return float(times[-(-edges // size) - 1] / times.min())


@pytest.mark.parametrize("name", SETTLING)
def test_rounds_settle_on_the_best_block(name):
    rounds = Rounds(*SETTLING[name])
    for _ in range(10):
        rounds.run(rounds.chosen())
    assert rounds.worse(rounds.chosen()) < 1.02


def test_block_size_recovers_from_thousands_of_short_blocks():
    rounds = Rounds(*SETTLING["equal stages"])
    rounds.run(FEWEST_EDGES)
    assert rounds.worse(FEWEST_EDGES) > 1.5
    for _ in range(3):
        rounds.run(rounds.chosen())
    assert rounds.worse(rounds.chosen()) < 1.02


def test_the_fit_remembers_a_block_of_another_length_after_many_equal_ones():
    measured = CostFit()
    for edges in [100] + [1000] * 1000:
        measured.add(edges, 1 + edges, 2 + 3 * edges, 4 + edges)
    found = measured.fit()
    assert [found.k1, found.k2, found.k3, found.a1, found.a, found.a3] == pytest.approx([1, 3, 1, 1, 2, 4])


def test_one_block_is_chosen_where_daemons_share_cores_and_pipelining_gains_little():
    dear, cheap = Cost(1e-10, 4e-9, 1e-11, 5e-4), Cost(4e-9, 4e-9, 4e-9, 1e-5)
    assert size_for("auto", 1 << 20, [dear]) == 1 << 20
    assert size_for("auto", 1 << 20, [cheap]) == block_size(cheap, 1 << 20) < 1 << 18
    assert size_for("auto", 1 << 20, [dear, dear]) <= 1 << 17  # several share them
    assert size_for("auto", 1 << 20, [None]) == FIRST_SIZE
    assert size_for("auto", 0, [dear]) == size_for("auto", 0, [dear, cheap]) == FEWEST_EDGES  # rows without edges
    assert [size_for(asked, 1 << 20, [cheap]) for asked in (None, 77)] == [1 << 20, 77]
