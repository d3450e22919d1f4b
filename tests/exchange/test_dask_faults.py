"""Workers of a cluster that lose, repeat, reorder or delay their k-th message, or cannot reach a peer, for every k: the
right answer or an error, never a wrong answer, and never a wait without end."""

import asyncio
from socket import SHUT_RDWR

import pytest
from mixing import check, mixing, start, wait_until

from dgraph.errors import RunError
from dgraph.exchange.dask import DaskExchange
from dgraph.exchange.lanes import Lanes
from dgraph.exchange.run_registry import PLUGIN_NAME
from dgraph.supersteps.run_steps import run_steps

PARTS, LAST = 4, 3
PATIENCE = {"lose": 0.1, "reorder": 0.1}  # seconds; elsewhere nothing is missing
FAULTS = ("lose", "repeat", "reorder", "delay", "fail once", "fail", "lose the answer")
CASES = [*((fault, True) for fault in FAULTS), ("lose", False)]  # the mail of fused steps is that of others


class Fault:
    """In the place of `DaskExchange._deliver`: counts the messages of this worker, and does something else with one."""

    sound = staticmethod(DaskExchange._deliver)

    def __init__(self, fault: str, k: int):
        self.fault, self.k, self.count, self.held = fault, k, 0, []

    async def deliver(self, end: DaskExchange, peer: int, message: dict) -> bool:
        here, self.count = self.count == self.k, self.count + 1
        if here and self.fault == "reorder":
            self.held.append((peer, message))
            return True
        if here and self.fault == "delay":
            await asyncio.sleep(0.02)
        if not (here and self.fault == "lose"):
            broken = here and self.fault in ("fail once", "fail", "lose the answer")
            delivered = await Fault.sound(Broken(end, self.fault) if broken else end, peer, message)
            if here and self.fault == "repeat":
                assert await Fault.sound(end, peer, message)
            while self.held:
                assert await Fault.sound(end, *self.held.pop())
            return delivered
        return True


class Broken:
    """In the place of an end, for one message: its connection breaks, before the message is there or after, the first
    time or always."""

    def __init__(self, end: DaskExchange, fault: str):
        self.end, self.route, self.fault, self.calls = end, end.route, fault, 0

    def _peer(self, peer: int) -> "Broken":
        self.receiver = self.end._peer(peer)
        return self

    async def dgraph_mail(self, **message) -> bool:
        self.calls += 1
        if self.fault == "lose the answer":
            await self.receiver.dgraph_mail(**message)
        if self.fault == "fail" or self.calls == 1:
            raise OSError("the connection is gone")
        return await self.receiver.dgraph_mail(**message)


class LaneFault:
    """In the place of `Lanes.send`: counts the packets of this worker, and does something else with one."""

    sound = staticmethod(Lanes.send)

    def __init__(self, fault: str, k: int):
        self.fault, self.k, self.count, self.held = fault, k, 0, []

    def send(self, lanes: Lanes, address: str, frame: bytes) -> bool:
        here, self.count = self.count == self.k, self.count + 1
        if here and self.fault == "break":
            lanes._out[address].line.shutdown(SHUT_RDWR)
        if here and self.fault == "reorder":
            self.held.append((address, frame))
            return True
        if here and self.fault == "lose":
            return True
        sent = LaneFault.sound(lanes, address, frame)
        if here and self.fault == "repeat":
            assert LaneFault.sound(lanes, address, frame)
        while self.held:
            assert LaneFault.sound(lanes, *self.held.pop())
        return sent


def put_on_lanes(client, worker: int, fault: str, k: int) -> None:
    """Have a worker mistreat its k-th packet on a lane."""

    def change(dask_worker):
        found = LaneFault(fault, k)
        dask_worker.dgraph_fault = found
        Lanes.send = lambda lanes, address, frame: found.send(lanes, address, frame)

    client.run(change, workers=[sorted(client.nthreads())[worker]])


def put(client, worker: int, fault: str, k: int) -> None:
    """Have a worker of the cluster, by its place in a run, mistreat its k-th message."""

    def change(dask_worker):
        found = Fault(fault, k)
        dask_worker.dgraph_fault = found
        dask_worker.plugins[PLUGIN_NAME].lanes = None
        DaskExchange._deliver = lambda end, peer, message: found.deliver(end, peer, message)

    client.run(change, workers=[sorted(client.nthreads())[worker]])


@pytest.fixture
def faulty(client):
    """The client; afterwards its workers are sound."""

    def keep(dask_worker):
        dask_worker.dgraph_lanes = dask_worker.plugins[PLUGIN_NAME].lanes

    def restore(dask_worker):
        DaskExchange._deliver, Lanes.send = Fault.sound, LaneFault.sound
        dask_worker.plugins[PLUGIN_NAME].lanes = dask_worker.dgraph_lanes

    run_steps(mixing(LAST), start(PARTS), client=client)  # which installs the plugin
    client.run(keep)
    yield client
    client.run(restore)


def counts(client) -> list[int]:
    """How many messages each worker has sent since it was changed."""
    return [count for _, count in sorted(client.run(lambda dask_worker: dask_worker.dgraph_fault.count).items())]


@pytest.mark.parametrize(("fault", "fuse"), CASES)
def test_every_lost_message_is_an_error_or_harmless(faulty, fault, fuse, monkeypatch):
    def run(patience=30.0):
        monkeypatch.setattr("dgraph.supersteps.run_steps.PATIENCE", patience)
        return run_steps(mixing(LAST), start(PARTS), client=faulty, fuse=fuse)

    for worker in (0, 1):
        put(faulty, worker, "none", -1)
    run()
    messages = counts(faulty)
    assert messages == [LAST] * 2  # the last step tells nobody
    for worker in (0, 1):
        outcomes = []
        for k in range(messages[worker]):
            put(faulty, worker, fault, k)
            try:
                outcome = run(PATIENCE.get(fault, 30.0))
            except RunError as error:
                assert "lost" in str(error) or "cannot be reached" in str(error)
                outcomes.append("error")
            else:
                check([future.result() for future in outcome.results], PARTS, LAST)
                outcomes.append("right")
        put(faulty, worker, "none", -1)
        if fault in ("lose", "fail"):
            assert set(outcomes) == {"error"}
        elif fault != "reorder":  # the last message has no other behind it
            assert set(outcomes) == {"right"}
    check([future.result() for future in run().results], PARTS, LAST)


@pytest.mark.parametrize("fault", ["lose", "repeat", "reorder", "break"])
def test_packets_on_lanes_may_be_lost_or_late(faulty, fault, monkeypatch):
    def run(patience=30.0):
        monkeypatch.setattr("dgraph.supersteps.run_steps.PATIENCE", patience)
        return run_steps(mixing(LAST), start(PARTS), client=faulty, fuse=True)

    for k in range(LAST):
        for worker in (0, 1):
            run()  # after which lanes open that were not, or broke
            wait_until(lambda: all(lanes_open(faulty)))
            put_on_lanes(faulty, worker, fault, k)
            put_on_lanes(faulty, 1 - worker, "none", -1)
            try:
                outcome = run(PATIENCE.get(fault, 30.0))
            except RunError as error:
                expected = {"lose": "lost", "reorder": "lost", "break": "cannot be reached"}
                assert expected[fault] in str(error)
            else:
                check([future.result() for future in outcome.results], PARTS, LAST)
                assert fault not in ("lose", "break")
                assert all(count >= LAST for count in counts(faulty))
            put_on_lanes(faulty, worker, "none", -1)


def lanes_open(client) -> list[bool]:
    """Whether each worker has an open lane to the other."""

    def look(dask_worker):
        lanes = dask_worker.plugins[PLUGIN_NAME].lanes._out.values()
        return any(not lane.broken for lane in lanes)

    return list(client.run(look).values())
