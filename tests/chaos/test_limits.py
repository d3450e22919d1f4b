"""Full disks are answered clearly by every writer, and several clients of one cluster do not disturb each other."""

import resource
import signal
import threading
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from distributed import Client

import dgraph as dg
from dgraph.errors import DgraphError

FRAME = pd.DataFrame(np.random.default_rng(2).integers(0, 3000, (9000, 2)), columns=["src", "dst"])
SMALL = 4096  # bytes that a file may have


@contextmanager
def full_disk():
    """Files of this process cannot grow beyond a few bytes: writing more fails, as it does where no space is left. Only
    for a moment: what pytest prints may go to a file, too."""
    before, heard = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, heard)


@pytest.mark.parametrize("what", ["graph", "edges.csv", "edges.parquet", "edges.npz", "checkpoint"])
def test_a_full_disk(tmp_path, what):
    graph = dg.Graph.from_edges(FRAME, parts=2)

    def write(place) -> None:
        if what == "graph":
            graph.save(place)
        elif what == "checkpoint":
            option = dg.Checkpoint(place, every=1)
            dg.pagerank(graph, max_iter=5, tol=None, engine="gas", checkpoint=option)
        else:
            dg.write_edges(graph, place)

    write(tmp_path / "before" / what)  # compiles what is needed: Numba writes files as well
    place = tmp_path / "there" / what
    with full_disk(), pytest.raises(DgraphError, match=r"cannot be written|could not be written"):
        write(place)
    assert not [path for path in place.parent.rglob("*") if path.is_file()], "nothing torn is left"


def test_ten_clients_at_once(client):
    here = dg.Graph.from_edges(FRAME)
    first = int(FRAME["src"].iloc[0])
    works = [
        lambda graph: dg.wcc(graph),
        lambda graph: dg.bfs(graph, first),
        lambda graph: dg.pagerank(graph, max_iter=5, tol=None),
        lambda graph: dg.degrees(graph),
        lambda graph: dg.cdlp(graph, max_iter=3),
    ] * 2
    found: dict[int, pd.DataFrame] = {}

    def work(number: int) -> None:
        with Client(client.scheduler.address, set_as_default=False) as own:
            found[number] = works[number](dg.Graph.from_edges(FRAME, client=own, parts=2)).compute()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    for number, one in enumerate(works):
        expected = one(here).compute()
        pd.testing.assert_frame_equal(found[number], expected, rtol=1e-9, check_dtype=False)
