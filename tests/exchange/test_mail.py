import threading

import numpy as np
import pytest

from dgraph.errors import RunError
from dgraph.exchange import exchange as exchange_module
from dgraph.exchange import mail
from dgraph.exchange.local import LocalExchange
from dgraph.exchange.mail import Packet, Route, Token, cut, join

ROUTE = Route("run", ("a", "b"), (0, 0, 1, 1))


def ends(patience=0.05):
    return LocalExchange.ends(ROUTE, patience)


def test_buffers_come_by_sender_and_number():
    a, b = ends()
    for sender, text in [(1, b"second"), (0, b"first"), (1, b"third")]:
        a.send(0, sender, 2, text)
    b.send(0, 3, 2, b"near")
    for end in (a, b):
        end.flush(0, {}, share=True)
    assert [(s, bytes(d)) for s, d in b.collect(0, 2)] == [(0, b"first"), (1, b"second"), (1, b"third"), (3, b"near")]
    assert b.collect(0, 3) == []


@pytest.mark.parametrize("size", [0, 1, 999, 1000, 1001, 12_345])
def test_large_buffers_travel_in_fragments(monkeypatch, size):
    monkeypatch.setattr(mail, "FRAGMENT_BYTES", 1000)
    monkeypatch.setattr(exchange_module, "FRAGMENT_BYTES", 1000)
    a, b = ends()
    data = np.random.default_rng(size).integers(0, 255, size, np.uint8)
    for sender in (0, 1):
        a.send(0, sender, 3, data)
    token = a.flush(0, {}, share=True)
    assert token.messages[1] >= 2 * size // 1000
    for _, received in b.collect(0, 3):
        np.testing.assert_array_equal(received, data)
        assert received.ctypes.data % 8 == 0 or not size


def test_each_pair_of_workers_exchanges_one_message():
    a, _ = ends()
    for sender in (0, 1):
        for receiver in (2, 3):
            a.send(0, sender, receiver, np.zeros(100))
    assert a.flush(0, {}).messages == (0, 1)


def test_a_buffer_in_part_is_an_error():
    with pytest.raises(RunError, match="incomplete"):
        join([mail.Fragment(0, 1, 1, 10, 0, np.zeros(4, np.uint8))])


def test_lost_mail_is_an_error_and_duplicates_are_dropped():
    a, b = ends()
    message = Packet("run", 0, 0, 0, cut(0, 2, 0, np.zeros(3, np.uint8)))
    b.mailbox.deliver(message)
    b.mailbox.deliver(message)
    b.mailbox.announce(Token("run", 0, 0, (0, 1)))
    assert len(b.collect(0, 2)) == 1
    b.mailbox.deliver(message)  # late
    assert b.collect(0, 2) == []
    a.flush(1, {})
    b.mailbox.announce(Token("run", 1, 0, (0, 2)))
    with pytest.raises(RunError, match="superstep 1 from a to b were lost"):
        b.collect(1, 2)


def test_a_slow_peer_is_waited_for():
    a, b = ends(patience=0.01)
    timer = threading.Timer(0.2, lambda: a.flush(0, {"x": 1}, share=True))
    timer.start()
    b.flush(0, {"x": 2}, share=True)
    assert [token.values["x"] for token in b.gather(0)] == [1, 2]


def test_failure_wakes_those_who_wait():
    a, b = ends(patience=30)
    threading.Timer(0.05, a.fail, [RunError("enough")]).start()
    with pytest.raises(RunError, match="enough"):
        b.gather(0)


def test_sums_need_all_workers():
    a, b = ends()
    found = []
    thread = threading.Thread(target=lambda: found.append(b.sum([1.0, 2.0])))
    thread.start()
    assert a.sum([10.0, 20.0]) == [11.0, 22.0]
    thread.join()
    assert found == [[11.0, 22.0]]
