"""Kernels for a block that a daemon takes in block descent. The daemon handles the edges, these kernels the vertices.

gathered   pull: apply the messages that a daemon has gathered for a block, and notify the readers
leaving    push: take the inboxes of a block, and list the vertices whose messages the daemon must send
arriving   push: merge into inboxes the messages that a daemon has merged per target, as CPU threads do with theirs
"""

from __future__ import annotations

from dgraph.codegen.descent.news import QUEUE_ARRAYS, real
from dgraph.codegen.descent.turn import TurnWriter
from dgraph.programs.kernel_names import inbox_name, incoming_name

DAEMON_KERNELS = {"pull": ("gathered",), "push": ("leaving", "arriving")}  # operator -> kernels


class DaemonBlockWriter(TurnWriter):
    """Writes these kernels, in addition to those for the CPU's own blocks (`descent_kernel.py`)."""

    def write(self) -> None:
        if self.operator == "pull":
            self.gathered()
        elif self.operator == "push" and not self.adds:
            self.leaving()
            self.arriving()

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
