"""What users see of a run: ids, frames, the report, progress, and errors that say what to do."""

import gc
import inspect
import io
import re
import uuid
import warnings
import weakref
from copy import copy
from dataclasses import fields
from operator import attrgetter

import dask
import networkx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from cases import PROGRAMS, graph_for, programs

import dgraph as dg
from dgraph import errors
from dgraph.arguments import GRAPH_OPTIONS
from dgraph.cluster import scheduler
from dgraph.phrases.suggestions import ABSENT, FOREIGN_NAMES, nearest
from dgraph.programs.monoid import SUM
from dgraph.programs.program import Global, State, VertexProgram
from dgraph.runs import progress
from dgraph.runs.progress import ProgressLine

LETTERS = pd.DataFrame({"src": ["b", "a", "c", "x"], "dst": ["c", "b", "d", "y"], "weight": [1, 2, 3, 4]})

SWITCHES = [name for name, one in inspect.signature(dg.run).parameters.items() if isinstance(one.default, bool)]


@pytest.mark.parametrize("parts", [1, 3])
def test_ids_of_strings_come_back(parts):
    graph = dg.Graph.from_edges(LETTERS, weight="weight", parts=parts)
    components = dg.run(graph, programs.Components()).compute()
    assert components["vertex"].tolist() == list("abcdxy")
    assert components["component"].tolist() == list("aaaaxx")
    assert components["component"].dtype == components["vertex"].dtype
    paths = dg.run(graph, programs.ShortestPaths(source="a")).compute()
    assert paths["dist"].tolist() == [0, 2, 3, 6, np.inf, np.inf]
    several = dg.run(graph, programs.ManySources(source=["a", "x"])).compute()
    assert [list(one) for one in several["dist"]][5] == [np.inf, 4]


def test_ids_of_other_kinds_come_back():
    ids = sorted(uuid.uuid4() for _ in range(3))
    frame = pd.DataFrame({"src": [ids[2]], "dst": [ids[1]]})
    found = dg.run(dg.Graph.from_edges(frame, vertices=pd.DataFrame({"id": ids})), programs.Components()).compute()
    assert found["component"].tolist() == [ids[0], ids[1], ids[1]]
    large = pd.DataFrame({"src": np.array([2**64 - 1], np.uint64), "dst": np.array([5], np.uint64)})
    found = dg.run(dg.Graph.from_edges(large), programs.BreadthFirst(source=2**64 - 1)).compute()
    assert found["vertex"].tolist() == [5, 2**64 - 1] and found["level"].tolist() == [1, 0]


def test_uuids_in_a_frame_of_dask_name_their_vertices():
    """Dask's frames turn UUIDs into strings: those join with the user's own, and name vertices like the UUIDs."""
    ids = [uuid.UUID(int=17**k) for k in (1, 11, 30)]
    graph = dg.Graph.from_edges(pd.DataFrame({"src": ids[:2], "dst": ids[1:]}), parts=2)
    found = dg.bfs(graph, ids[0])
    names = found.frame["vertex"].compute().tolist()
    assert names == [str(one) for one in ids]
    assert found.compute()["vertex"].tolist() == ids
    assert dg.bfs(graph, names[1]).compute().equals(dg.bfs(graph, ids[1]).compute())
    with pytest.raises(errors.IdError, match="has ids of kind uuid"):
        dg.bfs(graph, "no UUID")
    with dask.config.set({"dataframe.convert-string": False}):
        assert found.frame["vertex"].compute().tolist() == ids


def test_a_result_says_that_it_has_values_for_each_vertex():
    two, one = dg.Graph.from_edges({"src": [0], "dst": [1]}), dg.Graph.from_edges({"src": [0], "dst": [0]})
    assert repr(dg.louvain(two)).endswith(": community of each of 2 vertices>")
    assert repr(dg.wcc(one)).endswith(": component of 1 vertex>")


def test_a_vertex_without_a_value_is_missing():
    found = dg.run(dg.Graph.from_edges(pd.DataFrame({"src": [-7], "dst": [9]}), vertices=3), programs.Matching())
    assert found.compute()["mate"].fillna(0).tolist() == [9, 0, 0, 0, -7]
    assert found.frame.compute()["mate"].isna().sum() == 3


@pytest.mark.parametrize("parts", [1, 4])
def test_graphs_without_edges_or_vertices_can_be_run(parts):
    none = pd.DataFrame({"src": np.zeros(0, np.int64), "dst": np.zeros(0, np.int64)})
    assert len(dg.run(dg.Graph.from_edges(none, parts=parts), programs.Components()).compute()) == 0
    alone = dg.run(dg.Graph.from_edges(none, vertices=3, parts=parts), programs.PageRank()).compute()
    assert alone["rank"].tolist() == [1 / 3] * 3


def test_the_report_has_a_row_for_each_round_and_partition():
    result = dg.run(graph_for("PageRank", parts=3), PROGRAMS["PageRank"])
    report = result.report
    assert len(report) == 3 * result.rounds
    assert {"superstep", "partition", "fired", "edges", "messages", "bytes", "busy", "idle", "skipped"} <= set(report)
    assert (report.groupby("superstep")["fired"].sum() == 40).all()
    assert report["messages"].sum() > 0 and not report["skipped"].all()
    assert report.options["repartitioned"] == "no" and "weights dropped" in repr(report)
    alone = dg.run(graph_for("PageRank"), PROGRAMS["PageRank"])
    assert alone.report["bytes"].sum() == 0
    assert alone.totals["change"] < 1e-12


def test_repartitioning_is_reported():
    report = dg.run(graph_for("CommunityDetection", parts=2), PROGRAMS["CommunityDetection"]).report
    assert "incoming cut with every edge at both of its ends" in report.options["repartitioned"]


def test_max_rounds_limits_the_rounds():
    assert dg.run(graph_for("PageRank", parts=2), PROGRAMS["PageRank"], max_rounds=4).rounds == 4


def test_progress_is_shown_while_a_run_goes_on(capsys, monkeypatch):
    """Not in a pipe, unless the user asks for it; a function gets the counts so far instead."""
    monkeypatch.setattr("dgraph.runs.progress.EVERY", 0)
    seen = []
    graph = graph_for("PageRank", parts=2)
    dg.run(graph, PROGRAMS["PageRank"])
    assert capsys.readouterr() == ("", "")  # a pipe
    result = dg.run(graph, PROGRAMS["PageRank"], progress=seen.append)
    assert capsys.readouterr() == ("", "")
    assert seen and all(done.keys() == {"superstep", "fired", "edges", "bytes", "seconds"} for done in seen)
    supersteps = [done["superstep"] for done in seen]
    assert supersteps == sorted(supersteps) and {*range(1, result.rounds + 1)} <= {*supersteps}
    assert [done["fired"] for done in seen] == [40 * one for one in supersteps]  # all vertices in each
    dg.run(graph, PROGRAMS["PageRank"], progress=True)
    out, shown = capsys.readouterr()
    assert out == "" and shown.count("PageRank, superstep ") == len(seen) and "fired" in shown
    assert re.search(rf"\rPageRank: {result.rounds} supersteps in \S+ s *\n$", shown)  # one line stays


def test_progress_and_report_name_a_worker_that_does_not_answer(client, monkeypatch, capsys):
    """Here any that has not answered since the last look, a moment before."""
    for name in ("SILENT", "WORKERS_INTERVAL", "CLIENT_INTERVAL"):
        monkeypatch.setattr(scheduler, name, 1e-3)
    seen = []
    with pytest.warns(errors.SilentWorkerWarning, match="has not answered"):
        result = dg.pagerank(
            dg.grid(rows=40, cols=40, client=client), max_iter=2000, tol=None, engine="gas", progress=seen.append
        )
    silent = {done["silent"] for done in seen if "silent" in done}
    assert silent and silent == set(result.report.options["silent workers"].split(", "))
    assert silent <= set(client.nthreads())
    line = ProgressLine("wcc")
    line.write({"superstep": 3, "fired": 9, "edges": 9, "bytes": 0, "seconds": 1.0, "silent": "tcp://there"})
    line.close()
    assert capsys.readouterr().err.startswith("\rwcc, superstep 3: 9 fired, 0 M edges/s, 0.0 MB exchanged; tcp://there")


def test_progress_says_what_happens_before_the_first_superstep(monkeypatch, capsys):
    monkeypatch.setattr(progress, "EVERY", 0.0)
    line = ProgressLine("wcc", stays=True)
    for what in ("building partitions", "the first superstep"):
        line.prepare(what)
        line.timer.join()
    line.end(7, 0.25)
    line.close()
    told = [one.strip() for one in capsys.readouterr().err.split("\r")]
    assert told == ["", "wcc: building partitions", "wcc: the first superstep", "wcc: 7 supersteps in 0.25 s"]


def test_progress_is_gone_from_a_terminal_in_the_end(monkeypatch):
    shown = io.StringIO()
    shown.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", shown)
    monkeypatch.setattr("dgraph.runs.progress.EVERY", 0)
    dg.run(graph_for("PageRank", parts=2), PROGRAMS["PageRank"])
    assert "fired" in shown.getvalue()
    assert shown.getvalue().endswith("\r\033[K")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"engine": "asp"}, "engine='asp'.*bsp"),
        ({"device": "tpu"}, "device='tpu'.*cpu"),
        ({"max_rounds": 0}, "max_rounds=0"),
        ({"engine": "block_descent", "max_rounds": 3}, "max_rounds=3.*dg.Gas or dg.Bsp"),
        ({"engine": "block_descent", "direction": "pull"}, "direction='pull'; dg.Gas.* have it"),
        ({"engine": "block_descent", "drop_weights": False}, "drop_weights=False.*; dg.Gas.* have it"),
        ({"progress": "x"}, "progress='x'"),
        ({"columns": ["x"]}, "columns is a list; expected a mapping"),
        ({"columns": pd.DataFrame({"x": [1]})}, "columns is a DataFrame; expected a mapping"),
        ({"random_seed": "x"}, "random_seed='x'"),
        *(({name: "no"}, f"{name}='no' must be True or False") for name in SWITCHES),
        ({"enginee": "gas"}, "enginee='gas'.*did you mean engine="),
    ],
)
def test_options_are_checked(options, words):
    with pytest.raises(errors.OptionError, match=words):
        dg.run(graph_for("PageRank"), PROGRAMS["PageRank"], **options)


def test_numpy_booleans_are_accepted():
    for name in SWITCHES:
        asked = {name: np.bool_(inspect.signature(dg.run).parameters[name].default)}
        assert dg.run(graph_for("PageRank"), PROGRAMS["PageRank"], **asked).rounds


@pytest.mark.parametrize("name", ["wcc", "pagerank", "lcc", "triangles", "cdlp", "label_propagation", "matching"])
def test_an_operation_names_the_option_that_is_nearest(name):
    call = getattr(dg, name)
    with pytest.raises(errors.OptionError, match=f"enginee='x': {name} has no such option; did you mean engine="):
        call(graph_for("PageRank"), enginee="x")
    with pytest.raises(errors.OptionError, match=f"xyz=1: {name} has no such option; its options are .*engine, "):
        call(graph_for("PageRank"), xyz=1)


def test_names_of_other_libraries_suggest_names_of_dgraph():
    functions = [operation_of(one) for one in (*dg.OPERATIONS, "from_edges")] + [dg.random_walks, dg.sample_neighbors]
    options = {name for one in functions for name in inspect.signature(one).parameters}
    values = {"source_vertex", "Graph.from_edges", "cuda", *(one.name for one in fields(dg.Text))}
    assert FOREIGN_NAMES.keys() <= {*dg.OPERATIONS, *options, *dir(dg), *dir(dg.Graph), *values}
    for ours, words in FOREIGN_NAMES.items():
        assert {nearest(word, ["xyzzy", ours]) for word in words} == {ours}
    with pytest.raises(errors.OptionError, match=r"damping=.*: pagerank has no such option; did you mean alpha="):
        dg.pagerank(graph_for("PageRank"), damping=0.9)
    with pytest.raises(AttributeError, match=r"no attribute 'connected_components'; did you mean wcc\?$"):
        dg.connected_components  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'from_pandas_edgelist'; did you mean Graph\.from_edges\?$"):
        dg.from_pandas_edgelist  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'xyzzy'$"):
        dg.xyzzy  # noqa: B018


@pytest.mark.parametrize("name", [name for _, names, _ in ABSENT for name in names.split() if not hasattr(dg, name)])
def test_a_missing_operation_is_an_error_that_names_a_replacement(name):
    words = rf"dgraph does not have {name}; .*use .*dgraph\.to_(networkx|igraph)\(G\)"
    with pytest.raises(AttributeError, match=words):
        getattr(dg, name)
    with pytest.raises(AttributeError, match=words):
        getattr(graph_for("PageRank"), name)
    with pytest.raises(errors.OptionError, match=words):
        dg.run(graph_for("PageRank"), name)
    with pytest.raises(errors.OptionError, match=words):
        graph_for("PageRank").estimate(name)


def test_the_suggested_networkx_replacements_exist():
    for call, _, _ in ABSENT:
        if not call.startswith("igraph."):
            assert callable(attrgetter(call.partition("(")[0])(networkx))


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        *(("connected_components", "wcc"), ("bellman_ford", "sssp"), ("kcore", "k_core"), ("PageRank", "pagerank")),
        *(("coreness", "core_number"), ("dijkstra", "sssp"), ("clustering", "lcc")),
    ],
)
def test_foreign_names_suggest_operations_wherever_one_is_named(word, ours):
    with pytest.raises(AttributeError, match=rf"did you mean {ours}\?"):
        getattr(dg, word)
    with pytest.raises(errors.OptionError, match=rf"did you mean dgraph\.{ours}\(G\)\?"):
        dg.run(graph_for("PageRank"), word)
    for call in (dg.explain, graph_for("PageRank").estimate):
        with pytest.raises(errors.OptionError, match=rf"did you mean {ours}\?"):
            call(word)


def test_an_object_that_is_not_a_program_is_refused_with_what_to_write():
    with pytest.raises(errors.OptionError, match=r"did you mean dgraph\.wcc\(G\)\?"):
        dg.run(graph_for("PageRank"), dg.wcc)
    with pytest.raises(errors.OptionError, match=r"make an instance: BreadthFirst\(\.\.\.\)"):
        dg.run(graph_for("PageRank"), programs.BreadthFirst)


@pytest.mark.parametrize(
    ("call", "near"),
    [
        (lambda: dg.matching(graph_for("PageRank"), seed=1), "random_seed="),
        (lambda: dg.run(graph_for("PageRank"), PROGRAMS["PageRank"], seed=1), "random_seed="),
        (lambda: dg.run(graph_for("PageRank"), PROGRAMS["PageRank"], rounds=1), "max_rounds="),
        (lambda: dg.wcc(graph_for("PageRank"), check_point="x"), "checkpoint="),
        (lambda: dg.rmat(scale=3, random_seed=1), "seed="),
        (lambda: dg.BlockDescent(blocksize=8), "block_size"),
        (lambda: dg.Daemons("cuda", blocks=8), "block"),
        (lambda: dg.Gas(directions="pull"), "direction"),
        (lambda: dg.Optimizations(lazy_uploads=False), "lazy_upload"),
        (lambda: dg.Checkpoint("x", evry=8), "every"),
        (lambda: dg.capacities(worker=1), "workers="),
        (lambda: graph_for("PageRank").estimate("wcc", worker=2), "workers="),
        (lambda: graph_for("PageRank").save("x", overwrit=True), "overwrite="),
        (lambda: dg.explain("wcc", targt="cpu"), "target="),
        (lambda: dg.run(graph_for("PageRank"), PROGRAMS["PageRank"], engine="blockdescent"), "block_descent"),
        (lambda: programs.PageRank(alfa=0.5), "alpha"),
    ],
)
def test_a_misspelt_option_suggests_the_right_one(call, near):
    with pytest.raises(errors.OptionError, match=rf"did you mean {near}\?"):
        call()


@pytest.mark.parametrize("name", GRAPH_OPTIONS)
def test_an_option_of_the_graph_is_refused_with_the_way_to_set_it(name):
    assert name in inspect.signature(dg.Graph.from_edges).parameters
    with pytest.raises(
        errors.OptionError, match=rf"wcc has no such option; .*graph: Graph\.from_edges\(frame, {name}=\.\.\."
    ):
        dg.wcc(graph_for("PageRank"), **{name: 1})


def test_weight_suggests_weighted_where_that_exists():
    with pytest.raises(errors.OptionError, match="did you mean weighted="):
        dg.pagerank(graph_for("PageRank"), weight="weight")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nodes", "did you mean vertices?"),
        ("number_of_nodes", "did you mean num_vertices?"),
        ("num_edge", "did you mean num_edges?"),
        ("pagerank", "it is a function, dgraph.pagerank(G)"),
        ("connected_components", "it is a function, dgraph.wcc(G)"),
    ],
)
def test_an_unknown_attribute_of_a_graph_suggests_the_right_one(name, said):
    graph = graph_for("PageRank")
    with pytest.raises(AttributeError) as caught:
        getattr(graph, name)
    assert str(caught.value) == f"a Graph has no {name!r}; {said}"
    for other in ("xyzzy", "build", "_repr_latex_", "__array__"):
        with pytest.raises(AttributeError, match=f"a Graph has no '{other}'$"):
            getattr(graph, other)


def operation_of(name):
    return dg.Graph.from_edges if name == "from_edges" else getattr(dg, name)


def test_errors_name_the_remedy():
    bare = dg.Graph.from_edges(LETTERS)
    with pytest.raises(errors.IdError, match="no vertex 'z'"):
        dg.run(bare, programs.BreadthFirst(source="z"))
    with pytest.raises(errors.ColumnError, match="edge column 'rating'"):
        dg.run(bare, programs.Factorize())
    with pytest.raises(errors.ColumnError, match="weight="):
        dg.run(dg.Graph.from_edges(LETTERS[["src", "dst"]]), programs.ShortestPaths(source="a"))
    with pytest.raises(errors.OptionError, match="expected an instance of"):
        dg.run(bare, programs.Components)


def test_vectors_can_be_written_to_parquet(tmp_path):
    """Dask takes the type of a column from what the frame says of itself."""
    graph = dg.Graph.from_edges({"src": [1, 2], "dst": [2, 3]}, parts=2)
    ranks = dg.pagerank(graph, personalization=[{1: 1}, {2: 1}])
    pieces = [pa.Table.from_pandas(piece.compute()) for piece in ranks.frame.partitions]
    assert {piece.schema.field("pagerank").type for piece in pieces} == {pa.list_(pa.float64())}
    kind = ranks.frame.dtypes["pagerank"]
    assert kind.pyarrow_dtype == pa.list_(pa.float64())
    with warnings.catch_warnings():  # Dask's, of what pandas will change
        warnings.simplefilter("ignore")
        ranks.frame.to_parquet(tmp_path / "ranks")
    back = pd.read_parquet(tmp_path / "ranks")["pagerank"]
    assert np.array_equal(np.stack(back), np.stack(ranks.compute()["pagerank"]))


class Tenths(VertexProgram):
    kind = "synchronous"
    value = State(float, start=0.1)
    merge = SUM

    def send(value):
        return value

    def apply(value):
        return value

    @Global(float, SUM)
    def together(value):
        return value

    def stop(together):
        return together > 0


def test_sums_of_many_small_numbers_keep_their_digits():
    """Added up one by one, 300,000 tenths are off by a unit of the twelfth digit."""
    many = dg.grid(rows=600, cols=500, parts=1)
    assert dg.run(many, Tenths(), engine="bsp").totals["together"] == pytest.approx(30_000, rel=1e-13)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("engine", ["auto", "gas", "bulk_async", "block_descent"])
def test_a_result_does_not_keep_its_graph(engine, parts):
    """Nor the graph's partitions, which are much larger."""
    graph = dg.Graph.from_edges(LETTERS, parts=parts)
    alive, found = weakref.ref(graph), dg.bfs(graph, "a", engine=engine)
    del graph
    gc.collect()
    assert alive() is None
    assert found.compute()["distance"].tolist() == [0, 1, 2, 3, np.inf, np.inf]


def test_a_result_that_is_taken_for_a_frame_names_the_frame():
    result = dg.pagerank(dg.Graph.from_edges({"src": [0, 1], "dst": [1, 2]}))
    with pytest.raises(errors.InputError, match=r"result\['pagerank'\].*result\.compute\(\) is a pandas frame"):
        result["pagerank"]
    with pytest.raises(errors.InputError, match=r"result\.compute\(\)"):
        list(result)
    with pytest.raises(AttributeError, match=r"result\.head.*result\.compute\(\)"):
        result.head()
    assert not hasattr(result, "columns")
    assert len(copy(result).compute()) == 3
