"""The commands whose results have no row for each vertex."""

import json
import uuid
from io import StringIO
from pathlib import Path

import pandas as pd
import pytest

import dgraph as dg
from dgraph.cli.vertex_files import read_ids
from dgraph.errors import ColumnError, IdError, InputError

EDGES = "src,dst\n007,b\nb,c\nc,007\nc,d\n"


@pytest.fixture
def graph(run, tmp_path):
    """The graph of a file, in the folder where commands run."""
    (tmp_path / "g.csv").write_text(EDGES)
    return dg.read_edges(tmp_path / "g.csv", directed=False)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("similarity", lambda graph: dg.similarity(graph)),
        ("similarity --workers 2", lambda graph: dg.similarity(graph)),
        ("similarity --top-k 1 --measure cosine", lambda graph: dg.similarity(graph, top_k=1, measure="cosine")),
        ("k-truss --k 3", lambda graph: dg.k_truss(graph, k=3)),
        ("truss-number", lambda graph: dg.truss_number(graph)),
        ("bridges", lambda graph: dg.bridges(graph)),
        ("articulation-points", lambda graph: dg.articulation_points(graph)),
        ("biconnected-components", lambda graph: dg.biconnected_components(graph)),
        ("spanning-forest --no-minimum", lambda graph: dg.spanning_forest(graph, minimum=False)),
    ],
)
def test_frames_are_written_and_shown(run, graph, line, expected):
    name, _, options = line.partition(" ")
    done = run(f"run {name} g.csv --undirected {options} -o -")
    assert done.exit_code == 0, done.output
    frame = expected(graph).compute()
    read = pd.read_csv(StringIO(done.stdout), dtype=dict.fromkeys(("first", "second", "src", "dst", "vertex"), str))
    order = list(frame.columns)
    pd.testing.assert_frame_equal(
        read.sort_values(order, ignore_index=True), frame.astype(read.dtypes).sort_values(order, ignore_index=True)
    )
    shown = run(f"run {name} g.csv --undirected {options.replace('--workers 2', '')}").stdout.splitlines()
    more = [f"... {len(frame)} rows"] if len(frame) > 10 else []
    assert shown[0].split() == list(frame.columns) and shown[1 + min(len(frame), 10) :] == more
    told = run(f"run {name} g.csv --undirected {options.replace('--workers 2', '')} --json").stdout
    assert json.loads(told)["rows"] == len(frame)


def test_pairs_come_from_a_file(run, graph, tmp_path):
    for text in ("x,y\n007,d\nb,c\n", "007\td\nb\tc\n"):  # with a heading and without
        (tmp_path / "pairs.csv").write_text(text)
        done = run("run similarity g.csv --undirected --pairs pairs.csv -o -")
        assert done.stdout.replace('"', "") == "first,second,similarity\n007,d,0.5\nb,c,0.25\n", done.output
    refused = run("run similarity g.csv --undirected --pairs pairs.csv -o pairs.csv")
    assert refused.exit_code and "pairs.csv is the file of pairs" in refused.output
    refused = run("run similarity g.csv --pairs -")
    assert refused.exit_code and "--pairs - is not available" in refused.output
    refused = run("run similarity g.csv --pairs nowhere.csv")
    assert refused.exit_code and "nowhere.csv" in refused.output
    refused = run("run similarity g.csv --undirected -o g.csv")
    assert refused.exit_code and "g.csv is the file of edges" in refused.output
    assert (tmp_path / "g.csv").read_text() == EDGES


def test_numbers_are_printed(run, graph):
    assert run("run diameter g.csv --undirected").stdout == "2\n"
    assert run("run diameter g.csv").stdout == "inf\n"
    assert run("run neighborhood-function g.csv --log2m 3").output.startswith("Error: --log2m 3 must be")
    assert json.loads(run("run diameter g.csv --json").stdout)["diameter"] is None
    assert json.loads(run("run radius g.csv --undirected --json").stdout)["radius"] == 1
    assert run("run summary g.csv --undirected").stdout.splitlines() == repr(dg.summary(graph)).splitlines()
    told = json.loads(run("run summary g.csv --undirected --json").stdout)
    assert (told["transitivity"], told["degrees"]["degree"]["most"]) == (0.6, 3)
    assert run("run diameter g.csv -o out.csv").exit_code == 2


def test_cycles_are_printed(run, graph):
    assert run("run is-dag g.csv").stdout == "no\n"
    assert run("run find-cycle g.csv").stdout == "007 -> b -> c -> 007\n"
    assert json.loads(run("run find-cycle g.csv --undirected --json").stdout)["find_cycle"] == ["007", "b", "c"]
    (Path("path.csv")).write_text("src,dst\na,b\nb,c\n")
    assert run("run is-dag path.csv").stdout == "yes\n"
    assert json.loads(run("run is-dag path.csv --json").stdout)["is_dag"] is True
    assert run("run find-cycle path.csv").stdout == "no cycle\n"


@pytest.mark.parametrize("name", ["triad-census", "topological-generations"])
def test_undirected_graphs_are_refused_with_what_to_type(run, graph, name):
    done = run(f"run {name} g.csv --undirected{' -o out.csv' if name.startswith('topo') else ''}")
    assert done.exit_code == 2 and "leave out --undirected, or convert a file" in done.stderr
    assert "directed=True" not in done.stderr and "symmetrize=True" not in done.stderr


def test_the_neighbourhood_function_is_a_table_and_some_numbers(run, graph):
    done = run("run neighborhood-function g.csv --undirected --seed 3 --json -o n.csv")
    expected = dg.neighborhood_function(graph, random_seed=3)
    assert json.loads(done.stdout)["mean_distance"] == expected.mean_distance
    pd.testing.assert_frame_equal(pd.read_csv("n.csv"), expected.pairs)


def test_paths_and_triads_are_printed(run, graph):
    assert run("run shortest-path g.csv --source-vertex 007 --to-vertex d").stdout == "007\nb\nc\nd\n"
    assert run("run shortest-path g.csv --source-vertex d --to-vertex b").stdout == ""
    told = run("run shortest-path g.csv --undirected --source-vertex 007 --to-vertex d --json").stdout
    assert json.loads(told)["path"] == ["007", "c", "d"]
    refused = run("run shortest-path g.csv --source-vertex 007 --to-vertex d --weighted")
    assert refused.exit_code and "needs weights" in refused.output
    census = dg.triad_census(dg.Graph.from_edges(graph.edges.compute()))
    assert run("run triad-census g.csv").stdout.splitlines() == [f"{name} {count}" for name, count in census.items()]
    assert json.loads(run("run triad-census g.csv --json").stdout)["triads"] == census


def test_walks_begin_at_vertices_that_are_typed_or_in_a_file(run, graph, tmp_path):
    (tmp_path / "starts.txt").write_text("b\n007\n")
    pd.DataFrame({"walk": [0, 1], "vertex": ["b", "007"]}).to_parquet("starts.parquet")
    expected = dg.random_walks(dg.read_edges("g.csv"), ["c", "b", "007"], 4, restart=0.5, random_seed=3).compute()
    for file in ("starts.txt", "starts.parquet"):
        line = f"run random-walks g.csv --length 4 --restart 0.5 --seed 3 --start-vertex c --start-file {file} -o -"
        read = pd.read_csv(StringIO(run(line).stdout), dtype={"vertex": str})
        pd.testing.assert_frame_equal(read, expected.astype(read.dtypes))
    every = run("run random-walks g.csv --length 1 --json").stdout
    assert json.loads(every)["rows"] == len(dg.random_walks(dg.read_edges("g.csv"), None, 1))
    (tmp_path / "none.csv").write_text("vertex\n")
    assert run("run random-walks g.csv --length 4 --start-file none.csv").stdout == "no rows\n"
    refused = run("run random-walks g.csv --length 4 --start-file none.csv -o none.csv")
    assert refused.exit_code and "none.csv is the file of starts" in refused.output
    refused = run("run random-walks g.csv --length 4 --start-file -")
    assert refused.exit_code and "--start-file - is not available" in refused.output


def test_files_of_integers_list_vertices_of_integer_graphs(run, tmp_path):
    (tmp_path / "n.csv").write_text("src,dst\n7,8\n8,9\n")
    (tmp_path / "starts.txt").write_text("7\n8\n")
    done = run("run random-walks n.csv --length 1 --start-file starts.txt -o -")
    assert [int(line.split(",")[2]) for line in done.stdout.splitlines()[1:]] == [7, 8, 8, 9]
    (tmp_path / "starts.txt").write_text("7\nseven\n")
    refused = run("run random-walks n.csv --length 1 --start-file starts.txt")
    assert refused.exit_code == 2 and "'seven' is not a vertex of this graph" in refused.output


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("New York\nParis\n", ["New York", "Paris"]),
        ('  "Paris, France"\r\n\r\nNA', ["Paris, France", "NA"]),
        ("who,from\na;b\n", ["who,from", "a;b"]),
        ("name\nann\n", ["name", "ann"]),
        ("\ufeffid\n007\nNew York, NY\n", ["007", "New York, NY"]),
        ("vertex,id\n007,1\nNA,2\n", ["007", "NA"]),
        ('age;id\n3;"a;b"\n4; New York \n', ["a;b", "New York"]),
        ("age\tvertex\n3\tbob smith\n", ["bob smith"]),
        ("vertex,age\n", []),
    ],
)
def test_a_line_is_an_id_unless_the_first_one_names_their_column(tmp_path, text, expected):
    (tmp_path / "ids.txt").write_bytes(text.encode())
    assert read_ids(str(tmp_path / "ids.txt")) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("vertex,age\nann,3\n,4\n", "ids.csv: column 'vertex', row 1: the id is missing"),
        ("age,id\n3,ann\n4\n", "row 1 has another number of columns than the heading: '4'"),
        ("vertex,age\nNew York, NY,3\n", "put values that contain ',' in quotes"),
    ],
)
def test_incomplete_rows_of_ids_are_refused(tmp_path, text, said):
    (tmp_path / "ids.csv").write_text(text)
    with pytest.raises(InputError, match=said):
        read_ids(str(tmp_path / "ids.csv"))


def test_ids_in_parquet_keep_their_type_and_may_not_be_missing(tmp_path):
    path = str(tmp_path / "ids.parquet")
    some = uuid.UUID(int=5)
    for ids, expected in (
        (pd.array([1, 2**62], "Int64"), ["1", str(2**62)]),
        (pd.array(["007", "a"], "string"), ["007", "a"]),
        (pd.Categorical(["b", "a", "b"]), ["b", "a", "b"]),
    ):
        pd.DataFrame({"rank": 0.5, "id": ids}).to_parquet(path)
        assert read_ids(path) == expected
    pd.DataFrame({"only": [str(some)]}).to_parquet(path)
    assert read_ids(path) == [str(some)]
    for ids in (pd.array([1, None], "Int64"), [1.0, None], ["a", None], pd.Categorical(["a", None])):
        pd.DataFrame({"vertex": ids}).to_parquet(path)
        with pytest.raises(IdError, match=r"ids\.parquet: column 'vertex', row 1: the id is missing"):
            read_ids(path)
    pd.DataFrame({"src": [1], "dst": [2]}).to_parquet(path)
    with pytest.raises(ColumnError, match="has the columns src, dst, and none is called vertex or id"):
        read_ids(path)


def test_samples_are_written_by_edges(run, graph, tmp_path):
    (tmp_path / "seeds.csv").write_text("vertex,rank\nd,1\n007,2\n")
    line = "run sample-neighbors g.csv --seed-vertex b --seed-file seeds.csv --fanouts 2 --fanouts -1 --seed 5"
    expected = dg.sample_neighbors(dg.read_edges("g.csv"), ["b", "d", "007"], [2, -1], random_seed=5).edges
    read = pd.read_csv(StringIO(run(f"{line} -o -").stdout), dtype={"src": str, "dst": str})
    pd.testing.assert_frame_equal(read, expected.astype(read.dtypes))
    assert json.loads(run(f"{line} --json").stdout)["rows"] == len(expected) == len(run(line).stdout.splitlines()) - 1
    refused = run("run sample-neighbors g.csv --fanouts 2")
    assert refused.exit_code == 2 and "list them by --seed-vertex or in a file by --seed-file" in refused.output
    refused = run("run sample-neighbors g.csv --seed-vertex b --seed-vertex b --fanouts 2")
    assert refused.exit_code == 2 and "--seed-vertex lists the vertex 'b' twice" in refused.output
    assert run("run sample-neighbors g.csv --seed-vertex b").exit_code == 2
