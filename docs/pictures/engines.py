"""The four engines as timelines: when each partition worked, waited and was idle, from the reports of real runs.

python docs/pictures/engines.py --record    runs them again, and writes engines.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from canvas import bar, svg, text

RECORD = Path(__file__).with_suffix(".json")
ENGINES = ("bsp", "gas", "bulk_async", "block_descent")
SAYS = {
    "bsp": "all partitions wait for each other, up to twice in a superstep",
    "gas": "they wait once in a superstep",
    "bulk_async": "each goes on at its own pace, and merges mail when it comes",
    "block_descent": "blocks are brought up to date from the newest values",
}
SPANS = {"busy": "busy", "wait": "wait", "idle": "idle"}  # columns of a report, and colours
LEFT, WIDTH, ROW = 40, 700, 17
PARTS, SHARES = 2, [2, 1]  # partitions, one per worker; the first has two thirds of the work
TRIES = 5


def record() -> list[dict[str, Any]]:
    """For each engine, the spans of every partition, from the shortest of a few runs."""
    from distributed import Client, LocalCluster

    import dgraph as dg

    found = []
    with LocalCluster(n_workers=PARTS, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster):
        edges = dg.rmat(scale=17, seed=1).edges.compute()
        ends = dict(zip(("source", "destination"), edges, strict=True))
        graph = dg.Graph.from_edges(edges, **ends, parts=PARTS, capacities=SHARES)
        for engine in ENGINES:
            reports = [dg.pagerank(graph, tol=1e-3, engine=engine).report for _ in range(TRIES)]
            rows = min(reports, key=seconds_of)
            names = [name for name in SPANS if name in rows]
            ordered = rows.sort_values(["partition", "superstep"])
            parts = [part[names].to_numpy().round(6).tolist() for _, part in ordered.groupby("partition")]
            found.append({"engine": engine, "spans": names, "partitions": parts})
    return found


def seconds_of(report: Any) -> float:
    return float(report.reindex(columns=list(SPANS)).fillna(0).sum(axis=1).groupby(report["partition"]).sum().max())


def picture() -> str:
    runs = json.loads(RECORD.read_text())
    parts, y = [], 28
    for run in runs:
        longest = max(sum(map(sum, part)) for part in run["partitions"])
        rounds = [len(part) for part in run["partitions"]]
        count = f"{rounds[0]} supersteps" if len(set(rounds)) == 1 else f"{min(rounds)} to {max(rounds)} local rounds"
        parts += [
            text(20, y, run["engine"], bold=True),
            text(130, y, f"{SAYS[run['engine']]} ({count})", "faint", size=13),
        ]
        parts.append(text(LEFT + WIDTH, y, f"{1000 * longest:.0f} ms", "faint", "end", 13))
        for number, spent in enumerate(run["partitions"]):
            top = y + 10 + number * (ROW + 3)
            parts.append(text(LEFT - 8, top + 13, str(number), "faint", "end", 12))
            parts += [
                bar(LEFT + WIDTH * x / longest, top, WIDTH * wide / longest, ROW, c)
                for x, wide, c in joined(run, spent)
            ]
        y += 10 + len(run["partitions"]) * (ROW + 3) + 32
    for at, (name, meaning) in enumerate((("busy", "working"), ("wait", "waiting with work to do"), ("idle", "idle"))):
        x = LEFT + 190 * at
        parts += [bar(x, y - 12, 14, 14, name), text(x + 20, y, meaning, "faint", size=13)]
    title = "Timelines of two partitions under each engine: the less they wait for each other, the less they are idle"
    return svg(LEFT + WIDTH + 20, y + 18, title, parts)


def joined(run: dict[str, Any], spent: list[list[float]]) -> list[tuple[float, float, str]]:
    """The spans of a partition: begin, length and colour; neighbours of one colour are one."""
    found: list[tuple[float, float, str]] = []
    at = 0.0
    for row in spent:
        for name, seconds in zip(run["spans"], row, strict=True):
            if seconds <= 0:
                continue
            if found and found[-1][2] == SPANS[name]:
                begin, length, _ = found.pop()
                found.append((begin, length + seconds, SPANS[name]))
            else:
                found.append((at, seconds, SPANS[name]))
            at += seconds
    return found


if __name__ == "__main__" and "--record" in sys.argv:
    RECORD.write_text(json.dumps(record(), separators=(",", ":")) + "\n")
