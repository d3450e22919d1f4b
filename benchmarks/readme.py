"""Writes all measurements in results/ to MEASURED.md, and a small table of them to README.md."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from math import exp, log
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
START, END = "<!-- measured -->", "<!-- /measured -->"
MEASURED = Path(__file__).parent / "MEASURED.md"
MANY = ("estimate",)  # benchmarks with a row for each graph; the tables show the worst of each kind
# the rows of the table in README.md, if they are measured; MEASURED.md has all rows
LIBRARIES = ("GAP Benchmark Suite", "SuiteSparse GraphBLAS", "SciPy", "NetworKit", "igraph", "GraphX")
OPERATIONS = ("PageRank, 20 rounds", "BFS", "SSSP", "WCC")  # the columns of the table in README.md
VARIANTS = {  # columns of a record for modes other than alone in one process
    "workers": "dgraph on two Dask workers",
    "float32": "dgraph in float32",
    "distances only": "dgraph, distances only",
}
HEAD = ("what", "compared with", "dgraph", "theirs", "ratio", "target")
SECTIONS = {  # titles that differ from names of benchmarks; these sections come first in MEASURED.md, in this order
    "summary": "Operations: means over graphs, and the worst graph for each library",
    "end_to_end": "`dgraph run` from one Parquet file to another, whole processes",
    "partitions": "What several partitions cost",
    "processes": "Two worker processes against two threads, both in rounds",
    "agents": "Daemons: overhead, pipeline, caches",
    "recovery": "What a lost worker costs",
    "simulate": "`dgraph plan` against real runs",
}

TIMES = """\
The library's time divided by dgraph's in the same run, on two threads; **below 1 the library is faster**. The first
number is the operation alone, on a loaded graph; the one in brackets is end to end, from edge arrays in memory."""
PAIRS = """\
Seconds, medians of one run with two threads: *the library's time* / *dgraph's time in the same run*, the shorter in
bold. The libraries were measured in several runs, and dgraph's own time varies between runs with the release and the
load of the machine, so compare the two numbers of a cell. *Operation alone* starts with a loaded graph, *end to end*
with edge arrays in memory. GAP and Gemini load files of their own formats, so they have no end to end. `>` marks a run
that was stopped after that time."""
CLAIMS = """\
Amounts have their unit. `theirs` is the peer or the limit that dgraph is compared with. The ratio is dgraph's amount
divided by theirs, medians of one run: below 1, dgraph takes less. A row without a target is there for information."""


def read(results: Path) -> list[dict[str, Any]]:
    """The last record of every claim, by benchmark, in the order of measurement."""
    files = sorted(results.glob("*.jsonl"))
    return [json.loads(line) for path in files for line in path.read_text().splitlines() if line.strip()]


# -- README.md ---------------------------------------------------------------------------------------------------------


def short(rows: Iterable[dict[str, Any]]) -> str:
    """The table of README.md: the time of each library relative to dgraph, on the graph with the most records."""
    rows = list(rows)
    details = [row for row in _details(rows) if row["title"] in OPERATIONS]
    if not details:
        return "Nothing is measured yet."
    graphs = [row["graph"] for row in details]
    graph = max(dict.fromkeys(graphs), key=graphs.count)
    mine = [row for row in details if row["graph"] == graph]
    titles = [title for title in OPERATIONS if any(row["title"] == title for row in mine)]
    peers = sorted(dict.fromkeys(row["peer"] for row in mine), key=lambda peer: _mean(_of(mine, peer)))
    lines = [(graph, *titles), ("---", *(["---:"] * len(titles)))]
    for peer in (peer for peer in peers if _plain(peer) in LIBRARIES):
        cells = [_times(_of(mine, peer), title) for title in titles]
        lines += [(_plain(peer), *cells)] if any(cells) else []
    last = {row["title"]: row["ours"] for row in mine if row["column"] == "alone"}
    seconds = ", ".join(f"{title.partition(',')[0]} {last[title]:.3g}" for title in titles if title in last)
    judged = [row["met"] for row in _claims(rows) if row["met"] is not None]
    legend = [
        f"dgraph on {_machines(rows)}: {seconds} s.",
        *_on_workers(mine),
        f"{sum(judged)} of {len(judged)} targets are met: [all measurements](benchmarks/MEASURED.md).",
    ]
    return "\n".join([TIMES, "", *_lines(lines), "", *legend])


def _of(rows: Sequence[dict[str, Any]], peer: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["peer"] == peer]


def _mean(rows: Sequence[dict[str, Any]]) -> float:
    """The geometric mean of the ratios of their time to ours."""
    ratios = [log(row["theirs"] / row["ours"]) for row in rows if row["column"] == "alone"]
    return exp(sum(ratios) / len(ratios)) if ratios else float("inf")


def _times(rows: Sequence[dict[str, Any]], title: str) -> str:
    found = {row["column"]: row for row in rows if row["title"] == title}
    if "alone" not in found:
        return ""
    cells = [_factor(found[column]) for column in ("alone", "end to end") if column in found]
    return cells[0] + "".join(f" ({cell})" for cell in cells[1:])


def _factor(row: dict[str, Any]) -> str:
    value = row["theirs"] / row["ours"]
    text = ("> " if row.get("over") else "") + (f"{value:.2g}" if value < 10 else f"{value:.0f}")
    return f"**{text}**" if value < 1 else text


def _on_workers(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The time of two workers relative to one process, from the last run of each operation that measured both."""
    found: dict[str, float] = {}
    for one in (row for row in rows if row["column"] == "alone"):
        run = ("title", "peer", "date", "theirs")  # rows of one run have the same trials of the peer
        same = [row for row in rows if row["column"] == "workers" and all(row[key] == one[key] for key in run)]
        found.update((one["title"], row["ours"] / one["ours"]) for row in same)
    if not found:
        return []
    low, high = (f"{end(found.values()):.1f}" for end in (min, max))
    return [f"On two single-threaded Dask workers on that machine, dgraph takes {low} to {high} times as long."]


def _machines(rows: Iterable[dict[str, Any]]) -> str:
    return "; ".join(dict.fromkeys(row["machine"] for row in rows if row["ratio"] is not None))


# -- MEASURED.md -------------------------------------------------------------------------------------------------------


def full(rows: Iterable[dict[str, Any]]) -> str:
    """All of MEASURED.md below its heading: operations by graph and peer, then a section for each other benchmark."""
    rows = list(rows)
    if not rows:
        return "Nothing is measured yet."
    claims = _claims(rows)
    names = [name for name in SECTIONS if any(row["name"] == name for row in claims)]
    names += [name for name in dict.fromkeys(row["name"] for row in claims) if name not in SECTIONS]
    judged = [row["met"] for row in claims if row["met"] is not None]
    met = f"{sum(judged)} of {len(judged)} targets are met, {len(judged) - sum(judged)} are not."
    kept = "Results where a library beats dgraph, or where a target is missed, are kept."
    lines = [f"{met} {kept}", "", *_runs(rows), "", *_operations(_details(rows)), "## Claims", "", CLAIMS, ""]
    for name in names:
        lines += [f"### {SECTIONS.get(name) or name.replace('_', ' ').capitalize()}", ""]
        lines += [*table(row for row in claims if row["name"] == name), ""]
    return "\n".join(lines).rstrip("\n")


def table(claims: Iterable[dict[str, Any]]) -> list[str]:
    """A table with a row for each claim."""
    return _lines([HEAD, ("---", "---", "---:", "---:", "---:", "---"), *map(_cells, claims)])


def _details(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row.get("detail") and row["ratio"] is not None]


def _claims(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """All other rows; for benchmarks that measure the same on many graphs, the one with the ratio furthest from 1."""
    found: dict[Any, dict[str, Any]] = {}
    for i, row in enumerate(row for row in rows if not row.get("detail")):
        kind = row["what"].partition(" of ")[0] if row["name"] in MANY else i
        if kind not in found or abs(row["ratio"] - 1) > abs(found[kind]["ratio"] - 1):
            found[kind] = row
    return list(found.values())


def _lines(cells: Iterable[Sequence[str]]) -> list[str]:
    return ["| " + " | ".join(line) + " |" for line in cells]


def _operations(details: Sequence[dict[str, Any]]) -> list[str]:
    """Two tables for each graph, alone and end to end: a row for each peer, a column for each operation."""
    lines = []
    for graph in dict.fromkeys(row["graph"] for row in details):
        mine = [row for row in details if row["graph"] == graph]
        alone = _pairs(mine, ("alone", *VARIANTS))
        whole = _pairs(mine, ("end to end",))
        if alone:
            lines += [f"### {graph}", "", "Operation alone:", "", *alone, ""]
        if alone and whole:
            lines += ["End to end:", "", *whole, ""]
    return ["## Operations", "", PAIRS, "", *lines, *_computed(details)] if lines else []


def _pairs(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> list[str]:
    rows = [row for row in rows if row["column"] in columns]
    titles = list(dict.fromkeys(row["title"] for row in rows))
    lines = []
    for peer in dict.fromkeys(row["peer"] for row in rows):
        for column in columns:
            theirs = {row["title"]: row for row in rows if row["peer"] == peer and row["column"] == column}
            name = _plain(peer) + (f" / {VARIANTS[column]}" if column in VARIANTS else "")
            lines += [(name, *(_pair(theirs.get(title)) for title in titles))] if theirs else []
    return _lines([("", *titles), ("---", *(["---:"] * len(titles))), *lines]) if lines else []


def _pair(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    theirs, ours = (">" if row.get("over") else "") + f"{row['theirs']:.3g}", f"{row['ours']:.3g}"
    return f"**{theirs}** / {ours}" if row["theirs"] < row["ours"] else f"{theirs} / **{ours}**"


def _computed(details: Sequence[dict[str, Any]]) -> list[str]:
    """Notes on what each library computes for an operation."""
    notes: dict[str, dict[str, str]] = {}
    for row in details:
        if row["column"] != "alone":
            continue
        for who, note in zip(("dgraph", row["peer"]), row["notes"], strict=True):
            notes.setdefault(who, {})[row["title"]] = note
    said = {who: "; ".join(f"{title}: {note}" for title, note in each.items() if note) for who, each in notes.items()}
    lines = [f"* {_plain(who)}. {_plain(what)}." for who, what in said.items() if what]
    return ["### What each library computes", "", *lines, ""] if lines else []


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    unit, what = row.get("unit", "s"), _plain(row["what"] + (f": {row['where']}" if "where" in row else ""))
    if row["ratio"] is None:
        if "failed" in row:
            return what, _plain(row["peer"]), row["failed"], _amount(row["theirs"], unit), "", _target(row)
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
    return (f"{value:.3g} {unit}" if value < 1000 else f"{value:,.0f} {unit}").rstrip()


def _target(row: dict[str, Any]) -> str:
    if row["target"] is None:
        return f"≥ {row['floor']:g}, " + ("met" if row["met"] else "**not met**") if row.get("floor") else ""
    if row["met"] is None:
        return f"≤ {row['target']:.3g}"
    low = f"{row['floor']:g} to " if row.get("floor") else "≤ "
    return f"{low}{row['target']:.3g}, " + ("met" if row["met"] else "**not met**")


def _runs(rows: Iterable[dict[str, Any]]) -> list[str]:
    """A line for each machine and set of libraries, with the dates and the releases of dgraph measured there."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for row in rows:
        if row["ratio"] is not None:
            versions = ", ".join(f"{name} {version}" for name, version in row["versions"].items())
            ours, _, others = versions.partition(", ")
            found.setdefault((row["machine"], others), []).append((row["date"], ours.removeprefix("dgraph ")))
    lines = []
    for (machine, others), runs in found.items():
        dates, releases = (sorted(set(values), key=_numbers) for values in zip(*runs, strict=True))
        libraries = f", {others}" if others else ""
        lines.append(f"Measured {_range(dates)} on {machine}; dgraph {_range(releases)}{libraries}.")
    return lines


def _numbers(text: str) -> list[int]:
    """The numbers in a date or a release."""
    return [int(number) for number in re.findall(r"\d+", text)]


def _range(values: Sequence[str]) -> str:
    return values[0] if len(values) == 1 else f"{values[0]} to {values[-1]}"


def replaced(text: str, inside: str) -> str:
    """The text with the part between the two marks replaced."""
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise SystemExit(f"README.md lacks the marks {START} and {END}, between which the table goes")
    return f"{before}{START}\n{inside}\n{END}{after}"


def main() -> None:
    rows, readme = read(Path(__file__).parent / "results"), ROOT / "README.md"
    readme.write_text(replaced(readme.read_text(), short(rows)))
    heading = (
        "# Measurements\n\nThe latest results of all benchmarks, written by `readme.py` from `results/`; do not edit. "
        "[How they are measured](README.md)."
    )
    MEASURED.write_text(f"{heading}\n\n{full(rows)}\n")


if __name__ == "__main__":
    main()
