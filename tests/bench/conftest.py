"""A suite of seconds, and what runs a command line."""

import shlex

import pytest
from click.testing import CliRunner

from dgraph.cli.app import dgraph

TINY = """
title = "A tiny suite"
about = "To see that all parts of a run fit together."
partitions = [2]
trials = 2

[paper]
cite = "Nobody, Nowhere"
where = "figure 0"
says = "Two are more than one."

[graphs.rmat]
generate = "rmat"
scale = 7
weights = [1, 9]

[graphs.grid]
generate = "grid"
rows = 8
cols = 9

[operations.hops]
operation = "bfs"
sources = 2

[operations.wcc]
graphs = ["grid"]

[settings.on]
[settings.off]
engine = "gas"
active_only = false

[[targets]]
what = "edges looked at, all vertices / active ones"
figure = "edges"
ratio = "off / on"
where = { operation = "hops" }
at_least = 1.0
paper = "more"

[[targets]]
figure = "rounds"
over = "worst"
at_most = 1000

[[plots]]
plot = "bars"
title = "Seconds"
"""


@pytest.fixture
def tiny(tmp_path):
    """The path of a suite."""
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    return path


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command line in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def command(line):
        return CliRunner().invoke(dgraph, shlex.split(line), catch_exceptions=False, prog_name="dgraph")

    return command
