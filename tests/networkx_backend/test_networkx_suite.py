"""NetworkX's own tests on the backend: those of the announced functions, each of which must really run."""

import networkx_suite
import pytest


@pytest.mark.filterwarnings("default")
def test_networkx_s_own_tests_pass_and_every_function_runs(capfd):
    ran = networkx_suite.run_suite(list(networkx_suite.PART), fallback=True, options=["-x", *networkx_suite.QUICK])
    assert networkx_suite.never_ran(ran) == []
