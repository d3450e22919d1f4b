"""What a worker must know of a program to run it: values alone, so that it travels without the program's class."""

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
from dgraph.programs.analysis import Analysis, PhaseAnalysis, analyse, component_of
from dgraph.programs.program import VertexProgram
from dgraph.programs.reads import Reads


@dataclass(frozen=True)
class Recipe:
    """The kernels as text, the analysis without the functions, the values of parameters, and `stop`."""

    analysis: Analysis
    source: Source
    values: dict[str, Any]
    stop: Callable[..., Any] | None
    others: dict[str, Source] = field(default_factory=dict)  # kernels for other devices, which daemons have

    def source_for(self, device: str) -> Source:
        return self.others.get(device, self.source)

    @property
    def kernels(self) -> Kernels:
        """The compiled kernels of this process."""
        return load(self.source)

    def should_stop(self, known: dict[str, Any]) -> bool:
        """Whether `stop` ends the run with these values after a round; of vectors, whether it does for all
        components."""
        stop, reads = self.stop, self.analysis.stop
        if stop is None or reads is None:
            return False

        def value(name: str, c: int) -> Any:
            found = known[name] if name in known else known[component_of(name, c)]
            return found[c] if np.ndim(found) else found

        components = range(self.analysis.width if reads.vector else 1)
        return all(self._stops([value(name, c) for name in reads.kinds]) for c in components)

    def _stops(self, values: list[Any]) -> bool:
        """What `stop` returns: by the rules of Python, and where these have no answer, as for 1 / 0, by those of
        kernels. What has no answer there either, as math.log(0), is an error."""
        assert self.stop is not None
        try:
            try:
                return bool(self.stop(*values))
            except ArithmeticError:
                with np.errstate(all="ignore"):
                    return bool(self.stop(*(one if isinstance(one, bool) else np.asarray(one)[()] for one in values)))
        except (ArithmeticError, ValueError) as error:
            assert self.analysis.stop is not None
            known = ", ".join(f"{name}={one}" for name, one in zip(self.analysis.stop.kinds, values, strict=True))
            raise ProgramError(
                f"{self.analysis.title}.stop has no answer for {known}: {error}; ask first whether a value can be "
                "used, as in `value > 0 and math.log(value) < limit`"
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
        """Functions of the user's modules travel by value: workers need not be able to import them."""
        modules = {inspect.getmodule(function) for function in self._functions()}
        foreign = [m for m in modules if m is not None and m.__name__.split(".")[0] not in ("dgraph", "__main__")]
        for module in foreign:
            cloudpickle.register_pickle_by_value(module)
        try:
            return _unpickled, (cloudpickle.dumps((self.analysis, self.source, self.values, self.stop, self.others)),)
        finally:
            for module in foreign:
                cloudpickle.unregister_pickle_by_value(module)


_known: WeakKeyDictionary[type[VertexProgram], dict[tuple, tuple[Analysis, Analysis, Source]]] = WeakKeyDictionary()


def recipe_of(
    program: VertexProgram, target: str = "cpu", operator: str | None = None, others: Iterable[str] = ()
) -> Recipe:
    """Analyse and generate, once for each length of vectors; other values of parameters need nothing new. `operator`
    asks for the kernels of block descent; `others` are the devices of daemons."""
    known, kind = _known.setdefault(type(program), {}), (target, program.vector_length, operator)
    analysis = analyse(program)
    if kind not in known or known[kind][0] is not analysis:
        known[kind] = analysis, _bare(analysis), generate(program, target, operator)
    sources = {device: recipe_of(program, device).source for device in others}
    return Recipe(*known[kind][1:], dict(program.values), program.functions.get("stop"), sources)


def _unpickled(pickled: bytes) -> Recipe:
    return Recipe(*cloudpickle.loads(pickled))


def _bare(analysis: Analysis) -> Analysis:
    """The analysis without the texts of functions, which are in the kernels."""

    def reads(one: Any) -> Any:
        return one and replace(one, function=None)

    def phase(one: PhaseAnalysis) -> PhaseAnalysis:
        return replace(one, send=reads(one.send), apply=reads(one.apply))

    def folds(some: dict[str, tuple[Any, Reads]]) -> dict[str, tuple[Any, Reads]]:
        return {name: (_without_function(field), reads(one)) for name, (field, one) in some.items()}

    return replace(
        analysis,
        phases=tuple(phase(one) for one in analysis.phases),
        start=reads(analysis.start),
        seed=reads(analysis.seed),
        stop=reads(analysis.stop),
        globals=folds(analysis.globals),
        results=folds(analysis.results),
    )


def _without_function(field: Any) -> Any:
    field = copy.copy(field)
    field.function = None
    return field
