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
    monkeypatch.setattr("dgraph.exchange.free_inbox.INBOX_BYTES", 10)
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


@pytest.fixture
def acknowledging(ends, monkeypatch):
    """What each worker has posted, and how much it has acknowledged, on a transport that does not confirm each packet;
    `pass_on` takes all that was posted to the other worker."""

    class Mail:
        posted, told = ([], []), ([], [])

        def pass_on(self):
            for worker in (0, 1):
                packets, self.posted[worker][:] = list(self.posted[worker]), []
                for packet in packets:
                    ends[1 - worker].free.take(packet)

    mail = Mail()
    for worker in (0, 1):
        monkeypatch.setattr(
            ends[worker], "post", lambda peer, packet, worker=worker: mail.posted[worker].append(packet)
        )

        def acknowledge(peer, accepted, worker=worker):
            mail.told[worker].append(accepted)
            ends[peer].free.confirm_all(worker, accepted)

        monkeypatch.setattr(ends[worker], "acknowledge", acknowledge)
        ends[worker].free.prompt = False
    return mail


def test_packets_say_what_was_accepted(ends, acknowledging):
    here, there = ends[0].free, ends[1].free
    for _ in range(3):
        here.send(0, 1, b"news")
        here.post()
    acknowledging.pass_on()
    assert here.under_way == 3
    there.send(1, 0, b"answer")
    there.post()
    acknowledging.pass_on()
    assert here.at_rest and acknowledging.told == ([], [])
    there.acknowledge()
    assert there.under_way == 1, "the answer was not acknowledged yet"
    here.acknowledge()
    assert there.at_rest and acknowledging.told == ([1], [])


def test_where_no_engine_is_mail_is_acknowledged_at_once(ends, acknowledging):
    ends[1].free.prompt = True
    ends[0].free.send(0, 1, b"news")
    ends[0].free.post()
    acknowledging.pass_on()
    assert ends[0].free.at_rest


def test_what_comes_again_is_acknowledged_again(ends, acknowledging):
    here, there = ends[0].free, ends[1].free
    here.send(0, 1, b"news")
    here.post()
    (packet,) = acknowledging.posted[0]
    for _ in range(2):
        there.take(packet)
        there.acknowledge()
        there.acknowledge()
    assert acknowledging.told[1] == [1, 1]


def test_what_came_too_early_is_not_acknowledged(ends, acknowledging):
    here, there = ends[0].free, ends[1].free
    for _ in range(2):
        here.send(0, 1, b"news")
        here.post()
    first, second = acknowledging.posted[0]
    there.take(second)
    there.acknowledge()
    assert acknowledging.told[1] == [] and here.under_way == 2
    there.take(first)
    there.acknowledge()
    assert acknowledging.told[1] == [2] and here.at_rest


def test_what_comes_again_without_room_is_not_acknowledged(ends, acknowledging, monkeypatch):
    monkeypatch.setattr("dgraph.exchange.free_inbox.INBOX_BYTES", 10)
    here, there = ends[0].free, ends[1].free
    here.send(0, 1, bytes(16))
    here.post()
    (packet,) = acknowledging.posted[0]
    for _ in range(2):
        there.take(packet)
        there.acknowledge()
    assert not acknowledging.told[1]
    there.inbox.take()
    there.acknowledge()
    assert acknowledging.told[1] == [1]


def test_without_room_nothing_is_acknowledged(ends, acknowledging, monkeypatch):
    monkeypatch.setattr("dgraph.exchange.free_inbox.INBOX_BYTES", 10)
    here, there = ends[0].free, ends[1].free
    for size in (8, 8):
        here.send(0, 1, bytes(size))
        here.post()
    acknowledging.pass_on()
    there.acknowledge()
    assert acknowledging.told[1] == [1]
    there.inbox.take()
    there.acknowledge()
    assert acknowledging.told[1] == [1, 2]


def test_who_has_more_to_come_says_so_until_there_is_no_more(ends, acknowledging):
    here, inbox = ends[0].free, ends[1].free.inbox
    here.post(more=True)
    assert not acknowledging.posted[0], "nobody waits for it yet"
    here.send(0, 1, b"news")
    here.post(more=True)
    acknowledging.pass_on()
    assert inbox.working == inbox.heard == {0}
    inbox.heard.clear()
    here.post()
    assert not acknowledging.posted[0]
    here.post(more=True)
    acknowledging.pass_on()
    assert inbox.working == inbox.heard == {0}
    here.post(more=False)
    acknowledging.pass_on()
    assert not inbox.working
    here.post(more=False)
    assert not acknowledging.posted[0], "it is known"


def test_the_latest_packet_tells_whether_there_is_more(ends, acknowledging):
    here, there = ends[0].free, ends[1].free
    for more in (True, False):
        here.send(0, 1, b"news")
        here.post(more=more)
    first, second = acknowledging.posted[0]
    there.take(second)
    there.take(first)
    assert not there.inbox.working
