"""The kernel of block coordinate descent (GraphABCD, Yang et al. 2020): threads of a team take blocks of vertices from
a queue and bring them up to date from the newest values of all others. Nobody waits, and no vertex is locked.

    push       a block takes its inboxes, each by one atomic exchange, and merges what it sends into those of others;
               of a synchronous program inboxes stay what all have sent last: sums, to which differences are added
    pull       a block gathers over all its in-edges, then tells the blocks that read it how much has changed
    pull_push  the same, but who has changed writes to a slot for each edge, which its reader finds in order

A block has one writer at a time, so states need no atomics. What is sent along an edge is a state where it is gathered
again each time (pull), and a change where it is merged once (push): then nothing may be lost or merged twice.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from dgraph.codegen.descent.news import OWN, QUEUE, STORE_ARGUMENTS, real
from dgraph.codegen.descent.turn import FROM, TurnWriter
from dgraph.codegen.text import Argument, call, edges_of
from dgraph.native import block_queue, team
from dgraph.programs.analysis import Analysis
from dgraph.programs.kernel_names import before, inbox, key, sent

OPERATORS = ("push", "pull", "pull_push")

_sources = b"".join(Path(module.__file__ or "").read_bytes() for module in (block_queue, team))
_digest = sha256(_sources).hexdigest()[:20]  # so that kernels are compiled anew when these change
IMPORTS = f"""# Names of the queue {_digest} and of this kernel's own begin with an underscore.
from dgraph.native import block_queue as _queue
from dgraph.native import team as _team"""


def more_arrays(analysis: Analysis) -> dict[str, Argument]:
    """What only these kernels ask for."""
    dtype = analysis.phases[0].messages[0].dtype.name
    arrays = [Argument(name, "int64") for name in ("_rank", "_size")]
    arrays += [Argument(name, "int64", 1, True) for name in ("_signals", "_heap", "_place", "_board")]
    arrays += [Argument(name, "float64", 1, True) for name in ("_keys", "_live")]
    arrays += [Argument("_limits", "int64", 1), Argument("_pace", "float64", 1), Argument("_news", "bool", 1, True)]
    arrays += [Argument("_in_indptr", "int64", 1), Argument("_in_neighbours", "uint32", 1)]
    arrays += [Argument(f"_in_{key(column.name)}", column.dtype.name, 1) for column in analysis.edge_columns]
    arrays += [Argument("_slot_of", "int64", 1), Argument("_ids", "uint32", 1), Argument("_pairs", "int64", 1)]
    arrays += [Argument("_readers", "int64", 1), Argument("_share", "float64", 1), Argument("_gain", "float64", 1)]
    arrays += [Argument("_fresh", "bool", 1, True), Argument("_copied", "bool", 1)]
    arrays += [Argument(name, dtype, 1, True) for name in ("_taken", "_slots")]
    arrays += [Argument("_leaving", dtype, 1, True), Argument("_leavers", "uint32", 1, True)]
    arrays += [Argument("_held", "bool", 1, True), Argument("_least", "float64")]
    arrays += [Argument(f"_told_{state.name}", state.dtype.name, 1, True) for state in analysis.states]
    return {argument.name: argument for argument in arrays}


class DescentKernelWriter(TurnWriter):
    """Writes them."""

    def write(self) -> None:
        self.descend()
        if self.adds:
            return
        self.wake()
        self.relay()
        if self.operator == "pull_push":
            self.fill()

    def descend(self) -> None:
        doc = "Blocks from the queue, until none is left or the edges of this call are spent."
        kernel = self.new("descend", doc, "_rank", "_size", "_signals", *QUEUE)
        kernel.add("_shift, _owned, _owed = _limits[_queue.SHIFT], _limits[_queue.OWNED], 0.0")
        with kernel.block("while True:"):
            kernel.add(f"_b = _queue.next_block(_rank, _size, _signals, {STORE_ARGUMENTS}, _limits)")
            kernel.add("if _b == _queue.NONE: break", "if _b == _queue.LATER: continue")
            kernel.add("if _size > 1: _team.atomic_exchange(_live, _b, 0.0)", "else: _live[_b] = 0.0")
            kernel.add("_fired, _edges = 0, 0", *(["_told = 0.0"] if self.by_block or self.adds else []))
            rows = "for v in range(uint64(_b << _shift), uint64(min(_owned, (_b + 1) << _shift))):"
            with self.some_later(), kernel.block(rows):
                if self.adds:
                    self.pass_on()
                else:
                    if self.operator == "push":
                        self.take()
                    else:
                        self.gather()
                    self.update()
            if self.by_block:
                self.tell_blocks()
            if self.adds:
                kernel.add("_live[_b] = _told")
            kernel.add(
                f"_owed = _queue.finish(_b, _rank, _fired, _edges, {kernel.use('_pace')}, _owed, {STORE_ARGUMENTS})"
            )

    def wake(self) -> None:
        """Messages that are there already, from the seed or from other partitions."""
        doc = "The blocks of the vertices ids[lo:hi], which have messages, join the queue."
        kernel = self.new("wake", doc, "lo", "hi", "_size", *QUEUE)
        with kernel.block("for i in range(lo, hi):"):
            kernel.add(f"_w = {kernel.use('_ids')}[i]")
            kernel.add(f"_new = {kernel.use(inbox(self.phase, self.message))}[_w]")
            with kernel.block("if _w < _limits[_queue.OWNED]:"):
                self.tell(f"abs({real(self.message, '_new')})")

    def relay(self) -> None:
        """What masters elsewhere have sent, whose proxies are here."""
        doc = "The vertices ids[lo:hi] send along their out-edges here; returns how many edges that were."
        kernel = self.new("relay", doc, "lo", "hi", "_size", *QUEUE)
        kernel.add("_owned, _edges = _limits[_queue.OWNED], 0")
        with kernel.block("for i in range(lo, hi):"):
            kernel.add(f"v = {kernel.use('_ids')}[i]")
            if self.by_block:
                kernel.add("_b = int64(v) >> _limits[_queue.SHIFT]", f"_told = {kernel.use('_gain')}[i]")
                self.tell_blocks()
            else:
                if self.phase.hoisted:
                    kernel.add(f"_new = {kernel.use(sent(self.phase, self.message))}[v]")
                self.cross(f"{kernel.use('_gain')}[i]", {})
        kernel.add("return _edges")

    def fill(self) -> None:
        """What everybody sends at the start, into the slots."""
        kernel = self.new("fill", "What is sent along the in-edges of rows lo:hi, into their slots.", "lo", "hi")
        with kernel.block("for v in range(lo, hi):"):
            rows, readers = kernel.use("_in_indptr"), kernel.use("_in_neighbours")
            with kernel.block(edges_of("v", rows)):
                kernel.add(f"u = {readers}[e]")
                kernel.add(f"{kernel.use('_slots', True)}[e] = {self.sent_by('u', FROM)}")

    def pass_on(self) -> None:
        """Fold what came in, and add to the inboxes of others by how much what v sends has changed since it last did. A
        change that is too small for the edges that must be looked at waits, and grows."""
        kernel, phase, m = self.kernel, self.phase, self.message
        states, sums, rows = self.analysis.states, kernel.use(inbox(phase, m), True), kernel.use("indptr")
        kernel.add("_fired += 1", "_first = _limits[_queue.FIRST]")
        for name in self.analysis.before:  # what others know
            copy, held = kernel.use(before(name), True), kernel.use("_held", True)
            kernel.add(f"{copy}[v] = {copy}[v] if {held}[v] else {kernel.use(key(name))}[v]")
        with kernel.block("if not _first:"):
            news = ", ".join(f"new_{state.name}" for state in states)
            own = {m.name: f"{sums}[v]"}
            kernel.add(f"{news} = {call(kernel, phase.apply, 'apply', OWN, phase, own)}")
            self.keep()
        kernel.add(f"_count = {rows}[v + one] - {rows}[v]", "if _count == 0: continue")
        said = {name: kernel.use(f"_told_{name}", True) for name in phase.send.of("state") if not phase.hoisted}
        if phase.hoisted:
            array = kernel.use(sent(phase, m), True)
            kernel.add(f"_now = {m.dtype.name}({self._send({})})", f"_new = _now - {array}[v]", "_change = abs(_new)")
        else:
            changes = [f"abs({kernel.use(key(name))}[v] - {array}[v])" for name, array in said.items()]
            kernel.add(f"_change = ({' + '.join(changes) or '0.0'}) / _count")
        kernel.add("_told += _change * _count")
        held, least = kernel.use("_held", True), kernel.use("_least")
        kernel.add(f"{held}[v] = _change <= {least} and _change != 0 and not _first")
        kernel.add("if _held[v] or (_change == 0 and not _first): continue", "_edges += _count")
        with kernel.block(edges_of("v")):
            kernel.add(f"_w = {kernel.use('neighbours')}[e]")
            if not phase.hoisted:
                kernel.add(f"_new = {m.dtype.name}({self._send({})})")
                kernel.add(f"if not _first: _new -= {self._send({name: f'{said[name]}[v]' for name in said})}")
            self.merge_into(sums)
        kernel.add(
            *([f"{array}[v] = _now"] if phase.hoisted else ()),
            *(f"{told}[v] = {key(name)}[v]" for name, told in said.items()),
        )

    def _send(self, own: dict[str, str]) -> str:
        """What v sends, with the states that are given in place of what it holds now."""
        return call(self.kernel, self.phase.send, "send", OWN, None, own)
