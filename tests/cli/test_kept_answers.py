"""`dgraph run --keep NAME` saves an answer with a saved graph, and `--previous NAME` goes on from it."""

import json
from pathlib import Path

import pandas as pd
import pytest

import dgraph as dg


@pytest.fixture
def saved(run):
    """A command line in a folder with a saved graph, whose components are kept as `names`."""
    assert run("partition calls.csv --weight minutes -o g").exit_code == 0
    done = run("run wcc g --keep names --json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert (told["kept"], told["version"]) == ("names", 0) and "previous" not in told
    return run


def test_an_answer_goes_on_over_versions_that_do_not_have_it(saved):
    for number, row in enumerate(("zoe,yan,1,x", "yan,xi,2,y"), 1):
        Path("more.csv").write_text(f"src,dst,minutes,note\n{row}\n")
        assert json.loads(saved("update g --add more.csv --json").output)["version"] == number
    done = saved("run wcc g --previous names --keep names -o c.csv --json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert told["previous"] == "went on from it, after changes between 2 pairs of vertices"
    assert (told["kept"], told["version"]) == ("names", 2)
    found = dict(pd.read_csv("c.csv").itertuples(index=False, name=None))
    assert found == {"ann": "ann", "bob": "ann", "cat": "ann", "eve": "ann", "xi": "xi", "yan": "xi", "zoe": "xi"}
    pd.testing.assert_frame_equal(dg.open_graph("g").results["names"].compute(), dg.wcc(dg.open_graph("g")).compute())
    assert dg.open_graph("g", version=0).results["names"].compute()["vertex"].tolist() == ["ann", "bob", "cat", "eve"]
    assert dg.open_graph("g").validate().blocks


def test_the_outcome_says_why_the_whole_was_computed(saved):
    told = json.loads(saved("run wcc g --previous names --engine bsp --json").output)
    assert told["previous"] == "computed anew: an option asks for rounds, or for a GPU (experimental)"


def test_any_values_are_kept_and_several(saved):
    for line in ("run sssp g --source-vertex ann --keep near", "run degrees g --keep degrees"):
        assert saved(line).exit_code == 0
    assert list(dg.open_graph("g").results) == ["names", "near", "degrees"]
    assert dg.open_graph("g").results["near"].compute()["distance"].tolist() == [0, 3, 1, float("inf")]
    assert saved("run sssp g --source-vertex ann --previous near").exit_code == 0


def test_communities_start_from_those_that_were_kept(saved):
    assert saved("run leiden g --keep groups").exit_code == 0
    Path("more.csv").write_text("src,dst,minutes,note\nzoe,yan,1,x\n")
    assert saved("update g --add more.csv").exit_code == 0
    done = saved("run leiden g --previous groups --keep groups -o c.csv --json")
    assert done.exit_code == 0, done.output
    found = pd.read_csv("c.csv")
    assert found["vertex"].tolist() == ["ann", "bob", "cat", "eve", "yan", "zoe"]
    assert dg.open_graph("g").results["groups"].compute()["community"].tolist() == found["community"].tolist()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("run wcc g --previous nmaes", "--previous nmaes: g has no values of that name; it has 'names'"),
        ("run bfs g --source-vertex ann --previous names", "--previous is a result of dg.wcc; expected one of dg.bfs"),
        (
            "run sssp g --source-vertex bob --previous near",
            "--source-vertex 'ann', and this call has --source-vertex 'bob'",
        ),
        ("run sssp g --unweighted --source-vertex ann --previous near", "--previous is a result of dg.sssp; expected"),
        ("run wcc g --keep names", "g already has values 'names' for version 0, its newest one; choose another name"),
        ("run wcc calls.csv --keep names", "--keep names is for saved graphs, and calls.csv is none; save it first"),
        ("run wcc calls.csv --previous names", "--previous names is for saved graphs, and calls.csv is none"),
        ("run wcc h --previous names", "h has no values of that name; it has none yet; `dgraph run ... --keep NAME`"),
        ("run leiden g --previous nmaes", "nmaes: unknown suffix for values"),
    ],
)
def test_what_cannot_be_kept_or_gone_on_from_is_refused(saved, line, told):
    if "near" in line:
        assert saved("run sssp g --source-vertex ann --keep near").exit_code == 0
    if " h " in line:
        assert saved("partition calls.csv -o h").exit_code == 0
    before = Path("g", "manifest.json").read_bytes()
    done = saved(line)
    assert done.exit_code == 2 and told in done.output, done.output
    assert Path("g", "manifest.json").read_bytes() == before
