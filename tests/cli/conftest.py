"""A command line typed in a folder of its own, where there is a file of edges."""

import shlex

import dask
import pytest
from click.testing import CliRunner
from clusters import METHOD

from dgraph.cli.app import dgraph

EDGES = "src,dst,minutes\nann,bob,3\nann,cat,1\nbob,cat,4\neve,ann,1\n"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command line in a folder of its own; what it printed and its exit code."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "calls.csv").write_text(EDGES)

    def command(line, **how):
        with dask.config.set({METHOD: "spawn"}):  # workers that it starts begin as those of users do
            return CliRunner().invoke(dgraph, shlex.split(line), catch_exceptions=False, prog_name="dgraph", **how)

    return command
