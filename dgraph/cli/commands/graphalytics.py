"""`dgraph graphalytics DIR`: LDBC Graphalytics on the data sets of a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dgraph.cli.command import Command
from dgraph.cli.options import FILE, WholeNumber, as_json, engine
from dgraph.cli.options import output as written
from dgraph.cli.place import Place, runs_somewhere
from dgraph.errors import OptionError

ALGORITHM = click.Choice(["bfs", "cdlp", "lcc", "pr", "sssp", "wcc"])
RULES = click.Choice(["ldbc", "strict"])


@click.command("graphalytics", cls=Command)
@click.argument("directory", metavar="DIR", type=FILE)
@click.option("--algorithm", "only", multiple=True, type=ALGORITHM, help="Only this one; may be repeated.")
@click.option("--repetitions", type=WholeNumber(1), default=1, show_default=True, help="How often every job runs.")
@written("a folder, for the values of every job.", metavar="FOLDER", folder=True)
@click.option("--rules", type=RULES, default="ldbc", show_default=True, help="How near values must be.")
@engine
@as_json
@runs_somewhere
def command(directory: str, place: Place, output: str | None, rules: str, as_json: bool, **given: Any) -> None:
    """Run LDBC Graphalytics on the data sets of a folder (or one .properties file) and validate every output.

    T_l is the time to load, T_p of processing, T_m of the whole job; EVPS is vertices and edges per second of T_p. Exit
    code 1 if an output is not valid.

    \b
    Example:
      $ dgraph generate uniform --vertices 40 --edges 99 --weights 1 9 -o tiny.properties
      $ dgraph graphalytics tiny.properties
    """
    import json

    from dgraph.graphalytics.benchmark import run_dataset
    from dgraph.graphalytics.dataset import Dataset

    rows: list[dict[str, Any]] = []
    with place.client() as client:
        datasets = Dataset.all_in(directory)
        for dataset in datasets:
            options = {"only": given["only"], "repetitions": given["repetitions"], "engine": given["engine"]}
            folder = None if output is None else Path(output)
            for row in run_dataset(dataset, output=folder, how=rules, client=client, **options):
                rows.append(row)
                click.echo(json.dumps(row) if as_json else _line(row))
    if not rows:
        known = ", ".join(dict.fromkeys(name for dataset in datasets for name in dataset.algorithms)) or "none"
        raise OptionError(f"{directory} has data for {known}, and not for {', '.join(given['only'])}")
    wrong = [row for row in rows if row["valid"] is False]
    if wrong:
        raise click.ClickException(f"{len(wrong)} of {len(rows)} outputs are not valid")


def _line(row: dict[str, Any]) -> str:
    """A job's row as a line for the terminal: its times in seconds, and whether its output is valid."""
    verdict = {True: "valid", False: f"NOT VALID: {row['problem']}", None: row["problem"]}[row["valid"]]
    times = "  ".join(f"{name} {row[name]:8.4f} s" for name in ("T_l", "T_m", "T_p"))
    return f"{row['dataset']:>24}  {row['algorithm']:5} {times}  {row['EVPS']:12,.0f} EVPS  {verdict}"
