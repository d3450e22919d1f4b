"""NetworkX's own tests on the backend: those of the announced functions, each of which must really run."""

import networkx_suite
import pytest


@pytest.mark.filterwarnings("default")
def test_networkx_s_own_tests_pass_and_every_function_runs(capfd):
    report = networkx_suite.run_suite(list(networkx_suite.PART), fallback=True, options=["-x", *networkx_suite.QUICK])
    assert networkx_suite.never_ran(report) == []


def test_shares_count_the_tests_that_exercise_announced_functions():
    ends = ["passed"] * 19 + ["refused", "stopped", "skipped"]
    tests = {str(i): {"end": end, "why": end, "exercised": ["pagerank"]} for i, end in enumerate(ends)}
    report = {"ran": {"pagerank": 1}, "tests": {**tests, "other": {"end": "passed", "why": "", "exercised": []}}}
    assert networkx_suite.share_passed(report) == 0.95
    assert networkx_suite.refusals(report) == {"refused": 1}
    assert "hits" in networkx_suite.never_ran(report)
