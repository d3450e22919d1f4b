"""A run that is stopped goes on from its last whole checkpoint, in whatever partitions, to the same answer."""

import time
from functools import partial
from pathlib import Path

import fsspec
import numpy as np
import pandas as pd
import pytest
from cases import PROGRAMS, check, graph_for

import dgraph as dg
from dgraph.checkpoint.piece import round_of
from dgraph.errors import OptionError, StorageError
from dgraph.runs import resumption


class Stopped(Exception):
    """As if the machine went away."""


@pytest.fixture(autouse=True)
def every_superstep(monkeypatch):
    monkeypatch.setattr("dgraph.runs.progress.EVERY", 0.0)


def stop_at(superstep: int, path: Path):
    """A function for `progress`: stops the run once it has come so far and a checkpoint is whole."""

    def stop(done) -> None:
        if done["superstep"] >= superstep:
            until = time.monotonic() + 10
            while not list(path.glob("*/*/*.piece")) and time.monotonic() < until:
                time.sleep(0.01)
            raise Stopped

    return stop


@pytest.mark.parametrize("engine", ["gas", "bsp"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_run_resumed_with_other_partitions_gives_the_same_answer(tmp_path, name, engine):
    graph = graph_for(name, parts=3, policy="cartesian")
    option = {"engine": engine, "random_seed": 11, "checkpoint": dg.Checkpoint(tmp_path, every=1)}
    try:
        dg.run(graph, PROGRAMS[name], **option, progress=stop_at(2, tmp_path))
    except Stopped:
        other = graph_for(name, parts=2, policy="outgoing")
        result = dg.run(other, PROGRAMS[name], **option)
        assert result.report["superstep"].min() > 1, "it went on, and did not begin anew"
    else:
        result = dg.run(graph, PROGRAMS[name], **option)  # over before it could be stopped
    check(name, True, result)
    assert not list(tmp_path.glob("*")), "nobody will go on from there"


def stopped(path: Path, **options) -> dg.Graph:
    frame = pd.DataFrame(np.random.default_rng(4).integers(0, 60, (300, 2)), columns=["src", "dst"])
    graph = dg.Graph.from_edges(frame, parts=2)
    option = dg.Checkpoint(path, every=3)
    with pytest.raises(Stopped):
        dg.pagerank(graph, engine="gas", tol=None, progress=stop_at(12, path), checkpoint=option, **options)
    return graph


def first_superstep(graph, path, **options) -> int:
    found = dg.pagerank(graph, engine="gas", tol=None, checkpoint=path, **options)
    expected = dg.pagerank(graph, engine="gas", tol=None, **options).compute()
    np.testing.assert_allclose(found.compute()["pagerank"], expected["pagerank"], rtol=1e-12)
    return int(found.report["superstep"].min())


@pytest.mark.parametrize("damage", ["torn", "flipped", "missing", "empty", "of another round"])
def test_a_damaged_checkpoint_is_replaced_by_the_one_before(tmp_path, damage):
    graph = stopped(tmp_path, max_iter=20)
    rounds = sorted(tmp_path.glob("*/*"))
    assert len(rounds) >= 2
    piece = rounds[-1] / "p1.piece"
    data = bytearray(piece.read_bytes())
    if damage == "missing":
        piece.unlink()
    elif damage == "of another round":
        piece.write_bytes((rounds[-2] / "p1.piece").read_bytes())
    else:
        data[-9] ^= 4
        piece.write_bytes({"torn": data[:-50], "flipped": data, "empty": b""}[damage])
    assert first_superstep(graph, tmp_path, max_iter=20) == round_of(rounds[-2].name) + 1


def test_pieces_of_two_attempts_are_no_checkpoint(tmp_path):
    """The machine went away twice, each time when one piece of the last checkpoint was written: neither is whole."""
    graph = stopped(tmp_path, max_iter=20)
    first = sorted(tmp_path.glob("*/*"))[-1]
    (first / "p1.piece").unlink()
    option = {"progress": stop_at(12, tmp_path), "checkpoint": dg.Checkpoint(tmp_path, every=3)}
    with pytest.raises(Stopped):
        dg.pagerank(graph, engine="gas", tol=None, max_iter=20, **option)
    *_, before, second = [one for one in sorted(tmp_path.glob("*/*")) if one != first]
    assert round_of(second.name) == round_of(first.name) and round_of(before.name) < round_of(first.name)
    (second / "p0.piece").unlink()
    assert first_superstep(graph, tmp_path, max_iter=20) == round_of(before.name) + 1


def test_another_run_s_checkpoint_is_refused(tmp_path):
    graph = stopped(tmp_path, max_iter=20)
    other = dg.Graph.from_edges(pd.DataFrame({"src": [1, 2], "dst": [2, 1]}), parts=2)
    with pytest.raises(OptionError, match=r"another run of .*edges and columns is .* and was"):
        first_superstep(other, tmp_path, max_iter=20)
    with pytest.raises(OptionError, match=r"alpha is 0\.5 and was 0\.85"):
        first_superstep(graph, tmp_path, max_iter=20, alpha=0.5)
    last = max(tmp_path.glob("*/*/p*.piece"))
    last.write_bytes(last.read_bytes()[:-50])  # what is torn tells nothing, but the others do
    with pytest.raises(OptionError, match=r"alpha is 0\.5 and was 0\.85"):
        first_superstep(graph, tmp_path, max_iter=20, alpha=0.5)
    assert dg.wcc(graph, checkpoint=tmp_path).rounds > 0  # another program keeps its own
    assert first_superstep(graph, tmp_path, max_iter=20) > 1


def test_a_run_resumes_despite_extra_columns_in_the_partitions(tmp_path):
    """Those of a graph's partitions may be there because an earlier operation has read them."""
    frame = pd.DataFrame(np.random.default_rng(4).integers(0, 60, (300, 2)), columns=["src", "dst"])
    graph = dg.Graph.from_edges(frame.assign(w=1.5), weight="w", parts=2)
    graph.partitioned(("out", "incoming"), ["w"])
    with pytest.raises(Stopped):
        run = {"engine": "gas", "tol": None, "max_iter": 20, "checkpoint": dg.Checkpoint(tmp_path, every=3)}
        dg.pagerank(graph, progress=stop_at(12, tmp_path), **run)
    again = dg.Graph.from_edges(frame.assign(w=1.5), weight="w", parts=2)
    assert first_superstep(again, tmp_path, max_iter=20) > 1


@pytest.mark.parametrize("path", ["memory://dgraph-checkpoints", "file"])
def test_checkpoints_can_be_written_to_any_fsspec_url(tmp_path, path):
    path = f"file://{tmp_path}/there" if path == "file" else path
    graph = dg.Graph.from_edges(pd.DataFrame({"src": range(9), "dst": range(1, 10)}), parts=2)
    found = dg.wcc(graph, checkpoint=dg.Checkpoint(path, every=2, seconds=60))
    assert found.compute()["component"].eq(0).all()


def test_a_checkpoint_folder_that_workers_do_not_share_is_refused(client):
    """Each process has a `memory://` of its own, as each host may have a disk: nobody could go on from there."""
    graph = dg.Graph.from_edges(pd.DataFrame({"src": range(9), "dst": range(1, 10)}), parts=2, client=client)
    with pytest.raises(StorageError, match=r"memory:.*: tcp:\S+ cannot see the files that tcp:\S+ writes; set .*all"):
        dg.wcc(graph, engine="gas", checkpoint="memory://dgraph-of-each")
    assert not any(client.run(lambda: fsspec.filesystem("memory").store).values())


def test_a_checkpoint_that_cannot_be_written_is_reported(tmp_path):
    (tmp_path / "file").write_text("no folder")
    graph = dg.Graph.from_edges(pd.DataFrame({"src": range(30), "dst": range(1, 31)}), parts=2)
    begun = []
    with pytest.raises(StorageError, match=r"cannot be written.*space"):
        dg.wcc(graph, engine="gas", checkpoint=tmp_path / "file" / "below", progress=begun.append)
    assert not [one for one in begun if "building" not in one], "before the work begins"


def test_options_are_checked(tmp_path):
    graph = dg.Graph.from_edges(pd.DataFrame({"src": [0], "dst": [1]}))
    for wrong in ({"every": 0}, {"every": None}, {"seconds": -1}):
        with pytest.raises(OptionError, match=next(iter(wrong))):
            dg.Checkpoint(tmp_path, **wrong)
    with pytest.raises(OptionError, match="is not a path"):
        dg.wcc(graph, checkpoint=7)
    with pytest.raises(OptionError, match=r"engine='local' and checkpoint=.* exclusive: .*Leave one out"):
        dg.wcc(graph, engine="local", checkpoint=tmp_path)


@pytest.mark.parametrize("parts", [2, 3, 5])
@pytest.mark.parametrize("name", ["wcc", "bfs", "sssp", "core_number"])
def test_local_methods_resume_from_a_checkpoint(tmp_path, name, parts):
    """What proxies had found and not told is found again."""
    order = np.random.default_rng(8).permutation(80)  # a path that crosses partitions over and over
    frame = pd.DataFrame({"src": order[:-1], "dst": order[1:], "weight": 0.5})
    graph = dg.Graph.from_edges(frame, weight="weight", parts=3, policy="cartesian")
    other = dg.Graph.from_edges(frame, weight="weight", parts=parts)

    def call(graph, **options):
        source = () if name in ("wcc", "core_number") else (order[0],)
        return getattr(dg, name)(graph, *source, **options)

    option = {"checkpoint": dg.Checkpoint(tmp_path, every=1)}
    with pytest.raises(Stopped):
        call(graph, **option, progress=stop_at(3, tmp_path))
    found = call(other, **option)
    assert found.report["superstep"].min() > 1
    pd.testing.assert_frame_equal(found.compute(), call(dg.Graph.from_edges(frame, weight="weight")).compute())


@pytest.mark.parametrize("operation", ["pagerank", "sssp"])
def test_operations_of_several_runs_resume_in_the_run_that_stopped(tmp_path, operation):
    """Killed in the second run of the same program; the first begins anew, the second goes on."""
    order = np.random.default_rng(8).permutation(81)  # a path that crosses partitions over and over
    frame = pd.DataFrame({"src": order[:-1], "dst": order[1:], "weight": -1.0})
    graph = dg.Graph.from_edges(frame, weight="weight", parts=2)
    path = tmp_path / "kept"

    def call(**options):
        if operation == "sssp":
            return dg.sssp(graph, order[0], **options)
        jumps = [{order[0]: 1}, {order[40]: 1}]
        return dg.pagerank(graph, personalization=jumps, tol=1e-9, engine="bulk_async", **options)

    option, begun = {"checkpoint": dg.Checkpoint(path, every=1)}, []

    def stop(done) -> None:
        begun.append(done["superstep"])
        again = [n for n in range(1, len(begun)) if begun[n] < begun[n - 1]]
        if again and begun[-1] >= 5 and list(path.glob("*/*")):
            raise Stopped

    with pytest.raises(Stopped):
        call(**option, progress=stop)
    seen: list[int] = []
    found = call(**option, progress=lambda done: seen.append(done["superstep"]))
    ends = [n for n in range(1, len(seen)) if seen[n] < seen[n - 1]]
    runs = [seen[a:b] for a, b in zip([0, *ends], [*ends, len(seen)], strict=True)]
    assert any(2 not in run and max(run) >= 5 for run in runs), "one of them did not begin anew"
    pd.testing.assert_frame_equal(found.compute(), call().compute())
    assert not path.exists()


def test_no_checkpoint_folder_stays_after_a_run(tmp_path):
    graph = dg.Graph.from_edges(pd.DataFrame({"src": range(30), "dst": range(1, 31)}), parts=2)
    dg.pagerank(graph, tol=None, max_iter=5, checkpoint=dg.Checkpoint(tmp_path / "kept", every=1))
    assert not (tmp_path / "kept").exists()


def stopped_at_end(monkeypatch, run: int, call, **options) -> None:
    """A call that ends before the checkpoints of the n-th of its runs are removed."""
    ended = []

    def forget(*given) -> None:
        ended.append(given)
        if len(ended) == run:
            raise Stopped
        resumption.forget(*given)

    with monkeypatch.context() as patched:
        patched.setattr("dgraph.runs.run_in_rounds.forget", forget)
        with pytest.raises(Stopped):
            call(**options)


def test_a_run_resumes_from_a_checkpoint_without_active_vertices(tmp_path):
    """What is left to do is to answer, and the report has the row of that."""
    graph = dg.rmat(scale=6, seed=1, parts=3)
    option = {"engine": "bulk_async", "checkpoint": dg.Checkpoint(tmp_path, every=1)}
    with pytest.MonkeyPatch.context() as monkeypatch:
        stopped_at_end(monkeypatch, 1, partial(dg.pagerank, graph), **option)
    found = dg.pagerank(graph, **option)
    assert found.report["superstep"].min() > 1
    assert found.rounds == found.report["superstep"].max()
    expected = dg.pagerank(graph, engine="bulk_async").compute()
    np.testing.assert_allclose(found.compute()["pagerank"], expected["pagerank"], atol=2e-6)


@pytest.mark.parametrize(
    ("run", "options"),
    [
        (2, {"personalization": {7: 1}, "dangling": "uniform"}),
        (2, {"personalization": {7: 1}, "dangling": {3: 1}}),
        (4, {"personalization": [{7: 1}, {8: 1}], "dangling": "uniform"}),
        (2, {"personalization": {7: 1}}),  # a second run because too much is held back
        (4, {"personalization": [{7: 1}, {8: 1}]}),
    ],
)
def test_each_asynchronous_run_of_an_operation_has_its_own_checkpoint(tmp_path, monkeypatch, run, options):
    if "dangling" not in options:
        monkeypatch.setattr("dgraph.ops.residuals.HELD_BACK_SHARE", 2.0)
    graph = dg.rmat(scale=6, seed=1, parts=3)
    call = partial(dg.pagerank, graph, engine="bulk_async", tol=1e-6, **options)
    checkpoint = dg.Checkpoint(tmp_path, every=1)
    stopped_at_end(monkeypatch, run, call, checkpoint=checkpoint)
    assert list(tmp_path.glob("*/*/*.piece"))
    found = call(checkpoint=checkpoint).by_number("pagerank")
    assert not list(tmp_path.glob("*")), "the run that was stopped went on, and then forgot"
    np.testing.assert_allclose(found, call().by_number("pagerank"), atol=2e-6)


def test_checkpoint_intervals_may_be_numpy_numbers(tmp_path):
    assert dg.Checkpoint(tmp_path, every=np.int64(5), seconds=np.float32(5)).every == 5
