"""From chunks with the user's ids to chunks by number: the Dask tasks in between.

    chunks -> surveys of all -> a bitmap of ids that occur, or codes -> buckets of ids, merged -> numbers

Until all are surveyed every chunk waits, and until all ids are known its edges do: in as little room as can be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from itertools import accumulate, repeat
from operator import itemgetter
from typing import Any

import numpy as np

from dgraph.cluster.workers import Workers
from dgraph.partition.ids import id_tables
from dgraph.partition.ids.bitmaps import IDENTITY, Ranks, union
from dgraph.partition.ids.chunk import Chunk, NumberedChunk
from dgraph.partition.ids.id_tables import EncodedChunk, give_back
from dgraph.partition.ids.id_types import IdType
from dgraph.partition.ids.numbering import Numbering
from dgraph.partition.ids.survey import Survey, occurring, occurring_in_range, survey, survey_of_range


def number_chunks(
    workers: Workers,
    chunks: Sequence[Any],
    vertices: Sequence[Any],
    listed: range,
    by: Any = id_tables,
    alone: bool = False,
) -> tuple[Numbering, list[Any], list[int]]:
    """The numbering of all ids, the chunks by number (held), and the rows of each chunk. `vertices` are chunks that
    list ids without edges; so does the range `listed`. `by` finds distinct ids: `id_tables`, or on a GPU
    `devices/distinct_ids.py`. `alone`: nobody else has what the chunks are read from."""
    held = workers.hold([workers.call(survey_chunk, chunk, alone) for chunk in [*chunks, *vertices]])
    surveys = workers.get([workers.item(one, 0) for one in held])
    total = reduce(Survey.join, surveys, survey_of_range(listed)).with_common_type()
    rows = [one.edges for one in surveys[: len(chunks)]]
    everything: list[Any] = [workers.item(one, 1) for one in held]
    if total.fits_bitmaps(len(workers.addresses) or 1):
        known = _by_bitmap(workers, held, total, listed)
        shared, again = workers.share(known), everything[: len(rows)]
        tasks = [workers.call(renumber_chunk, chunk, shared, workers.client is None, by.encode) for chunk in again]
        return known, workers.hold(tasks), rows

    if len(listed):
        everything.append(Chunk(total.id_type, np.arange(listed.start, listed.stop), np.empty(0, np.int64)))
    encoded = workers.hold([workers.call(_encoded, chunk, total.id_type, by.encode) for chunk in everything])
    del held, everything  # each is let go as soon as it has codes
    return *_by_tables(workers, encoded, total.id_type, len(rows), by), rows


def _by_tables(
    workers: Workers, encoded: Sequence[Any], id_type: IdType, edges: int, by: Any
) -> tuple[Numbering, list[Any]]:
    """The numbering by sorted lists of distinct ids; and by number the first `edges` chunks, those that have edges."""
    buckets = max(1, min(len(workers.addresses), len(encoded)))
    samples = workers.get([workers.call(id_tables.sample, one) for one in encoded]) if buckets > 1 else []
    cuts = id_tables.splitters(samples, buckets)
    pieces = [workers.call(id_tables.split, one, cuts) for one in encoded]
    merged = workers.hold(
        [workers.call(by.merge, [workers.call(itemgetter(b), piece) for piece in pieces]) for b in range(len(cuts) + 1)]
    )
    tables = [workers.item(bucket, 0) for bucket in merged]
    known = workers.keep(workers.call(Numbering.by_tables, id_type, tables))
    starts = [0, *accumulate(map(len, known.tables))]
    tasks = [
        workers.call(id_tables.by_table, one, [workers.call(_ranks_of, bucket, c) for bucket in merged], starts)
        for c, one in enumerate(encoded[:edges])
    ]
    return known, workers.hold(tasks)


def survey_chunk(chunk: Chunk, alone: bool) -> tuple[Survey, Chunk | EncodedChunk]:
    """What must be known of a chunk, and the chunk as it waits for others. Text waits as codes, because it takes more
    room than numbers; integers in four bytes where they fit, if nobody else has what they were read from."""
    found = survey(chunk)
    waits: Chunk | EncodedChunk = chunk
    if chunk.id_type.kind in ("string", "uuid"):
        waits = id_tables.encode(chunk, chunk.id_type)
    elif alone and found.low is not None and found.high is not None and found.low >= 0 and found.high < 2**32:
        sources, destinations = (np.asarray(ids).astype(np.uint32) for ids in (chunk.sources, chunk.destinations))
        waits = replace(chunk, sources=sources, destinations=destinations)
    del chunk
    if alone:
        give_back()
    return found, waits


def _encoded(chunk: Chunk | EncodedChunk, id_type: IdType, encode: Callable[..., EncodedChunk]) -> EncodedChunk:
    return chunk if isinstance(chunk, EncodedChunk) else encode(chunk, id_type)


def renumber_chunk(
    chunk: Chunk, known: Numbering, in_place: bool, encode: Callable[..., EncodedChunk]
) -> NumberedChunk:
    """A chunk of a graph whose numbering is known. Integers stay as they are, and are numbered as they are read; a
    chunk that is to be kept gets numbers of four bytes."""
    if known.ranks is not None:
        found = NumberedChunk(chunk.sources, chunk.destinations, {}, known.ranks)
        return found if in_place else found.compact()
    encoded = encode(chunk, known.id_type)
    return id_tables.by_table(encoded, [known.number(encoded.distinct)], [0, known.size])


def renumber_lazy_chunk(
    chunk: Chunk, known: Numbering, in_place: bool, encode: Callable[..., EncodedChunk]
) -> NumberedChunk:
    """The same for a lazy frame, which has been computed again."""
    known.check(chunk)
    return renumber_chunk(chunk, known, in_place, encode)


def _by_bitmap(workers: Workers, held: Sequence[Any], total: Survey, listed: range) -> Numbering:
    """The numbering by a bitmap of each worker's chunks; one of each chunk would take many times the room of its
    ids."""
    if total.low is None or total.high is None:
        return Numbering.by_ranks(total.id_type, IDENTITY)
    if len(listed) and listed.start == total.low and listed.stop - 1 == total.high:
        return Numbering.by_ranks(total.id_type, Ranks.dense(listed.start, len(listed)))
    of_each: dict[str | None, list[Any]] = {}
    for one, home in zip(held, workers.where(held) or repeat(None), strict=False):
        of_each.setdefault(home, []).append(workers.item(one, 1))
    found = [workers.call(occurring, some, total.low, total.high, on=home) for home, some in of_each.items()]
    if len(listed):
        found.append(workers.call(occurring_in_range, listed, total.low, total.high))
    return workers.keep(workers.call(Numbering.by_bitmap, total.id_type, total.low, workers.reduce(union, found)))


def _ranks_of(merged: tuple[Any, list[np.ndarray]], chunk: int) -> np.ndarray:
    return merged[1][chunk]
