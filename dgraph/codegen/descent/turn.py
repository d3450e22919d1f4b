"""A vertex's turn in block descent: kernel text that takes its messages, applies them, and decides whether it sends.
The kernels for CPU blocks and for daemon blocks are both composed of this text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dgraph.codegen.descent.news import OUT_EDGE, QUEUE_ARRAYS, STORE_ARGUMENTS, ChangeWriter, real
from dgraph.codegen.message_sums import check_sum
from dgraph.codegen.text import CallSite, call, edges_of, literal
from dgraph.programs.kernel_names import field_name, inbox_name, merge_name, sent_name
from dgraph.programs.program import Delta, State

IN_EDGE = CallSite(vertex="u", edge="e", target="v", rows="_in_")  # the in-edges of v


class TurnWriter(ChangeWriter):
    """Writes this text into the current kernel."""

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
            kernel.add(f"_merged = {merge_name(m.merge)}(_total, _new)")
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

    @property
    def own(self) -> list[State]:
        """The states that `apply` reads in every round of a synchronous program, in addition to messages. Operations
        read states only to relax (`ScaledPageRank`), and then know without another turn how far a block is from its
        fixed point."""
        read = self.phase.apply.names_of("state") if self.synchronous and self.analysis.reads_attributes else ()
        return [
            state for state in self.analysis.states if state.name in read and state.name in self.kernels.kept_states
        ]

    def store_states(self) -> None:
        """Store the new states."""
        for name in [state.name for state in self.analysis.states if state.name in self.kernels.kept_states]:
            self.kernel.add(f"{self.kernel.use(field_name(name), True)}[v] = new_{name}")

    @property
    def sent_one_by_one(self) -> bool:
        """Whether successive messages of a vertex cannot be merged on the way to its proxies, so that the vertex must
        wait until the proxies have been notified."""
        sent_states = self.phase.send.names_of("state")
        deltas = any(isinstance(state, Delta) and state.name in sent_states for state in self.analysis.states)
        return self.operator == "push" and not self.phase.hoisted and (deltas or not self.phase.idempotent)

    @property
    def takes_best_first(self) -> bool:
        """Whether a block takes only the waiting messages that order before the messages of many other blocks."""
        return self.operator == "push" and self.smaller_wins is not None and not self.synchronous
