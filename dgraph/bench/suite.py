"""A suite: a TOML file that says what runs on what, how often, and what must come of it.

title, about        a line, and as many as you like
operations.NAME     options of an operation; `operation` where NAME is another, `graphs` for some graphs only,
                    `sources` for trials from so many vertices, `trials`
graphs.NAME         `generate` or `file`, and the options of the generator or of `dgraph.read_edges`
settings.NAME       what is compared: options for every operation, or an engine, policy ... of its own
engines, policies, devices, partitions, workers: lists; every combination is a case. 0 workers are this process
capacities          how fast each partition's worker is: a list, or "measure"; edges are split in proportion
threads, trials, warmups, build, collect
paper               `cite`, `where`, `says`
targets, plots      lists of tables; the last target is what the suite is about, and its figure the last line
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from statistics import harmonic_mean, median
from typing import Any

from dgraph.bench.toml_table import TomlTable
from dgraph.errors import FileError, OptionError

SHIPPED = Path(__file__).parent / "suites"
AXES = ("operation", "graph", "engine", "policy", "device", "partitions", "workers", "setting")
LEAST = "least"  # in a ratio: the other value of the axis that has the least figure
OVERS = ("mean", "worst", "best")
STATISTICS: dict[str, Callable[[list[float]], float]] = {
    "median": median,
    "harmonic": harmonic_mean,
    "least": min,
    "most": max,
}


@dataclass(frozen=True)
class GraphSpec:
    """`make` is a generator's name, or "file"; `options` are its own."""

    name: str
    make: str
    options: dict[str, Any]
    title: str


@dataclass(frozen=True)
class OperationSpec:
    """`name` is what the suite calls it; `sources` is how many vertices paths begin at, one a trial."""

    name: str
    operation: str
    options: dict[str, Any]
    graphs: tuple[str, ...] = ()
    sources: int = 0
    trials: int | None = None


@dataclass(frozen=True)
class Setting:
    """What is compared with others; `case` replaces the engine, policy, capacities ... of the suite."""

    name: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    case: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Target:
    """`figure` of the cases that are `where`, or the ratio of it between two values of `axis`; `over` those cases."""

    figure: str
    what: str
    ratio: tuple[str, str] | None = None
    axis: str = "setting"
    where: dict[str, list[Any]] = field(default_factory=dict)
    over: str = "mean"  # of the cases: the geometric mean, the worst or the best
    statistic: str = "median"  # of a case's trials
    at_least: float | None = None
    at_most: float | None = None
    paper: str = ""


@dataclass(frozen=True)
class PlotSpec:
    """A file of `plots/`, the trials that it draws, and its options."""

    plot: str
    where: dict[str, list[Any]]
    options: dict[str, Any]


@dataclass(frozen=True)
class Suite:
    """A TOML file, checked: every combination of what it lists is a case."""

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
    threads: int | None  # of each worker process; by default the cores are shared out
    trials: int
    warmups: int
    build: str  # "once" for all cases on the same partitions, or "each"
    collect: bool  # time also how long it takes until the values are in a pandas frame
    targets: list[Target]
    plots: list[PlotSpec]

    @property
    def replaced(self) -> set[str]:
        """The axes on which settings have values of their own."""
        return {axis for setting in self.settings.values() for axis in setting.case if axis in AXES}


def shipped() -> dict[str, str]:
    """The title of each suite of the package, by its name."""
    return {path.stem: tomllib.loads(path.read_text())["title"] for path in sorted(SHIPPED.glob("*.toml"))}


def open_suite(name: str) -> Suite:
    """A suite of the package by its name, or that of a TOML file by its path."""
    path = SHIPPED / f"{name}.toml"
    if not path.exists():
        path = Path(name)
    if not path.is_file():
        known = ", ".join(one.stem for one in sorted(SHIPPED.glob("*.toml")))
        raise FileError("is neither a suite nor a TOML file", path=name, remedy=f"the suites are {known}")
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileError(f"is not TOML: {error}", path=path) from error
    return _suite(path, content)


def _suite(path: Path, content: Mapping[str, Any]) -> Suite:
    top = TomlTable(path, "", content)
    graphs = {one.name: _graph(one) for one in top.tables("graphs", needed=True)}
    operations = {one.name: _operation(one, graphs) for one in top.tables("operations", needed=True)}
    settings = {one.name: _setting(one, operations) for one in top.tables("settings")} or {"": Setting()}
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
        table.refuse("generate", "says where edges come from", f"one of {', '.join(GENERATORS)}, or a `file` instead")
    title = table.take("title", str, table.name)
    options = table.rest()
    for name in ("policy", "parts", "client", "capacities"):
        if name in options:
            table.refuse(name, "is said for all graphs", "`policies`, `partitions` or `workers` at the top")
    if not make:
        options = {**options, "path": str(table.path.parent / file)}
    return GraphSpec(table.name, make or "file", options, title)


def _operation(table: TomlTable, graphs: Mapping[str, Any]) -> OperationSpec:
    import dgraph as dg
    from dgraph.bench.verification import VERIFIED

    operation = table.take("operation", str, table.name, among=(*dg.OPERATIONS, "factorize"))
    if operation not in VERIFIED:
        table.refuse("operation", f"{operation!r} has no verifier", f"choose from {', '.join(VERIFIED)}")
    chosen = table.listed("graphs", str, list(graphs), among=tuple(graphs))
    sources = table.take("sources", int, 0, least=1)
    trials = table.take("trials", int, None, least=1)
    options = table.options()
    table.check_options(operation, options)
    if operation in ("bfs", "sssp") and not sources and "source" not in options:
        table.refuse("sources", f"{operation} begins at a vertex", "`sources = 1` draws one, `source = 7` names it")
    return OperationSpec(table.name, operation, options, tuple(chosen), sources, trials)


def _setting(table: TomlTable, operations: Mapping[str, OperationSpec]) -> Setting:
    case = {name: table.take(name, str) for name in ("engine", "policy", "device") if name in table.content}
    case |= {name: table.take(name, int, least=0) for name in ("partitions", "workers") if name in table.content}
    if "capacities" in table.content:
        case["capacities"] = _capacities(table)
    options = table.options()
    for one in operations.values():
        table.check_options(one.operation, options)
    return Setting(table.name, options, case)


def _capacities(table: TomlTable) -> Any:
    """What the suite says of capacities: nothing (None), "measure", or a tuple of numbers."""
    given = table.content.get("capacities")
    if given is None or isinstance(given, str):
        return table.take("capacities", str, None, among=(None, "measure"))
    return tuple(table.listed("capacities", float, []))


def _target(table: TomlTable, known: Mapping[str, Any]) -> Target:
    axis = table.take("axis", str, "setting", among=AXES)
    ratio, text = None, table.take("ratio", str, "")
    if text:
        ratio = tuple(part.strip() for part in text.split("/"))
        values = [*(str(one) for one in known[axis]), LEAST]
        if len(ratio) != 2 or not set(ratio) <= set(values):
            table.refuse("ratio", f"{text!r} names no two of {axis}", f'"A / B" of {", ".join(values)}')
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
    from dgraph.bench.plots import plot

    name = table.take("plot", str)
    try:
        plot(name)
    except OptionError as unknown:
        table.refuse("plot", str(unknown))
    where = _where(table, known)
    return PlotSpec(name, where, {key: value for key, value in table.rest().items() if key != "where"})


def _where(table: TomlTable, known: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Which cases a target or a plot is about: {axis: values}."""
    where = table.table("where")
    where.refuse_others(AXES)
    found = {axis: wanted if isinstance(wanted, list) else [wanted] for axis, wanted in where.content.items()}
    for axis, values in found.items():
        if missing := [one for one in values if one not in known[axis]]:
            where.refuse(axis, f"{missing[0]!r} is none of this suite", ", ".join(map(str, known[axis])))
    return found
