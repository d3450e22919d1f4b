"""Comparing two runs: what changed beyond the noise, and what does not count."""

import json

import pytest

from dgraph.bench.comparison import compare
from dgraph.bench.suite import AXES

SAME = dict.fromkeys(AXES, "one")


def rows(seconds, operation="bfs"):
    return [{"kind": "trial", "suite": "s", **SAME, "operation": operation, "run": one, "rounds": 3} for one in seconds]


def verdicts(before, after, least=0.05):
    return {row["figure"]: row["verdict"] for row in compare(rows(before), rows(after), least)}


def test_a_change_beyond_the_noise_is_reported():
    assert verdicts([1.0, 1.01, 1.02], [1.5, 1.51, 1.49]) == {"run": "slower", "rounds": ""}
    assert verdicts([1.5, 1.51, 1.49], [1.0, 1.01, 1.02])["run"] == "faster"


def test_a_change_within_the_noise_is_not_reported():
    assert verdicts([1.0, 2.0, 3.0], [1.5, 2.5, 3.5])["run"] == ""
    assert verdicts([1.0] * 5, [1.04] * 5)["run"] == ""
    assert verdicts([1.0] * 5, [1.04] * 5, least=0.01)["run"] == "slower"


def test_many_trials_reveal_smaller_changes():
    few, many = [1.0, 1.2, 1.4], [1.0, 1.1, 1.2, 1.3, 1.4] * 10
    assert verdicts(few, [one + 0.12 for one in few])["run"] == ""
    assert verdicts(many, [one + 0.12 for one in many])["run"] == "slower"


def test_a_single_measurement_gets_no_verdict():
    one, other = ([{**row, "load": seconds} for row in rows([1.0] * 3)] for seconds in (1.0, 2.0))
    load = next(row for row in compare(one, other, 0.05) if row["figure"] == "load")
    assert (load["ratio"], load["noise"], load["verdict"]) == (2.0, None, "")
    assert verdicts([1.0], [2.0]) == {"run": "", "rounds": ""}


@pytest.fixture
def runs(tmp_path):
    for name, seconds in (("a", [1.0, 1.0, 1.0]), ("b", [2.0, 2.0, 2.0])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "trials.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows(seconds)))
    (tmp_path / "other.jsonl").write_text(json.dumps(rows([1.0], "wcc")[0]))
    (tmp_path / "torn.jsonl").write_text('{"kind": "trial"}\n{"kind": ')


def test_bench_compare_reports_and_checks_slower_figures(run, runs):
    done = run("bench compare a b")
    assert done.exit_code == 0
    assert done.output.splitlines()[-1] == "1 of 2 figures got worse by more than the noise and 5 %"
    assert "slower" in done.output and "rounds" not in done.output
    assert "rounds" in run("bench compare a b --all").output
    assert run("bench compare a b --check").exit_code == 1
    assert run("bench compare b a --check").exit_code == 0
    told = [json.loads(line) for line in run("bench compare a/trials.jsonl b --json").output.splitlines()]
    assert [(row["figure"], row["ratio"]) for row in told] == [("run", 2.0), ("rounds", 1.0)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a nothing", "nothing: no results found (`dgraph bench SUITE -o FOLDER` writes them)"),
        ("a torn.jsonl", "torn.jsonl, line 2: is not JSON"),
        ("a other.jsonl", "the two runs have no case in common"),
    ],
)
def test_results_that_cannot_be_compared_are_refused(run, runs, line, message):
    done = run(f"bench compare {line}")
    assert (done.exit_code, message in done.output) == (2, True)
