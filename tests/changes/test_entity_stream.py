"""The example of a stream: whenever it is killed, each file is in the graph once, and the answers are the same."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

import dgraph as dg

EXAMPLE = Path(__file__).parents[2] / "examples" / "entity_stream.py"

# Runs the example again and again, killed in the k-th call of fsync of a run, while new files arrive. It is a fork of a
# process that has run the example once, so that it need not load kernels.
KILLED = """
import os, runpy, signal, sys
from itertools import count
from pathlib import Path
import dask
import dgraph as dg
example, inbox, state, warm, *moments = sys.argv[1:]
main, fsync = runpy.run_path(example)["main"], os.fsync

def run(at):
    calls = count(1)
    def until(file):
        fsync(file)
        if next(calls) == at:
            os.kill(os.getpid(), signal.SIGKILL)
    os.fsync = until
    main(Path(inbox), Path(state), forever=False, compact_every=2)

with dask.config.set(scheduler="sync"):  # whose threads a fork would not have
    main(Path(inbox), Path(warm), forever=False, compact_every=2)
    for at in map(int, moments):
        if (child := os.fork()) == 0:
            run(at)
            os._exit(0)
        print("came to", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        for later in sorted(Path(inbox).glob("*.later"))[:1]:
            later.rename(later.with_suffix(".parquet"))
"""
MOMENTS = (0, 1, 2, 4, 5, 8, 11, 12, 3, 20, 7, 0)  # two runs are not killed: the first one and the last one


def links(number: int) -> pd.DataFrame:
    random = np.random.default_rng(number)
    records, values = random.integers(0, 60 * (number + 1), 80), random.integers(0, 150, 80)
    return pd.DataFrame({"record": [f"crm-{one:03}" for one in records], "value": [f"mail-{one:03}" for one in values]})


def check(state: Path, frames: list[pd.DataFrame]) -> dg.Graph:
    """What was left is what a run that was not killed leaves: of one graph of all links, and of one plan per file."""
    found = dg.open_graph(state / "graph")
    every = pd.concat(frames)
    fresh = dg.Graph.from_edges(every, source="record", destination="value", directed=False)
    assert found.num_edges == len(every), "each link once"
    plans = [
        name
        for plan in sorted((state / "plans").glob("*.json"))
        for name in re.findall(r"\w+\.parquet", plan.read_text())
    ]
    assert sorted(plans) == sorted(f"{number}.parquet" for number in range(len(frames)))
    pd.testing.assert_frame_equal(found.results["entities"].compute(), dg.wcc(fresh).compute())
    ranks = [one.by_number("pagerank") for one in (found.results["ranks"], dg.pagerank(fresh))]
    assert np.abs(ranks[0] - ranks[1]).sum() < 2e-6
    names: dict[str, str] = {}
    changes = sorted((state / "changes").glob("*"))
    assert [path.name for path in changes] == [f"{number:06}.parquet" for number in range(1, found.version + 1)]
    for path in changes:
        frame = pd.read_parquet(path)
        assert [names.get(one) for one in frame["vertex"]] == [
            None if pd.isna(one) else one for one in frame["component_before"]
        ]
        names.update(zip(frame["vertex"], frame["component_after"], strict=True))
    assert names == dict(dg.wcc(fresh).compute().itertuples(index=False, name=None))
    return found


def test_a_stream_that_is_killed_at_any_moment_ends_the_same(tmp_path):
    frames, inbox = [links(number) for number in range(len(MOMENTS))], tmp_path / "in"
    inbox.mkdir()
    for number, frame in enumerate(frames):
        frame.to_parquet(inbox / f"{number}.{'later' if number else 'parquet'}")
    folders = [inbox, tmp_path / "state", tmp_path / "warm"]
    command = [sys.executable, "-c", KILLED, EXAMPLE, *folders, *map(str, MOMENTS)]
    done = subprocess.run(command, capture_output=True, text=True)
    ends = re.findall(r"came to (.*)", done.stdout)
    assert ends == [str(-signal.SIGKILL) if at else "0" for at in MOMENTS], (ends, done.stderr)
    assert check(tmp_path / "state", frames).version > 5


def test_files_are_taken_as_they_come(tmp_path):
    frames, state = [links(number) for number in range(2)], tmp_path / "state"
    frames[0].to_parquet(tmp_path / "0.parquet")
    process = subprocess.Popen([sys.executable, EXAMPLE, tmp_path, state], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline().startswith("version 1: 1 files, 80 links, ")
        frames[1].to_parquet(tmp_path / "1.new")
        (tmp_path / "1.new").rename(tmp_path / "1.parquet")
        line = next(line for line in process.stdout if line.startswith("version"))
        assert line.startswith("version 2: 1 files, 80 links, ")
    finally:
        process.kill()
        process.communicate()
    assert check(state, frames).version == 2
