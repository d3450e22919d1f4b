"""How little a command loads before it is told what to do, and no more than it needs then."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("command", "spared"),
    [
        ("--help", ("numba", "dask", "pandas", "pyarrow")),
        (
            "run pagerank --help",
            ("scipy.linalg", "distributed"),
        ),
    ],
)
def test_start_up_loads_only_what_it_needs(command, spared):
    code = (
        "import sys; from dgraph.cli.app import dgraph\n"
        f"dgraph({command.split()}, standalone_mode=False)\n"
        f"sys.exit(' '.join(name for name in {spared} if name in sys.modules) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
