"""`dgraph update` appends versions to a saved graph."""

import json
from pathlib import Path

import pandas as pd
import pytest

import dgraph as dg


@pytest.fixture
def saved(run):
    """A command line in a folder with a saved graph."""
    assert run("partition calls.csv --weight minutes -o g").exit_code == 0
    return run


@pytest.mark.filterwarnings("default")
def test_a_version_is_appended_and_told_of(saved):
    Path("more.csv").write_text("src,dst,minutes,note\nzoe,ann,2,x\nzoe,bob,7,y\n")
    Path("less.csv").write_text("minutes,dst,src\n9,cat,ann\n9,zoe,ann\n")  # ends by name, in any order
    done = saved("update g --add more.csv --remove less.csv --json")
    assert done.exit_code == 0, done.output
    warning, outcome = done.output.splitlines()
    assert warning == "Warning: 1 edge to remove is not in the graph; the first is in row 1, from 'ann' to 'zoe'"
    told = {"version": 1, "added": 2, "removed": 1, "missing": 1, "new_vertices": 1, "vertices": 5, "edges": 5}
    assert json.loads(outcome) == told
    assert saved("run sssp g --source-vertex zoe -o near.csv").exit_code == 0
    assert pd.read_csv("near.csv")["distance"].tolist()[:3] == [2, 5, 9]
    assert json.loads(saved("update g --remove less.csv --json").output.splitlines()[-1])["version"] == 2
    assert dg.open_graph("g", version=1).num_edges == dg.open_graph("g").num_edges == 5


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npz"])
def test_files_of_every_format(saved, suffix):
    """Columns that are called otherwise count by position, and the weight of the format is that of the graph."""
    frame = pd.DataFrame({"a": ["ann"], "b": ["eve"], "minutes": [5]})
    dg.write_edges(dg.Graph.from_edges(frame, source="a", destination="b", weight="minutes"), f"more.{suffix}")
    assert saved(f"update g --add more.{suffix}").exit_code == 0
    edges = dg.open_graph("g").edges.compute()
    assert edges[edges["dst"] == "eve"].to_dict("records") == [{"src": "ann", "dst": "eve", "minutes": 5}]


def test_text_without_a_header_and_ids_that_look_like_numbers(run):
    Path("edges.csv").write_text("01,02\nx,01\n")
    assert run("partition edges.csv --no-header -o g").exit_code == 0
    Path("more.csv").write_text("02,007\n")
    done = run("update g --add more.csv --no-header --json")
    assert done.exit_code == 0, done.output
    assert dg.open_graph("g").vertices.compute()["id"].tolist() == ["007", "01", "02", "x"]


def test_what_cannot_be_updated_is_refused_and_nothing_changes(saved):
    Path("bad.csv").write_text("src,dst\nann,bob\n")
    for line, told in (
        ("update g", "give the changes: --add FILE, --remove FILE or both"),
        ("update calls.csv --add bad.csv", "calls.csv is not a saved graph: manifest.json is missing"),
        ("update nowhere --add bad.csv", "nowhere is not a saved graph"),
        ("update g --add nowhere.csv", "nowhere.csv: there is no such file"),
        ("update g --add bad.csv", "Error: --add: the edges have no column 'minutes'; they have 'src', 'dst'"),
    ):
        done = saved(line)
        assert done.exit_code == 2 and told in done.output, done.output
    assert dg.open_graph("g").version == 0
