"""Imports go down only, and Dask stays where the design puts it: proved from the source, without importing it."""

import ast
import re
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from rooms import room_map

ROOT = Path(__file__).parents[1]

# The rooms from the ground up: a module may import its own room and those above it in this list. Rooms within a room
# (partition/ids, solvers/paths, io/text ...) stand where the one around them stands.
ROOMS = (
    # what everything stands on
    "dgraph.phrases",
    "dgraph.errors",
    "dgraph.native",
    "dgraph.arguments",
    "dgraph.options",
    "dgraph.keywords",
    # what a program is and means; edges at rest
    "dgraph.programs",
    "dgraph.frames",
    "dgraph.partition",
    # what notebooks show
    "dgraph.display",
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
    "dgraph.dashboard",
    "dgraph.exchange",
    # a partition while a program runs, and the order in which vertices fire; these know neither device nor transport
    "dgraph.vertex_state",
    "dgraph.engines",
    # the workers, the steps that they take together, and a graph on them
    "dgraph.cluster",
    "dgraph.supersteps",
    "dgraph.estimates",
    "dgraph.building",
    "dgraph.changes",
    # a run
    "dgraph.cugraph",
    "dgraph.runs",
    # what users call, and the public names, looked up when they are first used
    "dgraph.graph",
    "dgraph.io",
    "dgraph.communities",
    "dgraph.factors",
    "dgraph.ops",
    "dgraph.subgraphs",
    "dgraph.measures",
    "dgraph.walks",
    "dgraph.trees",
    "dgraph.networkx_backend",
    "dgraph.testing",
    "dgraph",
    # benchmarks and the command line, which call them
    "dgraph.bench",
    "dgraph.graphalytics",
    "dgraph.cli",
    "dgraph.__main__",
)
NUMBERS = {room: number for number, room in enumerate(ROOMS, 1)}

DASK = {"dask", "distributed"}
MAY_IMPORT_DASK = {
    "dgraph.io",
    "dgraph.cli.forecast",
    "dgraph.cli.place",  # clients for --cluster and --workers
    "dgraph.bench.local_cluster",  # those of benchmarks
    "dgraph.testing",  # clusters for tests
    "dgraph.exchange.dask",
    "dgraph.exchange.run_registry",  # the half of that transport on the scheduler
    "dgraph.cluster",
    "dgraph.estimates",
    "dgraph.building",
    "dgraph.changes",
    "dgraph.supersteps",
    "dgraph.cugraph",
    "dgraph.runs",
    "dgraph.graph",
}
# Imports that wait inside a function, below the command line: for what they cost, never to hide a circle.
DEFERRED = {
    # `import dgraph` itself loads nothing
    ("dgraph", "dgraph.phrases.suggestions"),
    ("dgraph", "dgraph.native.garbage"),
    # distributed: a quarter of a second where there is no cluster
    ("dgraph.cluster.scheduler", "dgraph.exchange.dask"),
    ("dgraph.cluster.scheduler", "dgraph.exchange.run_registry"),
    ("dgraph.supersteps.run_steps", "dgraph.supersteps.mail_graph"),
    ("dgraph.supersteps.run_steps", "dgraph.supersteps.step_graph"),
    ("dgraph.testing", "dgraph.testing.clusters"),
    # Bokeh: a second on the scheduler, once somebody looks
    ("dgraph.exchange.run_registry", "dgraph.dashboard.live_charts"),
    # what edges beyond memory need
    ("dgraph.building.input_edges", "dgraph.building.spread_stream"),
    # programs, kernels and daemons, which measure how fast workers are, if that is asked for
    ("dgraph.cluster.shares", "dgraph.cluster.calibration"),
    # what many workers need
    ("dgraph.building.assembly", "dgraph.building.delivery"),
    # the laws of programs that have not been tried
    ("dgraph.programs.sends", "dgraph.programs.law_trials"),
    ("dgraph.runs.law_checks", "dgraph.programs.fixed_point"),
    ("dgraph.runs.law_checks", "dgraph.programs.law_trials"),
    ("dgraph.runs.law_checks", "dgraph.programs.laws"),
    # kernels that repair an earlier answer, if there is one
    ("dgraph.runs.continuation", "dgraph.runs.repairs"),
    # what notebooks and plots show
    ("dgraph.building.validation", "dgraph.display.cards"),
    ("dgraph.estimates.estimate", "dgraph.display.cards"),
    ("dgraph.building.build_report", "dgraph.display.plot_style"),
    ("dgraph.building.graph_display", "dgraph.display.cards"),
    ("dgraph.building.graph_display", "dgraph.display.graph_plot"),
    ("dgraph.runs.progress", "dgraph.display.notebook_output"),
    ("dgraph.runs.result_display", "dgraph.display.cards"),
    ("dgraph.runs.result_display", "dgraph.display.column_counts"),
    ("dgraph.runs.result_display", "dgraph.display.result_plot"),
    ("dgraph.runs.run_report", "dgraph.display.cards"),
    ("dgraph.runs.run_report", "dgraph.display.report_plot"),
    # readers, writers and reports that most runs do not use
    ("dgraph.graph", "dgraph.changes.update"),
    ("dgraph.graph", "dgraph.changes.versions"),
    ("dgraph.graph", "dgraph.building.validation"),
    ("dgraph.graph", "dgraph.estimates.estimate"),
    ("dgraph.graph", "dgraph.runs.saved_results"),
    ("dgraph.io.graphs", "dgraph.building.graph_writer"),
    ("dgraph.io.graphs", "dgraph.changes.versions"),
    ("dgraph.io.graphs", "dgraph.runs.saved_results"),
    ("dgraph.io.graphs", "dgraph.io.cudf_reader"),
    ("dgraph.io.graphs", "dgraph.io.declared_sizes"),
    ("dgraph.io.graphs", "dgraph.io.paths"),
    ("dgraph.io.graphs", "dgraph.io.lazy_edges"),
    ("dgraph.io.graphs", "dgraph.io.formats"),
}
COMMAND_LINE = {"dgraph.cli", "dgraph.bench", "dgraph.graphalytics"}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted((ROOT / "dgraph").rglob("*.py"))}


def within(name: str, folders: set[str]) -> bool:
    return any(name == folder or name.startswith(f"{folder}.") for folder in folders)


def number_of(name: str) -> int | None:
    """The number of the room that a module is in; None if that room is not listed."""
    rooms = [room for room in ROOMS if room == name or (room != "dgraph" and name.startswith(f"{room}."))]
    return NUMBERS[max(rooms, key=len)] if rooms else None


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


def for_types(node: ast.AST) -> Iterator[ast.AST]:
    """The statements that only a type checker reads."""
    for child in ast.walk(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            yield from child.body


def at_run_time(text: str) -> Iterator[ast.AST]:
    """Every node of a module but those for types."""
    tree = ast.parse(text)
    types = set(for_types(tree))
    return (node for node in ast.walk(tree) if node not in types)


def climbs(name: str, text: str) -> list[str]:
    """The imports of a module that go up, or to Dask where Dask is not allowed."""
    here, found = number_of(name), []
    assert here is not None, f"{name} is in no room: list it in ROOMS"
    for target, line in imported(at_run_time(text)):
        top = target.split(".")[0]
        if top == "dgraph":
            there = number_of(target) if target in MODULES else None
            if there is None or there > here:
                found.append(f"{name}, line {line}: room {here} imports {target} of room {there}")
        elif top in DASK and not within(name, MAY_IMPORT_DASK):
            found.append(f"{name}, line {line}: imports {target}; Dask lives in dgraph.cluster and the rooms above it")
    return found


def deferred(text: str) -> set[str]:
    """The modules that are imported inside functions."""
    tree = ast.parse(text)
    elsewhere = {*at_load(tree), *for_types(tree)}
    return {target for target, _ in imported(node for node in ast.walk(tree) if node not in elsewhere)}


@pytest.mark.tiny
def test_every_module_belongs_to_a_layer():
    assert [name for name in MODULES if number_of(name) is None] == [], "list these in ROOMS"


@pytest.mark.tiny
def test_the_root_holds_at_most_eight_modules():
    root = [name for name in MODULES if name.count(".") == 1 and MODULES[name].name != "__init__.py"]
    assert len(root) + 1 <= 8, root


@pytest.mark.tiny
def test_every_package_has_a_docstring():
    folders = {path.parent for path in MODULES.values()}
    silent = [
        folder.name for folder in folders if not ast.get_docstring(ast.parse((folder / "__init__.py").read_text()))
    ]
    assert silent == []


def test_contributing_lists_every_package():
    lines = (ROOT / "CONTRIBUTING.md").read_text().splitlines()
    assert [line for line in lines if line.startswith("* `") and "/`: " in line] == room_map()


@pytest.mark.tiny
def test_imports_go_down_and_dask_stays_in_its_place():
    assert [line for name, path in MODULES.items() for line in climbs(name, path.read_text())] == []


def rows_of_the_table() -> list[set[str]]:
    """The folders in each row of the table in docs/how_it_works.md, the lowest row first."""
    page = (ROOT / "docs" / "how_it_works.md").read_text()
    section = page[page.index("## Where things are") :].partition("\n## ")[0]
    rows = [set(re.findall(r"`(\w+)/`", line)) for line in section.splitlines() if line.startswith("|")]
    return [row for row in reversed(rows) if row]


def row_of(name: str) -> int | None:
    """The row of the table that a module's folder is in; None for the modules of the root, which are in no row."""
    folder = [*name.split("."), ""][1]
    return next((number for number, row in enumerate(rows_of_the_table()) if folder in row), None)


@pytest.mark.tiny
def test_how_it_works_lists_every_folder_once():
    listed = sorted(folder for row in rows_of_the_table() for folder in row)
    rooms = {room.split(".")[1] for room in ROOMS if "." in room}
    assert listed == sorted(room for room in rooms if (ROOT / "dgraph" / room).is_dir())
    assert set(listed) == {path.parent.name for path in (ROOT / "dgraph").glob("*/__init__.py")}


def test_imports_go_down_the_table_of_how_it_works():
    rows = {name: row_of(name) for name in MODULES}
    up = [
        f"{name}, line {line}: imports {target}"
        for name, path in MODULES.items()
        for target, line in imported(at_run_time(path.read_text()))
        if target in MODULES and None not in (rows[name], rows[target]) and rows[name] < rows[target]
    ]
    assert up == []


def test_how_it_works_says_where_dask_is_known():
    """To all folders of the second and third row, but to none of the lower ones except a part of `exchange/`."""
    *lower, graph, run, _ = rows_of_the_table()
    assert {f"dgraph.{folder}" for folder in run | graph} <= MAY_IMPORT_DASK
    others = {room.split(".")[1] for room in MAY_IMPORT_DASK} & set.union(*lower)
    assert others == {"exchange"} and "dgraph.exchange" not in MAY_IMPORT_DASK


def test_imports_inside_functions_are_listed():
    found = {
        (name, target)
        for name, path in MODULES.items()
        if not within(name, COMMAND_LINE)
        for target in deferred(path.read_text())
        if target in MODULES
    }
    assert found == DEFERRED


def test_no_two_modules_need_each_other():
    """Imports inside functions count as well; those for types alone do not."""
    graph = {
        name: {target for target, _ in imported(at_run_time(path.read_text())) if target in MODULES} - {name}
        for name, path in MODULES.items()
    }
    assert list(TopologicalSorter(graph).static_order())  # raises CycleError, which names the circle


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


# What a class is called that is no thing: a participle or a bare adjective.
NO_NOUN = re.compile(
    r"(?:(?<!e)ed|ing|(?<!T)able|ible|less|ful|ous)$|^(?:Absent|Few|Found|Free|Given|Held|Kept|Own|Told|Whole)$"
)
# A mixin is called for what it makes of a class; the others are nouns.
NOUNS = {"NotPicklable", "Drawing", "Encoding", "Matching", "Numbering", "Setting"}


def is_no_noun(name: str) -> bool:
    return name not in NOUNS and not name.endswith(("Error", "Warning")) and bool(NO_NOUN.search(name.strip("_")))


def test_classes_are_called_by_nouns():
    classes = {
        one.name: name
        for name, path in MODULES.items()
        for one in ast.walk(ast.parse(path.read_text()))
        if isinstance(one, ast.ClassDef)
    }
    assert [f"{name}: class {one}" for one, name in classes.items() if is_no_noun(one)] == []
    assert [one for one in NOUNS if one not in classes] == [], "strike these"


def test_nothing_reads_the_client_s_cache_of_workers():
    """A thread of the client empties it every two seconds, so a reader finds no workers now and then."""
    sources = [*MODULES.values(), *(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    assert [str(path) for path in sources if re.search(r"\.scheduler_info\(", path.read_text())] == []


@pytest.mark.parametrize("name", ["Asked", "Held", "Running", "Few", "_Checked", "RunSettling", "Staying", "Movable"])
def test_a_class_that_is_no_noun_is_found(name):
    assert is_no_noun(name)


def test_a_name_that_means_two_things_is_found():
    texts = {"a": "class State: ...", "b": "class State: ...", "c": "Mail = list[int]", "d": "class Mail: ..."}
    assert twice(texts) == {"State": {"a", "b"}, "Mail": {"c", "d"}}
    assert twice({"a": "Columns = dict[str, int]\nclass Other: ...", "b": "Columns = dict[str, int]\nMAIL = 1"}) == {}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("dgraph.partition.ids.bitmaps", "from dgraph.graph import Graph"),
        ("dgraph.partition.ids.bitmaps", "from dgraph import graph"),
        ("dgraph.errors", "def f():\n    import dgraph"),
        ("dgraph.programs.program", "from dgraph.partition import build_kernels as kernels"),
        ("dgraph.graph", "from dgraph.io.generate import Rmat"),
        ("dgraph.graph", "import dgraph.nowhere"),
        ("dgraph.frames.sources", "import dask.dataframe as dd"),
        ("dgraph.exchange.local", "from distributed import Client"),
        ("dgraph.ops.pagerank", "def f():\n    import dask"),
    ],
)
def test_an_upward_import_is_found(name, text):
    assert len(climbs(name, text)) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("dgraph.graph", "from dgraph import arguments, errors"),
        ("dgraph.graph", "import dask.dataframe, numpy"),
        ("dgraph.programs.program", "if TYPE_CHECKING:\n    from dgraph.partition import build_kernels as kernels"),
        ("dgraph.io.lazy_edges", "from dgraph.graph import Graph\nimport dask"),
        ("dgraph.exchange.dask", "import distributed\nfrom dgraph.partition.partition import Partition"),
    ],
)
def test_a_downward_import_is_not_reported(name, text):
    assert climbs(name, text) == []
