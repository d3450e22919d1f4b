"""The table of measurements in README.md, written anew from what the benchmarks left in results/."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
START, END = "<!-- measured -->", "<!-- /measured -->"
HEAD = ("what", "against", "dgraph", "theirs", "ratio", "target")


def read(results: Path) -> list[dict[str, Any]]:
    """Every claim's last record: by benchmark, in the order in which it was measured."""
    files = sorted(results.glob("*.jsonl"))
    return [json.loads(line) for path in files for line in path.read_text().splitlines() if line.strip()]


def table(rows: Iterable[dict[str, Any]]) -> str:
    """Markdown: a row a claim, and under it the machine and the versions of each run."""
    rows = list(rows)
    if not rows:
        return "Nothing is measured yet."
    lines = [HEAD, ("---", "---", "---:", "---:", "---:", "---"), *map(_cells, rows)]
    runs = dict.fromkeys(map(_run, rows))
    return "\n".join(["| " + " | ".join(line) + " |" for line in lines] + [""] + [f"Measured {run}." for run in runs])


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    unit = row.get("unit", "s")
    ours, theirs = (_amount(row[side], unit) for side in ("ours", "theirs"))
    return _plain(row["what"]), _plain(row["peer"]), ours, theirs, f"{row['ratio']:.2f}", _target(row)


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _amount(value: float, unit: str) -> str:
    if unit == "s" and value < 1:
        value, unit = value * 1000, "ms"
    return f"{value:.3g} {unit}" if value < 1000 else f"{value:,.0f} {unit}"


def _target(row: dict[str, Any]) -> str:
    if row["target"] is None:
        return ""
    low = f"{row['floor']:g} to " if row.get("floor") else "≤ "
    return f"{low}{row['target']:g}, " + ("met" if row["met"] else "**not met**")


def _run(row: dict[str, Any]) -> str:
    versions = row["versions"]
    if not isinstance(versions, str):
        versions = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"{row['date']} on {row['machine']}; {versions}"


def replaced(text: str, inside: str) -> str:
    """The text with something else between the two marks."""
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise SystemExit(f"README.md lacks the marks {START} and {END}, between which the table goes")
    return f"{before}{START}\n{inside}\n{END}{after}"


def main() -> None:
    readme = ROOT / "README.md"
    readme.write_text(replaced(readme.read_text(), table(read(Path(__file__).parent / "results"))))


if __name__ == "__main__":
    main()
