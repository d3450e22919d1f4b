"""Whether what a program declares fits together: each phase has its functions, an inbox can merge its messages, and all
of it suits the kind of program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dgraph.errors import ProgramError
from dgraph.programs.monoid import Neighbourhood

if TYPE_CHECKING:
    from dgraph.programs.program import Phase, State, VertexProgram


def functions_of(phase: type[Phase], title: str, states: Sequence[State]) -> dict[str, Callable]:
    """The `send` and `apply` of a phase."""
    held, sent = (", ".join(one.name for one in some) for some in (states, phase.messages))
    remedy = {
        "send": f"def send({held}): which returns {sent}, what travels along an edge",
        "apply": f"def apply({held}, {sent}): which returns {held}, what a vertex holds after its inbox",
    }
    if missing := [name for name in remedy if name not in vars(phase)]:
        wanted = "; ".join(remedy[name] for name in missing)
        raise ProgramError(f"{title} has no function {' and no '.join(missing)}. Write {wanted}")
    return {name: vars(phase)[name] for name in remedy}


def check_phase(program: type[VertexProgram], phase: type[Phase], title: str) -> None:
    """Refuse messages that no inbox can merge, and what does not suit the kind of program."""
    merges = [message.merge for message in phase.messages]
    whole = next((one for one in merges if isinstance(one, Neighbourhood)), None)
    if whole is not None and merges != [whole] * whole.fields:
        fields = "a value and what it weighs" if whole.fields > 1 else "one field"
        raise ProgramError(f"{title}: {whole} merges whole neighbourhoods, of messages of {fields} and nothing else")
    for message in phase.messages:
        if program.fields.get(message.name, message) is not message:
            raise ProgramError(f"{title}: {message.name!r} is a message and a field; give one of them another name")
        if not message.merge.combines and (message.dtype.kind != "i" or message.shape is not None):
            raise ProgramError(f"{title}: {message.merge} merges whole numbers, not {message.dtype.name} or vectors")
    if phase.along not in ("out", "in", "both"):
        raise ProgramError(f'{title}: along = {phase.along!r}; messages go along "out", "in" or "both"')
    if program.kind not in ("accumulative", "synchronous"):
        raise ProgramError(f'{title}: kind = {program.kind!r}; a program is "accumulative" or "synchronous"')
    if program.kind == "accumulative":
        if "seed" not in program.functions:
            raise ProgramError(f"{title} is accumulative and has no seed: say what the first message to a vertex is")
        if phase.name:
            raise ProgramError(f'{title}: programs of several phases are of kind = "synchronous"')
        if not all(message.merge.combines for message in phase.messages):
            raise ProgramError(
                f"{title}: {phase.messages[0].merge} needs a whole neighbourhood at once, which only programs of "
                'kind = "synchronous" gather in every round'
            )
    elif "seed" in program.functions:
        raise ProgramError(f"{title} is synchronous: every vertex fires in every round; say `start`, not `seed`")
