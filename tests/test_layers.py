"""Imports go down only, and Dask stays where the design puts it: proved from the source, without importing it."""

import ast
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# A folder's layer is that of every module in it. A module may import its own layer and those below.
LAYERS = {
    # 1  what a program is and means
    "dgraph.errors": 1,
    "dgraph.garbage": 1,
    "dgraph.randomness": 1,
    "dgraph.monoid": 1,
    "dgraph.options": 1,
    "dgraph.program": 1,
    "dgraph.coherence": 1,
    "dgraph.names": 1,
    "dgraph.syntax": 1,
    "dgraph.definition": 1,
    "dgraph.resolver": 1,
    "dgraph.functions": 1,
    "dgraph.reads": 1,
    "dgraph.analysis": 1,
    "dgraph.suitability": 1,
    "dgraph.reference": 1,
    "dgraph.laws": 1,
    "dgraph.exact": 1,
    "dgraph.machine_code": 1,
    "dgraph.wording": 1,
    # 2  edges at rest, proxies, address tables
    "dgraph.partition": 2,
    # 3  who runs blocks, and kernels generated from a program
    "dgraph.codegen": 3,
    "dgraph.devices": 3,
    "dgraph.agents": 3,
    "dgraph.solvers": 3,
    # 4  a partition being run, and messages between partitions
    "dgraph.states": 4,
    "dgraph.exchange": 4,
    "dgraph.checkpoint": 4,
    # 5  loops of a few lines; know neither device nor transport
    "dgraph.engines": 5,
    # 6  the doors into execution
    "dgraph.building": 6,
    "dgraph.estimates": 6,
    "dgraph.graph": 6,
    "dgraph.plan": 6,
    "dgraph.homes": 6,
    "dgraph.recovery": 6,
    "dgraph.runs": 6,
    "dgraph.task": 6,
    "dgraph.waiting": 6,
    "dgraph.current_client": 6,
    "dgraph.staying": 6,
    "dgraph.abilities": 6,
    "dgraph.workers": 6,
    # 7  what users call
    "dgraph.io": 7,
    "dgraph.ops": 7,
    "dgraph.testing": 7,
    # the public names, looked up when they are first used
    "dgraph": 8,
    # the command line, which calls them, and benchmarks
    "dgraph.bench": 9,
    "dgraph.cli": 9,
    "dgraph.graphalytics": 9,
    "dgraph.__main__": 9,
}

DASK = {"dask", "distributed"}
MAY_IMPORT_DASK = {
    "dgraph.io",
    "dgraph.cli.place",  # clients for --cluster and --workers
    "dgraph.bench.place",  # those of benchmarks
    "dgraph.testing",  # clusters for tests
    "dgraph.exchange.dask",
    "dgraph.exchange.client",
    "dgraph.exchange.frames",  # the parts of that transport: messages as frames,
    "dgraph.exchange.registry",  # and its half on the scheduler
} | {name for name, layer in LAYERS.items() if layer == 6}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted((ROOT / "dgraph").rglob("*.py"))}


def within(name: str, folders: set[str]) -> bool:
    return any(name == folder or name.startswith(f"{folder}.") for folder in folders)


def layer_of(name: str) -> int | None:
    """The layer of the module or of the folder it is in; none for a module that is not listed."""
    if name == "dgraph":
        return LAYERS[name]
    return next((layer for folder, layer in LAYERS.items() if folder != "dgraph" and within(name, {folder})), None)


def imported(nodes: Iterator[ast.AST]) -> Iterator[tuple[str, int]]:
    """Every module that is imported, whole name and line; `from a import b` imports a.b where that is a module."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((name.name, node.lineno) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"line {node.lineno}: write imports with the whole name, they are easier to search"
            for name in node.names:
                inner = f"{node.module}.{name.name}"
                yield (inner if inner in MODULES else str(node.module)), node.lineno


def at_load(node: ast.AST) -> Iterator[ast.AST]:
    """The statements that run when a module is loaded."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        yield child
        yield from at_load(child)


def climbs(name: str, text: str) -> list[str]:
    """The imports of a module that go up, or to Dask where Dask is not allowed."""
    here, found = layer_of(name), []
    assert here is not None, f"{name} has no layer: list it in LAYERS"
    for target, line in imported(ast.walk(ast.parse(text))):
        top = target.split(".")[0]
        if top == "dgraph":
            there = layer_of(target)
            if there is None or there > here:
                found.append(f"{name}, line {line}: layer {here} imports {target} of layer {there}")
        elif top in DASK and not within(name, MAY_IMPORT_DASK):
            found.append(f"{name}, line {line}: imports {target}; Dask lives in layer 6, io and exchange/dask")
    return found


@pytest.mark.tiny
def test_every_module_has_a_layer():
    assert [name for name in MODULES if layer_of(name) is None] == [], "list these in LAYERS"


@pytest.mark.tiny
def test_imports_go_down_and_dask_stays_in_its_place():
    assert [line for name, path in MODULES.items() for line in climbs(name, path.read_text())] == []


def type_names(text: str) -> Iterator[tuple[str, str]]:
    """The classes and the names of types that a module defines, and what each is: a class is itself alone."""
    for one in ast.parse(text).body:
        if isinstance(one, ast.ClassDef):
            yield one.name, f"a class in line {one.lineno}"
        elif isinstance(one, ast.Assign | ast.AnnAssign) and one.value is not None:
            targets = one.targets if isinstance(one, ast.Assign) else [one.target]
            for target in targets:
                if isinstance(target, ast.Name) and target.id[0].isupper() and not target.id.isupper():
                    yield target.id, ast.unparse(one.value)


def twice(texts: Mapping[str, str]) -> dict[str, set[str]]:
    """Names of types that mean two things, and where: public ones and others alike."""
    homes: dict[str, dict[str, str]] = {}
    for name, text in texts.items():
        for one, means in type_names(text):
            homes.setdefault(one, {})[name] = means if not means.startswith("a class") else f"{means} of {name}"
    return {one: set(found) for one, found in homes.items() if len(set(found.values())) > 1}


def test_a_name_of_a_type_means_one_thing():
    assert twice({name: path.read_text() for name, path in MODULES.items()}) == {}


def test_a_name_that_means_two_things_is_found():
    texts = {"a": "class State: ...", "b": "class State: ...", "c": "Mail = list[int]", "d": "class Mail: ..."}
    assert twice(texts) == {"State": {"a", "b"}, "Mail": {"c", "d"}}
    assert twice({"a": "Columns = dict[str, int]\nclass Other: ...", "b": "Columns = dict[str, int]\nMAIL = 1"}) == {}


def test_no_module_needs_itself_to_load():
    graph = {
        name: {target for target, _ in imported(at_load(ast.parse(path.read_text()))) if target in MODULES} - {name}
        for name, path in MODULES.items()
    }
    assert list(TopologicalSorter(graph).static_order())  # raises CycleError, which names the cycle


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("dgraph.partition.ranks", "from dgraph.graph import Graph"),
        ("dgraph.partition.ranks", "from dgraph import graph"),
        ("dgraph.errors", "def f():\n    import dgraph"),
        ("dgraph.program", "if TYPE_CHECKING:\n    from dgraph.partition import kernels"),
        ("dgraph.graph", "from dgraph.io.generate import Rmat"),
        ("dgraph.graph", "import dgraph.nowhere"),
        ("dgraph.partition.source", "import dask.dataframe as dd"),
        ("dgraph.exchange.local", "from distributed import Client"),
        ("dgraph.ops.pagerank", "def f():\n    import dask"),
    ],
)
def test_an_import_that_climbs_is_found(name, text):
    assert len(climbs(name, text)) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("dgraph.graph", "from dgraph import errors, plan"),
        ("dgraph.graph", "import dask.dataframe, numpy"),
        ("dgraph.io.lazy", "from dgraph.graph import Graph\nimport dask"),
        ("dgraph.exchange.dask", "import distributed\nfrom dgraph.partition.partition import Partition"),
    ],
)
def test_an_import_that_goes_down_is_not(name, text):
    assert climbs(name, text) == []
