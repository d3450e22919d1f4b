"""Workers of a run share out the cores of their host."""

import os

import pytest
from mixing import start

from dgraph.native.hosts import own_cores, pin_to_cores, share_of_cores
from dgraph.native.threads import cores
from dgraph.supersteps.run_steps import run_steps
from dgraph.supersteps.steps import Steps

HERE = [f"tcp://10.0.0.1:{port}" for port in range(4)]
bound = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity") or cores() < max(2, os.cpu_count() or 1),
    reason="one core, not Linux, or bound already",
)


def test_workers_of_a_host_share_its_cores_equally():
    assert [share_of_cores(HERE, worker, range(8)) for worker in range(4)] == [{0, 1}, {2, 3}, {4, 5}, {6, 7}]
    assert [share_of_cores(HERE[:2], worker, [3, 7]) for worker in range(2)] == [{3}, {7}]


def test_no_core_is_left_out():
    shares = [share_of_cores(HERE[:3], worker, range(8)) for worker in range(3)]
    assert sorted(core for share in shares for core in share) == list(range(8))
    assert max(map(len, shares)) - min(map(len, shares)) == 1


@pytest.mark.parametrize("workers", [HERE[:1], HERE, [HERE[0], "tcp://10.0.0.2:0"]])
def test_where_cores_cannot_be_shared_nobody_is_bound(workers):
    """One worker alone, more workers than cores, or each on a host of its own."""
    assert share_of_cores(workers, 0, [0, 1]) == set()


@bound
def test_a_thread_is_unpinned_afterwards_even_after_an_error():
    before = os.sched_getaffinity(0)
    with pytest.raises(ZeroDivisionError), pin_to_cores(own_cores(HERE[:2], 1)):
        assert os.sched_getaffinity(0) == share_of_cores(HERE[:2], 1, sorted(before)) < before
        _ = 1 / 0
    assert os.sched_getaffinity(0) == before


@bound
def test_a_process_that_was_bound_stays_as_it_is(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: cores() + 1)
    assert own_cores(HERE[:2], 1) == set()
    before = os.sched_getaffinity(0)
    with pin_to_cores(set()):
        assert os.sched_getaffinity(0) == before


@bound
@pytest.mark.parametrize("fuse", [True, False])
def test_workers_take_steps_on_cores_of_their_own(client, fuse):
    steps = Steps(
        setup=lambda exchange, partitions: exchange,
        step=lambda exchange, round, tokens: {"done": round == 2},
        finish=lambda exchange: os.sched_getaffinity(0),
    )
    first, second = client.gather(run_steps(steps, start(2), client=client, fuse=fuse).results)
    assert first and second and first.isdisjoint(second)
    free = client.submit(os.sched_getaffinity, 0, pure=False).result()
    assert free == first | second
