"""A GPU that updates factors beside the CPU; one thread of this CPU stands in for it."""

import numpy as np
import pytest

import dgraph as dg
from dgraph.devices import probe
from dgraph.errors import DeviceError
from dgraph.factors import factor_updates, gpu_updates
from dgraph.native.team import new_signals

RATINGS = dg.ratings(users=60, items=30, ratings=900, rank=2, seed=1, parts=1)
COUNTS = dg.bipartite(left=60, right=30, edges=600, seed=1, weights=(1, 9), parts=1)
OPTIONS = {"rank": 3, "epochs": 4, "stop": None}
IMPLICIT = dg.LeastSquares(implicit_alpha=40)
WAYS = {
    "least squares": (RATINGS, {}),
    "without biases": (RATINGS, {"biases": False}),
    "a search for steps": (RATINGS, {"update": "gradient"}),
    "steps of one length": (RATINGS, {"update": dg.Gradient(learning_rate=0.2)}),
    "all at once": (RATINGS, {"update": "gradient", "engine": dg.BlockDescent(mode="bsp")}),
    "implicit feedback": (COUNTS, {"update": IMPLICIT}),
    "conjugate gradients": (COUNTS, {"update": IMPLICIT}),
}


@pytest.fixture
def gpu_alone(one_thread, monkeypatch):
    """The threads of the CPU take nothing."""
    team = factor_updates.team
    monkeypatch.setattr(
        factor_updates,
        "team",
        lambda kernel, threads, *arrays, beside=(): team(kernel, 0 if beside else threads, *arrays, beside=beside),
    )


@pytest.fixture
def gpu_first(one_thread, monkeypatch):
    """The GPU takes the first pieces before the threads of the CPU start, which might else leave it none."""
    team = factor_updates.team

    def after_some(kernel, threads, cursor, cuts, *arrays, beside=()):
        for member in beside:
            member.cuts = cuts[: len(cuts) // 4]
            member(0, 1, new_signals())
            member.cuts, cursor[0] = cuts, len(member.cuts) - 1
        return team(kernel, threads, cursor, cuts, *arrays, beside=beside)

    monkeypatch.setattr(factor_updates, "team", after_some)


@pytest.mark.parametrize("name", WAYS)
def test_a_gpu_finds_the_factors_that_a_cpu_finds(name, gpu_alone, monkeypatch):
    if name == "conjugate gradients":
        monkeypatch.setattr(factor_updates, "HIGH_RANK", 3)
    graph, options = WAYS[name]
    found, expected = (dg.factorize(graph, **OPTIONS, **options, device=device) for device in ("cuda", "cpu"))
    for column in ("rmse", "held_out"):
        np.testing.assert_allclose(found.report[column], expected.report[column], rtol=1e-9)
    np.testing.assert_allclose(found.by_number("factors"), expected.by_number("factors"), rtol=1e-6, atol=1e-9)
    assert found.report["edges in process"].sum() == 0 and found.report["edges cuda"].min() > 0
    assert found.report.options["device"] == "cpu and cuda" and expected.report.options["device"] == "cpu"


def test_equations_that_do_not_fit_at_once_are_solved_in_turn(gpu_alone, monkeypatch):
    expected = dg.factorize(RATINGS, **OPTIONS, device="cuda")
    monkeypatch.setattr(gpu_updates, "ROOM", 8 * 4 * 5 * 2)  # of two vertices
    found = dg.factorize(RATINGS, **OPTIONS, device="cuda")
    np.testing.assert_array_equal(found.by_number("factors"), expected.by_number("factors"))


@pytest.mark.parametrize("update", ["least_squares", "gradient"])
def test_a_gpu_and_a_cpu_take_pieces_from_one_queue(update, gpu_first, several_threads):
    graph = dg.ratings(users=600, items=300, ratings=60_000, rank=4, seed=1, parts=1)
    found, expected = (
        dg.factorize(graph, rank=4, epochs=5, stop=None, update=update, device=device) for device in ("cuda", "cpu")
    )
    report = found.report
    assert report[["blocks in process", "blocks cuda"]].sum().min() > 0
    of_all = report["edges in process"] + report["edges cuda"]
    assert of_all.nunique() == 1 and set(report["device"]) == {"cpu and cuda"}
    if update == "least_squares":  # a search reads again, once for each length that it tries
        assert of_all.tolist() == report["edges"].tolist()
    for column in ("rmse", "held_out"):
        np.testing.assert_allclose(report[column], expected.report[column], rtol=0.005)


def test_ratings_that_the_gpu_has_no_room_for_are_refused(one_thread):
    with pytest.raises(DeviceError, match=r"the ratings need [\d,]+ bytes on the GPU, but dg.Cuda\(memory=100\)"):
        dg.factorize(RATINGS, **OPTIONS, device=dg.Cuda(memory=100))


def test_an_error_of_the_gpu_ends_the_fit(gpu_first, monkeypatch):
    def fails(self, name, blocks, values):
        raise DeviceError("the GPU has failed")

    monkeypatch.setattr(gpu_updates.FactorGpu, "launch", fails)
    with pytest.raises(DeviceError, match="the GPU has failed"):
        dg.factorize(RATINGS, device="cuda")


@pytest.mark.skipif(bool(probe.gpus()), reason="there is a GPU here")
def test_without_a_gpu_the_error_says_what_is_missing():
    with pytest.raises(DeviceError, match=r"this process lacks a GPU that the CUDA driver .* or use device=\"cpu\""):
        dg.factorize(RATINGS, device="cuda")
