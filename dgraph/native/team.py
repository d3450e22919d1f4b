"""A team: threads that run one compiled kernel in parallel, from the first round of an algorithm to the last.

They meet at barriers inside the kernel. A barrier costs a microsecond, a handover between Python threads fifty. The
kernels of a team must never raise: a thread that leaves early would keep the others waiting forever. Kernels of many
rounds check `stopped` after a barrier, where all threads see the same value.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import typeof, types, uint64
from numba.core import cgutils
from numba.extending import intrinsic

from dgraph.native.machine_code import cached_njit, part_of_kernels

STOP = 8  # in `signals`: set once the result is no longer wanted
ARRIVED, ROUND, STOPPED = 0, 16, 17  # in `signals`: the threads waiting; the number of meetings; STOP at the last one
SPINS = 2000  # a thread checks the round this often before it yields its core
# The number of edges that makes a thread worth starting and waiting for. On two cores, most operations were measured to
# break even at twice as many. On many cores, only so many threads are started that each has this many edges.
LOOKS = 1 << 19
LINE = 16  # words between two counters, so that each is on a separate cache line
ONE = uint64(1)  # for uint64 indices: adding a signed 1 would make them floats
_larger = 1  # see `scale_threads`

kernel = cached_njit()
part = part_of_kernels()
summed = part_of_kernels(fastmath={"reassoc"})  # several partial sums, so that additions need not wait for each other
_intrinsic: Any = intrinsic
pass_on = types.ExternalFunction("SwitchToThread" if os.name == "nt" else "sched_yield", types.int32())


def worthwhile_threads(threads: int, looks: int) -> int:
    """How many of `threads` are worth starting to read `looks` edges."""
    return max(1, min(threads, looks * _larger // LOOKS))


@contextmanager
def scale_threads(times: int) -> Iterator[None]:
    """In the body, treat each graph as a sample of one `times` as large, and give it as many threads as the large
    one."""
    global _larger
    before, _larger = _larger, times
    try:
        yield
    finally:
        _larger = before


def new_signals() -> np.ndarray:
    return np.zeros(32, np.int64)


def signals_here() -> np.ndarray:
    """Signals for a team started by this thread: those of an `InterruptibleCall`, which can stop its teams, or new
    ones."""
    signals = getattr(threading.current_thread(), "signals", None)
    return new_signals() if signals is None else signals


def team(kernel: Any, threads: int, *arrays: Any, beside: Sequence[Callable[..., Any]] = ()) -> Any:
    """Run `kernel(rank, size, signals, *arrays)` on `threads` threads at once, and return what rank 0 returns. The
    functions in `beside` get the ranks after these; they are called with rank, size and signals, and must not raise
    either. Each call starts new threads, because those of a pool could wait behind another team's."""
    signals, size = signals_here(), threads + len(beside)
    if threads == size == 1:
        return _unless_stopped(kernel(0, 1, signals, *arrays), signals)
    if threads:  # compile before the threads start, or they would wait for each other's compiler
        compile_for(kernel, (0, 1, signals, *arrays))
    ready = threading.Barrier(size)  # a thread that cannot be started must not leave others waiting in the kernel
    members: list[Callable[[], Any]] = [partial(kernel, rank, size, signals, *arrays) for rank in range(threads)]
    members += [partial(one, rank, size, signals) for rank, one in enumerate(beside, threads)]

    def take_part(member: Callable[[], Any]) -> None:
        ready.wait()
        member()

    others = [threading.Thread(target=take_part, args=(member,), daemon=True) for member in members[1:]]
    try:
        for other in others:
            other.start()
        ready.wait()
    except BaseException:
        ready.abort()
        raise
    try:
        result = members[0]()
    finally:
        for other in others:
            other.join()
    return _unless_stopped(result, signals)


def compile_for(kernel: Any, arguments: Sequence[Any]) -> None:
    """Compile a kernel for arguments of these types, unless it is. Numba takes 0.2 ms to tell the types of named tuples
    from Python, so that is asked once for each kind of arguments."""
    known = getattr(kernel, "kinds", None)
    if known is None:  # a generated kernel, whose types are declared
        kernel.compile()
    elif (kinds := tuple(map(_kind, arguments))) not in known:
        kernel.compile(tuple(map(typeof, arguments)))
        known.add(kinds)


def _kind(value: Any) -> Any:
    """What Numba's type of an argument depends on."""
    if isinstance(value, np.ndarray):
        flags = value.flags
        return value.dtype, value.ndim, flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.aligned
    if isinstance(value, tuple):
        return type(value), *map(_kind, value)
    if isinstance(value, int):
        return type(value), value.bit_length() > 63
    return type(value)


def _unless_stopped(result: Any, signals: np.ndarray) -> Any:
    if signals[STOP]:
        raise KeyboardInterrupt
    return result


@part
def barrier(size, signals):
    """Wait until all threads of the team have arrived. Afterwards, all can read what any of them wrote before."""
    if size == 1:
        signals[STOPPED] = atomic_load(signals, STOP)
        return
    now = atomic_load(signals, ROUND)
    if atomic_add(signals, ARRIVED, 1) == size - 1:
        atomic_add(signals, ARRIVED, -size)
        signals[STOPPED] = atomic_load(signals, STOP)
        atomic_add(signals, ROUND, 1)
        return
    spins = 0
    while atomic_load(signals, ROUND) == now:
        spins += 1
        if spins > SPINS:
            pass_on()


@part
def stopped(signals):
    """Whether the run had been stopped at the last barrier: the same for all threads of the team."""
    return signals[STOPPED] != 0


@part
def share(rank, size, count):
    """The bounds of this thread's slice, if `count` rows are divided equally."""
    return count * rank // size, count * (rank + 1) // size


# -- atomics: each returns the previous value --------------------------------------------------------------------------


def _read_modify_write(name: str, integer: str, unsigned: str, real: str) -> Any:
    def typer(context, array, index, value):
        def generate(context, builder, signature, arguments):
            kind = signature.args[0].dtype
            operation = real if isinstance(kind, types.Float) else integer if kind.signed else unsigned
            place = _place(context, builder, signature, arguments)
            given = context.cast(builder, arguments[2], signature.args[2], kind)
            return builder.atomic_rmw(operation, place, given, "seq_cst")

        return array.dtype(array, index, value), generate

    typer.__name__ = name
    return _intrinsic(typer)


atomic_add = _read_modify_write("atomic_add", "add", "add", "fadd")
atomic_min = _read_modify_write("atomic_min", "min", "umin", "fmin")
atomic_max = _read_modify_write("atomic_max", "max", "umax", "fmax")
atomic_or = _read_modify_write("atomic_or", "or", "or", "")
atomic_exchange = _read_modify_write("atomic_exchange", "xchg", "xchg", "xchg")


@_intrinsic
def atomic_load(context, array, index):
    """The value that any thread last stored."""

    def generate(context, builder, signature, arguments):
        place = _place(context, builder, signature, arguments)
        return builder.load_atomic(place, "acquire", _size(context, signature))

    return array.dtype(array, index), generate


@_intrinsic
def compare_and_swap(context, array, index, old, new):
    """Store `new` if the value is still `old`; returns whether it was. For integers."""

    def generate(context, builder, signature, arguments):
        kind = signature.args[0].dtype
        place = _place(context, builder, signature, arguments)
        before, after = (context.cast(builder, arguments[i], signature.args[i], kind) for i in (2, 3))
        found = builder.cmpxchg(place, before, after, "seq_cst", "seq_cst")
        return builder.extract_value(found, 1)

    return types.boolean(array, index, old, new), generate


def _prefetch(name: str, locality: int) -> Any:
    def typer(context, array, index):
        def generate(context, builder, signature, arguments):
            place = builder.bitcast(_place(context, builder, signature, arguments), ir.IntType(8).as_pointer())
            word = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), word, word, word])
            function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
            builder.call(function, [place, word(0), word(locality), word(1)])
            return context.get_dummy_value()

        return types.void(array, index), generate

    typer.__name__ = name
    return _intrinsic(typer)


prefetch = _prefetch("prefetch", 3)  # for a value that will be read soon
prefetch_once = _prefetch("prefetch_once", 0)  # for one that is read only once: it evicts nothing else from the cache


def _place(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind = signature.args[0]
    array = context.make_array(kind)(context, builder, arguments[0])
    index = context.cast(builder, arguments[1], signature.args[1], types.intp)
    return cgutils.get_item_pointer(context, builder, kind, array, [index], wraparound=False)


def _size(context: Any, signature: Any) -> int:
    return context.get_abi_sizeof(context.get_value_type(signature.args[0].dtype))
