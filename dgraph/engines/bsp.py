"""Bulk-synchronous order: a round is send, merge, apply; the next begins when all workers agree that it is over."""

from __future__ import annotations

from dgraph.engines.rounds import Rounds, Superstep


def bsp(rounds: Rounds) -> Superstep:
    """Run to the end. A stage that yields waits for the mail of all other workers."""
    yield from rounds.begin()
    while not rounds.done:
        yield from rounds.send()
        rounds.merge()
        rounds.apply()
        yield from rounds.agree(wait=rounds.end_needs_exchange or rounds.analysis.send_reads_global)
        yield from rounds.pause()
    yield from rounds.finish()
