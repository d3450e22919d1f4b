"""`dgraph bench SUITE` runs a benchmark suite; `dgraph bench compare A B` shows what changed between two runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from textwrap import fill as filled
from typing import Any

import click
from click.shell_completion import CompletionItem

from dgraph.cli.command import Command, Group
from dgraph.cli.options import FILE, WholeRange, as_json, completion, output_option
from dgraph.cli.place import Place, add_options, place_options
from dgraph.cli.say import say
from dgraph.phrases.phrases import format_count

AXES = ("operation", "graph", "setting")
fill = partial(filled, width=110, break_on_hyphens=False)


class Suites(Group):
    """The commands of `dgraph bench`: `compare`, and one per suite, named by the suite or the path of its file."""

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
        is_file = name.endswith(".toml") or Path(name).exists()
        known = is_file or context.resilient_parsing or name in self.choices(context)
        return _command_for(name) if known else None


@click.command(
    "bench", cls=Suites, invoke_without_command=True, subcommand_metavar="SUITE [OPTIONS] | compare BEFORE AFTER"
)
@click.option("--list", "listed", is_flag=True, help="List all suites.")
@as_json
@click.pass_context
def command(context: click.Context, listed: bool, as_json: bool) -> None:
    """Run a benchmark suite: one of the package's suites by name, or a TOML file of your own.

    `dgraph bench SUITE --help` shows the options of a run.

    \b
    Example:
      $ dgraph bench --list
      $ dgraph bench quick --graph grid --operation bfs --trials 1 -o first
    """
    if context.invoked_subcommand is not None:
        return
    if not listed:
        say(context.get_help(), err=True)
        context.exit(2)
    from dgraph.bench.suite import shipped

    titles = shipped()
    width = max(map(len, titles))
    lines = [f"{name:{width}}  {title}" for name, title in titles.items()]
    say(json.dumps(titles) if as_json else "\n".join(lines))


def _command_for(name: str) -> click.Command:
    """The command that runs a suite. The suite is opened when the command runs, so its help appears without delay."""

    def bench(place: Place, output: str | None, check: bool, as_json: bool, trials: int | None, **given: Any) -> None:
        from dgraph.bench.suite import open_suite

        folder = Path(output) if output else None
        if _run(open_suite(name), place, folder, given, trials, as_json=as_json) and check:
            click.get_current_context().exit(1)

    bench.__doc__ = f"""Run the suite {Path(name).stem}: time loading, building and running; verify all trials.

    The terminal shows medians and the suite's targets. The folder of -o receives the trials as JSON Lines, the
    supersteps, plots as PNG files, and report.html, which contains everything. With --check, the exit code is 1 if a
    target is missed.

    \b
    Example:
      $ dgraph bench {name} --trials 1 -o out
    """
    options = (*OPTIONS, *(_only(axis, name) for axis in AXES))
    return click.command(name, cls=Command)(add_options(as_json(place_options(bench)), options))


OPTIONS: tuple[Callable, ...] = (
    output_option("results, plots and report.html.", metavar="FOLDER", folder=True),
    click.option("--check", is_flag=True, help="Exit with 1 on failure: if a target is missed."),
    click.option("--trials", type=WholeRange(1), help="Maximum number of trials per case."),
)


def _only(axis: str, name: str) -> Callable:
    """An option that keeps only the cases with some values on an axis of the suite; the shell completes them."""

    def known() -> list[str]:
        from dgraph.bench.suite import open_suite, shipped

        return list(getattr(open_suite(name), f"{axis}s")) if name in shipped() or Path(name).is_file() else []

    about = f"Run only this {axis}. May be repeated."
    return click.option(f"--{axis}", multiple=True, shell_complete=completion(known), help=about)


def _run(suite: Any, place: Place, folder: Path | None, only: Any, trials: int | None, *, as_json: bool) -> bool:
    """Run a suite and print the outcome. Returns whether a target was missed.

    If there is a folder, each record is written to it as soon as it is available.
    """
    from dgraph.bench import outcome, records
    from dgraph.bench.local_cluster import local_cluster
    from dgraph.bench.runner import Clusters, Runner
    from dgraph.bench.targets import evaluate_targets

    def record(one: Any) -> None:
        keep(one)
        if as_json:
            say(json.dumps(one, default=str))

    heading = records.heading(suite)
    rows, reports = [], {}
    with place.client() as client, records.record_writer(folder) as keep:
        clusters: Clusters = local_cluster
        if client is not None:  # all cases run on the same workers
            suite, clusters = suite.on_cluster(len(client.nthreads())), lambda workers, threads: nullcontext(client)
        record(heading)
        for trial in Runner(suite, clusters, only, trials, _show_progress):
            rows.append(trial.record)
            reports[trial.case] = trial.report
            record(trial.record)
        _show_progress("")
        results = evaluate_targets(suite, rows)
        for one in results:
            record(one)
    note = ""
    if folder is not None:
        note = outcome.write(folder, suite, heading, rows, results, list(reports.values()))
    if not as_json:
        say(_text(suite, rows, results, note))
    return any(one["met"] is False for one in results)


def _show_progress(line: str) -> None:
    """Replace the progress line on a terminal; "" clears it."""
    if sys.stderr.isatty():
        say(line[:100], nl=False, err=True, clear=True)


def _text(suite: Any, rows: Any, results: Any, note: str) -> str:
    """The text shown at the end: a table of cases, the paper's statement, and the targets."""
    from dgraph.bench import table

    blocks = [f"{suite.name}: {suite.title}", table.as_text(table.case_cells(suite, rows))]
    if suite.paper["cite"]:
        place = f" ({suite.paper['where']})" if suite.paper["where"] else ""
        blocks.append("\n".join(map(fill, (suite.paper["says"], suite.paper["cite"] + place))))
    if note:
        blocks.append(note)
    if results:
        blocks.append("\n".join(table.outcome_line(one) for one in results))
    return "\n\n".join(blocks)


@click.command("compare", cls=Command)
@click.argument("before", type=FILE)
@click.argument("after", type=FILE)
@click.option("--least", type=float, default=0.05, help="Ignore changes smaller than this fraction.")
@click.option("--all", "everything", is_flag=True, help="Show unchanged figures too.")
@click.option("--check", is_flag=True, help="Exit with 1 on failure: if anything got slower or larger.")
@as_json
def compare(before: str, after: str, least: float, everything: bool, check: bool, as_json: bool) -> None:
    """Show what got slower or larger between two runs of a suite, and how much of that may be noise.

    BEFORE and AFTER are folders written by `dgraph bench SUITE -o`, or the JSON Lines in them. Noise is the possible
    error of a median of that many trials; a change is shown if it exceeds the noise of both runs. Figures measured only
    once, such as loading times, are shown only with --all.

    \b
    Example:
      $ dgraph bench quick --graph grid --operation wcc --setting solver -o before
      $ dgraph bench quick --graph grid --operation wcc --setting solver -o after
      $ dgraph bench compare before after
    """
    from dgraph.bench import comparison, records, table

    runs = records.read(before), records.read(after)
    rows, unmatched = comparison.compare(*runs, least), comparison.count_unmatched(*runs)
    worse = [row for row in rows if row["verdict"] == "slower"]
    if as_json:
        say("\n".join(json.dumps(row) for row in rows))
    else:
        cells = comparison.comparison_cells(rows, everything=everything)
        if len(cells) > 1:
            say(table.as_text(cells) + "\n")
        known = sum(row["noise"] is not None for row in rows)
        if unmatched:
            say(f"{format_count(unmatched, 'case')} in one run only: nothing to compare")
        say(f"{len(worse)} of {known} figures got worse by more than the noise and {100 * least:g} %")
    if check and worse:
        click.get_current_context().exit(1)
