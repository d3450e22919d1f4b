"""What the command line makes of awkward files, pipes and words: it reads them, or says in one line what to type."""

import gzip
import json
from pathlib import Path

import pytest


def test_the_first_rows_of_a_run_on_workers(run):
    """Whose client is not the process' own."""
    assert run("run wcc calls.csv --workers 2").output.split()[:4] == ["vertex", "component", "ann", "ann"]


def test_columns_by_position_and_how_text_is_written(run, tmp_path):
    (tmp_path / "names.txt").write_text("who|whom|n\nann|bob|007\nbob|cat|8\n")
    asked = run("run wcc names.txt --header --delimiter '|' --source 1 --destination 0 -o -")
    assert asked.output.splitlines() == ['"vertex","component"', *(f'"{v}","ann"' for v in ("ann", "bob", "cat"))]
    told = json.loads(run("run wcc names.txt --no-header --json").output)
    assert (told["vertices"], told["edges"]) == (5, 3)
    ids = run("run degrees names.txt --source 2 --destination 0 --id-type string --header -o -").output
    assert '"007"' in ids


def test_compressed_edges_in_a_pipe(run):
    assert run("run wcc - -o -", input=gzip.compress(Path("calls.csv").read_bytes())).output.count("ann") == 5


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("run wcc calls.csv --source x", "Error: calls.csv: --source 'x', but there is no such column"),
        ("run wcc - --source x", "Error: standard input: --source 'x', but there is no such column"),
        ("run sssp missing.csv --source-vertex 1 --weight w", "or read the file without --weight)"),
        ("run wcc huge.csv", '(read it with --id-type "string", or number the vertices anew)'),
        ("run pagerank calls.csv --alpha 2", "Error: --alpha 2.0 is a probability"),
        ("run pagerank calls.csv --personalization ann=0", "Error: --personalization {'ann': 0.0}: weights are"),
        ("convert alone.graphml -o -", "neither its suffix nor its content tells the format"),
        ("convert alone.v -o -", "Error: standard output: text lists edges only"),
        ("convert alone.v -o -", "or leave them out: --drop-isolated)"),
        ("estimate pagerank calls.csv --memory lots", "Error: --memory 'lots' is no number of bytes"),
        ("run walk calls.csv", "Error: there is no 'walk'; choose one of "),
        ("walk calls.csv", "Error: there is no 'walk'; choose one of run, "),
        ("run bfs calls.csv --source-vertex weight=3", "Error: the graph has no vertex 'weight=3'"),
    ],
)
def test_errors_speak_of_options_as_they_are_typed(run, tmp_path, line, told):
    (tmp_path / "missing.csv").write_text("src,dst,w\n1,2,1\n2,3,\n")
    (tmp_path / "huge.csv").write_text("18446744073709551616,1\n")
    (tmp_path / "alone.v").write_text("1\n2\n3\n")
    (tmp_path / "alone.e").write_text("1 2\n")
    (tmp_path / "alone.graphml").write_text("<graphml/>\n")
    done = run(line, input=Path("calls.csv").read_text())
    assert done.exit_code == 2 and told in done.output and done.output.splitlines()[-1].startswith("Error: ")
