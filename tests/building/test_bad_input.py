"""Input that cannot be used: an error of one class, with the value at fault and the remedy."""

import pickle

import dask
import dask.bag
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pytest

import dgraph as dg
from dgraph.errors import ColumnError, IdError, InputError, OptionError, WeightError

IDS = {"dense": np.arange(200), "gaps": np.arange(200) * 3, "text": np.arange(200).astype(str)}
GOOD = {"src": [0, 1], "dst": [1, 0], "weight": [1.0, 2.0]}


def test_calling_the_graph_class_is_refused():
    for made in (dg.Graph, lambda: dg.Graph(GOOD), lambda: dg.Graph(GOOD, source="src", directed=False)):
        with pytest.raises(InputError, match=r"make a graph with Graph\.from_edges"):
            made()


@pytest.mark.parametrize(
    ("change", "options", "error", "said"),
    [
        ({}, {"source": "from"}, ColumnError, "no column 'from'; they have 'src', 'dst', 'weight'.*source="),
        ({}, {"weight": "cost"}, ColumnError, "no column 'cost'.*weight="),
        ({}, {"destination": "src"}, ColumnError, "both column 'src'"),
        ({}, {"weight": "dst"}, ColumnError, "weight='dst' is a column of ids"),
        ({}, {"weight": pd.Series([1.0, 2.0])}, ColumnError, "weight= must be the name of an edge column"),
        ({}, {"source": np.array([0, 1])}, ColumnError, "source= must be .* got a ndarray"),
        ({"dst": [1]}, {}, ColumnError, "differ in length.*'dst': 1"),
        ({"src": [0.0, np.nan]}, {}, IdError, "'src', row 1.*missing.*drop or fill"),
        ({"src": [0.5, 1.0]}, {}, IdError, r"'src'.*float64.*0\.5.*whole numbers"),
        ({"src": [True, False]}, {}, IdError, "'src'.*bool.*whole numbers"),
        ({"src": [2**64, 0]}, {}, IdError, f"'src'.*{2**64} is beyond 64 bits; use strings"),
        ({"src": ["a", "b"]}, {}, IdError, "string ids and integer ids.*convert one column"),
        ({"src": np.array(["a", 1], object)}, {}, IdError, "'src'.*int, str.*one kind"),
        ({"src": np.array(["2020", "2021"], "M8[D]")}, {}, IdError, r"'src'.*datetime64.*astype\(str\)"),
        ({"src": pd.Series(pd.arrays.SparseArray([1, 2]))}, {}, IdError, "'src'.*Sparse.*whole numbers"),
        ({}, {"vertices": ["a"]}, IdError, "integer ids and string ids.*convert"),
        ({}, {"vertices": [0, None]}, IdError, "'id', row 1.*missing"),
        ({}, {"vertices": range(0, 9, 2)}, OptionError, r"range\(0, 9, 2\).*must have step 1"),
        ({}, {"vertices": -5}, OptionError, "vertices=-5 must be >= 0"),
        ({}, {"vertices": 2.5}, InputError, "vertices of type float"),
        ({}, {"vertices": pd.DataFrame(index=[1])}, ColumnError, "no columns.*`id`"),
        ({"weight": ["1", "x"]}, {"weight": "weight"}, WeightError, "'weight', row 0: .*'1'.* is text.*convert"),
        ({"weight": [1.0, np.nan]}, {"weight": "weight"}, WeightError, "'weight', row 1.*missing.*fill or drop"),
        ({"weight": np.ones((2, 2))}, {"weight": "weight"}, WeightError, "'weight' has 2 dimensions"),
        ({"weight": [1j, 1]}, {"weight": "weight"}, WeightError, "'weight'.*complex"),
        ({"weight": pd.array([1, None], "Int64")}, {"weight": "weight"}, WeightError, "'weight', row 1"),
        (
            {"weight": np.array(["2020", "2021"], "M8[Y]")},
            {"weight": "weight"},
            WeightError,
            r"'weight'.*datetime64.*astype\('int64'\)",
        ),
        ({}, {"policy": "hash"}, OptionError, "policy='hash'.*choose one of outgoing"),
        ({}, {"policy": np.array([0, 1])}, OptionError, "policy=<ndarray>.*or pass a function"),
        ({}, {"loops": "skip"}, OptionError, "loops='skip'.*keep, drop"),
        ({}, {"repeats": "mean"}, OptionError, "repeats='mean'.*keep, first, sum, min, max"),
        ({}, {"partitions": 2}, OptionError, "partitions=2: from_edges has no such option; did you mean parts=?"),
        ({}, {"parts": 0}, OptionError, "parts=0.*1 to 65535"),
        ({}, {"parts": 1.5}, OptionError, r"parts=1\.5"),
        ({}, {"parts": True}, OptionError, "parts=True"),
        ({}, {"symmetrize": True, "directed": False}, OptionError, "symmetrize=True.*already has both directions"),
        ({}, {"directed": "no"}, OptionError, "directed='no' must be True or False"),
        ({}, {"client": "localhost"}, OptionError, "client='localhost'.*Client"),
        ({}, {"capacities": "guess"}, OptionError, "capacities='guess'.*measure"),
        ({}, {"capacities": [1, 2]}, OptionError, "2 entries for 1 partitions"),
        ({}, {"capacities": [0]}, OptionError, "above zero"),
        ({}, {"capacities": [float("nan")]}, OptionError, "above zero"),
        ({}, {"capacities": ["fast"]}, OptionError, "'fast'"),
        ({}, {"capacities": 5}, OptionError, "capacities=5"),
        ({}, {"capacities": {"a": 1}}, OptionError, "capacities=.*'a'"),
    ],
)
def test_invalid_edges_and_options_are_refused_with_the_reason(change, options, error, said):
    with pytest.raises(error, match=said):
        dg.Graph.from_edges({**GOOD, **change}, **options)


def test_arguments_that_are_not_frames_are_refused():
    for wrong in (None, 5, "edges.csv", [(0, 1)]):
        with pytest.raises(InputError, match=f"edges of type {type(wrong).__name__} cannot be read; pass a pandas"):
            dg.Graph.from_edges(wrong)
    with pytest.raises(InputError, match="one column is not enough"):
        dg.Graph.from_edges(pd.Series([1, 2]))
    for lazy in (dask.delayed(pd.DataFrame)(GOOD), dask.bag.from_sequence([GOOD])):
        with pytest.raises(InputError, match=f"{type(lazy).__name__} cannot be read; call .to_dataframe.. on a bag"):
            dg.Graph.from_edges(lazy)
    indexed = pd.DataFrame(GOOD).set_index("src")
    for frame in (indexed, dd.from_pandas(indexed, npartitions=2)):
        with pytest.raises(ColumnError, match=r"no column 'src'.* 'src' is their index; .* frame.reset_index\(\)"):
            dg.Graph.from_edges(frame)
    with pytest.raises(ColumnError, match="2 columns called 'src'; rename"):
        dg.Graph.from_edges(pd.DataFrame([[0, 1, 2]], columns=["src", "src", "dst"]))
    with pytest.raises(InputError, match=r"call .to_table.. on a dataset"):
        dg.Graph.from_edges(pyarrow.dataset.dataset(pa.table(GOOD)))
    with pytest.raises(ColumnError, match=r"'src' must be an array, got array.5."):
        dg.Graph.from_edges({"src": np.array(5), "dst": np.array(6)})


def test_vertex_frames_with_ambiguous_columns_are_refused():
    listed = pd.DataFrame([[0, 1, 2]], columns=["id", "x", "x"])
    with pytest.raises(ColumnError, match="2 columns called 'x'; rename"):
        dg.Graph.from_edges(GOOD, vertices=listed)
    with pytest.raises(ColumnError, match=r"are its index; .* frame.reset_index\(\)"):
        dg.Graph.from_edges(GOOD, vertices=pd.DataFrame({"id": [0], "name": ["a"]}).set_index("id"))


def test_ids_of_a_lazy_frame_are_refused_at_first_use():
    frame = dd.from_pandas(pd.DataFrame({"src": [0.5], "dst": [1.0]}))
    graph = dg.Graph.from_edges(frame)
    with pytest.raises(IdError, match=r"float64.*0\.5"):
        graph.num_vertices  # noqa: B018


def test_errors_of_a_lazy_frame_say_in_which_partition_they_count_rows():
    rows = pd.DataFrame({"src": pd.array(range(30), "Int64"), "dst": 0, "w": 1.0})
    rows.loc[25, "src"] = None
    with pytest.raises(IdError, match="partition 2 of the frame: column 'src', row 5: the id is missing"):
        dg.wcc(dg.Graph.from_edges(dd.from_pandas(rows, npartitions=3)))
    rows = rows.assign(src=range(30), w=[1.0] * 12 + [None] + [1.0] * 17)
    graph = dg.Graph.from_edges(dd.from_pandas(rows, npartitions=3), weight="w")
    with pytest.raises(WeightError, match="partition 1 of the frame: column 'w', row 2: the weight is missing"):
        dg.sssp(graph, 0)


@pytest.mark.parametrize(
    "ids", [np.arange(200), np.arange(200) * 3, np.arange(200).astype(str)], ids=["0", "3", "text"]
)
@pytest.mark.parametrize("change", [np.flip, lambda rows: rows[1:]], ids=["other order", "other rows"])
def test_a_lazy_frame_whose_rows_change_between_reads_is_refused(ids, change):
    """Its columns would go to the wrong edges."""
    times = []

    def read(part):
        times.append(part)
        rows = np.arange(200) if times.count(part) == 1 else change(np.arange(200))
        return pd.DataFrame({"src": ids[rows], "dst": ids[rows - 1 - part], "w": rows / 2})

    meta = pd.DataFrame({"src": ids[:0], "dst": ids[:0], "w": [0.5][:0]})
    with dask.config.set({"dataframe.convert-string": False}):
        graph = dg.Graph.from_edges(dd.from_map(read, range(2), meta=meta), weight="w")
    assert graph.num_edges == 400
    with pytest.raises(InputError, match=r"rows of partition [01] of the frame, or their order, have changed.*persist"):
        dg.sssp(graph, ids[:1].tolist()).compute()


@pytest.mark.parametrize(
    "ids", [np.arange(200), np.arange(200) * 3, np.arange(200).astype(str)], ids=["0", "3", "text"]
)
@pytest.mark.parametrize("other", [200, 601, -9, 10**9])
def test_a_lazy_frame_whose_ids_change_between_reads_is_refused(ids, other):
    """Of which the graph has no number."""
    times = []

    def read(part):
        times.append(part)
        named = ids if times.count(part) == 1 else np.where(ids == ids[7], type(ids[0].item())(other), ids)
        return pd.DataFrame({"src": named, "dst": named[::-1]})

    with dask.config.set({"dataframe.convert-string": False}):
        meta = pd.DataFrame({"src": ids[:0], "dst": ids[:0]})
        graph = dg.Graph.from_edges(dd.from_map(read, range(2), meta=meta))
    assert graph.partitioned("out").report.frame["edges"].sum() == 400
    with pytest.raises(IdError, match=rf"the frame now names id '?{other}'?.*persist"):
        graph.validate()


@pytest.mark.parametrize("operation", [dg.wcc, dg.triangles, dg.run, dg.factorize])
def test_operations_refuse_arguments_that_are_not_graphs(operation):
    with pytest.raises(
        InputError, match=r"expects a dgraph.Graph, got pandas.DataFrame; make one with Graph.from_edges"
    ):
        operation(pd.DataFrame(GOOD))


@pytest.mark.parametrize(
    ("use", "named"),
    [
        (len, r"len\(G\)"),
        (list, "iterating over G"),
        (lambda G: 1 in G, "1 in G"),
        (reversed, r"reversed\(G\)"),
        (lambda G: G["ann"], r"G\['ann'\]"),
    ],
)
def test_a_graph_that_is_used_as_a_container_says_what_to_use(use, named):
    with pytest.raises(InputError, match=rf"{named}: .* G\.num_vertices .* G\.vertices .* dg\.ego\(G, vertex\)"):
        use(dg.Graph.from_edges(GOOD))
    assert dg.Graph.from_edges(GOOD)  # which asks for no length


def test_writers_refuse_non_graphs_and_invalid_paths(tmp_path):
    for write in (dg.to_networkx, dg.to_igraph, dg.to_scipy, dg.write_edges):
        with pytest.raises(InputError, match=r"expects a dgraph\.Graph, got pandas.DataFrame"):
            write(pd.DataFrame(GOOD))
    for path in (None, 5, b"edges.csv"):
        with pytest.raises(OptionError, match="must be the path of a file"):
            dg.write_edges(dg.Graph.from_edges(GOOD), path)
    for of_nothing in (dg.read_edges, lambda path: dg.write_edges(dg.Graph.from_edges(GOOD), path, format="csv")):
        with pytest.raises(InputError, match=r"'': an empty string is not a path \(the current folder is '\.'\)"):
            of_nothing("")
    with pytest.raises(OptionError, match="did you mean isolated="):
        dg.write_edges(dg.Graph.from_edges(GOOD), tmp_path / "a.csv", isolate="drop")


def test_converters_refuse_objects_of_the_wrong_library():
    for taken, what in ((dg.from_networkx, "NetworkX"), (dg.from_igraph, "igraph"), (dg.from_scipy, "SciPy")):
        with pytest.raises(InputError, match=rf"expected an? {what}.* got DataFrame; .*Graph\.from_edges"):
            taken(pd.DataFrame(GOOD))
    assert dg.from_scipy(np.eye(3)).num_edges == 3  # a dense matrix is one, too


def test_a_graph_that_is_handed_to_a_task_is_refused_at_once(client):
    """By its own error: Dask would print it three times over, and raise that something cannot be serialized."""
    for graph in (dg.Graph.from_edges(GOOD), dg.Graph.from_edges(GOOD, client=client)):
        result = dg.wcc(graph)
        for one in (graph, graph.partitions, result, result.column("component")):
            for handed in (one, [one], {"it": one}):
                with client.as_current(), pytest.raises(InputError, match=r"G\.save"):
                    client.submit(repr, handed)
                with client.as_current(), pytest.raises(InputError, match=r"G\.save"):
                    dask.delayed(repr)(handed)
            with client.as_current(), pytest.raises(InputError, match=r"G\.save"):
                dask.compute(one)


def test_graphs_and_results_cannot_be_pickled_but_reports_can():
    graph = dg.Graph.from_edges(GOOD)
    result = dg.wcc(graph)
    for one in (graph, result):
        with pytest.raises(InputError, match=r"cannot be pickled.*result.compute\(\).*G.save"):
            pickle.dumps(one)
    with dask.config.set(scheduler="threads"):  # where nothing is pickled
        for pure in (True, False):
            assert dask.delayed(lambda graph: graph.num_edges, pure=pure)(graph).compute() == graph.num_edges
        assert dask.compute(graph, result) == (graph, result)
    report = pickle.loads(pickle.dumps(result.report))
    assert (len(report), report.options) == (len(result.report), result.report.options)
    assert "local" in report._repr_html_()  # in a notebook


def test_invalid_requests_for_partitions_are_refused():
    graph = dg.Graph.from_edges(GOOD)
    with pytest.raises(ColumnError, match="no column 'cost'; they have weight"):
        graph.partitioned(columns=["cost"])
    for wrong in ((), ("in",), "in"):
        with pytest.raises(OptionError, match="must be 'out', 'incoming' or both"):
            graph.partitioned(wrong)
    with pytest.raises(ColumnError, match="'weight', row 0"):
        dg.Graph.from_edges({**GOOD, "weight": ["a", "b"]}, weight=None).partitioned(columns=["weight"])
