"""A transport that loses, repeats, reorders or delays the k-th message, for every k: the right answer or an error."""

import threading

import pytest
from mixing import check, mixing, start

from dgraph.errors import RunError
from dgraph.exchange.local import LocalExchange
from dgraph.supersteps import run_steps

PARTS, WORKERS, LAST = 4, 2, 3


class Faulty(LocalExchange):
    """Counts the messages of all ends; does something else with one of them."""

    fault, k = "none", -1
    count = 0
    held: list = []  # noqa: RUF012  (of one run; the test resets it)
    lock = threading.Lock()

    def post(self, peer, message):
        with Faulty.lock:
            here = Faulty.count == Faulty.k
            Faulty.count += 1
        deliver = super().post
        if here and Faulty.fault == "reorder":
            Faulty.held.append((deliver, peer, message))
        elif here and Faulty.fault == "delay":
            threading.Timer(0.02, deliver, (peer, message)).start()
        elif not (here and Faulty.fault == "lose"):
            deliver(peer, message)
            if here and Faulty.fault == "repeat":
                deliver(peer, message)
            while not here and Faulty.held:
                held, peer, message = Faulty.held.pop()
                held(peer, message)


def run(fault, k, patience=0.06):
    Faulty.fault, Faulty.k, Faulty.count, Faulty.held = fault, k, 0, []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(run_steps, "PATIENCE", patience)
        return run_steps.run_steps(mixing(LAST), start(PARTS), threads=WORKERS)


@pytest.fixture(autouse=True)
def transport(monkeypatch):
    monkeypatch.setattr(run_steps, "LocalExchange", Faulty)


@pytest.fixture(scope="module")
def messages():
    return WORKERS * (WORKERS - 1) * LAST


def test_a_run_sends_the_expected_number_of_messages(messages):
    check(run("none", -1).results, PARTS, LAST)
    assert Faulty.count == messages


@pytest.mark.parametrize("fault", ["lose", "repeat", "reorder", "delay"])
def test_every_faulty_message_is_an_error_or_harmless(fault, messages):
    outcomes = []
    for k in range(messages):
        try:
            outcome = run(fault, k)
        except RunError as error:
            assert "lost" in str(error)
            outcomes.append("error")
        else:
            check(outcome.results, PARTS, LAST)
            outcomes.append("right")
    if fault in ("repeat", "delay"):
        assert set(outcomes) == {"right"}
    if fault == "lose":
        assert set(outcomes) == {"error"}
