"""A vertex's turn in block descent: kernel text for what comes in, what that makes of the vertex, and when it has
something to send. Kernels of the CPU's own blocks and those around a daemon's are made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dgraph.codegen.descent.news import OWN, STORE_ARGUMENTS, NewsWriter, real
from dgraph.codegen.text import CallSite, call, edges_of, literal
from dgraph.programs.kernel_names import inbox, key, merging, sent
from dgraph.programs.program import Delta

FROM = CallSite(at="u", edge="e", target="v", rows="_in_")  # the in-edges of v


class TurnWriter(NewsWriter):
    """Writes this text into the kernel at hand."""

    @contextmanager
    def some_later(self) -> Iterator[None]:
        """Rows of block b, of which those wait whose message comes after other blocks', and the block with them."""
        if self.in_order:
            self.kernel.add("_last, _later = _queue.last_key(_b, _heap, _keys, _board, _limits), inf")
        yield
        if self.in_order:
            self.kernel.add(f"if _later < inf: _queue.put(_b, _later, {STORE_ARGUMENTS})")

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

    def sent_by(self, u: str, place: CallSite) -> str:
        """What u sends along an edge as it is now; nothing if it has never fired."""
        kernel, m = self.kernel, self.message
        if self.phase.hoisted:
            return f"{kernel.use(sent(self.phase, m), True)}[{u}]"
        text = call(kernel, self.phase.send, "send", place)
        none = f"{m.dtype.name}({literal(m.identity)})"
        return text if self.synchronous else f"({text} if {kernel.use('_news', True)}[{u}] else {none})"

    def update(self, send_on: Callable[[str, dict[str, str]], None] | None = None) -> None:
        """Fold what came in, and if that changes what v sends, send it: by `cross`, or as `send_on` does."""
        kernel, phase, m = self.kernel, self.phase, self.message
        states = self.analysis.states
        kernel.add("_fired += 1")
        local = {m.name: "_total"}
        news = ", ".join(f"new_{state.name}" for state in states)
        kernel.add(f"{news} = {call(kernel, phase.apply, 'apply', OWN, phase, local)}")
        triggers = [state for state in states if state.name in phase.triggers]
        old = {state.name: self.kernels.old(kernel, state) for state in triggers}
        kernel.add(f"_changes = {' or '.join(self.kernels.differs(kernel, state, 'new') for state in triggers)}")
        for state in triggers:
            kernel.add(f"_by_{state.name} = abs({real(state, f'new_{state.name}')} - {real(state, old[state.name])})")
        self.keep()
        kernel.add("if not _changes: continue")
        own = {state.name: f"new_{state.name}" for state in states}
        send = call(kernel, phase.send, "send", OWN, None, own) if phase.hoisted else ""
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
        (send_on or self.cross)(change, own)

    def keep(self) -> None:
        """What `apply` has returned goes where states are."""
        for name in [state.name for state in self.analysis.states if state.name in self.kernels.kept]:
            self.kernel.add(f"{self.kernel.use(key(name), True)}[v] = new_{name}")

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
