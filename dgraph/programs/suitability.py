"""Which engines may run a program, and what keeps it from the others."""

from __future__ import annotations

from dgraph.programs.analysis import Analysis


def engines_for(analysis: Analysis) -> tuple[str, ...]:
    """The engines that may run a program."""
    return ("bsp", "gas", *(name for name in ("bulk_async", "block_descent") if not obstacle(name, analysis)))


def obstacle(engine: str, analysis: Analysis) -> str:
    """Why a program cannot run on an engine without common rounds, as the end of a sentence; "" if it can."""
    functions = [reads for phase in analysis.phases for reads in (phase.send, phase.apply)]
    reads_rounds = any("round" in reads or "random" in reads for reads in functions)
    if not analysis.synchronous:
        reads_rounds |= bool(analysis.stop or analysis.globals_each_round)
    elif engine == "bulk_async":
        return "is synchronous"
    if reads_rounds or analysis.send_reads_global:
        return "reads what only common rounds can tell"
    if engine == "bulk_async":
        return ""
    phase = analysis.phases[0]
    if analysis.width:
        return "holds vectors"
    if len(analysis.phases) > 1 or len(phase.messages) > 1:
        return "has several phases" if len(analysis.phases) > 1 else "sends several values at once"
    if not phase.combines:
        return "needs whole neighbourhoods at once"
    rounds_only = analysis.synchronous and analysis.stop is not None and not analysis.stop.of("global")
    return "asks for a number of rounds" if rounds_only else ""
