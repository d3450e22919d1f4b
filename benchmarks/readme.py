"""MEASURED.md, all that the benchmarks left in results/, and the part of it that README.md shows, written anew."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
START, END = "<!-- measured -->", "<!-- /measured -->"
MANY = ("estimate",)  # benchmarks with a row for each graph: the tables have the worst of each kind
SHOWN = ("build", "build_strings", "end_to_end", "open_graph", "processes")  # what README.md has of those with claims
MEASURED = Path(__file__).parent / "MEASURED.md"
OURS = {  # rows of ours, by column
    "alone": "**dgraph**",
    "workers": "two Dask workers",
    "float32": "float32",
    "distances only": "distances only",
}
HEAD = ("what", "against", "dgraph", "theirs", "ratio", "target")


def read(results: Path) -> list[dict[str, Any]]:
    """Every claim's last record: by benchmark, in the order in which it was measured."""
    files = sorted(results.glob("*.jsonl"))
    return [json.loads(line) for path in files for line in path.read_text().splitlines() if line.strip()]


def table(rows: Iterable[dict[str, Any]], shown: Sequence[str] | None = None) -> str:
    """Markdown: operations by peer and graph, a row a claim (of the benchmarks that are `shown`), and under it the
    machine and the versions of each run; where all is shown, also what each peer computes."""
    rows = list(rows)
    if not rows:
        return "Nothing is measured yet."
    claims = _worst([row for row in rows if not row.get("detail")])
    some = [row for row in claims if shown is None or row["name"] in shown]
    lines = [HEAD, ("---", "---", "---:", "---:", "---:", "---"), *map(_cells, some)]
    more = [] if shown is None else [_summary(claims), ""]
    details = [row for row in rows if row.get("detail") and row["ratio"] is not None]
    computed = _computed(details) if details and shown is None else []
    operations = [*_operations(details), *computed]
    return "\n".join([*operations, *_lines(lines), "", *more, *_runs(rows)])


def _summary(claims: Sequence[dict[str, Any]]) -> str:
    """How many targets are met, and where all of them are."""
    judged = [row["met"] for row in claims if row["met"] is not None]
    targets = f"of {len(judged)} targets {sum(judged)} are met and {len(judged) - sum(judged)} are not"
    where = "[All that was measured, and what each peer computes](benchmarks/MEASURED.md)"
    return f"{where}: {len(claims)} claims; {targets}."


def _worst(claims: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row, that furthest from 1, of those that say the same of many graphs."""
    found: dict[Any, dict[str, Any]] = {}
    for i, row in enumerate(claims):
        kind = row["what"].partition(" of ")[0] if row["name"] in MANY else i
        if kind not in found or abs(row["ratio"] - 1) > abs(found[kind]["ratio"] - 1):
            found[kind] = row
    return list(found.values())


def _lines(cells: Iterable[Sequence[str]]) -> list[str]:
    return ["| " + " | ".join(line) + " |" for line in cells]


def _operations(details: Sequence[dict[str, Any]]) -> list[str]:
    """A table a graph, a row a peer, a column an operation."""
    if not details:
        return []
    lines = ["Seconds of the operation alone on two threads; in brackets end to end, from edge arrays in memory.", ""]
    for graph in dict.fromkeys(row["graph"] for row in details):
        mine = [row for row in details if row["graph"] == graph and row["column"] != "with a frame"]
        titles = dict.fromkeys(row["title"] for row in mine if row["column"] in OURS)
        if not titles:
            continue
        lines += _lines([(graph, *titles), ("---", *(["---:"] * len(titles)))])
        for column, name in OURS.items():
            cells = [_cell(mine, title, column, "ours") for title in titles]
            lines += _lines([(name, *cells)] if any(cells) else [])
        for peer in dict.fromkeys(row["peer"] for row in mine):
            theirs = [row for row in mine if row["peer"] == peer]
            cells = [_cell(theirs, title, "alone", "theirs") for title in titles]
            lines += _lines([(_plain(peer), *cells)] if any(cells) else [])
        lines.append("")
    return lines


def _computed(details: Sequence[dict[str, Any]]) -> list[str]:
    """What each of them computes under the name of an operation."""
    notes: dict[str, dict[str, str]] = {}
    for row in details:
        if row["column"] != "alone":
            continue
        for who, note in zip(("dgraph", row["peer"]), row["notes"], strict=True):
            notes.setdefault(who, {})[row["title"]] = note
    said = {who: "; ".join(f"{title}: {note}" for title, note in each.items() if note) for who, each in notes.items()}
    return [*(f"* {_plain(who)}. {_plain(what)}." for who, what in said.items()), ""]


def _cell(rows: Sequence[dict[str, Any]], title: str, column: str, side: str) -> str:
    """Ours stand in the row of every peer, and are the same in all that one contest wrote: the last is taken."""
    found = {row["column"]: row for row in rows if row["title"] == title}
    if column not in found:
        return ""
    whole = found.get("end to end") if column == "alone" else None
    return _seconds(found[column], side) + (f" ({_seconds(whole, side)})" if whole else "")


def _seconds(row: dict[str, Any], side: str) -> str:
    return ("> " if row.get("over") and side == "theirs" else "") + f"{row[side]:.3g}"


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    unit, what = row.get("unit", "s"), _plain(row["what"] + (f": {row['where']}" if "where" in row else ""))
    if row["ratio"] is None:
        return what, _plain(row["peer"]), "", "not run: " + _plain(row.get("absent", "")), "", _target(row)
    ours, theirs = (_amount(row[side], unit) for side in ("ours", "theirs"))
    return what, _plain(row["peer"]), ours, theirs, _ratio(row["ratio"]), _target(row)


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _ratio(value: float) -> str:
    return f"{value:.2f}" if value >= 0.095 else f"{value:.2g}"


def _amount(value: float, unit: str) -> str:
    if unit == "s" and value < 1:
        value, unit = value * 1000, "ms"
    return f"{value:.3g} {unit}" if value < 1000 else f"{value:,.0f} {unit}"


def _target(row: dict[str, Any]) -> str:
    if row["target"] is None:
        return ""
    if row["met"] is None:
        return f"≤ {row['target']:.3g}"
    low = f"{row['floor']:g} to " if row.get("floor") else "≤ "
    return f"{low}{row['target']:.3g}, " + ("met" if row["met"] else "**not met**")


def _runs(rows: Iterable[dict[str, Any]]) -> list[str]:
    """A line for each machine and set of libraries: when was measured there, and by which releases of dgraph."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for row in rows:
        if row["ratio"] is not None:
            versions = row["versions"]
            if not isinstance(versions, str):
                versions = ", ".join(f"{name} {version}" for name, version in versions.items())
            ours, _, others = versions.partition(", ")
            found.setdefault((row["machine"], others), []).append((row["date"], ours.removeprefix("dgraph ")))
    lines = []
    for (machine, others), runs in found.items():
        dates, releases = (sorted(set(values), key=_numbers) for values in zip(*runs, strict=True))
        libraries = f", {others}" if others else ""
        lines.append(f"Measured {_range(dates)} on {machine}; dgraph {_range(releases)}{libraries}.")
    return lines


def _numbers(text: str) -> list[int]:
    """The numbers in a date, or in a release."""
    return [int(number) for number in re.findall(r"\d+", text)]


def _range(values: Sequence[str]) -> str:
    return values[0] if len(values) == 1 else f"{values[0]} to {values[-1]}"


def replaced(text: str, inside: str) -> str:
    """The text with something else between the two marks."""
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise SystemExit(f"README.md lacks the marks {START} and {END}, between which the table goes")
    return f"{before}{START}\n{inside}\n{END}{after}"


def main() -> None:
    rows, readme = read(Path(__file__).parent / "results"), ROOT / "README.md"
    readme.write_text(replaced(readme.read_text(), table(rows, SHOWN)))
    heading = "# Measured\n\nWhat benchmarks last found, written by `readme.py`. [The protocol](README.md) says how."
    MEASURED.write_text(f"{heading}\n\n{table(rows)}\n")


if __name__ == "__main__":
    main()
