"""Everything that a worker needs to run a program, as plain values, so that the program's class need not be sent."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import cloudpickle
import numpy as np

from dgraph.codegen.compiler import Kernels, load
from dgraph.codegen.kernel_source import Source, generate
from dgraph.errors import ProgramError
from dgraph.programs.analysis import Analysis, PhaseAnalysis, Reads, analyse, component_of
from dgraph.programs.program import Global, Result, VertexProgram
from dgraph.programs.syntax import by_kernel_rules, component_of_vector


@dataclass(frozen=True)
class Recipe:
    """The kernels as text, the analysis without functions, the values of parameters, and `stop`."""

    analysis: Analysis
    source: Source
    values: dict[str, Any]
    stop: Callable[..., Any] | None
    other_sources: dict[str, Source] = field(default_factory=dict)  # kernels for the other devices of daemons

    def source_for(self, device: str) -> Source:
        return self.other_sources.get(device, self.source)

    @property
    def kernels(self) -> Kernels:
        """The compiled kernels of this process."""
        return load(self.source)

    def should_stop(self, known: dict[str, Any]) -> bool:
        """Whether `stop` ends the run, given the values after a round; for vectors, whether all components stop."""
        stop, reads = self.stop, self.analysis.stop
        if stop is None or reads is None:
            return False

        width = self.analysis.width
        values = [
            np.asarray(known[name] if name in known else [known[component_of(name, c)] for c in range(width)]).tolist()
            for name in reads.kinds
        ]

        def at(c: int) -> list[Any]:
            return [component_of_vector(one, c) if isinstance(one, list) else one for one in values]

        return all(self._stops(at(c)) for c in range(width if reads.vector else 1))

    def _stops(self, values: list[Any]) -> bool:
        """The result of `stop` by Python's rules, or by the rules of kernels where Python raises, as for 1 / 0. An
        expression that raises by both rules, such as math.log(0), is an error."""
        assert self.stop is not None
        try:
            try:
                return bool(self.stop(*values))
            except ArithmeticError:
                with np.errstate(all="ignore"):
                    return bool(self.stop(*map(by_kernel_rules, values)))
        except (ArithmeticError, ValueError) as error:
            assert self.analysis.stop is not None
            known = ", ".join(f"{name}={one}" for name, one in zip(self.analysis.stop.kinds, values, strict=True))
            raise ProgramError(
                f"{self.analysis.title}.stop failed for {known}: {error}; check first that a value is valid, as in "
                "`value > 0 and math.log(value) < limit`"
            ) from error

    def _functions(self) -> Iterator[Callable]:
        if self.stop is not None:
            yield self.stop
        merges = [message.merge for phase in self.analysis.phases for message in phase.messages]
        merges += [field.merge for field, _ in self.analysis.globals.values()]
        for merge in merges:
            if merge.combines:
                yield merge.merge  # type: ignore[union-attr]

    def __reduce__(self):
        """Pickle functions of the user's modules by value, so that workers need not be able to import them."""
        modules = {inspect.getmodule(function) for function in self._functions()}
        foreign = [m for m in modules if m is not None and m.__name__.split(".")[0] not in ("dgraph", "__main__")]
        for module in foreign:
            cloudpickle.register_pickle_by_value(module)
        try:
            return _unpickled, (
                cloudpickle.dumps((self.analysis, self.source, self.values, self.stop, self.other_sources)),
            )
        finally:
            for module in foreign:
                cloudpickle.unregister_pickle_by_value(module)


_known: WeakKeyDictionary[type[VertexProgram], dict[tuple, tuple[Analysis, Analysis, Source]]] = WeakKeyDictionary()


def recipe_of(
    program: VertexProgram, target: str = "cpu", operator: str | None = None, other_devices: Iterable[str] = ()
) -> Recipe:
    """The recipe of a program. Analysis and kernels are computed once per vector length, whatever the values of
    parameters. `operator` adds the kernels of block descent; `other_devices` are the devices of daemons."""
    known, kind = _known.setdefault(type(program), {}), (target, program.vector_length, operator)
    analysis = analyse(program)
    if kind not in known or known[kind][0] is not analysis:
        known[kind] = analysis, _without_functions(analysis), generate(program, target, operator)
    sources = {device: recipe_of(program, device).source for device in other_devices}
    return Recipe(*known[kind][1:], dict(program.values), program.functions.get("stop"), sources)


def _unpickled(pickled: bytes) -> Recipe:
    return Recipe(*cloudpickle.loads(pickled))


def _without_functions(part: Any) -> Any:
    """An analysis, or a part of it, without the functions, because the kernels contain their text."""
    match part:
        case Analysis():
            fields = "phases", "start", "seed", "stop", "globals", "results"
            return replace(part, **{name: _without_functions(getattr(part, name)) for name in fields})
        case PhaseAnalysis():
            return replace(part, send=_without_functions(part.send), apply=_without_functions(part.apply))
        case Reads():
            return replace(part, function=None)  # type: ignore[arg-type]
        case dict():
            return {name: _without_functions(one) for name, one in part.items()}
        case tuple():
            return tuple(map(_without_functions, part))
        case Global() | Result():
            field = copy.copy(part)
            field.function = None
            return field
    return part
