"""The text of `dgraph.explain`: what a program sends, merges and keeps, what follows from that, and its kernels."""

from __future__ import annotations

from dgraph.codegen.kernel_source import Source, example_of, generate
from dgraph.codegen.program_kernels import kept_states
from dgraph.programs.analysis import Analysis, PhaseAnalysis, analyse, engines_for
from dgraph.programs.program import Delta, Field, VertexProgram

DIRECTIONS = {"out": "along the edges", "in": "against the edges", "both": "both ways along the edges"}


def describe(program: VertexProgram | type[VertexProgram], target: str, *, kernels: bool) -> str:
    """A summary of a program, the functions, broadcasts and optimisations that follow from it, and its kernels."""
    source = generate(program, target)
    analysis = analyse(example_of(program))
    kind = "synchronous" if analysis.synchronous else "accumulative"
    lines = [f"{analysis.name}: {kind}; engines: {', '.join(engines_for(analysis))}", ""]
    lines += [f"  {title:9} {text}" for title, text in _summary(analysis, source, target)]
    for phase in analysis.phases:
        lines += ["", *_phase(phase)]
    lines += ["", *_optimisations(analysis)]
    if kernels:
        lines += ["", f"kernels for {target}:", "", source.text]
    return "\n".join(lines)


def _summary(analysis: Analysis, source: Source, target: str) -> list[tuple[str, str]]:
    """What is sent, merged and kept, and the names of the kernels, as titled lines."""
    lines = []
    for phase in analysis.phases:
        of = f"{phase.name}: " if phase.name else ""
        messages = ", ".join(f"{m.name} ({m.dtype})" for m in phase.messages)
        lines.append(("sent", f"{of}{messages}, {DIRECTIONS[phase.along]}, {_when(analysis, phase)}"))
        merges = ", ".join(f"{m.name} by {m.merge}" for m in phase.messages)
        where = "at proxies, then at the master" if phase.combines else "whole, at the vertex: an incoming cut"
        lines.append(("merged", f"{of}{merges}; {where}"))
    lines += [("kept", _described(state)) for state in analysis.states]
    columns = ", ".join(column.name for column in analysis.edge_columns)
    lines.append(("", f"edge columns: {columns or 'none, because no function reads one'}"))
    lines += [("parameter", _described(parameter)) for parameter in analysis.parameters]
    each = {analysis.globals[name][0] for name in analysis.globals_each_round}
    for field in dict.fromkeys(field for field, _ in analysis.globals.values()):
        when = "each round" if field in each else "at the end"
        lines.append(("global", f"{field.name}: {field.merge} of {field.dtype}{_length(field)}, {when}"))
    lines.append(("kernels", f"{len(source.kernels)} for {target}: {', '.join(source.kernels)}"))
    return lines


def _when(analysis: Analysis, phase: PhaseAnalysis) -> str:
    if analysis.synchronous:
        return "by every vertex in every round, by pull"
    return f"when {' or '.join(phase.triggers)} changed; push while few vertices send, pull when many do"


def _described(field: Field) -> str:
    dtype = "vertex" if field.is_vertex else field.dtype.name
    return f"{field.name}: {dtype}{_length(field)}" + (", reset in every firing" if isinstance(field, Delta) else "")


def _length(field: Field) -> str:
    return "" if field.shape is None else f", vectors ({'any length' if field.shape is ... else field.shape})"


def _phase(phase: PhaseAnalysis) -> list[str]:
    """What the functions of a phase read, and what masters send to proxies for it."""

    def reads(function) -> str:
        return ", ".join(f"{name} ({kind})" for name, kind in function.kinds.items()) or "nothing"

    lines = [f"phase {phase.name}" if phase.name else "round"]
    lines += [f"  send      reads {reads(phase.send)}", f"  apply     reads {reads(phase.apply)}"]
    sources, targets = (", ".join(arrays) or "nothing" for arrays in (phase.broadcast, phase.target_broadcast))
    lines.append(f"  broadcast {sources}: master to proxies with out-edges")
    if phase.target_broadcast:
        lines.append(f"            {targets}: master to proxies with in-edges")
    reduce = "messages merged at proxies go to the master; not needed under an incoming cut"
    lines.append(f"  reduce    {reduce if phase.combines else 'impossible: the merge needs whole neighbourhoods'}")
    return lines


def _optimisations(analysis: Analysis) -> list[str]:
    lines = []
    if any(phase.hoisted for phase in analysis.phases):
        lines.append("messages are computed once per vertex: only their value is gathered and sent")
    if any(phase.skips_silent for phase in analysis.phases):
        lines.append("pulls leave out neighbours whose vectors say nothing, and fetch those of later ones ahead")
    if not analysis.synchronous:
        lines.append("only vertices with a message fire; only changed messages are sent")
    if all(phase.idempotent for phase in analysis.phases) and not analysis.synchronous:
        lines.append("inboxes keep the best message: worse ones are neither sent nor fire a vertex")
    gone = {state.name for state in analysis.states} - kept_states(analysis)
    if gone:
        lines.append(f"no array for {', '.join(sorted(gone))}: used only in the message")
    return ["optimisations", *(f"  {line}" for line in lines or ["none"])]
