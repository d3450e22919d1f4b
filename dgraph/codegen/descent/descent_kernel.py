"""The kernels of block coordinate descent (GraphABCD, Yang et al. 2020): the threads of a team take blocks of vertices
from a queue and update them from the newest values of all others, without waiting and without locking vertices.

    push       a block takes its inboxes, each by one atomic exchange, and merges its messages into the inboxes of
               others; in synchronous programs an inbox is the sum of the last messages of all neighbours, and senders
               add differences to it
    pull       a block gathers along all its in-edges, then notifies the blocks that read it of the size of the change
    pull_push  the same, but a changed vertex writes to one slot per edge, which its readers then find in order

A block has one writer at a time, so states need no atomics. With pull, a message is a state, which may be gathered
repeatedly. With push, it is a change, which must be merged exactly once.

If a daemon takes a block, it handles the edges, and other kernels the vertices:

    gathered   pull: apply the messages that a daemon has gathered for a block, and notify the readers
    leaving    push: take the inboxes of a block, and list the vertices whose messages the daemon must send
    arriving   push: merge into inboxes the messages that a daemon has merged per target, as CPU threads do with theirs
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from dgraph.codegen.descent.turn import IN_EDGE, OUT_EDGE, QUEUE_ARRAYS, STORE_ARGUMENTS, TurnWriter, real
from dgraph.codegen.text import Argument, by_name, call, edges_of
from dgraph.native import block_queue, team
from dgraph.programs.analysis import Analysis
from dgraph.programs.kernel_names import before_name, field_name, inbox_name, incoming_name, sent_name

OPERATORS = ("push", "pull", "pull_push")
DAEMON_KERNELS = {"pull": ("gathered",), "push": ("leaving", "arriving")}  # operator -> kernels

_sources = b"".join(Path(module.__file__ or "").read_bytes() for module in (block_queue, team))
_digest = sha256(_sources).hexdigest()[:20]  # part of the text, so that a change to these modules recompiles kernels
IMPORTS = f"""# Names of the queue {_digest} and of this kernel's own begin with an underscore.
from dgraph.native import block_queue as _queue
from dgraph.native import team as _team"""


def descent_arrays(analysis: Analysis) -> dict[str, Argument]:
    """The arguments that only these kernels use."""
    dtype = analysis.phases[0].messages[0].dtype.name
    return by_name(
        *(Argument(name, "int64") for name in ("_rank", "_size")),
        *(Argument(name, "int64", 1, True) for name in ("_signals", "_heap", "_place", "_board")),
        *(Argument(name, "int64", 1) for name in ("_limits", "_in_indptr", "_slot_of", "_pairs", "_readers")),
        *(Argument(name, "float64", 1, True) for name in ("_keys", "_live")),
        *(Argument(name, "float64", 1) for name in ("_pace", "_share", "_gain")),
        *(Argument(name, "uint32", 1) for name in ("_in_neighbours", "_ids")),
        *(Argument(name, "bool", 1, True) for name in ("_news", "_fresh", "_held")),
        *(Argument(name, dtype, 1, True) for name in ("_taken", "_slots", "_leaving")),
        *(Argument(f"_in_{field_name(column.name)}", column.dtype.name, 1) for column in analysis.edge_columns),
        *(Argument(f"_told_{state.name}", state.dtype.name, 1, True) for state in analysis.states),
        Argument("_copied", "bool", 1),
        Argument("_leavers", "uint32", 1, True),
        Argument("_least", "float64"),
    )


class DescentKernelWriter(TurnWriter):
    """Writes these kernels."""

    def write(self) -> None:
        self.descend()
        if self.adds:
            return
        self.wake()
        self.relay()
        if self.operator == "pull_push":
            self.fill()
        elif self.operator == "pull":
            self.gathered()
        else:
            self.leaving()
            self.arriving()

    def descend(self) -> None:
        doc = "Update blocks from the queue, until it is empty or the edges of this call are used up."
        kernel = self.begin_kernel("descend", doc, "_rank", "_size", "_signals", *QUEUE_ARRAYS)
        kernel.add("_shift, _owned, _owed = _limits[_queue.SHIFT], _limits[_queue.OWNED], 0.0")
        with kernel.block("while True:"):
            kernel.add(f"_b = _queue.next_block(_rank, _size, _signals, {STORE_ARGUMENTS}, _limits)")
            kernel.add("if _b == _queue.NONE: break", "if _b == _queue.LATER: continue")
            kernel.add("if _size > 1: _team.atomic_exchange(_live, _b, 0.0)", "else: _live[_b] = 0.0")
            kernel.add("_fired, _edges = 0, 0", *(["_told = 0.0"] if self.by_block or self.adds else []))
            kernel.add(*(["_own = 0.0"] if self.own else []))
            rows = "for v in range(uint64(_b << _shift), uint64(min(_owned, (_b + 1) << _shift))):"
            with self.deferring_later_rows(), kernel.block(rows):
                if self.adds:
                    self.pass_on()
                else:
                    if self.operator == "push":
                        self.take()
                    else:
                        self.gather()
                    self.update()
            if self.by_block:
                self.notify_blocks()
            if self.adds:
                kernel.add("_live[_b] = _told" + (" + _own" if self.own else ""))
            else:
                self.requeue_block()
            kernel.add(
                f"_owed = _queue.finish(_b, _rank, _fired, _edges, {kernel.use('_pace')}, _owed, {STORE_ARGUMENTS})"
            )

    def wake(self) -> None:
        """Handle messages from the seed or from other partitions."""
        doc = "Put the blocks of the vertices ids[lo:hi], which have messages, on the queue."
        kernel = self.begin_kernel("wake", doc, "lo", "hi", "_size", *QUEUE_ARRAYS)
        with kernel.block("for i in range(lo, hi):"):
            kernel.add(f"_w = {kernel.use('_ids')}[i]")
            kernel.add(f"_new = {kernel.use(inbox_name(self.phase, self.message))}[_w]")
            with kernel.block("if _w < _limits[_queue.OWNED]:"):
                self.notify_block(f"abs({real(self.message, '_new')})")

    def relay(self) -> None:
        """Pass on values from masters on other partitions through their proxies."""
        doc = "The vertices ids[lo:hi] send along their local out-edges; returns the number of edges."
        kernel = self.begin_kernel("relay", doc, "lo", "hi", "_size", *QUEUE_ARRAYS)
        kernel.add("_owned, _edges = _limits[_queue.OWNED], 0")
        with kernel.block("for i in range(lo, hi):"):
            kernel.add(f"v = {kernel.use('_ids')}[i]")
            if self.by_block:
                kernel.add("_b = int64(v) >> _limits[_queue.SHIFT]", f"_told = {kernel.use('_gain')}[i]")
                self.notify_blocks()
            else:
                if self.phase.hoisted:
                    kernel.add(f"_new = {kernel.use(sent_name(self.phase, self.message))}[v]")
                self.send_to_neighbours(f"{kernel.use('_gain')}[i]", {})
        kernel.add("return _edges")

    def fill(self) -> None:
        """Write the initial messages of all vertices to the slots."""
        kernel = self.begin_kernel(
            "fill", "Write the messages along the in-edges of rows lo:hi to their slots.", "lo", "hi"
        )
        with kernel.block("for v in range(lo, hi):"):
            rows, readers = kernel.use("_in_indptr"), kernel.use("_in_neighbours")
            with kernel.block(edges_of("v", rows)):
                kernel.add(f"u = {readers}[e]")
                kernel.add(f"{kernel.use('_slots', True)}[e] = {self.sent_by('u', IN_EDGE)}")

    def pass_on(self) -> None:
        """Apply the inbox of v, and add to the inboxes of others the change of its message since it last sent. A change
        that is too small to justify visiting the edges is held back and accumulates."""
        kernel, phase, m = self.kernel, self.phase, self.message
        states, sums, rows = self.analysis.states, kernel.use(inbox_name(phase, m), True), kernel.use("indptr")
        kernel.add("_fired += 1", "_first = _limits[_queue.FIRST]")
        for name in self.analysis.before:  # `before_...` holds the values that others have seen
            copy, held = kernel.use(before_name(name), True), kernel.use("_held", True)
            kernel.add(f"{copy}[v] = {copy}[v] if {held}[v] else {kernel.use(field_name(name))}[v]")
        with kernel.block("if not _first:"):
            news = ", ".join(f"new_{state.name}" for state in states)
            own = {m.name: f"{sums}[v]"}
            kernel.add(f"{news} = {call(kernel, phase.apply, 'apply', OUT_EDGE, phase, own)}")
            self.measure_own_changes()
            self.store_states()
        kernel.add(f"_count = {rows}[v + one] - {rows}[v]", "if _count == 0: continue")
        told = {name: kernel.use(f"_told_{name}", True) for name in phase.send.names_of("state") if not phase.hoisted}
        if phase.hoisted:
            array = kernel.use(sent_name(phase, m), True)
            kernel.add(f"_now = {m.dtype.name}({self._send({})})", f"_new = _now - {array}[v]", "_change = abs(_new)")
        else:
            changes = [f"abs({kernel.use(field_name(name))}[v] - {array}[v])" for name, array in told.items()]
            kernel.add(f"_change = ({' + '.join(changes) or '0.0'}) / _count")
        kernel.add("_told += _change * _count")
        held, least = kernel.use("_held", True), kernel.use("_least")
        kernel.add(f"{held}[v] = _change <= {least} and _change != 0 and not _first")
        kernel.add("if _held[v] or (_change == 0 and not _first): continue", "_edges += _count")
        with kernel.block(edges_of("v")):
            kernel.add(f"_w = {kernel.use('neighbours')}[e]")
            if not phase.hoisted:
                kernel.add(f"_new = {m.dtype.name}({self._send({})})")
                previous = {name: f"{array}[v]" for name, array in told.items()}
                kernel.add(f"if not _first: _new -= {self._send(previous)}")
            self.merge_into(sums)
        kernel.add(
            *([f"{array}[v] = _now"] if phase.hoisted else ()),
            *(f"{array}[v] = {field_name(name)}[v]" for name, array in told.items()),
        )

    def _send(self, own: dict[str, str]) -> str:
        """The message of v, with the states in `own` in place of its current ones."""
        return call(self.kernel, self.phase.send, "send", OUT_EDGE, None, own)

    # -- blocks that a daemon takes ------------------------------------------------------------------------------------

    def gathered(self) -> None:
        doc = "Rows lo:hi of one block apply what a daemon has gathered; returns the vertices fired and edges visited."
        kernel = self.begin_kernel("gathered", doc, "lo", "hi", "_size", *QUEUE_ARRAYS)
        kernel.add("_owned, _b = _limits[_queue.OWNED], int64(lo) >> _limits[_queue.SHIFT]")
        kernel.add("_fired, _edges, _told = 0, 0, 0.0", *(["_own = 0.0"] if self.own else []))
        with kernel.block("for v in range(lo, hi):"):
            kernel.add(f"_total = {kernel.use(inbox_name(self.phase, self.message))}[v]")
            if not self.synchronous:
                taken = kernel.use("_taken", True)
                kernel.add(f"if _total == {taken}[v]: continue", f"{taken}[v] = _total")
            self.update()
        if self.by_block:
            self.notify_blocks()
        self.requeue_block()
        kernel.add("return _fired, _edges")

    def leaving(self) -> None:
        doc = "Rows lo:hi of one block take their inboxes; returns how many fired, and how many send."
        kernel = self.begin_kernel("leaving", doc, "lo", "hi", "_size", *QUEUE_ARRAYS)
        kernel.add("_b, _fired, _count = int64(lo) >> _limits[_queue.SHIFT], 0, uint64(0)")
        with self.deferring_later_rows(), kernel.block("for v in range(lo, hi):"):
            self.take()
            self.update(self.leave)
        kernel.add("return _fired, int64(_count)")

    def leave(self, change: str, own: dict[str, str]) -> None:
        """List v, so that the daemon sends its message."""
        if self.phase.hoisted:
            self.kernel.add(f"{self.kernel.use('_leaving', True)}[v] = _new")
        self.kernel.add(f"{self.kernel.use('_leavers', True)}[_count] = v", "_count += one")

    def arriving(self) -> None:
        kernel = self.begin_kernel(
            "arriving", "Merge messages for the vertices ids[lo:hi].", "lo", "hi", "_size", *QUEUE_ARRAYS
        )
        kernel.add("_owned = _limits[_queue.OWNED]")
        with kernel.block("for i in range(lo, hi):"):
            kernel.add(f"_w = {kernel.use('ids')}[i]")
            kernel.add(f"_new = {kernel.use(incoming_name(inbox_name(self.phase, self.message)))}[i]")
            self.deliver(f"abs({real(self.message, '_new')})")
