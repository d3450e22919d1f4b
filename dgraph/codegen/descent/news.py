"""Kernel text that sends a vertex's change in block descent: along its out-edges, and to the blocks at their ends."""

from __future__ import annotations

from dgraph.codegen.bounds import smaller_wins
from dgraph.codegen.message_sums import check_sum, checked_sums
from dgraph.codegen.text import CallSite, KernelText, call, edges_of
from dgraph.programs.analysis import Analysis, PhaseAnalysis
from dgraph.programs.kernel_names import inbox_name, merge_name
from dgraph.programs.program import Field, Message

QUEUE_ARRAYS = ("_heap", "_place", "_keys", "_live", "_board", "_limits")  # arrays of the queue of blocks
STORED_ARRAYS = ("_heap", "_place", "_keys", "_board")  # arrays that change when a block is put or taken
STORE_ARGUMENTS = ", ".join(STORED_ARRAYS)
OUT_EDGE = CallSite(vertex="v", edge="e", target="_w")  # the out-edges of v
ATOMIC = {"min": "_team.atomic_min", "max": "_team.atomic_max", "add": "_team.atomic_add"}  # by merge


def real(field: Field, text: str) -> str:
    """Kernel text that converts a value to a float, so that differences can be computed."""
    return f"float(int64({text}))" if field.dtype.kind == "b" else f"float({text})"


class ChangeWriter:
    """Writes kernel text that sends the change of a vertex. `kernels` is the collection to which kernels are added."""

    kernel: KernelText

    def __init__(self, kernels, operator: str):
        self.kernels, self.operator = kernels, operator
        self.analysis: Analysis = kernels.analysis
        self.phase: PhaseAnalysis = self.analysis.phases[0]
        self.message: Message = self.phase.messages[0]
        self.is_checked = self.message in checked_sums(self.phase)
        self.smaller_wins = smaller_wins(self.message)  # None if messages are not ordered

    def begin_kernel(self, name: str, doc: str, *arguments: str) -> KernelText:
        """Begin a kernel."""
        self.kernel = KernelText(name, doc, self.analysis, self.kernels.arrays)
        for argument in arguments:
            self.kernel.use(argument)
        self.kernels.kernels.append(self.kernel)
        return self.kernel

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
                else f"{merge_name(m.merge)}(_new, _old) != "
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
        if name is None or m.dtype.kind == "b":  # in this case the team has one thread
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
        self.kernel.add(f"_merged = {merge_name(self.message.merge)}({place}, {new})")
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

    @property
    def by_block(self) -> bool:
        """Whether a change concerns all readers alike, so that blocks are notified as a whole."""
        return self.synchronous and self.operator == "pull"

    @property
    def adds(self) -> bool:
        """Whether each inbox is the sum of the last messages of all neighbours, to which senders add differences."""
        return self.synchronous and self.operator == "push"

    @property
    def synchronous(self) -> bool:
        return self.analysis.synchronous
