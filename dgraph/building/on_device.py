"""A graph built on the GPU that has its edges: ids to numbers, edges to rows. They are of integers, the graph is of one
partition, and its rules are those of the list; all other graphs are built by CPUs.

Written over an array module, `xp`: CuPy, or in tests NumPy. Numbers and rows are those of `partition/numbering.py` and
`partition/adjacency.py`, in the same order; what is found stays on the GPU, for kernels, and comes to the host, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dgraph.devices import cuda
from dgraph.devices.memory import DeviceArray, Memory
from dgraph.errors import DeviceError
from dgraph.partition import chunk
from dgraph.partition.adjacency import Adjacency
from dgraph.partition.device_frame import DeviceFrame
from dgraph.partition.ids import IdType
from dgraph.partition.numbering import Numbering, Survey, survey_of_range
from dgraph.partition.ranks import Ranks

if TYPE_CHECKING:
    from dgraph.building.listed import Listed

BYTES = 64  # an arc, while it is sorted
PIECE = 1 << 26  # ids that are looked at at once: CuPy's packbits counts 32 bits, and copies take memory
FEW = 2**32 - 1  # vertices, whose numbers and their end are of 32 bits


class EdgesThere:
    """The edges of a graph, in pieces, on the GPU of this process."""

    def __init__(self, frames: Sequence[DeviceFrame], source: str, destination: str, memory: Memory):
        self.frames, self.ends, self.memory, self.xp = frames, (source, destination), memory, memory.xp

    @classmethod
    def of(cls, listed: Listed) -> EdgesThere | None:
        """Those of a graph, if they are there and are such that they can be built there."""
        edges, rules = listed.edges, listed.rules
        if not edges.on_device or listed.workers.client is not None or listed.vertices.frame is not None:
            return None
        if rules.repeats != "keep" or rules.symmetrize:
            return None
        frames = listed.workers.get(listed.edge_pieces)
        if not frames or not all(isinstance(one, DeviceFrame) and len(one) for one in frames):
            return None
        found = cls(frames, edges.source, edges.destination, cuda.own_memory())
        return found if found._fit(not rules.directed) else None

    def _fit(self, mirror: bool) -> bool:
        """Whether ids are such as we can number, and there is room to sort the edges."""
        dtypes = {one.dtype for one in self._ids()}
        if not all(one.dtype.kind in "iu" and one.ndim == 1 for one in self._ids()):
            return False
        mixed = len(dtypes) > 1 and np.dtype(np.uint64) in dtypes  # has no type in common
        return not mixed and self.memory.fits(BYTES * (1 + mirror) * sum(self.rows))

    def _ids(self) -> list[Any]:
        return [frame[end] for frame in self.frames for end in self.ends]

    @property
    def rows(self) -> list[int]:
        """Of each piece."""
        return [len(frame) for frame in self.frames]

    # -- numbers -------------------------------------------------------------------------------------------------------

    def number(self, listed: range) -> Numbering | None:
        """The numbering of all ids, and of a range that may be listed beside; None if memory is short."""
        try:
            return self._number(reduce(Survey.join, map(self._survey, self.frames), survey_of_range(listed)), listed)
        except (MemoryError, DeviceError):
            return None

    def _survey(self, frame: DeviceFrame) -> Survey:
        ends = [frame[end] for end in self.ends]
        types = [IdType("integer", str(one.dtype)) for one in ends]
        low, high = min(int(one.min()) for one in ends), max(int(one.max()) for one in ends)
        return Survey(types[0].join(types[1]), len(frame), len(frame), low, high)

    def _number(self, total: Survey, listed: range) -> Numbering | None:
        assert total.low is not None and total.high is not None
        if total.by_bitmap:
            if len(listed) and listed.start == total.low and listed.stop - 1 == total.high:
                return Numbering.by_ranks(total.id_type, Ranks.dense(listed.start, len(listed)))
            return Numbering.by_bitmap(total.id_type, total.low, self._bitmap(total.low, total.high, listed))
        if len(listed):
            return None
        xp, dtype = self.xp, total.id_type.dtype
        distinct = reduce(xp.union1d, [xp.unique(one.astype(dtype, copy=False)) for one in self._ids()])
        return Numbering.by_tables(total.id_type, [pa.array(self._here(distinct))])

    def _bitmap(self, low: int, high: int, listed: range) -> np.ndarray:
        """The ids that occur as bits."""
        xp = self.xp
        flags = xp.zeros(64 * ((high - low) // 64 + 1), np.bool_)
        if len(listed):
            flags[listed.start - low : listed.stop - low] = True
        for one in self._ids():
            for first in range(0, len(one), PIECE):
                flags[one[first : first + PIECE].astype(np.int64) - low] = True
        words = [xp.packbits(flags[first : first + PIECE], bitorder="little") for first in range(0, len(flags), PIECE)]
        return self._here(xp.concatenate(words)).view(np.uint64)

    # -- rows ----------------------------------------------------------------------------------------------------------

    def adjacency(
        self, ids: Numbering, columns: Sequence[str], weight: str | None, *, order: str, mirror: bool, skip_loops: bool
    ) -> Adjacency | None:
        """All edges by source (order "out") or by destination; with `mirror` their reverses, too. None if memory is
        short."""
        if ids.size >= FEW:
            return None
        try:
            return self._adjacency(ids, columns, weight, order, mirror, skip_loops)
        except (MemoryError, DeviceError):
            return None

    def _adjacency(
        self, ids: Numbering, columns: Sequence[str], weight: str | None, order: str, mirror: bool, skip_loops: bool
    ) -> Adjacency:
        xp, table = self.xp, self._table(ids)
        keys: list[Any] = []
        others: list[Any] = []
        values: dict[str, list[Any]] = {name: [] for name in columns}
        for frame in self.frames:
            ends = [self._numbers(frame[end], ids, table) for end in (self.ends if order == "out" else self.ends[::-1])]
            own = {name: self._column(frame, name, name == weight) for name in columns}
            unlike = ends[0] != ends[1] if mirror or skip_loops else None
            for a, b, chosen in [(*ends, unlike if skip_loops else None), (*ends[::-1], unlike)][: 1 + mirror]:
                keys.append(a if chosen is None else a[chosen])
                others.append(b if chosen is None else b[chosen])
                for name, column in own.items():
                    values[name].append(column if chosen is None else column[chosen])
        rows = xp.concatenate(keys)
        del keys, ends, table
        place = xp.argsort(rows, kind="stable")
        indptr = xp.searchsorted(rows[place], xp.arange(ids.size + 1, dtype=np.uint32)).astype(np.int64, copy=False)
        del rows
        neighbours = xp.concatenate(others)[place]
        del others
        sorted_values = {name: xp.concatenate(values.pop(name))[place] for name in columns}
        return Adjacency(
            self._kept(indptr), self._kept(neighbours), {name: self._kept(one) for name, one in sorted_values.items()}
        )

    def _table(self, ids: Numbering) -> Any:
        """What turns ids into numbers: the number at each distance from the first, the ids in order, or nothing."""
        if ids.ranks is None:
            return self.memory.moved(np.asarray(ids.tables[0])).raw
        if ids.ranks.is_dense:
            return None
        places = self.memory.moved(ids.ranks.members()).raw
        places -= ids.ranks.first
        table = self.xp.empty(64 * len(ids.ranks.words), np.uint32)
        table[places] = self.xp.arange(len(places), dtype=np.uint32)
        return table

    def _numbers(self, given: Any, ids: Numbering, table: Any) -> Any:
        out = self.xp.empty(len(given), np.uint32)
        for first in range(0, len(given), PIECE):
            piece = given[first : first + PIECE]
            if ids.ranks is None:
                out[first : first + PIECE] = self.xp.searchsorted(table, piece.astype(table.dtype, copy=False))
                continue
            away = piece.astype(np.int64) - ids.ranks.first
            out[first : first + PIECE] = away if table is None else table[away]
        return out

    def _column(self, frame: DeviceFrame, name: str, is_weight: bool) -> Any:
        column = frame[name]
        if column.dtype.kind not in "iufb" or (is_weight and column.dtype.kind == "f" and self.xp.isnan(column).any()):
            return self.memory.moved(chunk.values(frame.to_arrow(), name, is_weight)).raw  # which says what is wrong
        return column

    # -- to the host ---------------------------------------------------------------------------------------------------

    def _here(self, raw: Any) -> np.ndarray:
        return self.memory.get(DeviceArray(self.memory, raw))

    def _kept(self, raw: Any) -> np.ndarray:
        """An array here, whose copy there need not be made again."""
        here = self._here(raw)
        self.memory.adopt(here, raw)
        return here
