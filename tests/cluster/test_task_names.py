"""Dask's dashboard, logs and `key_split` show tasks by name: all of dgraph's start with `dgraph-`."""

from contextlib import contextmanager
from functools import partial

import dask.dataframe as dd
import pandas as pd
import pytest
from dask.utils import key_split
from distributed import SchedulerPlugin

import dgraph as dg
from dgraph.cluster.tasks import label
from dgraph.partition.placement import Placement

FRAME = pd.DataFrame({"src": [0, 1, 2, 3, 4], "dst": [1, 2, 0, 4, 3], "w": [1.0, 2.0, 3.0, 4.0, 5.0]})
WORDS = FRAME.assign(src=FRAME["src"].map("v{}".format), dst=FRAME["dst"].map("v{}".format))


class SeenTasks(SchedulerPlugin):
    """Lists the keys of all tasks and data that a scheduler hears of."""

    name = "seen-tasks"

    def __init__(self):
        self.keys = set()

    def transition(self, key, start, finish, *arguments, **more):
        self.keys.add(key)


def name_of(key):
    """The name of a task, without its number in a collection."""
    return key[0] if isinstance(key, tuple) else key


@contextmanager
def seen_tasks(client):
    seen, scheduler = SeenTasks(), client.cluster.scheduler
    scheduler.add_plugin(seen)
    try:
        yield seen
    finally:
        scheduler.remove_plugin(seen.name)


def conversions(client):
    graph = dg.Graph.from_edges(WORDS, weight="w", policy="hybrid", client=client)
    dg.wcc(graph).compute()
    graph.validate()
    graph.estimate("wcc")
    dg.to_networkx(graph)


def files(client, folder):
    FRAME.to_csv(folder / "edges.csv", index=False)
    graph = dg.read_edges(folder / "edges.csv", format=dg.Text(lazy=True), client=client)
    dg.pagerank(graph, checkpoint=str(folder / "run"), tol=0, max_iter=3).compute()
    graph.save(folder / "saved")
    dg.degrees(dg.open_graph(folder / "saved", client=client)).compute()


def algorithms(client):
    graph = dg.Graph.from_edges(FRAME, weight="w", client=client)
    dg.wcc(graph, engine="bulk_async").compute()
    dg.triangles(graph).compute()
    dg.core_number(graph).compute()
    dg.sssp(graph, 0).compute()
    dg.wcc(graph, engine=dg.Gas(optimizations=dg.Optimizations(direct_exchange=False))).compute()
    dg.hits(dg.rmat(scale=5, client=client)).compute()
    dg.capacities(client=client)


@pytest.mark.parametrize("work", [conversions, files, algorithms])
def test_all_tasks_are_named_dgraph(client, tmp_path, work):
    with seen_tasks(client) as seen:
        work(client, *([tmp_path] if work is files else []))
    groups = {key_split(key) for key in seen.keys}
    assert len(groups) > 5
    assert not {key for key in seen.keys if not name_of(key).startswith("dgraph-")}


def test_only_what_dask_makes_of_a_users_frame_has_other_names(client):
    frame = dd.from_pandas(FRAME, npartitions=2)
    with seen_tasks(client) as seen:
        dg.wcc(dg.Graph.from_edges(frame, client=client)).compute()
    others = {key_split(key) for key in seen.keys if not name_of(key).startswith("dgraph-")}
    assert others <= set(map(key_split, frame.dask))


@pytest.mark.parametrize("name", ["frame", "edges", "vertices"])
def test_frames_that_users_compute_are_made_by_tasks_named_dgraph(client, name):
    graph = dg.Graph.from_edges(WORDS, weight="w", client=client)
    frame = dg.wcc(graph).frame if name == "frame" else getattr(graph, name)
    with seen_tasks(client) as seen:
        client.compute(frame).result()
    by_dask = ("delayed-container", "repartitiontofewer")  # aliases of our tasks, and the sum of the partitions
    assert not {key for key in seen.keys if not name_of(key).startswith(("dgraph-", *by_dask))}


def test_task_names_are_lower_case_words_joined_by_hyphens():
    class LocalJob:
        pass

    def _edge_ids():
        pass

    assert label(_edge_ids) == "dgraph-edge-ids"
    assert label(partial(partial(Placement.to_positions))) == "dgraph-placement-to-positions"
    assert label(LocalJob()) == "dgraph-local-job"
    assert key_split(f"{label(_edge_ids)}-0b5f2c4e-1") == "dgraph-edge-ids"
