"""Free mail between two workers: what counts as under way, and what a slow receiver, a duplicate and a loss do."""

import threading

import numpy as np
import pytest

from dgraph.exchange import free_mail
from dgraph.exchange.local import LocalExchange
from dgraph.exchange.mail import Route

ROUTE = Route("run", ("a", "b"), (0, 1))


@pytest.fixture
def ends():
    return LocalExchange.ends(ROUTE, patience=0.01)


@pytest.fixture
def posted(ends, monkeypatch):
    """The packets that the first worker posts, which go nowhere."""
    found = []
    monkeypatch.setattr(ends[0], "post", lambda peer, packet: found.append(packet))
    return found


def confirmed_by(found, packet):
    return lambda: found.append(packet.number)


def test_notes_for_one_worker_travel_in_one_packet(ends, posted):
    ends[0].free.note(1, "first", "second")
    (packet,) = posted
    ends[1].free.inbox.deliver(packet, lambda: None)
    assert ends[1].free.inbox.take() == ([], ["first", "second"])


def test_mail_is_under_way_until_it_is_confirmed_and_notes_do_not_count(ends, posted):
    mail = ends[0].free
    mail.note(1, "note")
    assert mail.at_rest and mail.under_way == 1
    mail.send(0, 1, np.zeros(3))
    assert mail.at_rest, "nothing travels before it is posted"
    mail.post()
    assert not mail.at_rest and mail.busy
    for packet in posted:
        mail.confirm(1, packet.number)
    assert mail.at_rest and not mail.under_way


def test_a_duplicate_is_confirmed_again_but_comes_once(ends, posted):
    ends[0].free.send(0, 1, b"news")
    ends[0].free.post()
    confirmed, inbox = [], ends[1].free.inbox
    for _ in range(2):
        inbox.deliver(posted[0], confirmed_by(confirmed, posted[0]))
    buffers, _ = inbox.take()
    assert [(sender, receiver, bytes(data)) for sender, receiver, data in buffers] == [(0, 1, b"news")]
    assert confirmed == [0, 0]


def test_a_receiver_without_room_confirms_when_it_has_taken_what_came(ends, posted, monkeypatch):
    monkeypatch.setattr(free_mail, "INBOX_BYTES", 10)
    mail, inbox, confirmed = ends[0].free, ends[1].free.inbox, []
    for size in (8, 8):
        mail.send(0, 1, bytes(size))
        mail.post()
    for packet in posted:
        inbox.deliver(packet, confirmed_by(confirmed, packet))
    assert confirmed == [0]
    assert [len(data) for _, _, data in inbox.take()[0]] == [8, 8]
    assert confirmed == [0, 1]


def test_what_is_not_confirmed_for_long_is_posted_again(ends, posted):
    mail = ends[0].free
    mail.send(0, 1, b"news")
    mail.post()
    threading.Event().wait(0.02)
    mail.wait(mail.inbox.events, 0.001)
    assert [packet.number for packet in posted] == [0, 0] and posted[0] is posted[1]


def test_mail_for_a_partition_of_the_same_worker_does_not_travel(ends, posted):
    mail = ends[0].free
    mail.send(0, 0, b"near")
    mail.post()
    assert posted == [] and mail.at_rest
    assert [bytes(data) for _, _, data in mail.inbox.take()[0]] == [b"near"]


def test_a_large_buffer_comes_when_its_last_fragment_has_come(ends, posted, monkeypatch):
    monkeypatch.setattr("dgraph.exchange.mail.FRAGMENT_BYTES", 1000)
    monkeypatch.setattr(free_mail, "FRAGMENT_BYTES", 1000)
    data, inbox = np.arange(2500, dtype=np.uint8), ends[1].free.inbox
    ends[0].free.send(0, 1, data)
    ends[0].free.post()
    *most, last = posted[::-1]  # in another order
    for packet in most:
        inbox.deliver(packet, lambda: None)
    assert len(most) == 2 and inbox.take() == ([], [])
    inbox.deliver(last, lambda: None)
    ((_, _, found),) = inbox.take()[0]
    np.testing.assert_array_equal(found, data)
