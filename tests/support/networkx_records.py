"""The plugin of the pytest that runs NetworkX's tests on the backend. It records which functions ran, and how each test
ended.

A test *exercises* an announced function if, during the test, NetworkX has asked the backend whether it can run one.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path

import networkx
from networkx.utils.backends import _dispatchable
from networkx_expected import EXPECTED

from dgraph.networkx_backend.entry_points import backend
from dgraph.networkx_backend.function_table import FUNCTIONS

REPORT = "DGRAPH_NETWORKX_REPORT"
NOT_ANNOUNCED = re.compile(r"(?:reason: )?'(\w+)' not implemented by dgraph$")

# Functions that make graphs for tests and read their results. NetworkX itself runs them, also without fallback.
OF_TESTS = {
    *("convert_node_labels_to_integers", "relabel_nodes", "compose", "compose_all", "union", "union_all"),
    *("disjoint_union", "disjoint_union_all", "cartesian_product"),
    *("set_node_attributes", "set_edge_attributes", "stochastic_graph", "to_numpy_array", "to_scipy_sparse_array"),
    *("is_partition", "is_coloring"),
}


class Recorder:
    """What happens in the tests: how often each function ran, and for each test, its end, what it exercised and why it
    stopped."""

    def __init__(self):
        self.ran = Counter()
        self.tests = {}
        self.asked, self.refusal = set(), ""

    def pytest_runtest_setup(self, item):
        self.asked, self.refusal = set(), ""

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            end, why = self._end(report)
            self.tests[report.nodeid] = {"end": end, "why": why, "exercised": sorted(self.asked)}

    def _end(self, report):
        """How a test ended: passed, failed, skipped, expected, stopped at a function that is not announced, or refused
        by one that is."""
        if not hasattr(report, "wasxfail"):
            return report.outcome, ""
        if expected(report.nodeid):
            return "expected", expected(report.nodeid)
        if stopped := NOT_ANNOUNCED.match(report.wasxfail):
            return "stopped", stopped[1]
        return "refused", self.refusal or report.wasxfail.removeprefix("reason: ")

    def watch(self):
        """Replace what NetworkX calls by functions that record the call."""
        can_run = backend.can_run

        def recorded(name, args, kwargs):
            answer = can_run(name, args, kwargs)
            self.asked.add(name)
            self.refusal = f"{name}: {answer}" if isinstance(answer, str) else ""
            return answer

        backend.can_run = recorded
        dispatched = _dispatchable._convert_and_call_for_tests

        def called(function, backend_name, args, kwargs, **options):
            if function.name in OF_TESTS:
                return function.orig_func(*args, **kwargs)
            return dispatched(function, backend_name, args, kwargs, **options)

        _dispatchable._convert_and_call_for_tests = called
        for name in FUNCTIONS:
            setattr(backend, name, self._counted(getattr(backend, name), name))

    def _counted(self, function, name):
        """The function, counted once it has returned or raised an error of NetworkX; if it is not implemented for its
        arguments, it did not run."""

        def call(*args, **kwargs):
            try:
                found = function(*args, **kwargs)
            except networkx.NetworkXException:
                self.ran[name] += 1
                raise
            except NotImplementedError as error:
                self.refusal = f"{name}: {error}"
                raise
            self.ran[name] += 1
            return found

        return call


def expected(test):
    """Why the end of a test is another with the backend, if it is known."""
    return next((reason for name, reason in EXPECTED.items() if test.endswith(name)), None)


def pytest_configure(config):
    config.recorder = Recorder()
    config.recorder.watch()
    config.pluginmanager.register(config.recorder)


def pytest_collection_modifyitems(items):
    import pytest

    for item in items:
        if reason := expected(item.nodeid):
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


def pytest_unconfigure(config):
    Path(os.environ[REPORT]).write_text(json.dumps({"ran": config.recorder.ran, "tests": config.recorder.tests}))
