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

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from dgraph.analysis import Analysis
from dgraph.codegen.news import OWN, QUEUE, STORE_ARGUMENTS, News, real
from dgraph.codegen.text import Argument, KernelText, Site, call, edges_of, literal
from dgraph.names import before, inbox, key, merging, sent
from dgraph.program import Delta
from dgraph.solvers import block_queue, team

OPERATORS = ("push", "pull", "pull_push")
FROM = Site(at="u", edge="e", target="v", rows="_in_")  # the in-edges of v

_sources = b"".join(Path(module.__file__ or "").read_bytes() for module in (block_queue, team))
_digest = sha256(_sources).hexdigest()[:20]  # so that kernels are compiled anew when these change
IMPORTS = f"""# Names of the queue {_digest} and of this kernel's own begin with an underscore.
from dgraph.solvers import block_queue as _queue
from dgraph.solvers import team as _team"""


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


class DescentKernels(News):
    """Writes them; `kernels` is the collection they join."""

    def write(self) -> None:
        self.descend()
        if self.adds:
            return
        self.wake()
        self.relay()
        if self.operator == "pull_push":
            self.fill()

    # -- the kernels ---------------------------------------------------------------------------------------------------

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

    @contextmanager
    def some_later(self) -> Iterator[None]:
        """Rows of block b, of which those wait whose message comes after other blocks', and the block with them."""
        if self.in_order:
            self.kernel.add("_last, _later = _queue.last_key(_b, _heap, _keys, _board, _limits), inf")
        yield
        if self.in_order:
            self.kernel.add(f"if _later < inf: _queue.put(_b, _later, {STORE_ARGUMENTS})")

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

    def new(self, name: str, doc: str, *arguments: str) -> KernelText:
        self.kernel = KernelText(name, doc, self.kernels.arrays)
        for argument in arguments:
            self.kernel.use(argument)
        self.kernels.kernels.append(self.kernel)
        return self.kernel

    # -- what comes in -------------------------------------------------------------------------------------------------

    def take(self) -> None:
        """The inbox of v. Where messages have an order it keeps the best; else it is emptied by the same stroke."""
        kernel, m = self.kernel, self.message
        array, none = kernel.use(inbox(self.phase, m), True), literal(m.identity)
        if self.told_one_by_one:
            kernel.add(f"if {kernel.use('_fresh')}[v] and {kernel.use('_copied')}[v]: continue")
        if self.phase.idempotent:
            taken = kernel.use("_taken", True)
            kernel.add(f"_total = {array}[v]", f"if _total == {taken}[v]: continue")
            if self.in_order:
                kernel.add(f"_key = {'' if self.side else '-'}{real(m, '_total')}")
                kernel.add("if _key > _last: _later = min(_later, _key)", "if _key > _last: continue")
            kernel.add(f"{taken}[v] = _total")
        else:
            kernel.add(f"if {array}[v] == {none}: continue")
            with kernel.block("if _size > 1:"):
                kernel.add(f"_total = _team.atomic_exchange({array}, v, {none})")
            with kernel.block("else:"):
                kernel.add(f"_total = {array}[v]", f"{array}[v] = {none}")

    def gather(self) -> None:
        """What all in-neighbours of v send now; of an accumulative program, on top of what its inbox holds."""
        kernel, m = self.kernel, self.message
        array = kernel.use(inbox(self.phase, m), True)
        held = f"{m.dtype.name}({literal(m.identity)})" if self.synchronous else f"{array}[v]"
        kernel.add(f"_total = {held}")
        rows = kernel.use("_in_indptr")
        with kernel.block(edges_of("v", rows)):
            if self.operator == "pull_push":
                kernel.add(f"_total = {merging(m.merge)}(_total, {kernel.use('_slots', True)}[e])")
            else:
                kernel.add(f"u = {kernel.use('_in_neighbours')}[e]")
                kernel.add(f"_total = {merging(m.merge)}(_total, {self.sent_by('u', FROM)})")
        kernel.add(f"_edges += {rows}[v + one] - {rows}[v]")
        if not self.synchronous:
            kernel.add(f"if _total == {kernel.use('_taken', True)}[v]: continue")
            kernel.add("_taken[v] = _total", f"{array}[v] = _total")

    def sent_by(self, u: str, place: Site) -> str:
        """What u sends along an edge as it is now; nothing if it has never fired."""
        kernel, m = self.kernel, self.message
        if self.phase.hoisted:
            return f"{kernel.use(sent(self.phase, m), True)}[{u}]"
        text = call(kernel, self.analysis, self.phase.send, "send", place)
        none = f"{m.dtype.name}({literal(m.identity)})"
        return text if self.synchronous else f"({text} if {kernel.use('_news', True)}[{u}] else {none})"

    # -- what goes out -------------------------------------------------------------------------------------------------

    def update(self) -> None:
        """Fold what came in, and if that changes what v sends, send it."""
        kernel, phase, m = self.kernel, self.phase, self.message
        states = self.analysis.states
        kernel.add("_fired += 1")
        local = {m.name: "_total"}
        news = ", ".join(f"new_{state.name}" for state in states)
        kernel.add(f"{news} = {call(kernel, self.analysis, phase.apply, 'apply', OWN, phase, local)}")
        triggers = [state for state in states if state.name in phase.triggers]
        old = {state.name: self.kernels.old(kernel, state) for state in triggers}
        kernel.add(f"_changes = {' or '.join(self.kernels.differs(kernel, state, 'new') for state in triggers)}")
        for state in triggers:
            kernel.add(f"_by_{state.name} = abs({real(state, f'new_{state.name}')} - {real(state, old[state.name])})")
        self.keep()
        kernel.add("if not _changes: continue")
        own = {state.name: f"new_{state.name}" for state in states}
        send = call(kernel, self.analysis, phase.send, "send", OWN, None, own) if phase.hoisted else ""
        change = " + ".join(f"_by_{state.name}" for state in triggers)
        if phase.hoisted:
            array = kernel.use(sent(phase, m), True)
            kernel.add(f"_new = {m.dtype.name}({send})")
            if self.operator == "push":
                kernel.add(f"if _new == {literal(m.identity)}: continue")
                kernel.add(f"{array}[v] = {merging(m.merge)}({array}[v], _new)")
                change = f"abs({real(m, '_new')})"
            else:
                kernel.add(f"_moved = abs({real(m, '_new')} - {real(m, f'{array}[v]')})", f"{array}[v] = _new")
                # what is sent to nobody may be no number (rank / degree): then the state tells
                kernel.add(f"if not _moved < inf: _moved = {change}")
                kernel.add("if not _moved < inf: _moved = 1e300")
                change = "_moved"
        elif self.operator != "push" and not self.synchronous:
            kernel.add(f"{kernel.use('_news', True)}[v] = True")
        kernel.add(f"{kernel.use('_fresh', True)}[v] = True")
        if self.by_block:
            kernel.add(f"_told += {change}")
            return
        if self.operator == "push":
            kernel.add(f"{kernel.use('_news', True)}[v] = True")
        else:
            kernel.add(
                "if _size > 1: _team.atomic_add(_board, _queue.TOLD, 1)  # nobody is told before the value is here"
            )
        self.cross(change, own)

    def keep(self) -> None:
        """What `apply` has returned goes where states are."""
        for name in [state.name for state in self.analysis.states if state.name in self.kernels.kept]:
            self.kernel.add(f"{self.kernel.use(key(name), True)}[v] = new_{name}")

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
            kernel.add(f"{news} = {call(kernel, self.analysis, phase.apply, 'apply', OWN, phase, own)}")
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
        return call(self.kernel, self.analysis, self.phase.send, "send", OWN, None, own)

    @property
    def told_one_by_one(self) -> bool:
        """Whether what a vertex sends cannot merge on its way to proxies: then it waits until they are told."""
        sent_states = self.phase.send.of("state")
        deltas = any(isinstance(state, Delta) and state.name in sent_states for state in self.analysis.states)
        return self.operator == "push" and not self.phase.hoisted and (deltas or not self.phase.idempotent)

    @property
    def in_order(self) -> bool:
        """Whether of the messages that wait in a block only those are taken that come before many other blocks'."""
        return self.operator == "push" and self.side is not None and not self.synchronous
