"""`tables/vertex_arrays.py` for arrays on a device, where they stay from the first round to the last. Only the lengths
of lists and the values for other partitions are copied to the host."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from dgraph.codegen.cuda.cuda_kernels import BEST, LISTED
from dgraph.devices.device_memory import DeviceArray, Memory
from dgraph.errors import DeviceError
from dgraph.programs.analysis import PhaseAnalysis
from dgraph.programs.kernel_names import phase_name
from dgraph.tables.vertex_arrays import VertexArrays, Where

QUEUED, EDGES, COUNTED = "queued", "edges", "counted"  # with LISTED, what kernels report besides global values
REST = "rest_out", "rest_in"  # the number of further parts of long rows, in each table of senders
SLOTS = dict.fromkeys((QUEUED, LISTED, EDGES, *REST, COUNTED), "int64")
LARGE_MAIL = 64 << 10  # mail of at least this many bytes stays on the device; copying less to the host is cheaper
PART_EDGES = 1 << 11  # edges of a sender that one warp handles; other warps share the rest

Launch = Callable[..., Any]  # runs a kernel by name, over a number of rows, with arguments by name


class DeviceCounters:
    """Named numbers on the device that kernels write. They are adjacent, so one small copy fetches all of them."""

    SLOT = 8  # bytes

    def __init__(self, memory: Memory, dtypes: Mapping[str, Any]):
        self.memory, self.known = memory, True
        size = self.SLOT * len(dtypes)
        self._device, self._host = memory.empty(size, np.uint8), memory.pinned(size)
        self._places = {name: slice(self.SLOT * i, self.SLOT * (i + 1)) for i, name in enumerate(dtypes)}
        memory.fill(self._device, 0)
        self._host[:] = 0
        self.device = {name: self._device[place].view(dtypes[name]) for name, place in self._places.items()}
        self._read = {name: self._host[place].view(dtypes[name]) for name, place in self._places.items()}

    def clear(self, first: str, last: str) -> None:
        """Set the numbers from `first` to `last` to 0, also in the host's copy, so that no old number is read again."""
        places = slice(self._places[first].start, self._places[last].stop)
        self.memory.fill(self._device[places], 0)
        self._host[places] = 0

    def __getitem__(self, name: str) -> Any:
        """A number, after waiting for the kernels that write it."""
        if not self.known:
            self.memory.get(self._device, self._host)
            self.known = True
        return self._read[name][0].item()


class DeferredCount:
    """A number that a kernel writes. It is read on first use, so that until then the host need not wait for the kernel.
    The counts in `beside` are read at the same time."""

    def __init__(self, tally: DeviceCounters, slot: str, before: int = 0, beside: Sequence[DeferredCount] = ()):
        self.tally, self.slot, self.before, self.beside = tally, slot, before, beside
        self.value: int | None = None

    def __index__(self) -> int:
        if self.value is None:
            self.value = self.before + self.tally[self.slot]
            for count in self.beside:
                int(count)
        return self.value

    __int__ = __index__


class LongRows(NamedTuple):
    """The senders with more than PART_EDGES edges in a table; each is listed once per further part."""

    senders: DeviceArray
    parts: DeviceArray
    length: DeferredCount

    @property
    def arguments(self) -> dict[str, Any]:
        return {"senders": self.senders, "parts": self.parts, "part_size": PART_EDGES}


def parts_of(values: Mapping[str, Any]) -> LongRows | None:
    """The `LongRows` of the senders of a push, if they have been listed."""
    senders = values.get("senders")
    return senders.rest.get(id(values["indptr"])) if isinstance(senders, DeviceIds) else None


class DeviceIds:
    """A list of vertices: the first elements of an array on the device."""

    def __init__(self, array: DeviceArray, count: Any):
        self.array, self.count = array, count
        self.rest: dict[int, LongRows] = {}  # by the id of a table's indptr

    def __len__(self) -> int:
        return int(self.count)


class DeviceVertexArrays(VertexArrays):
    """Operations on the arrays of one partition. `launch` runs a kernel of `codegen/cuda/array_kernels.py`, `run` one
    of the program, whose `totals` kernels report, too."""

    def __init__(self, memory: Memory, totals: Mapping[str, Any], launch: Launch, run: Launch):
        self.memory, self.launch, self.run = memory, launch, run
        self.tally = DeviceCounters(memory, {**SLOTS, **totals})
        self._scratch: dict[str, DeviceArray] = {}
        self._places: dict[tuple, DeviceArray] = {}
        self._listed: DeviceIds | None = None  # the list whose long rows are in scratch now
        self.direct = 0  # bytes of messages that stayed on devices

    def to_device(self, array: Any) -> DeviceArray:
        if isinstance(array, DeviceArray):
            return array
        return self.memory.to_device(array) if isinstance(array, np.ndarray) else self.memory.counted(array)

    def to_host(self, array: Any, count: int) -> np.ndarray:
        array = array.array if isinstance(array, DeviceIds) else array
        return self.memory.get(array[:count]) if isinstance(array, DeviceArray) else array[:count]

    def wait(self) -> None:
        self.memory.wait()

    # -- lists of vertices ---------------------------------------------------------------------------------------------

    def first(self, queue: DeviceArray, count: Any) -> DeviceIds:
        return DeviceIds(queue, count)

    def join_ranges(self, queue: DeviceArray, ranges: Sequence[tuple[int, Any]]) -> DeviceIds:
        return DeviceIds(queue, ranges[0][1] or 0)

    def join_lists(self, lists: Sequence[Any], queue: DeviceArray) -> DeviceIds:
        """The first list is in `queue` already, or empty."""
        count = len(lists[0])
        for ids in lists[1:]:
            self.memory.put(queue[count : count + len(ids)], ids.astype(np.uint32, copy=False))
            count += len(ids)
        return DeviceIds(queue, count)

    def all_vertices(self, n: int) -> DeviceIds:
        return DeviceIds(self.places(slice(0, n)), n)

    def below(self, ids: DeviceIds, limit: int) -> DeviceIds:
        queue = self.scratch_array("below", len(ids), np.uint32)
        self.tally.clear(LISTED, LISTED)
        self.launch("list_below", len(ids), ids=ids.array, limit=limit, queue=queue, listed=LISTED)
        return DeviceIds(queue, self.tally[LISTED])

    def store(self, queue: DeviceArray, ids: DeviceIds) -> None:
        if ids.array is not queue and len(ids):
            self.memory.copy(queue[: len(ids)], ids.array[: len(ids)])

    def edges(self, sides: Sequence[Any], ids: Any) -> Any:
        if not isinstance(ids, DeviceIds):  # the empty list before the first round
            return super().edges(sides, ids)
        self.tally.clear(EDGES, REST[-1])
        if self._listed is not None:
            self._listed.rest = {}  # the scratch is reused, so senders of the previous list are no longer split
        self._listed = ids
        known = not isinstance(ids.count, DeferredCount) or ids.count.value is not None
        count, most = (len(ids), 0) if known else (0, len(ids.array))
        for side, slot in zip(sides, REST[: len(sides)], strict=True):
            names, size = (f"senders {slot}", f"parts {slot}"), side.num_edges // PART_EDGES + 1
            senders, parts = self.scratch_arrays(dict.fromkeys(names, size), np.uint32).values()
            long_rows = ids.rest[id(side.indptr)] = LongRows(senders, parts, DeferredCount(self.tally, slot))
            indptr = self.memory.resident_copy(side.indptr)
            lists = {"ids": ids.array, "listed": LISTED, "edges": EDGES, "rest": slot}
            self.launch("count_edges", count, most=most, indptr=indptr, **lists, **long_rows.arguments)
        return DeferredCount(self.tally, EDGES, beside=[one.length for one in ids.rest.values()])

    # -- flags and fields ----------------------------------------------------------------------------------------------

    def count(self, flags: DeviceArray, first: int) -> int:
        self.tally.clear(COUNTED, COUNTED)
        self.launch("count_flags", len(flags), first, arrived=flags, listed=COUNTED)
        return self.tally[COUNTED]

    def put(self, array: DeviceArray, ids: Any, value: Any) -> None:
        if len(ids):
            value = np.array(value, array.dtype).view(array.words.dtype)[()]
            self._words("put", array, len(ids), ids=ids.array, value=value)

    def fill(self, array: DeviceArray, first: int, value: Any) -> None:
        if first < len(array):
            self.memory.fill(array[first:], value)

    def copy(self, to: DeviceArray, array: DeviceArray) -> None:
        self.memory.copy(to, array)

    def write(self, array: DeviceArray, ids: np.ndarray, values: Any) -> None:
        if len(ids):
            on_host = not isinstance(values, DeviceArray)
            packed = self.copy_to_scratch("packed", np.ascontiguousarray(values, array.dtype)) if on_host else values
            rows = self.copy_to_scratch("ids", ids.astype(np.uint32))
            self._words("unpack", array, len(ids), ids=rows, packed=packed.words)

    def bounds(self, phase: PhaseAnalysis, values: Mapping[str, Any], senders: Any) -> dict[str, Any]:
        return self.run(phase_name(phase, BEST), len(senders), {**values, "senders": senders})

    # -- what travels --------------------------------------------------------------------------------------------------

    def changed_rows(self, arrays: Sequence[DeviceArray], before: Any, n: int) -> tuple[Any, Any]:
        if before is None:
            before = [self.memory.empty(array.shape, array.dtype) for array in arrays]
            for old, array in zip(before, arrays, strict=True):
                self.memory.copy(old, array)
            return None, before
        marks = self._marks("news", n)
        for old, array in zip(before, arrays, strict=True):
            self._words("mark_news", array, n, before=old.words, marks=marks)
        return marks, before

    def select_flags(self, mask: DeviceArray, where: Where) -> np.ndarray:
        ids = self.places(where)
        marks = self._marks("marked", len(ids))
        self._words("mark_set", mask, len(ids), ids=ids, marks=marks)
        return self.memory.get(marks[: len(ids)]).view(bool)

    def differing_rows(self, arrays: Sequence[DeviceArray], where: Where, values: Sequence[Any]) -> np.ndarray:
        assert isinstance(where, slice)  # a partition on a device sends to each other one by itself
        marks = self._marks("marked", where.stop - where.start)
        for array, value in zip(arrays, values, strict=True):
            word = np.array(value, array.dtype).view(array.words.dtype)[()]
            self._words("mark_unlike", array, where.stop, where.start, value=word, marks=marks)
        return self.memory.get(marks[: where.stop - where.start]).view(bool)

    def mail_buffer(self, size: int) -> DeviceArray | None:
        if size >= LARGE_MAIL:
            with suppress(DeviceError):
                buffer = self.memory.empty(size, np.uint8)
                self.direct += size
                return buffer
        return None

    def take(self, array: DeviceArray, where: Where | None, picked: np.ndarray | None, out: Any) -> None:
        on_device = isinstance(out, DeviceArray)
        if isinstance(where, slice) and picked is None:
            self.memory.copy(out, array[where]) if on_device else self.memory.get(array[where], out)
            return
        assert where is not None
        if picked is None:
            ids = self.places(where)
        else:
            chosen = picked + where.start if isinstance(where, slice) else where[picked]
            ids = self.copy_to_scratch("ids", chosen.astype(np.uint32, copy=False))
        packed = (
            out if on_device else self.scratch_array("packed", out.size, array.dtype)[: out.size].reshape(out.shape)
        )
        self._words("pack", array, len(out), ids=ids, packed=packed.words)
        if not on_device:
            self.memory.get(packed, out)

    # -- scratch -------------------------------------------------------------------------------------------------------

    def scratch_array(self, name: str, count: int, dtype: Any) -> DeviceArray:
        """Scratch of at least this length. A name always refers to the same memory."""
        key = f"{name} {np.dtype(dtype)}"
        if key not in self._scratch or len(self._scratch[key]) < count:
            self._scratch.pop(key, None)  # first, because there may be no memory for both
            self._scratch[key] = self.memory.empty(max(1, count), dtype)
        return self._scratch[key]

    def scratch_arrays(self, counts: Mapping[str, int], dtype: Any) -> dict[str, DeviceArray]:
        """Several scratch arrays; if one does not fit, none of them is kept."""
        try:
            return {name: self.scratch_array(name, count, dtype) for name, count in counts.items()}
        except DeviceError:
            for name in counts:
                self._scratch.pop(f"{name} {np.dtype(dtype)}", None)
            raise

    def copy_to_scratch(self, name: str, array: np.ndarray) -> DeviceArray:
        """A copy of a host array in scratch."""
        copy = self.scratch_array(name, array.size, array.dtype)[: array.size].reshape(array.shape)
        self.memory.put(copy, array)
        return copy

    def places(self, where: Where) -> DeviceArray:
        """Local ids that are used again and again (address tables, ranges of proxies), kept on the device."""
        if isinstance(where, slice):
            key: tuple = where.start, where.stop
        else:
            key = where.__array_interface__["data"][0], len(where)
        if key not in self._places:
            ids = np.arange(where.start, where.stop) if isinstance(where, slice) else where
            self._places[key] = self.memory.to_device(ids.astype(np.uint32))
        return self._places[key]

    def _marks(self, name: str, count: int) -> DeviceArray:
        """`count` flags, none of them set."""
        marks = self.scratch_array(name, count, np.uint8)
        self.memory.fill(marks[:count], 0)
        return marks

    def _words(self, name: str, array: DeviceArray, hi: int, lo: int = 0, **arguments: Any) -> None:
        self.launch(f"{name}_{8 * array.dtype.itemsize}", hi, lo, words=array.words, **arguments)
