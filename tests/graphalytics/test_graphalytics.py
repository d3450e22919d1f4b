"""LDBC Graphalytics: the reference outputs, the validation rules, the scripts of its harness."""

import json
import lzma
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import dgraph as dg
from dgraph.cli.app import dgraph
from dgraph.cli.graphalytics_driver import driver
from dgraph.errors import FileError
from dgraph.graphalytics.dataset import Dataset
from dgraph.graphalytics.verdict import compare, read_values, validate, write_values

SCRIPTS = Path(dg.__file__).parent / "graphalytics" / "bin" / "sh"


def run(line):
    return CliRunner().invoke(dgraph, shlex.split(line), catch_exceptions=False, prog_name="dgraph")


@pytest.mark.parametrize("options", ["", "--engine bsp", "--rules strict"])
def test_the_example_data_sets_are_valid(data, tmp_path, options):
    done = run(f"graphalytics {data / 'ldbc_example'} --json -o {tmp_path} {options}")
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in done.output.splitlines()]
    assert len(rows) == 12
    assert all(row["valid"] for row in rows)
    assert {"T_l", "T_m", "T_p", "EVPS"} <= set(rows[0])
    assert len(list(tmp_path.iterdir())) == 12


def test_a_real_data_set_is_valid_under_strict_rules(data):
    rows = [
        json.loads(line) for line in run(f"graphalytics {data / 'p2p-31'} --json --rules strict").output.splitlines()
    ]
    assert [row["algorithm"] for row in rows] == ["bfs", "cdlp", "lcc", "pr", "sssp", "wcc"]
    assert [row["problem"] for row in rows] == [""] * 6


def test_directed_searches_match_the_reference_outputs(data):
    stem = f"{data / 'p2p-31' / 'p2p-31'}"
    ids = pd.read_csv(f"{stem}.v.xz", sep=" ", header=None)[[0]]
    graph = dg.read_edges(f"{stem}.e.xz", weight=True, directed=True, vertices=ids)
    for operation in (dg.bfs, dg.sssp):
        name = f"{stem}-{operation.__name__.upper()}-directed.xz"
        expected = pd.read_csv(name, sep=" ", header=None, index_col=0)[1].replace(2**63 - 1, float("inf"))
        found = operation(graph, 6).compute().set_index("vertex")["distance"]
        pd.testing.assert_series_equal(found[expected.index], expected, check_names=False, check_dtype=False)


def test_a_wrong_output_is_reported(data, tmp_path):
    for file in (data / "ldbc_example").glob("example-directed*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    wrong = (tmp_path / "example-directed-WCC").read_text().splitlines()
    (tmp_path / "example-directed-WCC").write_text("\n".join([*wrong[:-1], f"{wrong[-1].split()[0]} 77"]))
    done = run(f"graphalytics {tmp_path} --algorithm wcc --algorithm bfs")
    assert done.exit_code == 1
    assert "1 of 2 outputs are not valid" in done.output
    assert "NOT VALID: vertex" in done.output


@pytest.mark.parametrize("rule", ["exact", "epsilon", "equivalence"])
def test_the_comparison_rules_of_the_benchmark_are_applied(data, rule):
    read = [
        read_values(data / "ldbc_example" / f"{rule}_{name}.csv", rule != "epsilon")
        for name in ("expected", "actual1", "actual2")
    ]
    expected, right, wrong = read
    assert compare(rule, right, expected, 1e-4).valid
    assert not compare(rule, wrong, expected, 1e-4).valid


def table(vertices, values):
    return pd.DataFrame({"vertex": vertices, "value": values})


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        (table([1, 2, 3], [1, 1, 3]), ""),
        (table([3, 1, 2], [7, 5, 5]), ""),
        (table([1, 2, 3], [1, 1, 1]), "vertex 3: expected 3, got 1"),
        (table([1, 2, 3], [1, 2, 3]), "vertex 2: expected 1, got 2"),
        (table([1, 2], [1, 1]), "vertex 3 has no value"),
        (table([1, 2, 3, 4], [1, 1, 3, 4]), "vertex 4 is not a vertex of the graph"),
        (table([1, 2, 3, 3], [1, 1, 3, 3]), "vertex 3 is listed more than once"),
    ],
)
def test_components_are_compared_whatever_their_names(found, problem):
    verdict = validate("wcc", found, table([1, 2, 3], [1, 1, 3]))
    assert verdict.valid is (problem == "")
    assert problem in verdict.problem


def test_strict_rules_refuse_approximate_ranks():
    expected, near = table([1], [0.5]), table([1], [0.50001])
    assert validate("pr", near, expected).valid
    assert not validate("pr", near, expected, "strict").valid


def test_values_are_written_as_they_are_read(tmp_path):
    for values in ([0.1, float("inf"), 1e-300], [3, 9223372036854775807, -4]):
        write_values(table([5, 6, 7], values), tmp_path / "out")
        back = read_values(tmp_path / "out", isinstance(values[0], int))
        assert back["value"].tolist() == pytest.approx(values, rel=1e-15)
    assert "Infinity" not in (tmp_path / "out").read_text()


def test_the_scripts_of_the_harness_load_run_and_unload_a_graph(data, tmp_path):
    folder = data / "ldbc_example"
    environment = {**os.environ, "PYTHON": sys.executable}

    def script(name, *options):
        command = [str(SCRIPTS / f"{name}.sh"), *options]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=200)

    graph, dataset = tmp_path / "graph", Dataset(folder, "example-directed")
    script(
        *("load-graph", "--graph-name", "example", "--input-vertex-path", folder / "example-directed.v"),
        *("--input-edge-path", folder / "example-directed.e", "--output-path", graph, "--directed", "true"),
        *("--weighted", "true"),
    )
    for algorithm, options in {
        "BFS": ["--source-vertex", "1"],
        "PR": ["--max-iteration", "2", "--damping-factor", "0.85"],
        "SSSP": ["--source-vertex", "1"],
    }.items():
        out = tmp_path / algorithm
        done = script(
            *("execute-job", "--job-id", "r1", "--log-path", tmp_path / "log", "--algorithm", algorithm),
            *("--input-path", graph, "--output-path", out, "--num-machines", "1", "--num-threads", "2", *options),
        )
        assert "Processing starts at: " in done.stdout
        whole = algorithm == "BFS"
        assert validate(
            algorithm.lower(), read_values(out, whole), read_values(dataset.reference(algorithm), whole)
        ).valid
    script("terminate-job", "--job-id", "r1", "--log-path", tmp_path / "log")
    script("unload-graph", "--graph-name", "example", "--output-path", graph)
    assert not graph.exists()


def test_vertices_may_have_values(tmp_path):
    """Beside their ids: p2p-31 has some."""
    (tmp_path / "g.v").write_text("1 70\n2 80\n3 1\n\n")
    (tmp_path / "g.e").write_text("1 2\n2 3\n")
    paths = {"--input-vertex-path": "g.v", "--input-edge-path": "g.e", "--output-path": "g.dgraph"}
    given = [word for option, name in paths.items() for word in (option, str(tmp_path / name))]
    line = ["load-graph", "--graph-name", "g", *given, "--directed", "true", "--weighted", "false"]
    assert CliRunner().invoke(driver, line).exit_code == 0
    assert dg.open_graph(tmp_path / "g.dgraph").numbering.ids().tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [("--algorithm NOPE", 2, "'NOPE' is not one of"), ("--algorithm WCC", 2, "is not a saved graph")],
)
def test_unsupported_requests_of_the_harness_are_errors_in_one_line(tmp_path, options, code, told):
    line = f"execute-job --job-id 1 --log-path {tmp_path} --input-path {tmp_path}/none --output-path out {options}"
    done = CliRunner().invoke(driver, line.split())
    assert (done.exit_code, told in done.output.splitlines()[-1]) == (code, True), done.output


def test_references_may_be_compressed(tmp_path):
    (tmp_path / "a-BFS.xz").write_bytes(lzma.compress(b"1 0\n2 9223372036854775807\n"))
    found = read_values(Dataset(tmp_path, "a").reference("bfs"), whole=True)
    assert found["value"].tolist() == [0, 2**63 - 1]


def test_a_data_set_without_the_requested_algorithm_is_an_error(tmp_path):
    run(f"generate uniform --vertices 40 --edges 99 -o {tmp_path}/tiny.properties")
    done = run(f"graphalytics {tmp_path} --algorithm bfs")
    assert (done.exit_code, "has data for lcc, wcc, but not for bfs" in done.output) == (2, True)


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("bfs.source-vertex = first", "bfs.source-vertex = 'first' is not an integer (correct this entry)"),
        ("pr.damping-factor = high\ngraph.tiny.pr.num-iterations = 3", "pr.damping-factor = 'high' is not a number"),
        ("cdlp.max-iterations = 5.5", "cdlp.max-iterations = '5.5' is not an integer"),
    ],
)
def test_parameters_that_are_not_numbers_are_refused(tmp_path, entry, told):
    run(f"generate uniform --vertices 40 --edges 99 -o {tmp_path}/tiny.properties")
    with (tmp_path / "tiny.properties").open("a") as file:
        file.write(f"graph.tiny.{entry}\n")
    done = run(f"graphalytics {tmp_path} --algorithm {entry.partition('.')[0]}")
    assert (done.exit_code, f"tiny.properties: {told}" in done.output) == (2, True), done.output


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("1 0\n\n2 x\n", 3, "'x' is not a 64-bit integer (correct this line)"),
        ("1 0\na 1\n", 2, "'a' is not a 64-bit integer"),
        ("1 0\n2 99999999999999999999\n", 2, "'99999999999999999999' is not a 64-bit integer"),
        ("\n1 0\n2\n", 3, "expected `vertex value` (write a vertex and its value"),
        ("1 0\n2 \xff\n", 2, "is not a 64-bit integer"),
    ],
)
def test_an_invalid_reference_is_reported_with_its_line(tmp_path, text, line, told):
    (tmp_path / "a-BFS").write_bytes(text.encode("latin-1"))
    with pytest.raises(FileError, match=f"a-BFS, line {line}: ") as refused:
        read_values(tmp_path / "a-BFS", whole=True)
    assert told in str(refused.value)


def test_vertices_that_are_not_numbers_are_reported_with_their_line(tmp_path):
    (tmp_path / "g.v").write_text("1\n\nann\n")
    given = f"--input-vertex-path {tmp_path}/g.v --input-edge-path {tmp_path}/g.e --output-path {tmp_path}/g.dgraph"
    line = f"load-graph --graph-name g {given} --directed true --weighted false"
    done = CliRunner().invoke(driver, line.split())
    assert (done.exit_code, "g.v, line 3: 'ann' is not a vertex id" in done.output) == (2, True), done.output


def test_a_folder_without_data_sets_is_an_error(tmp_path):
    done = run(f"graphalytics {tmp_path}")
    assert (done.exit_code, "there is no .properties file" in done.output) == (2, True)
