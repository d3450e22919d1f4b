"""The options of block descent, with defaults chosen to suit the program. They are part of a Plan, and the engine, its
kernels and its queue read them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dgraph.errors import OptionError
from dgraph.programs.analysis import Analysis, PhaseAnalysis
from dgraph.programs.program import Message

ORDERS = ("priority", "cyclic")
MODES = ("async", "barrier", "bsp")
WAITING_SHARE = 0.3  # a change below this share of the mean change along an edge may wait (tuned by measurement)


def can_send_changes(phase: PhaseAnalysis) -> bool:
    """Whether a vertex may send only the difference to its last message, rather than the whole message again."""
    (message,) = phase.messages
    return message.merge.atomic == "add" and message.dtype.kind == "f" and not phase.send.names_of("target", "ahead")


def has_atomic_merge(message: Message) -> bool:
    """Whether several threads may merge into an inbox at the same time, each by one atomic instruction."""
    return message.merge.atomic in ("min", "max", "add") and message.dtype.itemsize > 1


@dataclass(frozen=True)
class BlockOptions:
    """The options. An option that is "" is open until `completed_for` chooses a value. `pace` is for tests of slow
    threads: the nanoseconds that each thread of a team waits per edge."""

    operator: str = ""  # one of those in codegen/descent/descent_kernel.py
    order: str = ""
    mode: str = "async"
    size: int | None = None  # vertices per block, rounded up to a power of two
    pace: tuple[float, ...] = ()
    free: bool = False  # whether partitions run at their own pace until no changes are left; if not, epochs are common
    waits: bool = False  # whether partitions wait for each other although the user did not ask for it

    def completed_for(self, analysis: Analysis, parts: int) -> BlockOptions:
        """Choose the options that are open, and reject those that the program does not support. Partitions that send
        changes need not wait for each other, because changes merge; states must arrive in order."""
        operator = self.operator or ("pull" if analysis.synchronous else "push")
        if analysis.synchronous and self.mode == "bsp":
            operator = "pull"
        if operator == "push" and analysis.synchronous and not (can_send_changes(analysis.phases[0]) and parts == 1):
            raise OptionError(
                f'operator="push" sends changes of values, but {analysis.title} is synchronous: its vertices gather '
                "all messages each time, except for sums of floats on one partition; choose pull or pull_push"
            )
        if operator != "push" and not analysis.synchronous and not analysis.phases[0].idempotent:
            raise OptionError(
                f"operator={operator!r} gathers the values of all neighbours each time, but {analysis.title} "
                'accumulates messages, so some would count twice; choose operator="push"'
            )
        order = self.order or ("priority" if operator == "push" else "cyclic")  # whichever was faster when measured
        news_for_all = analysis.synchronous and operator != "push" and bool(analysis.phases[0].apply.names_of("global"))
        if order == "priority" and news_for_all and self.mode != "bsp":
            raise OptionError(
                f'order="priority" has no effect when {analysis.title} gathers: it reads a global value, which changes '
                "every block after each epoch, so no block comes first; leave it out"
            )
        free = self.mode == "async" and not analysis.synchronous and (operator == "push" or parts == 1)
        waits = self.mode == "async" and parts > 1 and not free
        return replace(self, operator=operator, order=order, free=free, waits=waits)

    def beside(self, daemons: Any, analysis: Analysis) -> BlockOptions:
        """Reject options that daemons running alongside the CPU's threads do not support."""
        phase, given = analysis.phases[0], f"daemons={daemons!r}"
        if self.mode != "bsp" and self.operator == "pull_push":
            raise OptionError(
                f'operator="pull_push" is not available with {given}, which cannot reach its slots: choose "pull"'
            )
        if self.mode != "bsp" and self.operator == "push" and analysis.synchronous:
            raise OptionError(f'operator="push" of {analysis.title} is not available with {given}: choose "pull"')
        if self.mode != "bsp" and not has_atomic_merge(phase.messages[0]):
            raise OptionError(
                f"{analysis.title} is not available with {given}: its messages must be merged by one thread; omit "
                "daemons="
            )
        return self

    @property
    def share(self) -> float:
        """A change waits if it is less than this share of the mean change to be sent along an edge."""
        return WAITING_SHARE if self.order == "priority" else 0.0

    @property
    def gathers(self) -> bool:
        """Whether a vertex is updated from all its in-edges."""
        return self.operator != "push" and self.mode != "bsp"

    def options(self) -> dict[str, Any]:
        """The options as shown in the report. With mode="bsp" there is neither an order of blocks nor an operator."""
        if self.mode == "bsp":
            return {"mode": "bsp", "block size": "all vertices"}
        mode = f"{self.mode}, but partitions wait after each epoch" if self.waits else self.mode
        size = 1 << (self.size - 1).bit_length() if self.size else "by the number of vertices"
        return {"operator": self.operator, "order": self.order, "mode": mode, "block size": size}
