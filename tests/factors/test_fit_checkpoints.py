"""A fit that is stopped goes on after the last epoch that was saved, and shows its progress."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rated import drawn

import dgraph as dg
from dgraph.errors import OptionError

ENDS = {"source": "user", "destination": "item", "weight": "rating"}
WAYS = {
    "least_squares": {},
    "gradient": {"update": "gradient"},
    "implicit": {"update": dg.LeastSquares(implicit_alpha=4)},
}


class Stopped(Exception):
    """As if the machine went away."""


@pytest.fixture(autouse=True)
def every_epoch(monkeypatch):
    monkeypatch.setattr("dgraph.runs.progress.EVERY", 0.0)


def graph_of(seed=7, **how):
    u, v, values, _ = drawn(seed, 150, 90, 3000, strength=1.5, tails=(0.3, 0.5), noise=0.3)
    return dg.Graph.from_edges({"user": u, "item": v + 1000, "rating": np.abs(values) + 0.1}, **ENDS, **how)


def stop_at(epoch):
    def stop(done):
        if done["superstep"] >= epoch:
            raise Stopped

    return stop


def stopped(path, epoch, graph, **options):
    with pytest.raises(Stopped):
        dg.factorize(graph, checkpoint=path, progress=stop_at(epoch), stop=None, epochs=12, **options)


def is_same(found, expected):
    for name in expected.compute().columns.drop("vertex"):
        np.testing.assert_allclose(found.by_number(name), expected.by_number(name), rtol=1e-6, atol=1e-9)
    assert found.rounds == expected.rounds and found.totals == pytest.approx(expected.totals)
    return True


@pytest.mark.parametrize("way", WAYS)
def test_a_fit_goes_on_after_the_last_checkpoint(way, tmp_path):
    options = {"stop": None, "epochs": 12, **WAYS[way]}
    expected = dg.factorize(graph_of(), **options)
    stopped(dg.Checkpoint(tmp_path, every=4), 10, graph_of(), **WAYS[way])
    found = dg.factorize(graph_of(), checkpoint=tmp_path, **options)
    assert is_same(found, expected) and found.report["superstep"].tolist() == [9, 10, 11, 12]
    assert not list(tmp_path.glob("*")), "nobody will go on from there"


@pytest.mark.parametrize(("way", "directed"), [*((way, True) for way in WAYS), ("least_squares", False)])
def test_fits_resume_between_a_cluster_and_one_process(way, directed, client, tmp_path):
    options = {"stop": None, "epochs": 12, **WAYS[way]}
    expected = dg.factorize(graph_of(directed=directed), **options)
    graphs = graph_of(client=client, parts=3, directed=directed), graph_of(directed=directed)
    for begins, ends in (graphs, graphs[::-1]):
        stopped(dg.Checkpoint(tmp_path, every=2), 5, begins, **WAYS[way])
        assert is_same(dg.factorize(ends, checkpoint=tmp_path, **options), expected)


def test_checkpoints_of_another_fit_are_refused(tmp_path):
    stopped(dg.Checkpoint(tmp_path, every=2), 5, graph_of())
    for other, options in ((graph_of(8), {}), (graph_of(), {"rank": 3}), (graph_of(), {"test": 0.2})):
        with pytest.raises(OptionError, match="belongs to another run of factorize"):
            dg.factorize(other, checkpoint=tmp_path, **{"stop": None, "epochs": 12, **options})


def test_checkpoints_are_written_at_intervals(tmp_path):
    """The last may be half written, so the one before is kept."""
    for option, written in (
        (dg.Checkpoint(tmp_path / "a", every=1), 2),
        (dg.Checkpoint(tmp_path / "b", every=None, seconds=600), 0),
        (dg.Checkpoint(tmp_path / "c", every=None, seconds=1e-9), 2),
    ):
        stopped(option, 5, graph_of())
        assert len(list(Path(option.path).glob("*/*/p0.piece"))) == written
    assert is_same(dg.factorize(graph_of(), checkpoint=dg.Checkpoint()), dg.factorize(graph_of()))


@pytest.mark.parametrize("parts", [1, 3])
def test_progress_shows_epochs(parts, client):
    seen = []
    graph = graph_of(parts=parts, client=client if parts > 1 else None)
    found = dg.factorize(graph, progress=seen.append, epochs=6, stop=None)
    seen = [one for one in seen if "building" not in one]
    supersteps, edges = ([one[what] for one in seen] for what in ("superstep", "edges"))
    assert supersteps == sorted(supersteps) and supersteps[-1] == found.rounds == 6
    assert edges == sorted(edges) and edges[-1] == found.report["edges"].sum()
    with pytest.raises(OptionError, match="progress=3 must be True, False, None or a function"):
        dg.factorize(graph, progress=3)


# -- which ratings are held out ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("parts", [1, 3])
def test_pairs_in_a_frame_are_held_out(parts, directed, client):
    """As if a column marked them."""
    u, v, values, draw = drawn(7, 60, 40, 900, strength=1.5)
    frame = pd.DataFrame(
        {"user": u, "item": [f"i{one}" for one in v], "rating": values, "mark": draw.random(len(u)) < 0.2}
    )
    frame["user"] = "u" + frame["user"].astype(str)
    where = {"parts": parts, "client": client if parts > 1 else None}
    graph = dg.Graph.from_edges(frame, **ENDS, directed=directed, **where)
    expected = dg.factorize(graph, test="mark")
    chosen = frame[frame["mark"]]
    for test in (
        chosen,
        chosen[["user", "item"]].set_axis(["a", "b"], axis=1).sample(frac=1, random_state=1),
        {"x": chosen["user"].tolist() * 2, "y": chosen["item"].tolist() * 2},
    ):
        assert is_same(dg.factorize(graph, test=test), expected)


@pytest.mark.parametrize(
    ("test", "error", "said"),
    [
        (pd.DataFrame({"a": ["u1", "u3"], "b": ["i1", "i1"]}), "IdError", r"1 pair .* no rating of.*\('u3', 'i1'\)"),
        (pd.DataFrame({"a": ["i1"], "b": ["u1"]}), "IdError", r"1 pair .* no rating of"),
        (pd.DataFrame({"a": ["u9"], "b": ["i1"]}), "IdError", r"test=: column 'a' names 1 vertex .*'u9'"),
        (pd.DataFrame({"a": ["u1"]}), "ColumnError", r"test= has the columns \['a'\]"),
        ({"a": [], "b": []}, "OptionError", "test= is a frame without rows"),
        ({"a": ["u1", "u1", "u2", "u3"], "b": ["i1", "i2", "i1", "i2"]}, "OptionError", "test=<4 pairs> holds out all"),
        ([("u1", "i1")], "OptionError", r"test=\[.*must be a number >= 0 and < 1 .*or a frame of users and items"),
    ],
    ids=str,
)
def test_wrong_frames_are_refused(test, error, said):
    rows = [("u1", "i1", 1.0), ("u1", "i2", 4.0), ("u2", "i1", 2.0), ("u3", "i2", 5.0)]
    graph = dg.Graph.from_edges(pd.DataFrame(rows, columns=["user", "item", "rating"]), **ENDS)
    with pytest.raises(getattr(dg.errors, error), match=said):
        dg.factorize(graph, test=test)
