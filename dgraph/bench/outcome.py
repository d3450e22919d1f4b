"""The output folder of a suite: records, supersteps of the last trials, PNG files, and the HTML report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from dgraph.bench.cases import rows_of
from dgraph.bench.plots import plot
from dgraph.bench.suite import Suite
from dgraph.bench.table import case_cells, shown, target_cells

REPORT, SUPERSTEPS = "report.html", "supersteps.csv"

# The colours of the site's pictures, and the look of the cards in notebooks; light or dark as the reader's system is.
# Plots follow it by themselves.
STYLE = """
:root { color-scheme: light; --ink: #22303c; --faint: #5d6b76; --paper: #ffffff; --pale: #f2f6f9; --line: #b9c6cf;
  --accent: #2a6f97; --met: #00694e; --missed: #b3261e }
@media (prefers-color-scheme: dark) { :root { color-scheme: dark; --ink: #dfe6ec; --faint: #9aa7b2; --paper: #14181e;
  --pale: #1f262e; --line: #46525d; --accent: #5aa5d0; --met: #5fc79d; --missed: #ff8a80 } }
body { font: 15px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 80rem;
  margin: 2rem auto 4rem; padding: 0 1.2rem; overflow-wrap: anywhere }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .2rem } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem }
.aside { color: var(--faint); font-size: 13px }
.table { width: fit-content; max-width: 100%; box-sizing: border-box; overflow-x: auto; padding: .3rem .9rem .4rem;
  border: 1px solid var(--line); border-radius: 8px; overflow-wrap: normal }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums }
th, td { padding: .2rem 1.3rem .2rem 0; text-align: right; vertical-align: top; white-space: nowrap }
th:last-child, td:last-child { padding-right: 0 }
th { font-weight: normal; color: var(--faint); vertical-align: bottom }
tr:first-child th { border-bottom: 1px solid var(--line) } .word { text-align: left; white-space: normal }
td.wide { min-width: 12rem } .met, .missed { color: var(--met); font-weight: 600 } .missed { color: var(--missed) }
figure { margin: 1.5rem 0; overflow-x: auto } svg { display: block; max-width: 100%; height: auto }
details { margin: .5rem 0 } summary { cursor: pointer; color: var(--accent) } details .table { margin-top: .4rem }
blockquote { margin: 1rem 0; padding: .1rem 1rem; border-left: 3px solid var(--accent); background: var(--pale);
  border-radius: 0 8px 8px 0 }
"""


def write(
    folder: Path,
    suite: Suite,
    heading: Mapping[str, Any],
    trials: Sequence[dict[str, Any]],
    outcomes: Sequence[dict[str, Any]],
    reports: Sequence[pd.DataFrame],
) -> str:
    """Write the supersteps, the plots and the HTML report to the folder, which already has the records. Returns the
    reason if there are no plots, otherwise ""."""
    supersteps = pd.concat(reports, ignore_index=True)
    supersteps.to_csv(folder / SUPERSTEPS, index=False)
    pictures, note = draw(folder, suite, pd.DataFrame(trials), supersteps)
    (folder / REPORT).write_text(page(suite, heading, trials, outcomes, pictures, note), encoding="utf-8")
    return note


def draw(folder: Path, suite: Suite, trials: pd.DataFrame, supersteps: pd.DataFrame) -> tuple[list[str], str]:
    """Draw the suite's plots to PNG files in the folder. Returns them as SVG, and a note on what to install if
    matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return [], "No plots were drawn, because matplotlib is not installed: pip install 'dask-dgraph[bench]'"
    pictures = []
    for i, spec in enumerate(suite.plots, 1):
        function, reads = plot(spec.plot)
        rows = rows_of(trials if reads == "trials" else supersteps, spec.where)
        if len(rows):
            pictures.append(function(rows, folder / f"{i}-{spec.plot}.png", **spec.options))
    return pictures, ""


def page(
    suite: Suite,
    heading: Mapping[str, Any],
    trials: Sequence[dict[str, Any]],
    outcomes: Sequence[dict[str, Any]],
    pictures: Sequence[str],
    note: str = "",
) -> str:
    """The report of a run as HTML.

    `heading` is the first record; `trials` and `outcomes` are the records of trials and targets. `pictures` are SVG
    texts, and `note` says why there are none.
    """
    parts = [f"<h1>{escape(suite.title)}</h1>", f'<p class="aside">{escape(_where(suite, heading))}</p>']
    if suite.about:
        parts.append(f"<p>{escape(suite.about)}</p>")
    graphs = "; ".join(f"{one.name}: {one.title}" for one in suite.graphs.values() if one.title != one.name)
    if graphs:
        parts.append(f'<p class="aside">{escape(graphs)}</p>')
    if suite.paper["cite"]:
        place = f" ({escape(suite.paper['where'])})" if suite.paper["where"] else ""
        parts.append(f"<blockquote><p>{escape(suite.paper['says'])}</p><p>{escape(suite.paper['cite'])}{place}</p>")
        parts.append("</blockquote>")
    if outcomes:
        parts += ["<h2>Targets</h2>", _table(target_cells(outcomes)), *_details(outcomes)]
    parts += [f"<figure>{picture}</figure>" for picture in pictures]
    if note:
        parts.append(f'<p class="aside">{escape(note)}</p>')
    parts += ["<h2>All cases</h2>", _table(case_cells(suite, trials)), f'<p class="aside">{_legend(trials)}</p>']
    body = "\n".join(parts)
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    head += f"<title>{escape(suite.name)}: {escape(suite.title)}</title><style>{STYLE}</style>"
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def _where(suite: Suite, heading: Mapping[str, Any]) -> str:
    """The suite, the date, the machine and the versions."""
    versions = ", ".join(f"{name} {version}" for name, version in heading["versions"].items())
    date = heading["date"].replace("T", " ").replace("+00:00", " UTC")
    return f"dgraph bench {suite.name}, {date} on {heading['machine']}; {versions}"


def _legend(trials: Sequence[dict[str, Any]]) -> str:
    """A legend for the columns of the table of cases."""
    seconds = shown(trials[-1]["elapsed"], "s")
    return (
        f"Medians of {len(trials)} trials in total, all verified, in {seconds}. Load: reading edges into frames; "
        "build: building partitions; run: the operation alone. Sent: between partitions. Peak memory: of all processes "
        "together. EVPS: vertices and edges per second; TEPS: edges of reached vertices per second."
    )


def _table(rows: Sequence[Sequence[str]]) -> str:
    """An HTML table from cells; the first row holds the titles."""
    numbers = [all(cell[:1].isdigit() or not cell for cell in column) for column in zip(*rows[1:], strict=True)]

    def line(tag: str, row: Sequence[str]) -> str:
        return "".join(cell(tag, text, number) for text, number in zip(row, numbers, strict=True))

    def cell(tag: str, text: str, number: bool) -> str:
        kind = {"met": "met", "MISSED": "missed"}.get(text, "" if number else "word")
        kind += " wide" if len(text) > 40 else ""
        return f'<{tag} class="{kind}">{escape(text)}</{tag}>' if kind else f"<{tag}>{escape(text)}</{tag}>"

    lines = [line("th", rows[0]), *(line("td", row) for row in rows[1:])]
    return f'<div class="table"><table>{"".join(f"<tr>{one}</tr>" for one in lines)}</table></div>'


def _details(outcomes: Sequence[dict[str, Any]]) -> list[str]:
    """The figures of each target by case, in collapsible sections."""
    sections = []
    for one in outcomes:
        if len(one["each"]) > 1 and one["figure"] != "elapsed":
            rows = [["case", one["what"]], *([name, shown(value)] for name, value in one["each"].items())]
            sections.append(f"<details><summary>{escape(one['what'])}, by case</summary>{_table(rows)}</details>")
    return sections
