"""NetworkX's own tests on the backend, with a count of the functions that really ran: `make test-networkx`.

With fallback, NetworkX runs what the backend does not, and all of its tests must pass. Without it, a test stops at the
first call that the backend does not take. Those that stop at a function that is not announced do not count; of the
others that exercise announced functions, nearly all must pass.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import networkx
from networkx_records import REPORT
from networkx_registered import environment

from dgraph.networkx_backend.function_table import FUNCTIONS

HOME = Path(networkx.__file__).parent
# The tests of announced functions.
PART = (
    "algorithms/link_analysis/tests/test_pagerank.py",
    "algorithms/link_analysis/tests/test_hits.py",
    "algorithms/components/tests",
    "algorithms/centrality/tests/test_katz_centrality.py",
    "algorithms/centrality/tests/test_eigenvector_centrality.py",
    "algorithms/tests/test_core.py",
    "algorithms/tree/tests/test_mst.py",
    "algorithms/tests/test_bridges.py",
    "algorithms/tests/test_triads.py",
    "algorithms/assortativity/tests/test_correlation.py",
    "algorithms/bipartite/tests/test_basic.py",
    "generators/tests/test_ego.py",
    "algorithms/tests/test_cluster.py",
    "algorithms/tests/test_dag.py",
    "algorithms/tree/tests/test_recognition.py",
    "algorithms/shortest_paths/tests/test_unweighted.py",
    "algorithms/shortest_paths/tests/test_weighted.py",
    "algorithms/shortest_paths/tests/test_generic.py",
    "algorithms/tests/test_distance_measures.py",
    "algorithms/tests/test_efficiency.py",
    "algorithms/tests/test_wiener.py",
    "algorithms/traversal/tests/test_bfs.py",
    "algorithms/centrality/tests/test_degree_centrality.py",
    "algorithms/centrality/tests/test_closeness_centrality.py",
    "algorithms/centrality/tests/test_harmonic_centrality.py",
    "algorithms/centrality/tests/test_betweenness_centrality.py",
    "algorithms/community/tests/test_louvain.py",
    "algorithms/community/tests/test_leiden.py",
    "algorithms/community/tests/test_label_propagation.py",
    "algorithms/community/tests/test_quality.py",
    "algorithms/tests/test_link_prediction.py",
    "algorithms/tests/test_isolate.py",
    "algorithms/tests/test_regular.py",
    "algorithms/tests/test_euler.py",
    "algorithms/tests/test_reciprocity.py",
    "algorithms/tests/test_mis.py",
    "algorithms/coloring/tests/test_coloring.py",
)
QUICK = ["-k", "not test_use_bounds_on_off_consistency"]  # 500 graphs, eight times each
LEAST_PASSED = 0.95

Report = dict[str, Any]  # "ran": counts by function; "tests": the end of each test


def run_suite(paths: list[str], *, fallback: bool, options: list[str]) -> Report:
    """Run tests in a process of its own; how often each announced function ran to its end, and how each test ended."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        report = folder / "ran.json"
        variables = {"NETWORKX_TEST_BACKEND": "dgraph", REPORT: str(report)}
        if fallback:
            variables["NETWORKX_FALLBACK_TO_NX"] = "True"
        (folder / "pytest.ini").write_text("[pytest]\n")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "networkx_records", "-p", "no:cacheprovider"]
        command += ["-c", str(folder / "pytest.ini"), "--rootdir", str(HOME.parent), *options]
        done = subprocess.run([*command, *(str(HOME / path) for path in paths)], env=environment(folder, **variables))
        if done.returncode:
            raise SystemExit(f"NetworkX's tests failed on the backend: pytest returned {done.returncode}")
        return json.loads(report.read_text())


def never_ran(report: Report) -> list[str]:
    return sorted(name for name in FUNCTIONS if not report["ran"].get(name))


def ends_of_exercised(report: Report) -> Counter[str]:
    """How many tests that exercise an announced function ended in each way."""
    return Counter(test["end"] for test in report["tests"].values() if test["exercised"])


def share_passed(report: Report) -> float:
    """Of the tests that exercise announced functions and do not stop at a function that is not announced."""
    ends = ends_of_exercised(report)
    return ends["passed"] / sum(ends[end] for end in ("passed", "failed", "refused", "expected"))


def refusals(report: Report) -> Counter[str]:
    """How many tests stop at each refusal of an announced function."""
    return Counter(test["why"] for test in report["tests"].values() if test["end"] == "refused")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--whole", action="store_true", help="all of NetworkX's tests, not only those of the functions")
    paths = [""] if parser.parse_args().whole else list(PART)
    with_fallback = run_suite(paths, fallback=True, options=[])
    without = run_suite(paths, fallback=False, options=[])
    lines = [f"{count:7,} {name}" for name, count in sorted(with_fallback["ran"].items())]
    lines.append(f"NetworkX {networkx.__version__}, without fallback: {dict(ends_of_exercised(without))}")
    lines += [f"{count:7,} {why}" for why, count in refusals(without).most_common()]
    sys.stdout.write("\n".join([*lines, ""]))
    if missing := never_ran(with_fallback):
        sys.exit(f"announced, but never run: {', '.join(missing)}")
    if (share := share_passed(without)) < LEAST_PASSED:
        sys.exit(f"without fallback, {share:.1%} of the tests pass that exercise announced functions")


if __name__ == "__main__":
    main()
