"""`dgraph bench SUITE`: measure what a suite says, and `dgraph bench compare A B`: what changed between two runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from textwrap import fill as filled
from typing import Any

import click
from click.shell_completion import CompletionItem

from dgraph.cli.command import Command, Group
from dgraph.cli.options import FILE, WholeNumber, as_json, offered
from dgraph.cli.options import output as written
from dgraph.cli.place import Place, decorated, runs_somewhere
from dgraph.cli.status_line import CLEAR
from dgraph.phrases import format_count

AXES = ("operation", "graph", "setting")
fill = partial(filled, width=110, break_on_hyphens=False)


class Suites(Group):
    """The commands of `dgraph bench`: `compare`, and for every other name the run of the suite that is called so, or
    whose file that is."""

    def list_commands(self, context: click.Context) -> list[str]:
        return ["compare"]

    def choices(self, context: click.Context) -> list[str]:
        from dgraph.bench.suite import shipped

        return ["compare", *shipped()]

    def shell_complete(self, context: click.Context, incomplete: str) -> list[CompletionItem]:
        from dgraph.bench.suite import shipped

        suites = [CompletionItem(name, help=title) for name, title in shipped().items() if name.startswith(incomplete)]
        known = [*suites, *super().shell_complete(context, incomplete)]
        return known or FILE.shell_complete(context, self.params[0], incomplete)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name == "compare":
            return compare
        of_a_file = name.endswith(".toml") or Path(name).exists()
        known = of_a_file or context.resilient_parsing or name in self.choices(context)
        return _command_for(name) if known else None


@click.command(
    "bench", cls=Suites, invoke_without_command=True, subcommand_metavar="SUITE [OPTIONS] | compare BEFORE AFTER"
)
@click.option("--list", "listed", is_flag=True, help="Show all suites.")
@as_json
@click.pass_context
def command(context: click.Context, listed: bool, as_json: bool) -> None:
    """Measure what a suite says: one of the package's by its name, or a TOML file of your own.

    `dgraph bench SUITE --help` shows the options of a run.

    \b
    Example:
      $ dgraph bench --list
      $ dgraph bench quick --graph grid --operation bfs --trials 1 -o first
    """
    if context.invoked_subcommand is not None:
        return
    if not listed:
        click.echo(context.get_help(), err=True)
        context.exit(2)
    from dgraph.bench.suite import shipped

    titles = shipped()
    width = max(map(len, titles))
    lines = [f"{name:{width}}  {title}" for name, title in titles.items()]
    click.echo(json.dumps(titles) if as_json else "\n".join(lines))


def _command_for(name: str) -> click.Command:
    """The command that runs a suite. The suite is opened when the command runs, so that its help is there at once."""

    def bench(place: Place, output: str | None, check: bool, as_json: bool, trials: int | None, **given: Any) -> None:
        from dgraph.bench.suite import open_suite

        only = {axis: given[axis] for axis in AXES}
        run = _Run(open_suite(name), Path(output) if output else None, as_json)
        missed = run(place, only, trials)
        if check and missed:
            click.get_current_context().exit(1)

    bench.__doc__ = f"""Measure the suite {Path(name).stem}: load, build and run apart, every trial verified.

    On the terminal are the medians, and what the suite's targets come to; in the folder of -o the trials as JSON Lines,
    the supersteps, plots as PNG files, and all of it as report.html. With --check the exit code is 1 if a target is
    missed.

    \b
    Example:
      $ dgraph bench {name} --trials 1 -o out
    """
    options = (*OPTIONS, *(_only(axis, name) for axis in AXES))
    return click.command(name, cls=Command)(decorated(as_json(runs_somewhere(bench)), options))


OPTIONS: tuple[Callable, ...] = (
    written("a folder, for results, plots and report.html.", metavar="FOLDER", folder=True),
    click.option("--check", is_flag=True, help="Exit with 1 at bad news: if a target of the suite is missed."),
    click.option("--trials", type=WholeNumber(1), help="So many trials at most."),
)


def _only(axis: str, name: str) -> Callable:
    """An option that keeps only the cases with some values on an axis of the suite; the shell offers the values."""

    def known() -> list[str]:
        from dgraph.bench.suite import open_suite, shipped

        return list(getattr(open_suite(name), f"{axis}s")) if name in shipped() or Path(name).is_file() else []

    return click.option(
        f"--{axis}", multiple=True, shell_complete=offered(known), help=f"Only this {axis}; may be repeated."
    )


class _Run:
    """One run of a suite from the first trial to the last line. Records go to the folder, if there is one, as soon as
    they are known."""

    def __init__(self, suite: Any, folder: Path | None, as_json: bool):
        self.suite, self.folder, self.as_json = suite, folder, as_json

    def __call__(self, place: Place, only: Any, trials: int | None) -> bool:
        """Run the suite, and tell what came of it. Returns whether a target was missed."""
        from dgraph.bench import outcome, records
        from dgraph.bench.runner import Runner
        from dgraph.bench.targets import outcomes

        heading = records.heading(self.suite)
        rows, reports = [], {}
        with _clusters(place, self.suite) as (suite, clusters), records.writing(self.folder) as keep:
            runner = Runner(suite, clusters, only, trials, self._progress)
            self._told(heading, keep)
            for trial in runner:
                rows.append(trial.record)
                reports[trial.case] = trial.report
                self._told(trial.record, keep)
            self._progress("")
            found = outcomes(suite, rows)
            for one in found:
                self._told(one, keep)
        note = ""
        if self.folder is not None:
            note = outcome.write(self.folder, suite, heading, rows, found, list(reports.values()))
        if not self.as_json:
            click.echo(_text(suite, rows, found, note))
        return any(one["met"] is False for one in found)

    def _told(self, record: Any, keep: Callable[[Any], None]) -> None:
        """Keep a record, and print it if JSON was asked for."""
        keep(record)
        if self.as_json:
            click.echo(json.dumps(record, default=str))

    def _progress(self, line: str) -> None:
        """Show a line on a terminal in place of the one before; "" clears it."""
        if sys.stderr.isatty():
            click.echo(f"{CLEAR}{line[:100]}", nl=False, err=True)


def _text(suite: Any, rows: Any, found: Any, note: str) -> str:
    """What is shown in the end: a table of cases, what the paper says, and the targets, the suite's own last."""
    from dgraph.bench import table

    blocks = [f"{suite.name}: {suite.title}", table.as_text(table.case_cells(suite, rows))]
    if suite.paper["cite"]:
        place = f" ({suite.paper['where']})" if suite.paper["where"] else ""
        blocks.append("\n".join(map(fill, (suite.paper["says"], suite.paper["cite"] + place))))
    if note:
        blocks.append(note)
    if found:
        blocks.append("\n".join(table.sentence(one) for one in found))
    return "\n\n".join(blocks)


@contextmanager
def _clusters(place: Place, suite: Any) -> Iterator[tuple[Any, Callable[[int, int | None], AbstractContextManager]]]:
    """The suite as it runs in a place, and the function by which `Runner` starts workers: in this process and on
    workers of its own those of each case, on a cluster that is named always that cluster's."""
    from dgraph.bench.local_cluster import local_cluster, moved

    with place.client() as client:
        if client is None:
            yield suite, local_cluster
        else:
            count = len(client.scheduler_info(n_workers=-1)["workers"])
            yield moved(suite, count), lambda workers, threads: nullcontext(client)


@click.command("compare", cls=Command)
@click.argument("before", type=FILE)
@click.argument("after", type=FILE)
@click.option("--least", type=float, default=0.05, show_default=True, help="Changes below this share do not matter.")
@click.option("--all", "everything", is_flag=True, help="Show also what did not change.")
@click.option("--check", is_flag=True, help="Exit with 1 at bad news: if anything got slower or larger.")
@as_json
def compare(before: str, after: str, least: float, everything: bool, check: bool, as_json: bool) -> None:
    """Show what got slower, or larger, between two runs of a suite, and how much of it may be noise.

    BEFORE and AFTER are folders that `dgraph bench SUITE -o` wrote, or the JSON Lines in them. Noise is what a median
    of so many trials may be off; a change shows when it is beyond that on both sides. Seconds measured once, as of
    loading, show with --all only.

    \b
    Example:
      $ dgraph bench quick --graph grid --operation wcc --setting solver -o before
      $ dgraph bench quick --graph grid --operation wcc --setting solver -o after
      $ dgraph bench compare before after
    """
    from dgraph.bench import comparison, records, table

    runs = records.read(before), records.read(after)
    rows, unmatched = comparison.compare(*runs, least), comparison.in_one_alone(*runs)
    worse = [row for row in rows if row["verdict"] == "slower"]
    if as_json:
        click.echo("\n".join(json.dumps(row) for row in rows))
    else:
        cells = comparison.comparison_cells(rows, everything=everything)
        if len(cells) > 1:
            click.echo(table.as_text(cells) + "\n")
        known = sum(row["noise"] is not None for row in rows)
        if unmatched:
            click.echo(f"{format_count(unmatched, 'case')} of one run alone: nothing to compare with")
        click.echo(f"{len(worse)} of {known} figures got worse by more than the noise and {100 * least:g} %")
    if check and worse:
        click.get_current_context().exit(1)
