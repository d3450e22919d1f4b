"""Kernel text that detects integer sums that overflow the type of their message.

On overflow a run ends with a `SumError` rather than with a sum that has wrapped around. The first element of `excess`
is one more than the local number of a vertex whose messages overflow, or 0. Several threads may write it at once, since
any of their vertices will do. Kernels for GPUs do not check.
"""

from __future__ import annotations

import ast

from dgraph.codegen.text import KernelText
from dgraph.programs.analysis import PhaseAnalysis
from dgraph.programs.monoid import SUM
from dgraph.programs.program import Message
from dgraph.programs.syntax import alternatives

EXCESS = "excess"
SMALL_CONSTANT = 1 << 31  # no graph has enough edges for a sum of smaller numbers to exceed 64 bits
SAFE_TOTAL = "9.2e18"  # less than 2**63
LOW_HALF = "0xFFFF_FFFF"  # the lower half of a number; the two halves are added up separately
WRAPPED = '''
@njit
def wrapped(a, b, total):
    """Less than 0 if the sum of a and b is not `total`, because it does not fit into 64 bits."""
    return (a ^ total) & (b ^ total)
'''


def checked_sums(phase: PhaseAnalysis) -> list[Message]:
    """The messages of a phase whose sums kernels check: integers with the merge SUM, except counts. A program that
    wants sums to wrap around gives the message a custom merge."""
    return [
        m
        for m in phase.messages
        if m.merge is SUM and m.dtype.kind in "iu" and not (is_wide(m) and sends_small_constants(phase))
    ]


def is_wide(message: Message) -> bool:
    """Whether a sum can overflow a register. Sums of smaller numbers have 64 bits until they are stored."""
    return message.dtype.itemsize == 8


def sends_small_constants(phase: PhaseAnalysis) -> bool:
    """Whether `send` returns nothing but small constants, as in `return 1 if new else 0`. No graph has enough edges for
    their sum to exceed 64 bits."""
    assert phase.send is not None
    returned = [node.value for node in ast.walk(phase.send.function.tree) if isinstance(node, ast.Return)]
    values = [one for value in returned if value is not None for one in alternatives(value)]
    return all(
        isinstance(one, ast.Constant) and type(one.value) is int and one.value < SMALL_CONSTANT for one in values
    )


def check_sum(kernel: KernelText, message: Message, parts: tuple[str, str], total: str, row: str = "v") -> None:
    """Record the row if `total` is not the sum of its two parts."""
    test = f"{total} != {message.dtype.name}({total})"
    record_excess(kernel, f"wrapped({parts[0]}, {parts[1]}, {total}) < 0" if is_wide(message) else test, row)


def record_excess(kernel: KernelText, test: str, row: str = "v") -> None:
    """Record the row if the test is true."""
    kernel.add(f"if {test}: {kernel.use(EXCESS, True)}[0] = int64({row}) + 1")
