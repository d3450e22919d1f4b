"""A vertex's turn in block descent: kernel text that takes its messages, applies them, and sends its change along its
out-edges, and to the blocks at their ends. The kernels for CPU blocks and for daemon blocks are both composed of this
text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dgraph.codegen.bounds import smaller_wins
from dgraph.codegen.message_sums import check_sum, checked_sums
from dgraph.codegen.text import CallSite, KernelText, call, edges_of, literal, merged_text
from dgraph.programs.analysis import Analysis, PhaseAnalysis
from dgraph.programs.kernel_names import field_name, inbox_name, sent_name
from dgraph.programs.program import Delta, Field, Message, State

QUEUE_ARRAYS = ("_heap", "_place", "_keys", "_live", "_board", "_limits")  # arrays of the queue of blocks
STORED_ARRAYS = ("_heap", "_place", "_keys", "_board")  # arrays that change when a block is put or taken
STORE_ARGUMENTS = ", ".join(STORED_ARRAYS)
OUT_EDGE = CallSite(vertex="v", edge="e", target="_w")  # the out-edges of v
IN_EDGE = CallSite(vertex="u", edge="e", target="v", rows="_in_")  # the in-edges of v
ATOMIC = {"min": "_team.atomic_min", "max": "_team.atomic_max", "add": "_team.atomic_add"}  # by merge


def real(field: Field, text: str) -> str:
    """Kernel text that converts a value to a float, so that differences can be computed."""
    return f"float(int64({text}))" if field.dtype.kind == "b" else f"float({text})"


class TurnWriter:
    """Writes this text into the current kernel. `kernels` is the collection to which kernels are added."""

    kernel: KernelText

    def __init__(self, kernels, operator: str):
        self.kernels, self.operator = kernels, operator
        self.analysis: Analysis = kernels.analysis
        self.synchronous = self.analysis.synchronous
        self.phase: PhaseAnalysis = self.analysis.phases[0]
        self.message: Message = self.phase.messages[0]
        self.is_checked = self.message in checked_sums(self.phase)
        self.smaller_wins = smaller_wins(self.message)  # None if messages are not ordered
        self.kept = [state for state in self.analysis.states if state.name in kernels.kept_states]
        # a change concerns all readers alike, so that blocks are notified as a whole
        self.by_block = self.synchronous and operator == "pull"
        # each inbox is the sum of the last messages of all neighbours, to which senders add differences
        self.adds = self.synchronous and operator == "push"
        # a block takes only the waiting messages that order before the messages of many other blocks
        self.takes_best_first = operator == "push" and self.smaller_wins is not None and not self.synchronous

    def begin_kernel(self, name: str, doc: str, *arguments: str) -> KernelText:
        """Begin a kernel."""
        self.kernel = KernelText(name, doc, self.analysis, self.kernels.arrays)
        for argument in arguments:
            self.kernel.use(argument)
        self.kernels.kernels.append(self.kernel)
        return self.kernel

    @contextmanager
    def deferring_later_rows(self) -> Iterator[None]:
        """Open the loop over the rows of block b. Rows whose message orders after the messages of other blocks wait,
        and the block returns to the queue."""
        if self.takes_best_first:
            self.kernel.add("_last, _later = _queue.last_key(_b, _heap, _keys, _board, _limits), inf")
        yield
        if self.takes_best_first:
            self.kernel.add(f"if _later < inf: _queue.put(_b, _later, {STORE_ARGUMENTS})")

    def take(self) -> None:
        """Take the inbox of v. An inbox of ordered messages keeps the best one; any other is emptied atomically."""
        kernel, m = self.kernel, self.message
        array, none = kernel.use(inbox_name(self.phase, m), True), literal(m.identity)
        if self.sent_one_by_one:
            kernel.add(f"if {kernel.use('_fresh')}[v] and {kernel.use('_copied')}[v]: continue")
        if self.phase.idempotent:
            taken = kernel.use("_taken", True)
            kernel.add(f"_total = {array}[v]", f"if _total == {taken}[v]: continue")
            if self.takes_best_first:
                kernel.add(f"_key = {'' if self.smaller_wins else '-'}{real(m, '_total')}")
                kernel.add("if _key > _last: _later = min(_later, _key)", "if _key > _last: continue")
            kernel.add(f"{taken}[v] = _total")
        else:
            kernel.add(f"if {array}[v] == {none}: continue")
            with kernel.block("if _size > 1:"):
                kernel.add(f"_total = _team.atomic_exchange({array}, v, {none})")
            with kernel.block("else:"):
                kernel.add(f"_total = {array}[v]", f"{array}[v] = {none}")

    def gather(self) -> None:
        """Gather the current messages of all in-neighbours of v; accumulative programs add them to the inbox."""
        kernel, m = self.kernel, self.message
        array = kernel.use(inbox_name(self.phase, m), True)
        held = f"{m.dtype.name}({literal(m.identity)})" if self.synchronous else f"{array}[v]"
        kernel.add(f"_total = {held}")
        rows = kernel.use("_in_indptr")
        with kernel.block(edges_of("v", rows)):
            if self.operator == "pull_push":
                kernel.add(f"_new = {kernel.use('_slots', True)}[e]")
            else:
                kernel.add(f"u = {kernel.use('_in_neighbours')}[e]", f"_new = {self.sent_by('u', IN_EDGE)}")
            kernel.add(f"_merged = {merged_text(m, '_total', '_new')}")
            if self.is_checked:
                check_sum(kernel, m, ("_total", "_new"), "_merged")
            kernel.add("_total = _merged")
        kernel.add(f"_edges += {rows}[v + one] - {rows}[v]")
        if not self.synchronous:
            kernel.add(f"if _total == {kernel.use('_taken', True)}[v]: continue")
            kernel.add("_taken[v] = _total", f"{array}[v] = _total")

    def sent_by(self, u: str, place: CallSite) -> str:
        """The current message of u along an edge; the identity if u has never fired."""
        kernel, m = self.kernel, self.message
        if self.phase.hoisted:
            return f"{kernel.use(sent_name(self.phase, m), True)}[{u}]"
        text = call(kernel, self.phase.send, "send", place)
        none = f"{m.dtype.name}({literal(m.identity)})"
        return text if self.synchronous else f"({text} if {kernel.use('_news', True)}[{u}] else {none})"

    def update(self, send_on: Callable[[str, dict[str, str]], None] | None = None) -> None:
        """Apply the messages, and if that changes the message of v, send it with `send_on`, which defaults to
        `send_to_neighbours`."""
        kernel, phase, m = self.kernel, self.phase, self.message
        states = self.analysis.states
        kernel.add("_fired += 1")
        local = {m.name: "_total"}
        news = ", ".join(f"new_{state.name}" for state in states)
        kernel.add(f"{news} = {call(kernel, phase.apply, 'apply', OUT_EDGE, phase, local)}")
        triggers = [state for state in states if state.name in phase.triggers]
        old = {state.name: self.kernels.old(kernel, state) for state in triggers}
        kernel.add(f"_changes = {' or '.join(self.kernels.differs(kernel, state, 'new') for state in triggers)}")
        for state in triggers:
            kernel.add(f"_by_{state.name} = abs({real(state, f'new_{state.name}')} - {real(state, old[state.name])})")
        self.measure_own_changes()
        self.store_states()
        kernel.add("if not _changes: continue")
        own = {state.name: f"new_{state.name}" for state in states}
        send = call(kernel, phase.send, "send", OUT_EDGE, None, own) if phase.hoisted else ""
        change = " + ".join(f"_by_{state.name}" for state in triggers)
        if phase.hoisted:
            array = kernel.use(sent_name(phase, m), True)
            kernel.add(f"_new = {m.dtype.name}({send})")
            if self.operator == "push":
                kernel.add(f"if _new == {literal(m.identity)}: continue")
                self.merge_at(array, "v", "_new")
                change = f"abs({real(m, '_new')})"
            else:
                kernel.add(f"_moved = abs({real(m, '_new')} - {real(m, f'{array}[v]')})", f"{array}[v] = _new")
                # a vertex without edges may have the message NaN (rank / degree), so use the change of its state
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
                "if _size > 1: _team.atomic_add(_board, _queue.TOLD, 1)  # the value is visible before the notification"
            )
        (send_on or self.send_to_neighbours)(change, own)

    def measure_own_changes(self) -> None:
        """Add up the changes of the states of v that `apply` itself reads, because they make v out of date again even
        if no message changes."""
        kernel = self.kernel
        for state in self.own:
            change = f"abs({real(state, f'new_{state.name}')} - {real(state, self.kernels.old(kernel, state))})"
            with kernel.block(f"if {self.kernels.differs(kernel, state, 'new')}:"):
                kernel.add(f"_moves = {change}", "_own += max(_moves, 1e-300) if _moves < inf else 1e300")

    def requeue_block(self) -> None:
        """Put the block on the queue again if its own states are the input of its next turn."""
        if self.own:
            self.kernel.add(f"if _own > 0: _queue.changed(_b, _own, _size, {', '.join(QUEUE_ARRAYS)})")

    def store_states(self) -> None:
        """Store the new states."""
        for state in self.kept:
            self.kernel.add(f"{self.kernel.use(field_name(state.name), True)}[v] = new_{state.name}")

    # -- sending -------------------------------------------------------------------------------------------------------

    def send_to_neighbours(self, change: str, own: dict[str, str]) -> None:
        """Write the loop that sends along all out-edges of v."""
        kernel = self.kernel
        rows, readers = kernel.use("indptr"), kernel.use("neighbours")
        kernel.add(f"_edges += {rows}[v + one] - {rows}[v]")
        with kernel.block(edges_of("v")):
            kernel.add(f"_w = {readers}[e]")
            self.send_along_edge(change, own)

    def send_along_edge(self, change: str, own: dict[str, str]) -> None:
        """Send the message of v along its out-edge e to w."""
        kernel, phase, m = self.kernel, self.phase, self.message
        if not phase.hoisted:
            send = call(kernel, phase.send, "send", OUT_EDGE, None, own)
            kernel.add(f"_new = {m.dtype.name}({send})")
        if self.operator == "push":
            if not phase.hoisted:
                change = f"abs({real(m, '_new')})"
            self.deliver(change)
            return
        kernel.add("if _w >= _owned: continue  # its owner is notified and gathers by itself")
        if self.operator == "pull_push":
            at = f"{kernel.use('_slots', True)}[{kernel.use('_slot_of')}[e]]"
            kernel.add(f"{at} = _new")
            if self.synchronous and not phase.hoisted:
                kernel.add("if _size > 1: _team.atomic_add(_board, _queue.TOLD, 1)")
        if self.smaller_wins is not None and not self.synchronous:
            order = "<" if self.smaller_wins else ">"
            with kernel.block(f"if _new {order} {kernel.use(inbox_name(phase, m), True)}[_w]:"):
                if self.operator == "pull_push":
                    kernel.add("if _size > 1: _team.atomic_add(_board, _queue.TOLD, 1)")
                self.notify_block(change)
        else:
            self.notify_block(change)

    def deliver(self, change: str) -> None:
        """Merge into the inbox of w, concurrently with other threads, and only then notify its block."""
        kernel, m = self.kernel, self.message
        array = kernel.use(inbox_name(self.phase, m), True)
        unless = ""
        if self.phase.idempotent:
            better = (
                f"_new {'<' if self.smaller_wins else '>'} "
                if self.smaller_wins is not None
                else f"{merged_text(m, '_new', '_old')} != "
            )
            unless = f"if not ({better}_old): continue"
            kernel.add(f"_old = {array}[_w]", unless)
        self.merge_into(array, unless)
        kernel.add("if _w >= _owned:", f"    {kernel.use('arrived')}[_w] = True", "    continue")
        self.notify_block(change)

    def merge_into(self, array: str, unless: str = "") -> None:
        """Merge `_new` into array[_w], by one atomic instruction if there are several threads. In that case the
        condition `unless` is checked again."""
        kernel, m = self.kernel, self.message
        name = ATOMIC.get(m.merge.atomic or "")
        if name is None or m.dtype.itemsize == 1:  # in this case the team has one thread
            self.merge_at(array, "_w", "_new")
            return
        with kernel.block("if _size > 1:"):
            kernel.add(f"_old = {name}({array}, _w, _new)", *([unless] if unless else []))
            if self.is_checked:
                check_sum(kernel, m, ("_old", "_new"), "(_old + _new)", "_w")
        with kernel.block("else:"):
            self.merge_at(array, "_w", "_new")

    def merge_at(self, array: str, row: str, new: str) -> None:
        """Merge a message into an element of an array that no other thread writes."""
        place = f"{array}[{row}]"
        self.kernel.add(f"_merged = {merged_text(self.message, place, new)}")
        if self.is_checked:
            check_sum(self.kernel, self.message, (place, new), "_merged", row)
        self.kernel.add(f"{place} = _merged")

    def notify_blocks(self) -> None:
        """Notify the blocks that read this one, in proportion to the number of their edges that come from it."""
        kernel = self.kernel
        kernel.add(
            "if _size > 1: _team.atomic_add(_board, _queue.TOLD, 1)  # values are visible before the notification"
        )
        with kernel.block("if _told > 0:"):
            pairs, readers, share = (kernel.use(name) for name in ("_pairs", "_readers", "_share"))
            kernel.add(f"_edges += {pairs}[_b + 1] - {pairs}[_b]")
            with kernel.block(f"for i in range({pairs}[_b], {pairs}[_b + 1]):"):
                kernel.add(f"_queue.changed({readers}[i], _told * {share}[i], _size, {', '.join(QUEUE_ARRAYS)})")

    def notify_block(self, change: str) -> None:
        """Notify the block of w of a change."""
        block = "int64(_w) >> _limits[_queue.SHIFT]"
        if self.smaller_wins is None or self.synchronous:
            self.kernel.add(f"_queue.changed({block}, {change}, _size, {', '.join(QUEUE_ARRAYS)})")
        else:
            sign = "" if self.smaller_wins else "-"
            self.kernel.add(f"_queue.improved({block}, {sign}{real(self.message, '_new')}, {STORE_ARGUMENTS}, _limits)")

    # -- what follows from the program and the operator ----------------------------------------------------------------

    @property
    def own(self) -> list[State]:
        """The states that `apply` reads in every round of a synchronous program, in addition to messages. Operations
        read states only to relax (`ScaledPageRank`), and then know without another turn how far a block is from its
        fixed point."""
        read = self.phase.apply.names_of("state") if self.synchronous and self.analysis.reads_attributes else ()
        return [state for state in self.kept if state.name in read]

    @property
    def sent_one_by_one(self) -> bool:
        """Whether successive messages of a vertex cannot be merged on the way to its proxies, so that the vertex must
        wait until the proxies have been notified."""
        sent_states = self.phase.send.names_of("state")
        deltas = any(isinstance(state, Delta) and state.name in sent_states for state in self.analysis.states)
        return self.operator == "push" and not self.phase.hoisted and (deltas or not self.phase.idempotent)
