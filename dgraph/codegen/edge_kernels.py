"""The kernels in which messages cross edges: sweep, push, pull and receive."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

from dgraph.codegen.bounds import bound_name, is_bounded, smaller_wins
from dgraph.codegen.message_sums import LOW_HALF, SAFE_TOTAL, check_sum, checked_sums, is_wide, record_excess
from dgraph.codegen.neighbourhood_merges import LOADS, SCRATCH
from dgraph.codegen.text import (
    AT_SENDER,
    NO_LOCALS,
    KernelText,
    any_message,
    call,
    edges_of,
    item,
    literal,
    merged_text,
    vector_sums,
)
from dgraph.programs.analysis import PhaseAnalysis
from dgraph.programs.kernel_names import field_name, inbox_name, incoming_name, phase_name, sent_name
from dgraph.programs.monoid import MOST_FREQUENT
from dgraph.programs.program import Message

LINE = 64  # bytes that the memory brings at once
AHEAD = 16  # edges


class EdgeKernelWriter:
    """Writes the edge kernels of a phase and adds them to the collection `kernels`."""

    in_edges = edges_of("v")
    checks_sums = True
    one_writes = True  # whether no other thread writes to an inbox at the same time

    def __init__(self, kernels: Any, phase: PhaseAnalysis):
        self.kernels, self.analysis, self.width = kernels, kernels.analysis, kernels.width
        self.phase, self.messages = phase, phase.messages
        self.checked = checked_sums(phase) if self.checks_sums else []
        self.wide_sums = [m for m in self.checked if is_wide(m)]  # totals must be checked before they are stored

    def push(self) -> None:
        """Accumulative: senders write to the inboxes of their targets."""
        doc = "senders[lo:hi] send along their out-edges; targets with a first message join the queue."
        kernel = self.kernels.kernel(phase_name(self.phase, "push"), doc, "senders", "indptr", "neighbours")
        hoist = self.phase.hoisted and not self.width
        with kernel.block("for i in range(lo, hi):"):
            kernel.add("u = senders[i]")
            if hoist:
                kernel.add(*(f"new_{m.name} = {kernel.use(sent_name(self.phase, m))}[u]" for m in self.messages))
            source = self.name_source(kernel)
            with kernel.block(edges_of("u")):
                kernel.add("v = neighbours[e]")
                if hoist:
                    self.deliver(kernel, lambda: None)
                else:
                    self.deliver_sent(kernel, source)
                self.enqueue(kernel)
        self.close_queue(kernel)

    def sweep(self) -> None:
        """Accumulative: a vertex with a message fires and sends at once, so that later rows use it (Gauss-Seidel)."""
        doc = "Rows lo:hi take their inboxes one after the other; each sends along its out-edges at once."
        kernel = self.kernels.kernel(phase_name(self.phase, "sweep"), doc, "queue", "indptr", "neighbours")
        arrived = kernel.use("arrived", True)
        waits = any_message(kernel, self.phase, inbox_name)
        self.kernels.open_list(kernel)
        kernel.add("_fired, _work = uint64(0), uint64(0)")
        with self.kernels.rows(kernel):
            kernel.add(f"if not ({waits}): continue", "_fired += one")
            self.kernels.fold_inbox(kernel, self.phase, self.phase.triggers)
            self.kernels.empty_inbox(kernel, self.phase)
            kernel.add("if not changed: continue")
            self.kernels.hoist(kernel, self.phase)
            with kernel.block(f"if {any_message(kernel, self.phase, sent_name)}:"):
                self.kernels.enlist(kernel)
                kernel.add("u = v", "_work += uint64(indptr[u + one] - indptr[u])")
                kernel.add(*(f"from_{m.name} = {sent_name(self.phase, m)}[u]" for m in self.messages))
                with kernel.block(edges_of("u")):
                    for m in self.messages:
                        place = f"{inbox_name(self.phase, m)}[neighbours[e]]"
                        self.merge(kernel, m, f"merged_{m.name}", (place, f"from_{m.name}"), "neighbours[e]")
                        kernel.add(f"{place} = merged_{m.name}")
        with kernel.block(f"for v in range(uint64(len({arrived}))):"):
            kernel.add(f"{arrived}[v] = {waits}")
        kernel.add("return _fired, count, _work")

    def receive(self) -> None:
        """Merge messages from another partition."""
        doc = "Messages from another partition, for the vertices ids[lo:hi]."
        kernel = self.kernels.kernel(phase_name(self.phase, "receive"), doc, "ids")
        with self.kernels.rows(kernel, "i"):
            kernel.add("v = ids[i]")
            self.deliver(kernel, partial(self.name_incoming, kernel))
            if not self.analysis.synchronous:
                self.enqueue(kernel)
        if not self.analysis.synchronous:
            self.close_queue(kernel)

    def pull(self) -> None:
        """Gather from all in-neighbours: accumulative programs add to the inbox, synchronous ones replace it."""
        doc = "Rows lo:hi gather from all their in-edges."
        kernel = self.kernels.kernel(phase_name(self.phase, "pull"), doc, "indptr", "neighbours")
        self.rows_of_pull(kernel)

    def rows_of_pull(self, kernel: KernelText) -> None:
        """Write the loop over rows, with the gathering method that suits the merge."""
        with self.kernels.rows(kernel):
            if not self.phase.combines:
                self.gather_neighbourhood(kernel)
            elif self.width:
                self.gather_vectors(kernel)
            elif is_bounded(self.phase) and not self.analysis.synchronous:
                self.gather_bounded(kernel)
            else:
                self.gather_scalars(kernel)

    def recount(self) -> None:
        """Gather a neighbourhood unless the result would be the same as last time."""
        doc = "Rows lo:hi without slack gather from all their in-edges."
        kernel = self.kernels.kernel("recount", doc, "indptr", "neighbours", "slack")
        with self.kernels.rows(kernel):
            kernel.add("if slack[v] >= 0: continue")
            self.gather_neighbourhood(kernel)
            (message, *_) = self.messages
            if message.merge is not MOST_FREQUENT:
                kernel.add("slack[v] = 0")
                return
            kernel.add("votes = int64(0)")
            with kernel.block("for i in range(count):"):
                kernel.add(f"votes += int64(slots[i] == {inbox_name(self.phase, message)}[v])")
            kernel.add(
                "slack[v] = max(2 * votes - int64(count) - 1, 0) // 2  # each vote that moves reduces the lead by 2"
            )

    def gather_scalars(self, kernel: KernelText) -> None:
        """Merge in registers and store once."""
        self.start_totals(kernel)
        with kernel.block(self.in_edges), self.sender(kernel):
            self.name_sent(kernel)
            self.merge_into_totals(kernel)
        self.check_totals(kernel)
        self.store_totals(kernel)

    def start_totals(self, kernel: KernelText) -> None:
        """Initialise the variables total_..., into which messages are merged."""
        kernel.add(*(f"total_{m.name} = {m.dtype.name}({literal(m.identity)})" for m in self.messages))
        kernel.add(*(f"bits_{m.name} = int64(0)" for m in self.wide_sums))

    def merge_into_totals(self, kernel: KernelText) -> None:
        merged = {m.name: merged_text(m, f"total_{m.name}", f"new_{m.name}") for m in self.messages}
        kernel.add(*(f"total_{name} = {text}" for name, text in merged.items()))
        kernel.add(*(f"bits_{m.name} |= new_{m.name} ^ (new_{m.name} >> 63)" for m in self.wide_sums))

    def check_totals(self, kernel: KernelText) -> None:
        """Add up a row again, exactly, if its largest message times its length could exceed 64 bits. Testing afterwards
        keeps the first loop free of branches, so that the compiler can still vectorise it."""
        for m in self.wide_sums:
            with kernel.block(f"if float64(bits_{m.name}) * float64(indptr[v + one] - indptr[v]) >= {SAFE_TOTAL}:"):
                kernel.add("low, high = int64(0), int64(0)")
                with kernel.block(self.in_edges), self.sender(kernel):
                    self.name_sent(kernel)
                    kernel.add(f"low += new_{m.name} & {LOW_HALF}", f"high += new_{m.name} >> 32")
                kernel.add("high += low >> 32")
                record_excess(kernel, "high != int64(int32(high))")

    def merge(self, kernel: KernelText, message: Message, merged: str, parts: tuple[str, str], row: str = "v") -> None:
        """Merge two messages to a row into the variable `merged`."""
        kernel.add(f"{merged} = {merged_text(message, *parts)}")
        if message in self.checked:
            check_sum(kernel, message, parts, merged, row)

    def store_totals(self, kernel: KernelText) -> None:
        """Store the totals in the inbox of v; for accumulative programs, only if they change it."""
        arrays = {m.name: kernel.use(inbox_name(self.phase, m), True) for m in self.messages}
        for m in self.messages:
            if not self.analysis.synchronous:
                self.merge(kernel, m, f"merged_{m.name}", (f"{arrays[m.name]}[v]", f"total_{m.name}"))
            elif m in self.checked and not is_wide(m):
                check_sum(kernel, m, ("", ""), f"total_{m.name}")
        if self.analysis.synchronous:
            kernel.add(*(f"{array}[v] = total_{name}" for name, array in arrays.items()))
            return
        with kernel.block(f"if {' or '.join(f'merged_{name} != {array}[v]' for name, array in arrays.items())}:"):
            kernel.add(*(f"{array}[v] = merged_{name}" for name, array in arrays.items()))
            self.arrive(kernel)

    def gather_bounded(self, kernel: KernelText) -> None:
        """Gather only into inboxes that do not hold the best message of the round, and stop once they do."""
        enough = self.start_from_inbox(kernel)
        kernel.add(f"if {enough}: continue")
        with kernel.block(self.in_edges):
            kernel.add("u = neighbours[e]")
            self.name_sent(kernel)
            self.merge_into_totals(kernel)
            kernel.add(f"if {enough}: break")
        news = " or ".join(f"total_{m.name} != {inbox_name(self.phase, m)}[v]" for m in self.messages)
        with kernel.block(f"if {news}:"):
            kernel.add(*(f"{inbox_name(self.phase, m)}[v] = total_{m.name}" for m in self.messages))
            self.arrive(kernel)

    def start_from_inbox(self, kernel: KernelText) -> str:
        """Load the inbox of v into the variables total_...; returns kernel text that tests whether all have reached the
        bounds of the round."""
        tests = []
        for m in self.messages:
            kernel.add(f"total_{m.name} = {kernel.use(inbox_name(self.phase, m), True)}[v]")
            tests.append(f"total_{m.name} {'<=' if smaller_wins(m) else '>='} {kernel.use(bound_name(self.phase, m))}")
        return " and ".join(tests)

    def gather_vectors(self, kernel: KernelText) -> None:
        """Merge into the inbox itself, because a vector does not fit in a register."""
        if self.analysis.synchronous:
            self.kernels.empty_inbox(kernel, self.phase)
        if self.phase.skips_silent:
            self.look_ahead(kernel)
        with kernel.block(self.in_edges):
            if self.phase.skips_silent:
                self.fetch_ahead(kernel)
            with self.sender(kernel):
                self.deliver_sent(kernel)
                if not self.analysis.synchronous:
                    self.reached(kernel)

    def look_ahead(self, kernel: KernelText) -> None:
        """Name the last edge whose sender may be fetched."""
        kernel.add("last_edge = uint64(indptr[hi]) - one")

    def fetch_ahead(self, kernel: KernelText) -> None:
        """Have the memory bring the vector of a later sender, if it sends. Without a branch, which would often be
        guessed wrongly; then nothing else would be read ahead."""
        kernel.add(f"ahead = neighbours[min(e + uint64({AHEAD}), last_edge)]")
        kernel.add(f"ahead = ahead if {kernel.use('sending')}[ahead] else uint32(v)")
        for message in self.messages:
            if message.shape is not None:
                row = f"{kernel.use(sent_name(self.phase, message))}[ahead]"
                kernel.add(*(f"prefetch({row}, {c})" for c in range(0, self.width, LINE // message.dtype.itemsize)))

    def gather_neighbourhood(self, kernel: KernelText) -> None:
        """Collect all messages of v, then merge them together."""
        message, *weight = self.messages
        room = self.scratch(kernel, [name for name in SCRATCH if weight or name != LOADS])
        columns = room[: len(self.messages)]
        none = literal(message.identity)
        word = f"random_word({kernel.use('round_word')}, {kernel.use('number')}[v])"
        kernel.add("count = uint64(0)")
        with kernel.block(self.in_edges), self.sender(kernel):
            if self.width and not self.phase.hoisted:  # for vectors, use the message of component 0
                vector_sums(kernel, self.phase.send, AT_SENDER)
                kernel.add("c = 0")
            self.name_sent(kernel)
            with kernel.block(f"if new_{message.name} != {none}:"):
                kernel.add(*(f"{one}[count] = new_{m.name}" for one, m in zip(columns, self.messages, strict=True)))
                kernel.add("count += one")
        arguments = ", ".join([*columns, "count", *room[len(columns) :], word])
        places = [f"{kernel.use(inbox_name(self.phase, m), True)}[v]" for m in self.messages]
        with kernel.block("if count > 0:"):
            kernel.add(f"{', '.join(places)} = {message.merge.name.lower()}({arguments})")
        with kernel.block("else:"):
            kernel.add(*(f"{place} = {none}" for place in places))

    def scratch(self, kernel: KernelText, names: Sequence[str]) -> list[str]:
        """Scratch for a neighbourhood."""
        return [kernel.use(name) for name in names]

    def sender(self, kernel: KernelText) -> Any:
        """Name the in-neighbour u. Open a block that only neighbours sending in this round enter, unless all send, or
        `sent_...` holds the identity for the others and is as quickly read."""
        kernel.add(f"u = {kernel.of_edge('neighbours', 'e')}")
        if (self.analysis.synchronous or self.phase.hoisted) and not self.phase.skips_silent:
            return nullcontext()
        return kernel.block(f"if {kernel.use('sending')}[u]:")

    def name_source(self, kernel: KernelText) -> dict[str, str]:
        """Load the states of u that `send` reads into from_..., if they are scalars and messages differ by edge."""
        names = () if self.width or self.phase.hoisted else self.phase.send.names_of("state")
        source = {name: f"from_{name}" for name in names}
        kernel.add(*(f"{local} = {kernel.use(field_name(name))}[u]" for name, local in source.items()))
        return source

    def name_sent(self, kernel: KernelText, source: Mapping[str, str] = NO_LOCALS) -> None:
        """Name the message of u along e: new_..."""
        if self.phase.hoisted:
            kernel.add(*(f"new_{m.name} = {item(kernel.use(sent_name(self.phase, m)), 'u', m)}" for m in self.messages))
            return
        send = call(kernel, self.phase.send, phase_name(self.phase, "send"), AT_SENDER, None, source)
        kernel.add(f"{', '.join(f'new_{message.name}' for message in self.messages)} = {send}")

    def name_incoming(self, kernel: KernelText) -> None:
        """Name the message from another partition for ids[i]: new_..."""
        for message in self.messages:
            array = kernel.use(incoming_name(inbox_name(self.phase, message)))
            kernel.add(f"new_{message.name} = {item(array, 'i', message)}")

    def deliver_sent(self, kernel: KernelText, source: Mapping[str, str] = NO_LOCALS) -> None:
        """Merge the message of u along e into the inbox of v."""
        if not self.phase.hoisted:
            vector_sums(kernel, self.phase.send, AT_SENDER)
        self.deliver(kernel, partial(self.name_sent, kernel, source), tells=True)

    def deliver(self, kernel: KernelText, name_message: Callable[[], None], *, tells: bool = False) -> None:
        """Merge the message that `name_message` names into the inbox of v; `changed` tells whether it changed. A vector
        from a vertex that `tells` something does so, which need not be looked at component by component."""
        synchronous = self.analysis.synchronous
        tells = tells and self.one_writes and self.phase.skips_silent and not self.phase.idempotent
        if not synchronous:
            kernel.add(f"changed = {tells}")
        with kernel.components(self.width > 0):
            name_message()
            for message in self.messages:
                once = self.width and message.shape is None
                with kernel.block("if c == 0:") if once else nullcontext():
                    place = item(kernel.use(inbox_name(self.phase, message), True), "v", message)
                    if synchronous or tells:
                        self.merge(kernel, message, f"merged_{message.name}", (place, f"new_{message.name}"))
                        kernel.add(f"{place} = merged_{message.name}")
                        continue
                    self.put(kernel, message, place)

    def put(self, kernel: KernelText, message: Message, place: str) -> None:
        """Merge one field into the inbox."""
        name, down = message.name, smaller_wins(message)
        if self.phase.idempotent and down is not None:  # most messages change nothing, as one comparison shows
            value, news = f"new_{name}", f"new_{name} {'<' if down else '>'} {place}"
        else:
            self.merge(kernel, message, f"merged_{name}", (place, f"new_{name}"))
            value = f"merged_{name}"
            news = f"{value} != {place}" if self.phase.idempotent else f"new_{name} != {literal(message.identity)}"
            if self.width and not self.phase.idempotent:  # without a branch, a vector is merged at once
                kernel.add(f"{place} = {value}", f"changed |= {news}")
                return
        with kernel.block(f"if {news}:"):
            kernel.add(f"{place} = {value}", "changed = True")

    def enqueue(self, kernel: KernelText) -> None:
        """Add a vertex to the queue when it receives its first message."""
        arrived, queue, queued = (kernel.use(name) for name in ("arrived", "queue", "queued"))
        with kernel.block(f"if changed and not {arrived}[v]:"):
            kernel.add(f"{arrived}[v] = True", f"{queue}[{queued}] = v", f"{queued} += one")

    def reached(self, kernel: KernelText) -> None:
        """Set the flag of a vertex whose inbox has changed, since a pull has no queue."""
        kernel.add(f"if changed: {kernel.use('arrived')}[v] = True")

    def arrive(self, kernel: KernelText) -> None:
        """Set the flag of a row that merges its own messages and whose inbox is known to have changed."""
        kernel.add(f"{kernel.use('arrived')}[v] = True")

    def close_queue(self, kernel: KernelText) -> None:
        """Return the new length of the queue."""
        kernel.add("return queued")
