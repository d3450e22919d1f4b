"""A search for communities that is stopped goes on after the last level that was saved, and shows its progress."""

from pathlib import Path

import numpy as np
import pytest

import dgraph as dg
from dgraph.checkpoint.piece import NUMBERS, CheckpointPiece, from_bytes, to_bytes
from dgraph.errors import OptionError

SEARCHES = {"leiden": dg.leiden, "louvain": dg.louvain}


class Stopped(Exception):
    """As if the machine went away."""


@pytest.fixture(autouse=True)
def every_level(monkeypatch):
    monkeypatch.setattr("dgraph.runs.progress.EVERY", 0.0)


def graph_of(parts=1, client=None, **how):
    return dg.rmat(scale=9, edge_factor=8, seed=1, directed=False, parts=parts, client=client, **how)


def stop_at(level):
    def stop(done):
        if done["superstep"] >= level:
            raise Stopped

    return stop


def stopped(name, path, level, parts=1, client=None, **options):
    """A graph, and in the folder what a search has found in it until it was stopped."""
    graph = graph_of(parts, client)
    with pytest.raises(Stopped):
        SEARCHES[name](graph, checkpoint=path, progress=stop_at(level), random_seed=3, **options)
    assert list(Path(path).glob("*/*/p0.piece"))
    return graph


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_resumes_after_any_level_with_other_partitions(name, tmp_path):
    """With the answer of a search that was never stopped, where that does not depend on the number of threads."""
    options = {"random_seed": 3, "deterministic": True}
    expected = SEARCHES[name](graph_of(), **options)
    for level in range(1, expected.rounds):
        stopped(name, tmp_path, level, deterministic=True)
        found = SEARCHES[name](graph_of(parts=1 + level % 3), checkpoint=tmp_path, **options)
        assert found.by_number("community").tolist() == expected.by_number("community").tolist()
        assert found.report["superstep"].tolist() == list(range(level + 1, expected.rounds + 1))
        assert (found.rounds, found.totals) == (expected.rounds, expected.totals)
        for one, other in zip(found.levels, expected.levels, strict=True):
            assert one.compute().equals(other.compute())
        assert not list(tmp_path.glob("*")), "nobody will go on from there"


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("name", SEARCHES)
def test_searches_resume_between_one_and_several_partitions(name, parts, tmp_path):
    stopped(name, tmp_path, 1, parts=parts)
    found = SEARCHES[name](graph_of(parts=4 - parts), checkpoint=tmp_path, random_seed=3)
    assert found.report["superstep"].min() > 1
    quality = dg.partition_quality(graph_of(), found)
    assert quality.modularity == pytest.approx(found.totals["modularity"], abs=1e-9)
    assert quality.modularity > 0.95 * SEARCHES[name](graph_of()).totals["modularity"]
    assert name == "louvain" or not quality.disconnected


@pytest.mark.parametrize("deterministic", [False, True])
def test_searches_resume_between_a_cluster_and_one_process(client, deterministic, tmp_path):
    """All workers, or one of them, which reads the checkpoint by itself and writes others."""
    options = {"deterministic": deterministic, "random_seed": 3}
    stopped("leiden", tmp_path, 2, deterministic=deterministic)
    found = dg.leiden(graph_of(2, client), checkpoint=tmp_path, **options)
    assert found.report["superstep"].min() > 1
    assert not list(tmp_path.glob("*"))
    if not deterministic:
        stopped("leiden", tmp_path, 1, parts=2, client=client)
        assert dg.leiden(graph_of(), checkpoint=tmp_path, **options).report["superstep"].min() > 1


def test_checkpoints_of_another_search_are_refused(tmp_path):
    graph = stopped("leiden", tmp_path, 2)
    for text, options in (
        ("resolution is 2.0 and was 1.0", {"resolution": 2}),
        ("objective is cpm and was modularity", {"objective": "cpm"}),
        ("random_seed is 4 and was 3", {"random_seed": 4}),
        ("previous is .* and was None", {"previous": np.zeros(graph.num_vertices, np.int64)}),
    ):
        with pytest.raises(OptionError, match=f"another run of leiden: .*{text}"):
            dg.leiden(graph, checkpoint=tmp_path, **{"random_seed": 3, **options})
    with pytest.raises(OptionError, match=r"edges and columns is .* and was"):
        dg.leiden(dg.grid(rows=4, cols=4), checkpoint=tmp_path, random_seed=3)
    assert dg.louvain(graph, checkpoint=tmp_path, random_seed=3).report["superstep"].min() == 1  # keeps its own
    assert dg.leiden(graph, checkpoint=tmp_path, random_seed=3).report["superstep"].min() == 3


def test_a_damaged_checkpoint_is_replaced_by_the_one_before(tmp_path):
    graph = stopped("leiden", tmp_path, 3)
    last = max(tmp_path.glob("*/*/p0.piece"))
    last.write_bytes(last.read_bytes()[:-9])
    assert dg.leiden(graph, checkpoint=tmp_path, random_seed=3).report["superstep"].min() == 3


def forge(file, name, array):
    """Put an array into a checkpoint whose checksum is right."""
    piece = from_bytes(file.read_bytes(), file)
    assert name in piece.arrays and NUMBERS in piece.arrays
    file.write_bytes(to_bytes(CheckpointPiece(piece.identity, piece.round, 0, 1, {**piece.arrays, name: array})))


@pytest.mark.parametrize("name", ["numbers 0", "labels", "begun", "levels 0", "draw", "iteration", "quality"])
def test_checkpoints_that_do_not_fit_the_graph_are_ignored(name, tmp_path):
    """Kernels would read beyond the ends of arrays, or numbers be drawn without end."""
    graph = stopped("leiden", tmp_path, 6)
    before, last = sorted(tmp_path.glob("*/*/p0.piece"))
    fits = from_bytes(last.read_bytes(), last).arrays[name]
    kept = before.read_bytes(), last.read_bytes()
    forged = [np.zeros(3, np.uint32), np.zeros_like(fits) - 1, fits + fits.dtype.type(1), fits * 1.5]
    if name in ("iteration", "quality"):
        forged = [np.zeros(3), np.array(np.nan)]
    for array in forged:
        before.parent.mkdir(parents=True, exist_ok=True), last.parent.mkdir(parents=True, exist_ok=True)
        before.write_bytes(kept[0]), last.write_bytes(kept[1])
        forge(last, name, array)
        if array is not forged[0]:
            forge(before, name, array)
        found = dg.leiden(graph, checkpoint=tmp_path, random_seed=3)
        assert found.report["superstep"].min() == (6 if array is forged[0] else 1)
        assert found.totals["modularity"] == pytest.approx(dg.modularity(graph, found), abs=1e-9)


def test_a_graph_without_vertices_goes_on(tmp_path):
    nobody = {"src": np.zeros(0, int), "dst": np.zeros(0, int)}
    graph = dg.Graph.from_edges(nobody, parts=2, directed=False)
    with pytest.raises(Stopped):
        dg.leiden(graph, checkpoint=tmp_path, progress=stop_at(2))
    assert len(dg.leiden(graph, checkpoint=tmp_path).compute()) == 0


def test_checkpoints_are_written_per_level_or_at_intervals(tmp_path):
    """After each level, or only where none was for a while."""
    for option, written in (
        (dg.Checkpoint(tmp_path / "a", every=1, seconds=600), 2),
        (dg.Checkpoint(tmp_path / "b", every=None, seconds=600), 0),
        (dg.Checkpoint(tmp_path / "c", every=None, seconds=1e-9), 2),
    ):
        with pytest.raises(Stopped):
            dg.leiden(graph_of(), checkpoint=option, progress=stop_at(5))
        assert len(list(Path(option.path).glob("*/*/p0.piece"))) == written
    expected = dg.leiden(graph_of(), deterministic=True).compute()
    assert dg.leiden(graph_of(), deterministic=True, checkpoint=dg.Checkpoint()).compute().equals(expected)


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("name", SEARCHES)
def test_progress_shows_levels(name, parts):
    seen = []
    found = SEARCHES[name](graph_of(parts), progress=seen.append)
    seen = [one for one in seen if "building" not in one]
    supersteps, edges = ([one[what] for one in seen] for what in ("superstep", "edges"))
    assert supersteps == sorted(set(supersteps)) and supersteps[0] >= 1 and supersteps[-1] < found.rounds
    assert edges == sorted(edges) and edges[-1] <= found.report["edges"].sum()
    assert seen[0]["fired"] == graph_of().num_vertices
    with pytest.raises(OptionError, match="progress=3 must be True, False, None or a function"):
        SEARCHES[name](graph_of(parts), progress=3)
    with pytest.raises(OptionError, match="checkpoint=3 is not a path"):
        SEARCHES[name](graph_of(parts), checkpoint=3)
