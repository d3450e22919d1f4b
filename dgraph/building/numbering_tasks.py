"""The Dask tasks that turn chunks with the user's ids into chunks by number.

    chunks -> surveys of all -> a bitmap of ids that occur, or codes -> merged buckets of ids -> numbers

Every chunk waits until all are surveyed, and its edges wait until all ids are numbered, so they are kept compact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import accumulate, repeat
from typing import Any

import numpy as np

from dgraph.cluster.tasks import pick
from dgraph.cluster.workers import Workers
from dgraph.partition.ids import id_tables
from dgraph.partition.ids.bitmaps import IDENTITY, Ranks, union
from dgraph.partition.ids.chunk import Chunk, NumberedChunk, packed
from dgraph.partition.ids.id_tables import EncodedChunk, release_memory
from dgraph.partition.ids.id_types import IdType
from dgraph.partition.ids.numbering import Numbering
from dgraph.partition.ids.survey import Survey, bitmap_of_chunks, bitmap_of_range, survey, survey_of_range


def number_chunks(
    workers: Workers,
    chunks: Sequence[Any],
    vertices: Sequence[Any],
    listed: range,
    by: Any = id_tables,
    alone: bool = False,
) -> tuple[Numbering, list[Any], list[int]]:
    """The numbering of all ids, the chunks by number (held), and the number of rows of each chunk. The chunks
    `vertices` and the range `listed` have ids without edges. `by` is the module that finds distinct ids: `id_tables`,
    or `devices/distinct_ids.py`. With `alone`, nothing else refers to what the chunks are read from."""
    held = workers.hold([workers.call(survey_and_pack, chunk, alone) for chunk in [*chunks, *vertices]])
    surveys = workers.get([workers.item(one, 0) for one in held])
    total = reduce(Survey.join, surveys, survey_of_range(listed)).with_common_type()
    rows = [one.edges for one in surveys[: len(chunks)]]
    everything: list[Any] = [workers.item(one, 1) for one in held]
    if total.fits_bitmaps(len(workers.addresses) or 1):
        numbering = _by_bitmap(workers, held, total, listed)
        shared, of_edges = workers.share(numbering), everything[: len(rows)]
        tasks = [workers.call(renumber_chunk, chunk, shared, workers.client is None, by.encode) for chunk in of_edges]
        return numbering, workers.hold(tasks), rows

    if len(listed):
        everything.append(Chunk(total.id_type, np.arange(listed.start, listed.stop), np.empty(0, np.int64)))
    encoded = workers.hold([workers.call(_encoded, chunk, total.id_type, by.encode) for chunk in everything])
    del held, everything  # so that each is freed as soon as it has codes
    return *_by_tables(workers, encoded, total.id_type, len(rows), by), rows


def _by_tables(
    workers: Workers, encoded: Sequence[Any], id_type: IdType, edges: int, by: Any
) -> tuple[Numbering, list[Any]]:
    """The numbering by sorted lists of distinct ids, and the first `edges` chunks, which have edges, by number."""
    buckets = max(1, min(len(workers.addresses), len(encoded)))
    samples = workers.get([workers.call(id_tables.sample, one) for one in encoded]) if buckets > 1 else []
    cuts = id_tables.splitters(samples, buckets)
    pieces = [workers.call(id_tables.split, one, cuts) for one in encoded]
    merged = workers.hold(
        [workers.call(by.merge, [workers.call(pick, piece, b) for piece in pieces]) for b in range(len(cuts) + 1)]
    )
    tables = [workers.item(bucket, 0) for bucket in merged]
    numbering = workers.keep(workers.call(Numbering, id_type, None, tables))
    starts = [0, *accumulate(map(len, numbering.tables))]
    tasks = [
        workers.call(id_tables.number_by_table, one, [workers.call(_ranks_of, bucket, c) for bucket in merged], starts)
        for c, one in enumerate(encoded[:edges])
    ]
    return numbering, workers.hold(tasks)


def survey_and_pack(chunk: Chunk, alone: bool) -> tuple[Survey, Chunk | EncodedChunk]:
    """The survey of a chunk, and the chunk in the form in which it waits for the others: strings as codes, which need
    less memory; integers in four bytes if they fit and nothing else refers to what they were read from."""
    seen = survey(chunk)
    waits: Chunk | EncodedChunk = chunk
    if chunk.id_type.kind in ("string", "uuid"):
        waits = id_tables.encode(chunk, chunk.id_type)
    elif alone and seen.low is not None:
        waits = packed(chunk)
    del chunk
    if alone:
        release_memory()
    return seen, waits


def _encoded(chunk: Chunk | EncodedChunk, id_type: IdType, encode: Callable[..., EncodedChunk]) -> EncodedChunk:
    return chunk if isinstance(chunk, EncodedChunk) else encode(chunk, id_type)


def renumber_chunk(
    chunk: Chunk, ids: Numbering, in_place: bool, encode: Callable[..., EncodedChunk], again: bool = False
) -> NumberedChunk:
    """A chunk by number, given the graph's numbering. With `in_place`, integers are not copied, but numbered whenever
    they are read; otherwise they become numbers of four bytes. With `again`, the chunk of a lazy frame has been
    computed again."""
    if again:
        ids.check(chunk)
    if ids.ranks is not None:
        numbered = NumberedChunk(chunk.sources, chunk.destinations, {}, ids.ranks)
        return numbered if in_place else numbered.compact()
    encoded = encode(chunk, ids.id_type)
    return id_tables.number_by_table(encoded, [ids.number(encoded.distinct)], [0, ids.size])


def _by_bitmap(workers: Workers, held: Sequence[Any], total: Survey, listed: range) -> Numbering:
    """The numbering by bitmaps, one per worker; a bitmap per chunk would be many times as large as the chunk's ids."""
    if total.low is None or total.high is None:
        return Numbering(total.id_type, IDENTITY)
    if len(listed) and listed.start == total.low and listed.stop - 1 == total.high:
        return Numbering(total.id_type, Ranks(listed.start, len(listed)))
    chunks_at: dict[str | None, list[Any]] = {}
    for one, home in zip(held, workers.where(held) or repeat(None), strict=False):
        chunks_at.setdefault(home, []).append(workers.item(one, 1))
    bitmaps = [
        workers.call(bitmap_of_chunks, chunks, total.low, total.high, on=home) for home, chunks in chunks_at.items()
    ]
    if len(listed):
        bitmaps.append(workers.call(bitmap_of_range, listed, total.low, total.high))
    return workers.keep(workers.call(Numbering.by_bitmap, total.id_type, total.low, workers.reduce(union, bitmaps)))


def _ranks_of(merged: tuple[Any, list[np.ndarray]], chunk: int) -> np.ndarray:
    return merged[1][chunk]
