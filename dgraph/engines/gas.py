"""Gather, apply, scatter order: a round is merge, apply, send. Workers learn whether a round was the last while the
messages of the next one travel, so each round waits for other workers only once, and the last messages are wasted."""

from __future__ import annotations

from dgraph.engines.rounds import Rounds, Superstep


def gas(rounds: Rounds) -> Superstep:
    """Run to the end. A stage that yields waits for the mail of all other workers."""
    yield from rounds.begin()
    yield from rounds.send()
    while not rounds.done:
        rounds.merge()
        rounds.apply()
        yield from rounds.agree(wait=rounds.analysis.send_reads_global)
        yield from rounds.pause()
        yield from rounds.send()
    yield from rounds.finish()
