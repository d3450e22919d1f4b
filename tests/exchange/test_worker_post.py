"""Mail to all partitions of a worker brings what mail to each of them does, in fewer buffers."""

import numpy as np
import pytest

import dgraph as dg
from dgraph.errors import RunError
from dgraph.exchange.local import LocalExchange
from dgraph.exchange.mail import Route
from dgraph.exchange.proxy_post import BROADCAST, REDUCE, ProxyMail, opened
from dgraph.exchange.worker_post import WorkerPost
from dgraph.native.threads import cores

HOMES = {"two workers": (0, 0, 0, 1, 1), "one worker": (0,) * 5, "out of order": (1, 0, 1, 0, 2)}


@pytest.fixture(scope="module")
def partitions():
    return {
        policy: dg.rmat(scale=7, edge_factor=3, seed=2, parts=5, policy=policy).partitioned(("out", "incoming")).held
        for policy in ("outgoing", "cartesian")
    }


def mail(partitions, homes, together, tag, side, changed, exact):
    """What each partition receives under a tag, and the number of buffers."""
    ends = LocalExchange.ends(Route("run", tuple(map(str, range(max(homes) + 1))), homes))
    shared = [WorkerPost(end, opened) if together else None for end in ends]
    posts = [ProxyMail(ends[home], one, (), shared[home]) for home, one in zip(homes, partitions, strict=True)]
    for post in posts:
        rng, size = np.random.default_rng(post.partition.index), post.partition.num_local
        arrays = [rng.random(size), rng.integers(0, 9, (size, 2)).astype(np.uint8)]
        mask = {"all": None, "some": rng.random(size) < 0.3, "none": np.zeros(size, bool)}.get(changed)
        post.step = 4
        if tag == REDUCE:
            post.reduce(side, arrays, [0.5, 0] if changed == "other" else mask)
        else:
            post.broadcast(tag, side, arrays, mask, exact=exact)
    for end in ends:
        end.flush(4, {}, share=True)
    received = []
    for post in posts:
        post.step = 5
        found = [(one.locals, *one.values) for one in post.collect({tag: side})]
        received.append([np.concatenate(column).tolist() for column in zip(*found, strict=True)])
        assert all(len(np.unique(ids)) == len(ids) for ids, *_ in found)  # each is from one sender
    return received, sum(post.buffers for post in posts)


@pytest.mark.parametrize("homes", HOMES.values(), ids=HOMES)
@pytest.mark.parametrize("side", ["in", "out", "any"])
@pytest.mark.parametrize("changed", ["all", "some", "none", "other"])
def test_all_partitions_of_a_worker_hear_the_same_as_each(partitions, homes, side, changed):
    for held in partitions.values():
        for tag in (REDUCE, BROADCAST) if changed != "other" else (REDUCE,):
            expected, many = mail(held, homes, False, tag, side, changed, True)
            found, few = mail(held, homes, True, tag, side, changed, True)
            assert found == expected
            assert few <= min(many, len(homes) * len(set(homes)))
            assert bool(few) == bool(many)


def test_values_of_several_senders_come_in_one_piece(partitions):
    """In the order of senders, so that sums are the same for any number of workers."""
    held, homes = partitions["cartesian"], HOMES["out of order"]
    ends = LocalExchange.ends(Route("run", ("0", "1", "2"), homes))
    shared = [WorkerPost(end, opened) for end in ends]
    posts = [ProxyMail(ends[home], one, (), shared[home]) for home, one in zip(homes, held, strict=True)]
    for post in posts:
        post.step = 1
        post.reduce("in", [np.full(post.partition.num_local, post.partition.index)], None)
    for end in ends:
        end.flush(1, {}, share=True)
    for post in posts:
        post.step = 2
        (one,) = post.collect({REDUCE: "in"}, joined=True)
        (senders,) = one.values
        assert (np.diff(senders) >= 0).all() and len(np.unique(senders)) > 1


def test_mail_is_collected_once(partitions):
    """What has been collected in a step, under whatever tag, is gone."""
    held, homes = partitions["cartesian"], HOMES["two workers"]
    ends = LocalExchange.ends(Route("run", ("0", "1"), homes))
    shared = [WorkerPost(end, opened) for end in ends]
    posts = [ProxyMail(ends[home], one, (), shared[home]) for home, one in zip(homes, held, strict=True)]
    for post in posts:
        post.step = 1
        post.reduce("any", [np.ones(post.partition.num_local)], None)
    for end in ends:
        end.flush(1, {}, share=True)
    for post in posts:
        post.step = 2
        assert list(post.collect({REDUCE: "any"})) and not list(post.collect({REDUCE: "in"}))


def test_mail_that_does_not_fit_the_tables_is_refused(partitions):
    held, homes = partitions["cartesian"], HOMES["one worker"]
    (end,) = LocalExchange.ends(Route("run", ("0",), homes))
    shared = WorkerPost(end, opened)
    posts = [ProxyMail(end, one, (), shared) for one in held]
    for post in posts:
        post.step = 1
        post.reduce("any", [np.ones(post.partition.num_local)], None)
    end.flush(1, {}, share=True)
    posts[0].step = 2
    with pytest.raises(RunError, match="expected a message about"):
        list(posts[0].collect({REDUCE: "out"}))


class Weighed(dg.VertexProgram):
    """Reads degrees, so that mail is collected before the first messages are."""

    gain = dg.State(float)
    fresh = dg.Delta(float)
    merge = dg.SUM

    def seed(id):
        return 1.0 if id == 1 else 0.0

    def send(fresh, degree, weight):
        return fresh * weight / (10 * degree)

    def apply(gain, message):
        return gain + message, message


@pytest.mark.parametrize("engine", ["gas", "bsp", dg.BlockDescent(mode="barrier", operator="push")], ids=str)
@pytest.mark.parametrize("policy", ["incoming", "cartesian", "hybrid"])
def test_programs_that_read_degrees_agree(policy, engine, apart):
    frame = dg.rmat(scale=6, edge_factor=5, seed=3, weights=(1, 3)).edges.compute()
    columns = {"source": "source", "destination": "destination", "weight": "weight"}
    one, many = (dg.Graph.from_edges(frame, **columns, policy=policy, parts=parts) for parts in (1, 4 * cores() + 1))
    expected = dg.run(one, Weighed(), engine="gas").by_number("gain")
    np.testing.assert_allclose(dg.run(many, Weighed(), engine=engine).by_number("gain"), expected, atol=1e-6)


def test_supersteps_of_many_partitions_take_few_buffers(apart):
    graph = dg.rmat(scale=10, edge_factor=4, seed=1, parts=24)
    one = dg.rmat(scale=10, edge_factor=4, seed=1)
    result = dg.pagerank(graph, max_iter=3, tol=0, engine="bsp")
    np.testing.assert_allclose(result.by_number("pagerank"), dg.pagerank(one, max_iter=3, tol=0).by_number("pagerank"))
    workers = min(24, cores())  # threads
    assert result.report.groupby("superstep")["messages"].sum().max() <= 2 * 24 * workers
