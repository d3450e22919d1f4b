"""On a cluster: the same partitions as in this process, as futures spread over the workers."""

import asyncio
import copy
from collections import Counter

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, Future, get_client
from oracle import check_graph, collect, edges_of, frame_with_ids, listed

import dgraph as dg
from dgraph.cluster.scheduler import worker_infos
from dgraph.cluster.workers import Workers
from dgraph.errors import IdError, OptionError
from dgraph.partition.ids import survey
from dgraph.partition.policies import POLICY_NAMES
from dgraph.testing.stand_in import StandIn

POLICIES = POLICY_NAMES


def graphs(client, kind, lazy=True, **options):
    """The same graph in this process and on the cluster."""
    frame = frame_with_ids(kind)
    given = dd.from_pandas(frame, npartitions=3, sort=False) if lazy else frame
    return [
        dg.Graph.from_edges(one, weight="weight", client=where, **options)
        for one, where in ((frame, None), (given, client))
    ]


def assert_same_partitions(left, right):
    for one, other in zip(collect(left), collect(right), strict=True):
        assert (one.index, one.parts, one.num_owned) == (other.index, other.parts, other.num_owned)
        np.testing.assert_array_equal(one.numbers, other.numbers)
        np.testing.assert_array_equal(one.proxies.groups, other.proxies.groups)
        assert one.proxies.kinds == other.proxies.kinds
        for peer, masters in one.proxies.masters.items():
            np.testing.assert_array_equal(masters, other.proxies.masters[peer])
        for mine, theirs in ((one.out, other.out), (one.incoming, other.incoming)):
            np.testing.assert_array_equal(mine.indptr, theirs.indptr)
            np.testing.assert_array_equal(mine.neighbours, theirs.neighbours)
            for name, column in mine.columns.items():
                np.testing.assert_array_equal(column, theirs.columns[name])


@pytest.mark.parametrize("lazy", [True, False], ids=["Dask", "pandas"])
@pytest.mark.parametrize(
    ("kind", "policy", "parts", "rules"),
    [
        ("dense", "outgoing", 2, {}),
        ("dense", "hybrid", 3, {"symmetrize": True, "repeats": "first"}),
        ("sparse", "cartesian", 4, {"loops": "drop", "repeats": "sum"}),
        ("sparse", "incoming", 1, {}),
        ("string", "metis", 3, {}),
        ("string", "outgoing", 1, {"repeats": "max"}),
    ],
)
def test_a_cluster_builds_the_same_partitions_as_one_process(client, kind, policy, parts, rules, lazy):
    here, there = graphs(client, kind, lazy, policy=policy, parts=parts, **rules)
    asked = ("out", "incoming"), ["weight"]
    assert_same_partitions(here.partitioned(*asked), there.partitioned(*asked))
    assert (here.num_vertices, here.num_edges) == (there.num_vertices, there.num_edges)


@pytest.mark.parametrize(("kind", "policy"), [("dense", "cartesian"), ("sparse", "metis"), ("string", "outgoing")])
def test_an_undirected_graph_on_a_cluster_has_the_right_edges(client, kind, policy):
    """Rows may list their edges in another order: the chunks of the cluster are mirrored one by one."""
    _, graph = graphs(client, kind, policy=policy, parts=3, directed=False, loops="drop", repeats="min")
    rows = listed(frame_with_ids(kind))
    check_graph(
        graph,
        edges_of(rows, directed=False, loops="drop", repeats="min"),
        vertices={end for u, v, _ in rows for end in (u, v)},
        weight="weight",
    )


def test_partitions_are_futures_spread_over_the_workers(client):
    _, graph = graphs(client, "dense", parts=4)
    assert graph.client is client
    assert all(isinstance(one, Future) for one in graph.partitions)
    holders = [client.who_has([one])[one.key] for one in graph.partitions]
    assert Counter(workers[0] for workers in holders) == dict.fromkeys(client.nthreads(), 2)
    assert graph.partitions.report.frame["edges"].sum() == 300
    assert "the cluster" in repr(graph.partitions)


def test_frames_come_back(client):
    _, graph = graphs(client, "string", policy="cartesian", parts=4)
    edges = client.compute(graph.edges).result()
    assert Counter(listed(edges)) == Counter(listed(frame_with_ids("string")))
    vertices = client.compute(graph.vertices).result()
    assert vertices["id"].tolist() == sorted({*edges["src"], *edges["dst"]})


def test_the_current_client_is_the_default(client):
    frame = frame_with_ids("dense")
    with client.as_current():
        graph = dg.Graph.from_edges(frame)
        assert graph.client is client
        assert len(graph.partitions) == 2, "a partition for each worker"
        assert Counter(listed(graph.edges.compute())) == Counter(listed(frame.assign(weight=frame["weight"])))
    alone = dg.Graph.from_edges(frame)
    assert alone.client is None
    assert len(alone.partitions) == 1


def test_the_users_dask_configuration_is_unchanged(client):
    before = copy.deepcopy(dask.config.config)
    _, graph = graphs(client, "string", policy="metis", parts=2)
    graph.partitions  # noqa: B018
    client.compute(graph.edges).result()
    assert dask.config.config == before


def test_user_functions_can_place_vertices_and_edges(client):
    def by_length(ids, parts):
        return ids.str.len() % parts if hasattr(ids, "str") else np.array([len(name) % parts for name in ids])

    def by_letter(source, destination, parts):
        return np.array([ord(name[-1]) % parts for name in source])

    for policy in (by_length, by_letter):
        _, graph = graphs(client, "string", policy=policy, parts=3)
        check_graph(graph, listed(frame_with_ids("string")), weight="weight")


def test_capacities_by_address_or_name_set_the_shares_of_workers(client):
    slow, fast = sorted(client.nthreads())
    names = {address: worker["name"] for address, worker in worker_infos(client).items()}
    for capacities in ({slow: 1, fast: 4}, {names[slow]: 10, names[fast]: 40}):
        graph = dg.Graph.from_edges(
            frame_with_ids("dense", 20_000, 3000), parts=4, capacities=capacities, client=client
        )
        held = collect(graph.partitions)
        work = np.array([one.num_edges + one.num_owned for one in held])
        np.testing.assert_allclose(work / work.sum(), [0.1, 0.1, 0.4, 0.4], rtol=0.02)
        assert [client.who_has([one])[one.key] for one in graph.partitions] == [(slow,), (slow,), (fast,), (fast,)]
    with pytest.raises(OptionError, match=r"must have a number for each worker; missing"):
        dg.Graph.from_edges(frame_with_ids("dense"), parts=2, capacities={slow: 1}, client=client)


def test_capacities_are_measured(client):
    slow, fast = sorted(client.nthreads())
    kinds = {0: [StandIn(compute=3e-6)], 1: [StandIn(compute=3e-7)]}
    found = dg.capacities(client=client, daemons=kinds)
    assert list(found) == [slow, fast] and found[slow] < 1 / 3e-6 < found[fast]
    for capacities in (found, "measure"):
        graph = dg.Graph.from_edges(
            frame_with_ids("dense", 20_000, 3000), parts=2, capacities=capacities, client=client
        )
        assert sum(one.num_edges for one in collect(graph.partitions)) == 20_000


def test_errors_on_workers_reach_the_user_unchanged(client):
    frame = pd.DataFrame({"src": [0.0, 1.0, 2.0, 3.0, 4.0, np.nan], "dst": np.arange(6.0)})
    with pytest.raises(IdError, match="'src', row 5: the id is missing"):
        dg.Graph.from_edges(frame.astype({"dst": "int64"}).astype({"src": "Int64"}), client=client)
    lazy = dg.Graph.from_edges(dd.from_pandas(frame, npartitions=2), client=client)
    with pytest.raises(IdError, match=r"float64|missing"):
        lazy.num_vertices  # noqa: B018


def test_tasks_pinned_to_a_worker_do_not_pin_what_they_read(client):
    """Within `dask.annotate` Dask would want what tasks read there, too: one worker did the work of all."""
    workers = Workers(client)
    read = [workers.call(abs, number) for number in range(-4, 0)]
    held = workers.wait(workers.hold([workers.call(sum, read, on=where) for where in workers.addresses]))
    wanted = client.run_on_scheduler(
        lambda keys, dask_scheduler: [
            [one.worker_restrictions for one in (dask_scheduler.tasks[key], *dask_scheduler.tasks[key].dependencies)]
            for key in keys
        ],
        [one.key for one in held],
    )
    assert workers.bring(held) == [10] * len(held)
    for where, (own, *others) in zip(workers.addresses, wanted, strict=True):
        assert own == {where}
        assert not any(others)


def test_tasks_grow_with_chunks_times_parts(client, monkeypatch):
    counted = Counter()
    call = Workers.call

    def counting(self, function, *arguments, **options):
        counted[chunks] += 1
        return call(function, *arguments, **options)

    monkeypatch.setattr(Workers, "call", counting)
    for chunks in (3, 6, 12):
        frame = dd.from_pandas(frame_with_ids("string"), npartitions=chunks, sort=False)
        dg.Graph.from_edges(frame, policy="cartesian", parts=chunks, client=client).partitions  # noqa: B018
    growth = counted[12] - counted[6], counted[6] - counted[3]
    assert growth[0] <= 4 * growth[1]
    assert counted[12] <= 3 * 12 * 12 + 20 * 12


def test_tasks_of_few_chunks_grow_with_parts(client, monkeypatch):
    """Not with their square, here or on workers: peers that agree pick in bulk."""
    call = Workers.call

    def counting(self, function, *arguments, **options):
        counted[parts] += 1
        return call(function, *arguments, **options)

    monkeypatch.setattr(Workers, "call", counting)
    for where in (None, client):
        counted = Counter()
        for parts in (4, 8, 16):
            dg.Graph.from_edges(frame_with_ids("dense"), policy="cartesian", parts=parts, client=where).partitions  # noqa: B018
        assert counted[16] - counted[8] <= 2 * (counted[8] - counted[4])


def test_a_worker_has_one_bitmap_of_its_ids(client, monkeypatch):
    """However many its chunks are: of ids that are far apart a bitmap takes more room than a chunk."""
    made = []
    call = Workers.call

    def counting(self, function, *arguments, **options):
        made.extend([function] if function is survey.bitmap_of_chunks else [])
        return call(function, *arguments, **options)

    monkeypatch.setattr(Workers, "call", counting)
    frame = frame_with_ids("dense") * 50
    graph = dg.Graph.from_edges(dd.from_pandas(frame, npartitions=12, sort=False), client=client)
    assert graph.numbering.ids().tolist() == sorted({*frame["src"], *frame["dst"]})
    assert len(made) == len(client.nthreads())


def components_of(frame, client=None):
    return dg.wcc(dg.Graph.from_edges(frame, client=client)).compute()


@pytest.mark.parametrize("client_of_task", [lambda: None, get_client], ids=["found", "given"])
def test_a_task_of_the_cluster_can_build_and_run_graphs(client, client_of_task):
    """Each worker has one thread, which the task makes room on for those of the graph."""
    frame = frame_with_ids("dense")
    task = client.submit(lambda: components_of(frame, client_of_task()), pure=False)
    pd.testing.assert_frame_equal(task.result(timeout=120), components_of(frame))


def test_an_asynchronous_client_is_refused(client):
    async def task():
        async with Client(client.scheduler.address, asynchronous=True, set_as_default=False) as other:
            dg.Graph.from_edges(frame_with_ids("dense"), client=other)

    with pytest.raises(OptionError, match="is asynchronous; pass a synchronous one"):
        asyncio.run(task())


def test_graphs_work_in_threads_of_an_event_loop_but_not_in_the_loop(client):
    """Also of an asynchronous client: a thread may wait, the loop itself would wait for what it is to do."""

    async def task():
        async with Client(client.scheduler.address, asynchronous=True, set_as_default=False) as other:
            graph = await asyncio.to_thread(dg.Graph.from_edges, frame_with_ids("dense"), client=other)
            assert (await asyncio.to_thread(lambda: graph.num_edges)) == 300
            with pytest.raises(OptionError, match=r"in this event loop.* asyncio.to_thread"):
                dg.wcc(graph)

    asyncio.run(task())


def test_a_scheduler_without_a_client_builds_the_graph_in_process(client):
    with client.as_current(), dask.config.set(scheduler="threads"):
        graph = dg.Graph.from_edges(frame_with_ids("dense"))
        assert graph.client is None and len(dg.wcc(graph).frame.compute()) == graph.num_vertices
