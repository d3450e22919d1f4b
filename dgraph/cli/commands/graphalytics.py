"""`dgraph graphalytics DIR`: run LDBC Graphalytics on the data sets in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from dgraph.cli.command import Command
from dgraph.cli.options import FILE, WholeRange, as_json, engine, output_option
from dgraph.cli.place import Place, place_options
from dgraph.cli.say import say
from dgraph.errors import OptionError

ALGORITHM = click.Choice(["bfs", "cdlp", "lcc", "pr", "sssp", "wcc"])
RULES = click.Choice(["ldbc", "strict"])


@click.command("graphalytics", cls=Command)
@click.argument("directory", metavar="DIR", type=FILE)
@click.option("--algorithm", "only", multiple=True, type=ALGORITHM, help="Run only this algorithm. May be repeated.")
@click.option("--repetitions", type=WholeRange(1), default=1, help="Number of times to run every job.")
@output_option("the values of every job.", metavar="FOLDER", folder=True)
@click.option("--rules", type=RULES, default="ldbc", help="How close values must be to the reference.")
@engine
@as_json
@place_options
def command(directory: str, place: Place, output: str | None, rules: str, as_json: bool, **given: Any) -> None:
    """Run LDBC Graphalytics on the data sets in a folder (or one .properties file) and validate all outputs.

    T_l is the loading time, T_p the processing time and T_m the time of the whole job. EVPS is vertices and edges per
    second of T_p. The exit code is 1 if an output is not valid.

    \b
    Example:
      $ dgraph generate uniform --vertices 40 --edges 99 --weights 1 9 -o tiny.properties
      $ dgraph graphalytics tiny.properties
    """
    from dgraph.graphalytics.dataset import Dataset

    rows: list[dict[str, Any]] = []
    with place.client() as client:
        datasets = Dataset.all_in(directory)
        for dataset in datasets:
            folder = None if output is None else Path(output)
            for row in dataset.run(output=folder, how=rules, client=client, **given):
                rows.append(row)
                say(json.dumps(row) if as_json else _line(row))
    if not rows:
        known = ", ".join(dict.fromkeys(name for dataset in datasets for name in dataset.algorithms)) or "none"
        raise OptionError(f"{directory} has data for {known}, but not for {', '.join(given['only'])}")
    wrong = [row for row in rows if row["valid"] is False]
    if wrong:
        raise click.ClickException(f"{len(wrong)} of {len(rows)} outputs are not valid")


def _line(row: dict[str, Any]) -> str:
    """The line shown on the terminal for a job: its times in seconds, and whether its output is valid."""
    verdict = {True: "valid", False: f"NOT VALID: {row['problem']}", None: row["problem"]}[row["valid"]]
    times = "  ".join(f"{name} {row[name]:8.4f} s" for name in ("T_l", "T_m", "T_p"))
    return f"{row['dataset']:>24}  {row['algorithm']:5} {times}  {row['EVPS']:12,.0f} EVPS  {verdict}"
