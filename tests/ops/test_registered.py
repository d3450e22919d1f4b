"""Every operation is registered wherever it has to be: the failure lists the files that lack it, and what to add."""

import inspect
import re
from importlib.util import module_from_spec, spec_from_file_location
from math import inf
from pathlib import Path

import pytest
from click.testing import CliRunner
from test_semantics import ROWS, cells

import dgraph as dg
from dgraph.building.validation import REMARKS
from dgraph.cli.commands.run import command
from dgraph.cli.signatures import split_docstring
from dgraph.estimates.footprints import FOOTPRINTS
from dgraph.testing.verify import OPERATIONS

ROOT = Path(__file__).parents[2]
TESTS = dict.fromkeys(("core_number", "k_core"), "tests/ops/test_cores.py")  # by default test_NAME.py


def missing(name: str) -> list[str]:
    """What the project lacks for an operation, one file per line."""
    page = {row for operation, row in cells() if operation == name}
    rows = ", ".join(row for row in ("columns", "isolated vertex", *ROWS) if row not in page)
    operation = getattr(dg, name)
    described = {"graph", *split_docstring(operation)[1]}
    parameters = inspect.signature(operation).parameters.values()
    rest = [one.name for one in parameters if one.kind is one.VAR_KEYWORD]
    silent = [one.name for one in parameters if one.name not in (*described, *rest)]
    readme = (ROOT / "README.md").read_text().split("## Operations")[1].split("\n## ")[0]
    reference = (ROOT / "docs/reference/operations.md").read_text()
    oracle, cases = TESTS.get(name, f"tests/ops/test_{name}.py"), (ROOT / "tests/testing/test_verifiers.py").read_text()
    found = {
        f"dgraph/ops/{name}.py: the options by name, not as **{''.join(rest)}: see docs/add_operation.md": not rest,
        f"dgraph/ops/{name}.py: a docstring that describes every parameter, also {', '.join(silent)}": not silent,
        "dgraph/estimates/footprints.py: a row in FOOTPRINTS": name in FOOTPRINTS,
        "dgraph/building/validation.py: a row in REMARKS": name in REMARKS,
        "dgraph/testing/verify/__init__.py: a verifier, and its row in OPERATIONS": name in OPERATIONS,
        f"tests/testing/test_verifiers.py: a method {name} of Case": f"def {name}(self" in cases,
        f"{oracle}: tests against an independent oracle": (ROOT / oracle).exists(),
        f"docs/semantics.md: a column in one of the tables, with the rows {rows}": not rows,
        "docs/reference/operations.md: the name in one of the lists": f"\n   {name}\n" in reference,
        "README.md: the name in the table of operations": f"`{name}`" in readme,
    }
    return [what for what, there in found.items() if not there]


@pytest.mark.parametrize("name", dg.OPERATIONS)
def test_an_operation_is_registered_everywhere(name):
    lacking = missing(name)
    assert not lacking, f"{name} is missing in:\n  " + "\n  ".join(lacking)


def test_nothing_is_registered_that_is_no_operation():
    kinds = {f"{kind}_{name}" for kind in ("weighted", "sketched") for name in dg.OPERATIONS}
    assert {*FOOTPRINTS} - {"build", "factorize", "triad_census"} - kinds <= {*dg.OPERATIONS}
    assert {*REMARKS, *OPERATIONS} <= {*dg.OPERATIONS}


def test_every_missing_file_is_named(monkeypatch):
    monkeypatch.setattr(dg, "nothing", lambda graph, depth: None, raising=False)
    assert [line.split(":")[0] for line in missing("nothing")] == [
        "dgraph/ops/nothing.py",
        "dgraph/estimates/footprints.py",
        "dgraph/building/validation.py",
        "dgraph/testing/verify/__init__.py",
        "tests/testing/test_verifiers.py",
        "tests/ops/test_nothing.py",
        "docs/semantics.md",
        "docs/reference/operations.md",
        "README.md",
    ]


def test_the_operation_of_the_docs_runs_and_has_help(tmp_path, monkeypatch):
    """As a newcomer copies it from docs/add_operation.md, before its docstring has all sections."""
    page = (ROOT / "docs/add_operation.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    (block,) = [one for one in blocks if "@operation" in one]
    path = tmp_path / "widest_path.py"
    path.write_text(block)
    spec = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(dg, path.stem, module.widest_path, raising=False)
    monkeypatch.setattr(dg, "ALL_OPERATIONS", (path.stem,))
    graph = dg.Graph.from_edges({"src": ["a", "a", "b"], "dst": ["b", "c", "c"], "w": [4.0, 1.0, 3.0]}, weight="w")
    assert dg.widest_path(graph, "a", engine="bsp").compute()["width"].tolist() == [inf, 4.0, 3.0]
    told = CliRunner().invoke(command, ["widest-path", "--help"], catch_exceptions=False)
    assert "--source-vertex" in told.output
    assert missing("widest_path")[0].endswith("also source, engine, device, daemons, checkpoint, progress")
    options, usual = (str(inspect.signature(one)).partition("*, ")[2] for one in (dg.widest_path, dg.degrees))
    assert options == usual
