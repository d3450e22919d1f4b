"""What a cluster would take: the model's own arithmetic, and that measuring feeds it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.cli.forecast import Cluster, Coefficients, calibrate, fit_line, forecast, predict
from dgraph.cli.superstep_costs import SuperstepCosts
from dgraph.errors import OptionError
from dgraph.estimates.sample import sample
from dgraph.exchange.grid import FEW_WORKERS, WorkerGrid, packets

KNOWN = Coefficients(build=1e-8, edge=4e-8, rounds=10, traffic=5.0)
ESTIMATED = pd.DataFrame(
    {"edges": [1e8], "exchange": [8e8], "build": [2e9], "run": [3e9]}, index=["outgoing"]
)  # of the largest of 4 partitions


def row(**cluster):
    return predict(ESTIMATED, Cluster(4, **cluster), KNOWN).loc["outgoing"]


def test_the_forecast_equals_a_calculation_by_hand():
    found = row(cores=2, bandwidth=1e9, latency=0.01)
    assert found["build"] == pytest.approx(0.5)
    assert found["compute"] == pytest.approx(2.0)
    assert found["exchange"] == pytest.approx(1.0)  # 4 GB, by four workers at a GB a second
    assert found["rounds"] == pytest.approx(0.1 + 10 * Cluster(4, latency=0).overhead)
    assert found["seconds"] == pytest.approx(3.7 + 10 * Cluster(4, latency=0).overhead)  # and a tenth to start
    turned = predict(ESTIMATED, Cluster(4, cores=2), replace(KNOWN, turn=0.25)).loc["outgoing"]
    assert turned["compute"] == pytest.approx(2.25)
    assert (found["memory"], found["traffic"]) == (3e9, 4e9)


def test_the_overhead_of_a_round_grows_with_peers_and_hops():
    costs = SuperstepCosts(step=1.0, packet=0.1, peer=0.01)
    overhead = {workers: Cluster(workers, latency=10.0, costs=costs).overhead for workers in (1, 2, 8, 9, 16, 1024)}
    by_hand = {1: 0, 2: 11.11, 8: 11.77, 9: 21.48, 16: 21.75, 1024: 21 + 6.2 + 10.23}
    assert overhead == pytest.approx(by_hand)
    assert costs.seconds(16, peers=0) == pytest.approx(1.6)


@pytest.mark.parametrize("workers", [1, 2, 8, 9, 10, 13, 16, 20, 30, 64])
def test_no_worker_sends_more_packets_than_told(workers):
    if workers <= FEW_WORKERS:
        assert packets(workers) == workers - 1
    else:
        grids = [WorkerGrid(worker, workers) for worker in range(workers)]
        sent = [len(grid.row) - 1 + len(grid.served) for grid in grids]
        assert np.mean(sent) <= packets(workers) <= max(sent) + 1


def test_partitions_larger_than_the_measured_one_take_longer_per_edge():
    for part, times in ((2.5e7, 2), (1e8, 1), (4e8, 1)):
        slower = replace(KNOWN, part=part, growth=0.5)
        found = predict(ESTIMATED, Cluster(4, cores=2), slower).loc["outgoing"]
        assert found["compute"] == pytest.approx(times * row(cores=2)["compute"])


def test_devices_compute_and_do_not_build():
    with_devices = row(cores=2, devices=1, device_cores=18)
    assert with_devices["compute"] == pytest.approx(0.2)
    assert with_devices["build"] == row(cores=2)["build"]


def test_one_worker_sends_nothing():
    found = predict(ESTIMATED, Cluster(1), KNOWN).loc["outgoing"]
    assert (found["start"], found["exchange"], found["rounds"], found["traffic"]) == (0, 0, 0, 0)
    assert found["compute"] == pytest.approx(4.0)


@pytest.mark.parametrize("wrong", [{"workers": 0}, {"workers": 2, "cores": 0}, {"workers": 2, "bandwidth": 0}])
def test_invalid_clusters_are_refused(wrong):
    with pytest.raises(OptionError):
        Cluster(**wrong)


def test_forecasts_use_coefficients_measured_on_a_sample():
    graph = dg.rmat(scale=12)
    alone, two = (calibrate(graph, "wcc", dg.wcc, workers=workers) for workers in (1, 2))
    found = forecast(graph, "wcc", Cluster(4), dg.wcc)
    known = found.coefficients
    for one in (alone, two, known):
        assert min(one.build, one.edge + one.turn) > 0
    assert alone.traffic == 0 < min(two.traffic, known.traffic)
    for one, parts in ((alone, 1), (two, 2), (known, 4)):  # more than two partitions take other rounds
        assert one.rounds == dg.wcc(dg.rmat(scale=12, parts=parts)).rounds
    assert alone.rounds < two.rounds < known.rounds
    assert found.policy in repr(found)
    assert (found.frame["seconds"] > 0).all()


def test_a_line_fitted_to_two_measurements_has_no_negative_coefficient():
    assert fit_line((10, 3.0), (40, 6.0)) == pytest.approx((2.0, 0.1))
    assert fit_line((10, 1.0), (40, 8.0)) == pytest.approx((0.0, 0.2))  # no less than nothing in the beginning
    assert fit_line((10, 3.0), (40, 2.0)) == (2.0, 0.0)  # nor for an edge


def test_a_sample_looks_like_its_graph():
    whole = sample(dg.grid(rows=64, cols=64, removed=0.0))
    few = whole.folded(4)
    assert len(few["src"]) == pytest.approx(len(whole.chunk.sources) / 4, rel=0.1)
    apart = few["dst"].astype(int) - few["src"]
    assert np.isin(apart % 1024, (1, 64)).all()  # right or down, round a grid of 16 rows
    hub = dg.Graph.from_edges({"src": np.zeros(100, int), "dst": np.arange(1, 101)})
    assert len(sample(hub).folded(4)["src"]) == 25


def test_a_sample_of_a_bipartite_graph_is_bipartite():
    graph = dg.bipartite(left=200, right=300, edges=3000)
    assert calibrate(graph, "matching", dg.matching, edges=800).rounds > 0
