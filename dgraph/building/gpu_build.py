"""Building a graph on the GPU that has its edges (experimental): numbers ids and sorts edges by row.

Ids must be integers, and the graph must have one partition. For all other graphs, GPUs only find distinct ids and sort
rows (`devices/distinct_ids.py`, `devices/sorted_rows.py`). The code is written for an array module `xp`: CuPy, or NumPy
in tests. Numbers, rows and merged edges are equal to those of `partition/`, in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dgraph.devices import own_device
from dgraph.devices.device_memory import Memory
from dgraph.devices.sorted_rows import BYTES_PER_ARC, MOST_ROWS, concatenate, sort, to_host
from dgraph.errors import DeviceError
from dgraph.frames.any_frame import DeviceFrame, numeric_column
from dgraph.partition.adjacency import Adjacency
from dgraph.partition.ids.bitmaps import Ranks
from dgraph.partition.ids.chunk import NumberedChunk
from dgraph.partition.ids.id_types import IdType
from dgraph.partition.ids.numbering import Numbering
from dgraph.partition.ids.survey import Survey, survey_of_range
from dgraph.partition.rules import reverses
from dgraph.partition.sum_limits import may_exceed

if TYPE_CHECKING:
    from dgraph.building.input_edges import EdgeRules, InputEdges

MERGE_BYTES = 32  # bytes per arc, besides those of sorting, while repeats are merged
PIECE_IDS = 1 << 26  # ids processed at once, because CuPy's packbits has 32-bit indices and copies need memory


class DeviceEdges:
    """The edges of a graph, in pieces, on this process's GPU (experimental)."""

    def __init__(self, frames: Sequence[DeviceFrame], source: str, destination: str, memory: Memory):
        self.frames, self.ends, self.memory, self.xp = frames, (source, destination), memory, memory.xp
        self.num_edges: int | None = None  # set when repeats are merged

    @classmethod
    def of(cls, input_edges: InputEdges) -> DeviceEdges | None:
        """The edges of a graph if they are on the GPU and the graph can be built there; else None."""
        edges, rules = input_edges.edges, input_edges.rules
        if not edges.on_device or input_edges.workers.client is not None or input_edges.vertices.frame is not None:
            return None
        frames = input_edges.workers.get(input_edges.edge_pieces)
        if not frames or not all(isinstance(one, DeviceFrame) and len(one) for one in frames):
            return None
        device_edges = cls(frames, edges.source, edges.destination, own_device.own_memory())
        arcs_per_edge = 1 + (not rules.directed or rules.symmetrize)
        each = (BYTES_PER_ARC + MERGE_BYTES * (rules.repeats != "keep")) * arcs_per_edge
        return device_edges if device_edges._fit(each) else None

    def _fit(self, each: int) -> bool:
        """Whether the GPU can number the ids, and has memory to sort the edges at `each` bytes per edge."""
        dtypes = {one.dtype for one in self._ids()}
        if not all(one.dtype.kind in "iu" and one.ndim == 1 for one in self._ids()):
            return False
        mixed = len(dtypes) > 1 and np.dtype(np.uint64) in dtypes  # they have no common type
        return not mixed and self.memory.fits(each * sum(self.rows))

    def _ids(self) -> list[Any]:
        return [frame[end] for frame in self.frames for end in self.ends]

    @property
    def rows(self) -> list[int]:
        """The number of rows of each piece."""
        return [len(frame) for frame in self.frames]

    # -- numbers -------------------------------------------------------------------------------------------------------

    def number(self, listed: range) -> Numbering | None:
        """The numbering of all ids and of those in the range `listed`; None if memory is short."""
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
        if total.fits_bitmaps(1):
            if len(listed) and listed.start == total.low and listed.stop - 1 == total.high:
                return Numbering(total.id_type, Ranks(listed.start, len(listed)))
            return Numbering.by_bitmap(total.id_type, total.low, self._bitmap(total.low, total.high, listed))
        if len(listed):
            return None
        xp, dtype = self.xp, total.id_type.dtype
        distinct = reduce(xp.union1d, [xp.unique(one.astype(dtype, copy=False)) for one in self._ids()])
        return Numbering(total.id_type, tables=[pa.array(to_host(self.memory, distinct))])

    def _bitmap(self, low: int, high: int, listed: range) -> np.ndarray:
        """The ids that occur, as a bitmap."""
        xp = self.xp
        flags = xp.zeros(64 * ((high - low) // 64 + 1), np.bool_)
        if len(listed):
            flags[listed.start - low : listed.stop - low] = True
        for one in self._ids():
            for piece in _pieces(len(one)):
                flags[one[piece].astype(np.int64) - low] = True
        words = [xp.packbits(flags[piece], bitorder="little") for piece in _pieces(len(flags))]
        return to_host(self.memory, xp.concatenate(words)).view(np.uint64)

    # -- rows ----------------------------------------------------------------------------------------------------------

    def adjacency(
        self, ids: Numbering, columns: Sequence[str], weight: str | None, *, order: str, rules: EdgeRules
    ) -> Adjacency | None:
        """All edges after the rules, by source (order "out") or by destination; None if memory is short."""
        if ids.size >= MOST_ROWS:
            return None
        try:
            arcs = self._arcs(self._edges(ids, columns, weight, rules), **rules.arc_options)
            keys, others = ([one.ends(order)[end] for one in arcs] for end in (0, 1))
            values = {name: [one.columns[name] for one in arcs] for name in columns}
            del arcs
            return sort(self.memory, keys, others, values, ids.size)
        except (MemoryError, DeviceError):
            return None

    def _edges(
        self, ids: Numbering, columns: Sequence[str], weight: str | None, rules: EdgeRules
    ) -> list[NumberedChunk]:
        """The edges by number, after all rules; loops stay, unless repeats are merged."""
        table = self._table(ids)
        edges = []
        for frame in self.frames:
            sources, destinations = (self._numbers(frame[end], ids, table) for end in self.ends)
            values = {name: self._column(frame, name, name == weight) for name in columns}
            edges.append(NumberedChunk(sources, destinations, values))
        if rules.symmetrize:
            edges += [reverses(one) for one in edges]
        if rules.repeats == "keep":
            return edges
        if rules.skip_loops:
            edges = [_without_loops(one) for one in edges]
        merged = self._merged(edges, rules)
        self.num_edges = len(merged)
        return [merged]

    def _arcs(self, edges: list[NumberedChunk], mirror: bool, skip_loops: bool) -> list[NumberedChunk]:
        arcs = []
        for one in edges:
            arcs.append(_without_loops(one) if skip_loops else one)
            if mirror:
                arcs.append(reverses(one))
        return arcs

    def _merged(self, edges: list[NumberedChunk], rules: EdgeRules) -> NumberedChunk:
        """One edge for each pair of ends, in order of the pair, like `partition/rules.py`."""
        xp = self.xp
        ends = [concatenate(xp, [getattr(one, end) for one in edges]) for end in ("sources", "destinations")]
        first, second = ends if rules.directed else (xp.minimum(*ends), xp.maximum(*ends))
        pairs = first.astype(np.uint64) << np.uint64(32) | second
        order = xp.argsort(pairs, kind="stable")
        is_first = xp.ones(len(pairs), np.bool_)
        is_first[1:] = pairs[order[1:]] != pairs[order[:-1]]
        starts, group = xp.flatnonzero(is_first), xp.cumsum(is_first) - 1
        firsts = order[starts]
        columns = {}
        for name in edges[0].columns:
            column = concatenate(xp, [one.columns[name] for one in edges])
            if rules.repeats == "first" or column.dtype.kind not in "iuf" or not len(starts):
                columns[name] = column[firsts]
            elif rules.repeats == "sum":
                if may_exceed(column, int(xp.diff(xp.append(starts, len(column))).max())):
                    raise DeviceError("sums may exceed 64 bits, which the CPU checks exactly")
                columns[name] = _sums(xp, column[order], starts, group)
            else:
                columns[name] = _extremes(xp, column[order], starts, group, rules.repeats)
        return NumberedChunk(ends[0][firsts], ends[1][firsts], columns)

    def _table(self, ids: Numbering) -> Any:
        """The table that turns ids into numbers: the sorted ids, the number at each distance from the first id, or None
        if that distance is the number."""
        if ids.ranks is None:
            return self.memory.to_device(np.asarray(ids.tables[0])).raw
        if ids.ranks.is_dense:
            return None
        places = self.memory.to_device(ids.ranks.members()).raw
        places -= ids.ranks.first
        table = self.xp.empty(64 * len(ids.ranks.words), np.uint32)
        table[places] = self.xp.arange(len(places), dtype=np.uint32)
        return table

    def _numbers(self, values: Any, ids: Numbering, table: Any) -> Any:
        out = self.xp.empty(len(values), np.uint32)
        for piece in _pieces(len(values)):
            if ids.ranks is None:
                out[piece] = self.xp.searchsorted(table, values[piece].astype(table.dtype, copy=False))
                continue
            distance = values[piece].astype(np.int64) - ids.ranks.first
            out[piece] = distance if table is None else table[distance]
        return out

    def _column(self, frame: DeviceFrame, name: str, is_weight: bool) -> Any:
        column = frame[name]
        if column.dtype.kind not in "iufb" or (is_weight and column.dtype.kind == "f" and self.xp.isnan(column).any()):
            return self.memory.to_device(numeric_column(frame.to_arrow(), name, is_weight)).raw  # may raise
        return column


def _pieces(count: int) -> list[slice]:
    return [slice(first, first + PIECE_IDS) for first in range(0, count, PIECE_IDS)]


def _without_loops(edges: NumberedChunk) -> NumberedChunk:
    return edges[edges.sources != edges.destinations]


def _sums(xp: Any, values: Any, starts: Any, group: Any) -> Any:
    """The sum of each group. CuPy's `reduceat` subtracts running sums, which is exact for whole numbers only."""
    if values.dtype.kind != "f":
        return xp.add.reduceat(values, starts, dtype=f"{values.dtype.kind}8")
    sums = xp.zeros(len(starts), values.dtype)
    xp.add.at(sums, group, values)
    return sums


def _extremes(xp: Any, values: Any, starts: Any, group: Any, which: str) -> Any:
    """The "min" or "max" of each group: its first or last value in order. A group with NaN, which sorts last, has the
    extreme NaN."""
    by_value = xp.argsort(values, kind="stable")
    order = by_value[xp.argsort(group[by_value], kind="stable")]
    least, most = values[order[starts]], values[order[xp.append(starts[1:], len(values)) - 1]]
    return most if which == "max" else xp.where(least <= most, least, most)
