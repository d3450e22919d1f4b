"""`dgraph.explain`, which describes how a program, or the programs of an operation, run."""

from __future__ import annotations

from importlib import import_module

from dgraph.arguments import check_choice, known_options
from dgraph.codegen.explanation import describe
from dgraph.errors import OptionError
from dgraph.estimates.footprints import OPERATIONS
from dgraph.programs.program import VertexProgram

Program = VertexProgram | type[VertexProgram]


@known_options()
def explain(program: Program | str, target: str | None = None, *, kernels: bool | None = None) -> str:
    """Describe what a program sends, merges and keeps, how it can be optimized, and, on request, its kernels.

    Parameters
    ----------
    program : VertexProgram or str
        A program, its class, or the name of an operation, such as ``"wcc"``. Its parameters need no values.
    target : {"cpu", "cuda"}, default "cpu"
        The device that runs the kernels; ``"cuda"`` is experimental.
    kernels : bool, optional
        Whether the text ends with the kernels as Python source; by default only if there is a `target`.

    Returns
    -------
    str
        A summary, then what each function reads, and the optimisations.

    Raises
    ------
    OptionError
        If the operation or the target is not known, or the operation runs no vertex program.
    ProgramError
        If the program cannot be compiled.

    Examples
    --------
    >>> for line in dg.explain("wcc").splitlines()[:6]:
    ...     print(line.partition(";")[0])
    Components: accumulative
    <BLANKLINE>
      sent      message (int64), both ways along the edges, when smallest changed
      merged    message by MIN
      kept      smallest: vertex
                edge columns: none, because no function reads one
    """
    programs = programs_of(program) if isinstance(program, str) else [program]
    shown = target is not None if kernels is None else kernels
    return "\n\n".join(describe(one, target or "cpu", kernels=shown) for one in programs)


def programs_of(operation: str) -> list[type[VertexProgram]]:
    """The programs of an operation, by its name."""
    name = operation.replace("-", "_")
    check_choice("program", name, sorted(OPERATIONS), operations=True)
    module = import_module(getattr(import_module("dgraph"), name).__module__)
    if hasattr(module, "IN_ROUNDS"):  # PageRank has other forms of its programs, too
        return list(module.IN_ROUNDS.values())
    classes = [one for one in vars(module).values() if isinstance(one, type) and issubclass(one, VertexProgram)]
    programs = [one for one in classes if one.__module__ == module.__name__ and one.operation == name]
    if not programs:
        raise OptionError(f"{name} is not a vertex program: its kernels are written by hand")
    return programs
