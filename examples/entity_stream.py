"""Entity resolution over a stream: tails a folder of Parquet files, and keeps entities and ranks up to date.

Each file lists links between records and what they have in common, such as an email address: the columns `record` and
`value`, both strings. Connected records are one entity, which is named by its smallest vertex. Where entities merge,
the changes say which name was lost, and to which one.

All files that are new make a batch, and each batch becomes a version of the saved graph, exactly once, even if this
program is killed. First, the files of batch n are written down as plan n. The last step saves version n, with its
answers. After a restart, the newest version tells which plan comes next. If that plan exists already, it is carried out
again, with the same files. Whoever writes the files renames them to *.parquet once they are complete.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import IO, Any

import pandas as pd

import dgraph as dg

Answers = Mapping[str, Any]  # results by name


def opened(folder: Path) -> dg.Graph:
    """The newest version of the graph; the first one, version 0, has no edges."""
    if not folder.exists():
        none = pd.DataFrame({"record": [], "value": []}, dtype="str")
        graph = dg.Graph.from_edges(none, source="record", destination="value", directed=False)
        graph.save(folder, results={"entities": dg.wcc(graph), "ranks": dg.pagerank(graph)})
    return dg.open_graph(folder)


def batches(inbox: Path, plans: Path, first: int, *, forever: bool) -> Iterator[tuple[int, list[str]]]:
    """The number and the files of each batch, from the `first` on: those of plans, and then those that are new."""
    seen = set[str]()
    for number in count(1):
        plan = plans / f"{number:06}.json"
        while not plan.exists():
            if new := sorted({path.name for path in inbox.glob("*.parquet")} - seen):
                write(plan, lambda file, new=new: file.write(json.dumps(new).encode()))
            elif forever:
                time.sleep(0.1)
            else:
                return
        files = json.loads(plan.read_text())
        seen.update(files)
        if number >= first:
            yield number, files


def write(path: Path, fill: Callable[[IO[bytes]], Any]) -> None:
    """Write a file that is there complete or not at all, even after a power failure."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    with new.open("wb") as file:
        fill(file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def main(inbox: Path, state: Path, *, forever: bool, compact_every: int) -> None:
    graph = opened(state / "graph")
    answers: Answers = graph.results
    for number, files in batches(inbox, state / "plans", graph.version + 1, forever=forever):
        links = pd.concat([pd.read_parquet(inbox / name, columns=["record", "value"]) for name in files])
        graph = graph.updated(added=links)
        entities = dg.wcc(graph, previous=answers["entities"])
        ranks = dg.pagerank(graph, previous=answers["ranks"])

        changes = entities.changes(answers["entities"])
        write(state / "changes" / f"{number:06}.parquet", changes.to_parquet)  # again the same after a restart
        answers = {"entities": entities, "ranks": ranks}
        graph.save(state / "graph", results=answers)  # from here on, the batch is done

        print(f"version {number}: {len(files)} files, {len(links):,} links, {graph.changes.vertices:,} new vertices")
        renamed = changes[changes["change"] == "changed"][["component_before", "component_after"]].drop_duplicates()
        for lost, kept in renamed.head(3).itertuples(index=False):
            print(f"  {lost} is now {kept}")
        if number % compact_every == 0:
            dg.compact(state / "graph")
    print("The vertices that connect the most:")
    print(answers["ranks"].compute().nlargest(3, "pagerank").to_string(index=False))


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("inbox", type=Path, help="folder of Parquet files")
    options.add_argument("state", type=Path, help="folder for the graph, the plans, and what each batch changed")
    options.add_argument("--once", action="store_true", help="stop when there are no more files, rather than wait")
    options.add_argument("--compact-every", type=int, default=20, help="merge versions after so many batches")
    given = options.parse_args()
    main(given.inbox, given.state, forever=not given.once, compact_every=given.compact_every)
