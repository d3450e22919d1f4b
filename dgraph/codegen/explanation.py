"""`dgraph.explain`: what the analysis found in a program, what follows from it, and the kernels."""

from __future__ import annotations

from dgraph.codegen.kernel_source import example_of, generate
from dgraph.codegen.program_kernels import kept_states
from dgraph.programs.analysis import Analysis, PhaseAnalysis, analyse
from dgraph.programs.program import Delta, Field, VertexProgram
from dgraph.programs.suitability import engines_for


def explain(program: VertexProgram | type[VertexProgram], target: str = "cpu") -> str:
    """What a program reads and communicates, in which direction it runs, and its kernels for a target."""
    source = generate(program, target)
    analysis = analyse(example_of(program))
    kind = "synchronous" if analysis.synchronous else "accumulative"
    lines = [f"{analysis.name}: {kind}; engines: {', '.join(engines_for(analysis))}", ""]
    lines += [f"  state     {_described(state)}" for state in analysis.states]
    lines += [f"  parameter {_described(parameter)}" for parameter in analysis.parameters]
    each = {analysis.globals[name][0] for name in analysis.globals_each_round}
    for field in dict.fromkeys(field for field, _ in analysis.globals.values()):
        when = "each round" if field in each else "at the end"
        lines.append(f"  global    {field.name}: {field.merge} of {field.dtype}{_length(field)}, {when}")
    for phase in analysis.phases:
        lines += ["", *_phase(analysis, phase)]
    lines += ["", *_optimisations(analysis), "", f"kernels for {target}:", "", source.text]
    return "\n".join(lines)


def _described(field: Field) -> str:
    dtype = "vertex" if field.is_vertex else field.dtype.name
    return f"{field.name}: {dtype}{_length(field)}" + (", anew in every firing" if isinstance(field, Delta) else "")


def _length(field: Field) -> str:
    return "" if field.shape is None else f", vectors ({'any length' if field.shape is ... else field.shape})"


def _phase(analysis: Analysis, phase: PhaseAnalysis) -> list[str]:
    def reads(function) -> str:
        return ", ".join(f"{name} ({kind})" for name, kind in function.kinds.items()) or "nothing"

    directions = {"out": "along the edges", "in": "against the edges", "both": "both ways along the edges"}
    messages = ", ".join(f"{m.name} ({m.merge} of {m.dtype})" for m in phase.messages)
    lines = [f"phase {phase.name}" if phase.name else "round", f"  messages  {messages}, {directions[phase.along]}"]
    lines += [f"  send      reads {reads(phase.send)}", f"  apply     reads {reads(phase.apply)}"]
    travels, there = (", ".join(arrays) or "nothing" for arrays in (phase.broadcast, phase.target_broadcast))
    lines.append(f"  broadcast {travels}: master to proxies with out-edges")
    if phase.target_broadcast:
        lines.append(f"            {there}: master to proxies with in-edges")
    if phase.combines:
        lines.append("  reduce    messages merge at proxies, then at the master; none under an incoming cut")
    else:
        lines.append("  reduce    impossible: needs whole neighbourhoods, so an incoming cut")
    if not analysis.synchronous:
        lines.append(f"  sends     when {' or '.join(phase.triggers)} changed; push while few send, pull when many do")
    else:
        lines.append("  sends     every vertex in every round; pull")
    return lines


def _optimisations(analysis: Analysis) -> list[str]:
    kept = ", ".join(column.name for column in analysis.edge_columns)
    found = [f"edge columns kept: {kept}" if kept else "edge columns are dropped: no function reads one"]
    if any(phase.hoisted for phase in analysis.phases):
        found.append("messages are computed once a vertex: an edge gathers one word, and that word travels")
    if not analysis.synchronous:
        found.append("only vertices with a message run; only changed ones are sent")
    if all(phase.idempotent for phase in analysis.phases) and not analysis.synchronous:
        found.append("inboxes keep the best message: worse ones fire nobody and travel nowhere")
    gone = {state.name for state in analysis.states} - kept_states(analysis)
    if gone:
        found.append(f"no array for {', '.join(sorted(gone))}: it only goes into the message")
    return ["optimisations", *(f"  {line}" for line in found)]
