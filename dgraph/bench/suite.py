"""A suite: a TOML file that says which operations run on which graphs, how often, and with which targets.

title, about        a line, and any number of lines
operations.NAME     options of an operation and of `dgraph.run`, whose values are flat keys here: `block_size = 64` for
                    `engine=BlockDescent(block_size=64)`; `operation` if NAME is not its name, `graphs` to use only some
                    graphs, `sources` for the number of source vertices, `trials`
graphs.NAME         `generate` or `file`, and the options of the generator or of `dgraph.read_edges`
settings.NAME       what to compare: options for every operation, or a different engine, policy and so on
engines, policies, devices, partitions, workers: lists; every combination is a case. 0 workers means this process
capacities          the speed of each partition's worker: a list, or "measure"; edges are split in proportion
threads, trials, warmups, build, collect
paper               `cite`, `where`, `says`
targets, plots      lists of tables; the last target is the main one, and its figure is the last line of output
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from statistics import harmonic_mean, median
from typing import Any

from dgraph.bench.plots import plot
from dgraph.bench.toml_table import TomlTable
from dgraph.errors import FileError, OptionError

SHIPPED = Path(__file__).parent / "suites"
AXES = ("operation", "graph", "engine", "policy", "device", "partitions", "workers", "setting")
LEAST = "least"  # in a ratio: among the other values of the axis, the one with the smallest figure
OVERS = ("mean", "worst", "best")
STATISTICS: dict[str, Callable[[list[float]], float]] = {
    "median": median,
    "harmonic": harmonic_mean,
    "least": min,
    "most": max,
}


@dataclass(frozen=True)
class GraphSpec:
    """A graph of a suite. `make` is the name of a generator, or "file"; `options` are its options."""

    name: str
    make: str
    options: dict[str, Any]
    title: str


@dataclass(frozen=True)
class OperationSpec:
    """An operation of a suite. `name` is its name in the suite; `sources` is the number of source vertices, one per
    trial."""

    name: str
    operation: str
    options: dict[str, Any]
    table: TomlTable
    graphs: tuple[str, ...] = ()
    sources: int = 0
    trials: int | None = None


@dataclass(frozen=True)
class Setting:
    """One of the choices to compare. `case` replaces the suite's engine, policy, capacities and so on."""

    table: TomlTable
    name: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    case: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Target:
    """A target for the `figure` of the cases selected by `where`, or for its ratio between two values of `axis`,
    combined by `over`."""

    figure: str
    what: str
    ratio: tuple[str, str] | None = None
    axis: str = "setting"
    where: dict[str, list[Any]] = field(default_factory=dict)
    over: str = "mean"  # how cases are combined: the geometric mean, the worst or the best
    statistic: str = "median"  # how the trials of a case are combined
    at_least: float | None = None
    at_most: float | None = None
    paper: str = ""


@dataclass(frozen=True)
class PlotSpec:
    """A plot of `plots/`, the trials to draw, and its options."""

    plot: str
    where: dict[str, list[Any]]
    options: dict[str, Any]


@dataclass(frozen=True)
class Suite:
    """A checked TOML file; every combination of what it lists is a case."""

    name: str
    path: Path
    title: str
    about: str
    paper: dict[str, str]
    graphs: dict[str, GraphSpec]
    operations: dict[str, OperationSpec]
    settings: dict[str, Setting]
    axes: dict[str, list[Any]]  # engines, policies, devices, partitions, workers
    capacities: Any
    threads: int | None  # threads of each worker process; by default the workers divide the cores
    trials: int
    warmups: int
    build: str  # "once" for all cases on the same partitions, or "each"
    collect: bool  # whether to time fetching the values into a pandas frame as well
    targets: list[Target]
    plots: list[PlotSpec]

    @property
    def replaced(self) -> set[str]:
        """The axes that settings replace."""
        return {axis for setting in self.settings.values() for axis in setting.case if axis in AXES}

    def on_cluster(self, workers: int) -> Suite:
        """The suite adapted to a cluster of `workers` workers, whatever the suite itself says about workers."""
        settings = {
            name: replace(one, case={axis: value for axis, value in one.case.items() if axis != "workers"})
            for name, one in self.settings.items()
        }
        return replace(self, axes={**self.axes, "workers": [workers]}, settings=settings)


def shipped() -> dict[str, str]:
    """The titles of the suites in the package, by name."""
    return {path.stem: tomllib.loads(path.read_text())["title"] for path in sorted(SHIPPED.glob("*.toml"))}


def open_suite(name: str) -> Suite:
    """A suite of the package by name, or of a TOML file by path."""
    path = SHIPPED / f"{name}.toml"
    if not path.exists():
        path = Path(name)
    if not path.is_file():
        known = ", ".join(one.stem for one in sorted(SHIPPED.glob("*.toml")))
        raise FileError("is neither the name of a suite nor a TOML file", path=name, remedy=f"the suites are {known}")
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileError(f"is not TOML: {error}", path=path) from error
    return _suite(path, content)


def _suite(path: Path, content: Mapping[str, Any]) -> Suite:
    top = TomlTable(path, "", content)
    graphs = {one.name: _graph(one) for one in top.tables("graphs", needed=True)}
    operations = {one.name: _operation(one, graphs) for one in top.tables("operations", needed=True)}
    settings = {one.name: _setting(one, operations) for one in top.tables("settings")} or {"": Setting(top)}
    axes = {
        "engine": top.listed("engines", str, ["auto"]),
        "policy": top.listed("policies", str, ["auto"]),
        "device": top.listed("devices", str, ["auto"]),
        "partitions": top.listed("partitions", int, [0]),
        "workers": top.listed("workers", int, [0]),
    }
    known = {"graph": graphs, "operation": operations, "setting": settings, **axes}
    suite = Suite(
        name=path.stem,
        path=path,
        title=top.take("title", str),
        about=top.take("about", str, "").strip(),
        paper={key: top.table("paper").take(key, str, "") for key in ("cite", "where", "says")},
        graphs=graphs,
        operations=operations,
        settings=settings,
        axes=axes,
        capacities=_capacities(top),
        threads=top.take("threads", int, None, least=1),
        trials=top.take("trials", int, 3, least=1),
        warmups=top.take("warmups", int, 1, least=0),
        build=top.take("build", str, "once", among=("once", "each")),
        collect=top.take("collect", bool, False),
        targets=[_target(one, known) for one in top.array("targets")],
        plots=[_plot(one, known) for one in top.array("plots")],
    )
    top.refuse_others(("paper", *(one.name for one in fields(Suite) if one.name not in ("name", "path", "axes"))))
    return suite


def _graph(table: TomlTable) -> GraphSpec:
    from dgraph.io.generate import GENERATORS

    make, file = table.take("generate", str, "", among=("", *GENERATORS)), table.take("file", str, "")
    if bool(make) == bool(file):
        remedy = f"generators are {', '.join(GENERATORS)}"
        table.refuse("generate", "needs exactly one of `generate` and `file`", remedy)
    title = table.take("title", str, table.name)
    options = table.rest()
    for name in ("policy", "parts", "client", "capacities"):
        if name in options:
            remedy = "set `policies`, `partitions` or `workers` at the top"
            table.refuse(name, "cannot be set for a single graph", remedy)
    if not make:
        options = {**options, "path": str(table.path.parent / file)}
    return GraphSpec(table.name, make or "file", options, title)


def _operation(table: TomlTable, graphs: Mapping[str, Any]) -> OperationSpec:
    import dgraph as dg
    from dgraph.testing.verify import VERIFIERS

    operation = table.take("operation", str, table.name, among=dg.ALL_OPERATIONS)
    if operation not in VERIFIERS:
        table.refuse("operation", f"{operation!r} has no verifier", f"choose from {', '.join(VERIFIERS)}")
    chosen = table.listed("graphs", str, list(graphs), among=tuple(graphs))
    sources = table.take("sources", int, 0, least=1)
    trials = table.take("trials", int, None, least=1)
    options = table.options()
    table.check_options(operation, options)
    if operation in ("bfs", "sssp") and not sources and "source" not in options:
        table.refuse("sources", f"{operation} needs a source vertex", "`sources = 1` draws one, `source = 7` names it")
    return OperationSpec(table.name, operation, options, table, tuple(chosen), sources, trials)


def _setting(table: TomlTable, operations: Mapping[str, OperationSpec]) -> Setting:
    case = {name: table.take(name, str) for name in ("engine", "policy", "device") if name in table.content}
    case |= {name: table.take(name, int, least=0) for name in ("partitions", "workers") if name in table.content}
    if "capacities" in table.content:
        case["capacities"] = _capacities(table)
    options = table.options()
    for one in operations.values():
        table.check_options(one.operation, options)
    return Setting(table, table.name, options, case)


def _capacities(table: TomlTable) -> Any:
    """The capacities in a table: None, "measure", or a tuple of numbers."""
    if isinstance(table.content.get("capacities", ""), str):
        return table.take("capacities", str, None, among=(None, "measure"))
    return tuple(table.listed("capacities", float, []))


def _target(table: TomlTable, known: Mapping[str, Any]) -> Target:
    axis = table.take("axis", str, "setting", among=AXES)
    ratio, text = None, table.take("ratio", str, "")
    if text:
        ratio = tuple(part.strip() for part in text.split("/"))
        values = [*(str(one) for one in known[axis]), LEAST]
        if len(ratio) != 2 or not set(ratio) <= set(values):
            table.refuse("ratio", f"{text!r} must name two values of {axis}", f'"A / B" of {", ".join(values)}')
    figure = table.take("figure", str)
    target = Target(
        figure=figure,
        what=table.take("what", str, f"{figure}, {text}" if text else figure),
        ratio=ratio,
        axis=axis,
        where=_where(table, known),
        over=table.take("over", str, "mean", among=OVERS),
        statistic=table.take("statistic", str, "median", among=tuple(STATISTICS)),
        at_least=table.take("at_least", float, None),
        at_most=table.take("at_most", float, None),
        paper=table.take("paper", str, ""),
    )
    table.refuse_others([one.name for one in fields(Target)])
    return target


def _plot(table: TomlTable, known: Mapping[str, Any]) -> PlotSpec:
    name = table.take("plot", str)
    try:
        plot(name)
    except OptionError as unknown:
        table.refuse("plot", str(unknown))
    where = _where(table, known)
    return PlotSpec(name, where, {key: value for key, value in table.rest().items() if key != "where"})


def _where(table: TomlTable, known: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The cases of a target or a plot: {axis: values}."""
    where = table.table("where")
    where.refuse_others(AXES)
    cases = {axis: values if isinstance(values, list) else [values] for axis, values in where.content.items()}
    for axis, values in cases.items():
        if missing := [one for one in values if one not in known[axis]]:
            where.refuse(axis, f"{missing[0]!r} is not in this suite", f"it has {', '.join(map(str, known[axis]))}")
    return cases
