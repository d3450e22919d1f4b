"""Imports go down only, and Dask stays where the design puts it: proved from the source, without importing it."""

import ast
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# The rooms from the ground up: a module may import its own room and those below. Rooms within a room (partition/ids,
# solvers/paths, io/text ...) stand where the one around them stands.
ROOMS = [
    # what everything stands on
    "dgraph.errors",
    "dgraph.phrases",
    "dgraph.options",
    "dgraph.native",
    # what a program is and means; edges at rest
    "dgraph.programs",
    "dgraph.frames",
    "dgraph.partition",
    # kernels, generated from a program or written by hand, and the arrays that they read
    "dgraph.codegen",
    "dgraph.tables",
    "dgraph.solvers",
    # who runs kernels
    "dgraph.pipeline",
    "dgraph.devices",
    "dgraph.agents",
    # what is kept of a run, and messages between partitions
    "dgraph.checkpoint",
    "dgraph.exchange",
    # a partition while a program runs, and the order in which vertices fire; these know neither device nor transport
    "dgraph.vertex_state",
    "dgraph.engines",
    "dgraph.plan",
    # the workers, and a graph on them
    "dgraph.cluster",
    "dgraph.building",
    "dgraph.estimates",
    "dgraph.graph",
    # a run
    "dgraph.supersteps",
    "dgraph.cugraph",
    "dgraph.runs",
    # what users call, and the public names, looked up when they are first used
    "dgraph.testing",
    "dgraph.io",
    "dgraph.ops",
    "dgraph",
    # the command line, which calls them, and benchmarks
    "dgraph.bench",
    "dgraph.graphalytics",
    "dgraph.cli",
    "dgraph.__main__",
]
LAYERS = {room: layer for layer, room in enumerate(ROOMS, 1)}

# Imports that still climb: a module, and what it imports from a room above. Pay one and strike it; add none.
DEBTS = {
    # pipeline and devices need agents for one number, BUFFERS: it belongs to the stages
    ("dgraph.pipeline.stages", "dgraph.agents.daemon"),
    ("dgraph.devices.edge_blocks", "dgraph.agents.daemon"),
    # workers are asked how fast they are, by a run: `capacities`, imported when it is called
    ("dgraph.cluster.abilities", "dgraph.estimates.calibration"),
    # building and estimates need the Graph that is made of them: to open and to save one, and as the type of arguments
    ("dgraph.building.saved_graph", "dgraph.graph"),
    ("dgraph.building.graph_writer", "dgraph.graph"),
    ("dgraph.building.graph_frames", "dgraph.graph"),  # a type
    ("dgraph.building.validation", "dgraph.graph"),  # a type
    ("dgraph.estimates.estimate", "dgraph.graph"),  # a type
    ("dgraph.estimates.memory_check", "dgraph.graph"),  # a type
    ("dgraph.estimates.sample", "dgraph.graph"),  # a type
    ("dgraph.estimates.forecast", "dgraph.graph"),
}

DASK = {"dask", "distributed"}
MAY_IMPORT_DASK = {
    "dgraph.cluster",
    "dgraph.building",
    "dgraph.estimates",
    "dgraph.graph",
    "dgraph.supersteps",
    "dgraph.cugraph",
    "dgraph.runs",
    "dgraph.io",
    "dgraph.testing",  # clusters for tests
    "dgraph.bench.local_cluster",  # those of benchmarks
    "dgraph.cli.place",  # clients for --cluster and --workers
    "dgraph.exchange.dask",
    "dgraph.exchange.wire_format",  # the parts of that transport: messages as frames,
    "dgraph.exchange.run_registry",  # and its half on the scheduler
}


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


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
    assert here is not None, f"{name} has no layer: list it in ROOMS"
    for target, line in imported(ast.walk(ast.parse(text))):
        top = target.split(".")[0]
        if top == "dgraph":
            there = layer_of(target)
            if (there is None or there > here) and (name, target) not in DEBTS:
                found.append(f"{name}, line {line}: layer {here} imports {target} of layer {there}")
        elif top in DASK and not within(name, MAY_IMPORT_DASK):
            found.append(f"{name}, line {line}: imports {target}; MAY_IMPORT_DASK says who may")
    return found


@pytest.mark.tiny
def test_every_module_has_a_layer():
    assert [name for name in MODULES if layer_of(name) is None] == [], "list these in ROOMS"


@pytest.mark.tiny
def test_imports_go_down_and_dask_stays_in_its_place():
    assert [line for name, path in MODULES.items() for line in climbs(name, path.read_text())] == []


@pytest.mark.tiny
def test_debts_are_still_owed():
    owed = {(name, target) for name, path in MODULES.items() for target, _ in imported(ast.walk(parsed(path)))}
    assert [debt for debt in DEBTS if debt not in owed] == [], "these are paid: strike them"


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
        name: {target for target, _ in imported(at_load(parsed(path))) if target in MODULES} - {name}
        for name, path in MODULES.items()
    }
    assert list(TopologicalSorter(graph).static_order())  # raises CycleError, which names the cycle


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("dgraph.partition.ids.bitmaps", "from dgraph.graph import Graph"),
        ("dgraph.partition.ids.bitmaps", "from dgraph import graph"),
        ("dgraph.errors", "def f():\n    import dgraph"),
        ("dgraph.programs.program", "if TYPE_CHECKING:\n    from dgraph.partition import build_kernels"),
        ("dgraph.graph", "from dgraph.io.generate import Rmat"),
        ("dgraph.graph", "import dgraph.nowhere"),
        ("dgraph.frames.sources", "import dask.dataframe as dd"),
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
        ("dgraph.io.lazy_edges", "from dgraph.graph import Graph\nimport dask"),
        ("dgraph.exchange.dask", "import distributed\nfrom dgraph.partition.partition import Partition"),
    ],
)
def test_an_import_that_goes_down_is_not(name, text):
    assert climbs(name, text) == []
