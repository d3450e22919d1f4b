"""Gather, apply, scatter order: a round is merge, apply, send. Whether it was the last is learned while its messages
travel, so a round waits once for the others, and the messages after the last one are sent in vain."""

from __future__ import annotations

from dgraph.engines.rounds import Rounds, Superstep


def gas(rounds: Rounds) -> Superstep:
    """Each `yield` inside waits for the mail of all other workers."""
    yield from rounds.begin()
    yield from rounds.send()
    while not rounds.done:
        rounds.merge()
        rounds.apply()
        yield from rounds.agree(wait=rounds.analysis.send_reads_global)
        yield from rounds.pause()
        yield from rounds.send()
    yield from rounds.finish()
