import threading

import numpy as np
import pytest
from distributed.protocol import dumps, loads

from dgraph.errors import RunError
from dgraph.exchange.dask import SMALL_FRAGMENT, SendWindow, pack, unpack
from dgraph.exchange.mail import Fragment, Packet, Token


@pytest.mark.parametrize(
    "sizes", [[], [0], [3, SMALL_FRAGMENT - 1], [SMALL_FRAGMENT], [5, SMALL_FRAGMENT, 0, 2 * SMALL_FRAGMENT, 7]]
)
@pytest.mark.parametrize("token", [None, Token("r", 4, 1, (0, 2), {"changed": 7})])
def test_what_is_unpacked_is_what_was_packed(sizes, token):
    data = [np.random.default_rng(size).integers(0, 255, size, np.uint8) for size in sizes]
    message = Packet("r", 4, 1, 9, [Fragment(i, i + 1, 2, 3 + d.nbytes, 3, d) for i, d in enumerate(data)], token)
    found = unpack(**loads(dumps(pack(message))))
    assert found._replace(fragments=[]) == message._replace(fragments=[])
    assert [f[:5] for f in found.fragments] == [f[:5] for f in message.fragments]
    for fragment, expected in zip(found.fragments, data, strict=True):
        np.testing.assert_array_equal(fragment.data, expected)


def test_large_fragments_are_not_copied_by_the_sender():
    data = np.zeros(SMALL_FRAGMENT, np.uint8)
    (frame,) = pack(Packet("r", 0, 0, 0, [Fragment(0, 1, 0, SMALL_FRAGMENT, 0, data)]))["frames"].frames
    assert np.shares_memory(np.frombuffer(frame, np.uint8), data)


def test_a_full_window_makes_the_sender_wait():
    window, sent = SendWindow(100), []
    window.acquire(1000, lambda: None)  # more than the limit passes alone
    thread = threading.Thread(target=lambda: (window.acquire(10, lambda: None), sent.append(10)))
    thread.start()
    thread.join(0.05)
    assert not sent
    window.release(1000)
    thread.join(5)
    assert sent == [10]
    assert window.used == 10


def test_a_sender_that_waits_learns_of_the_end():
    window = SendWindow(100)
    window.acquire(100, lambda: None)

    def check():
        raise RunError("stopped")

    with pytest.raises(RunError, match="stopped"):
        window.acquire(1, check)
