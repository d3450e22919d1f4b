"""The options of a call: its keywords as one object, with short forms turned into values and conflicts rejected.
`plan.py` turns them into a Plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from dgraph.arguments import AUTO, check_choice, check_integer, is_default
from dgraph.devices.probe import CPU, CUDA
from dgraph.errors import OptionError
from dgraph.keywords import ENGINE_VALUES, daemons_value, device_value, engine_value
from dgraph.options import USUAL, BlockDescent, Bsp, BulkAsync, Checkpoint, Cuda, Gas, Optimizations
from dgraph.phrases.phrases import format_option

LOCAL = "local"  # not an engine, but the program's own solver, if the graph has one partition
CUGRAPH = "cugraph"  # not an engine of programs; operations are passed to cuGraph instead


@dataclass(frozen=True, kw_only=True, repr=False)
class RunOptions:
    """The options of a call, with short forms turned into values. The class is not exported; users see an instance as
    `result.options`."""

    engine: Any = AUTO  # "auto", "local", "cugraph", or a value
    device: Any = AUTO  # "auto", "cpu", or a Cuda
    daemons: Any = None  # a Daemons, or None
    checkpoint: Any = None  # a Checkpoint, or None
    progress: Any = None
    random_seed: int = 0
    part: str = ""  # which of an operation's runs this is; part of the names of its checkpoints

    def __post_init__(self) -> None:
        for name, usual, as_value in (
            ("engine", AUTO, engine_value),
            ("device", AUTO, device_value),
            ("daemons", None, daemons_value),
        ):
            if not is_default(given := getattr(self, name), usual):
                object.__setattr__(self, name, as_value(given))
        if not (self.checkpoint is None or isinstance(self.checkpoint, Checkpoint)):
            object.__setattr__(self, "checkpoint", Checkpoint(self.checkpoint))
        if not (self.progress is None or isinstance(self.progress, bool) or callable(self.progress)):
            raise OptionError(
                f"{format_option('progress', self.progress)} must be True, False, None or a function that receives a "
                "dict"
            )
        object.__setattr__(self, "random_seed", check_integer("random_seed", self.random_seed, -(2**63), 2**63 - 1))
        for one, other, why in self._conflicts():
            said = f"{self._said(one)} and {self._said(other)}"
            raise OptionError(f"{said} are mutually exclusive: {why}. Leave one out")

    def _conflicts(self) -> Iterator[tuple[str, str, str]]:
        """Pairs of options that are mutually exclusive, with the reason."""
        on_gpu, by_daemons = isinstance(self.device, Cuda), self.daemons is not None
        given = {"daemons": by_daemons, "checkpoint": self.checkpoint is not None, "device": on_gpu}
        if by_daemons and on_gpu:
            yield (
                "daemons",
                "device",
                'dg.Cuda() takes no blocks from the queue of daemons; dg.Daemons("cuda") is a GPU that does',
            )
        if by_daemons and given["checkpoint"]:
            yield "daemons", "checkpoint", "a checkpoint would lack the state that daemons hold"
        if self.engine == LOCAL:
            for other in (name for name in given if given[name]):
                yield "engine", other, "the engine is one call of the program's own solver, on a CPU"
        if self.rounds.deterministic and on_gpu:
            yield "engine", "device", "only CPUs add in a deterministic order"
        by_block = self.block_descent is not None and self.block_descent.mode != "bsp"
        if by_block and by_daemons and self.daemons.block not in (AUTO, None):
            yield "engine", "daemons", "block_size= of the engine sets the size of blocks, not block= of the daemons"
        if self.engine == CUGRAPH:
            for other in ("daemons", "checkpoint"):
                if given[other]:
                    yield "engine", other, f"cuGraph does not support {other}="
            if self.device == CPU:
                yield "engine", "device", "cuGraph runs on GPUs"

    def _said(self, name: str) -> str:
        return f"{name}={getattr(self, name)!r}"

    def __repr__(self) -> str:
        """The options as in a call: `engine=dg.Gas(direction='pull'), device='cpu'`."""
        named = [one.name for one in fields(self) if one.name not in ("progress", "part")]
        usual = {one.name: one.default for one in fields(self)}
        always = ("engine", "device")
        said = [
            self._said(name) for name in named if name in always or not is_default(getattr(self, name), usual[name])
        ]
        return ", ".join(said)

    @property
    def engine_name(self) -> str:
        """The name of the engine, such as "gas"."""
        if isinstance(self.engine, str):
            return self.engine
        return next(name for name, made in ENGINE_VALUES.items() if isinstance(self.engine, made))

    @property
    def device_name(self) -> str:
        """The name of the device."""
        return self.device if isinstance(self.device, str) else CUDA

    @property
    def rounds(self) -> Gas | Bsp:
        """The options of engines that run in rounds, which are the defaults on other engines."""
        return self.engine if isinstance(self.engine, Gas | Bsp) else USUAL_ROUNDS

    @property
    def block_descent(self) -> BlockDescent | None:
        """The options of block descent, or None if the engine is a different one."""
        return self.engine if isinstance(self.engine, BlockDescent) else None

    @property
    def optimizations(self) -> Optimizations:
        """The switches of the engine."""
        return getattr(self.engine, "optimizations", USUAL)

    def decided(self, engine: str, device: str) -> RunOptions:
        """These options with "auto" decided, and without a progress function, which may not be picklable."""
        chosen = ENGINE_VALUES[engine]() if self.engine == AUTO and engine in ENGINE_VALUES else self.engine
        return replace(self, engine=chosen, device=device if self.device == AUTO else self.device, progress=None)

    def limited_to(self, max_rounds: int) -> RunOptions:
        """These options with a limit on rounds, for an operation that counts them."""
        return replace(self, engine=_with_limit(self.engine, max_rounds))

    def for_part(self, part: int) -> RunOptions:
        """The options of one of several runs of an operation, with separate checkpoints. Such a run may in turn consist
        of several runs."""
        return self if self.checkpoint is None else replace(self, part=f"{self.part}_{part}")

    @classmethod
    def on_cpus(cls, parts: int, engine: str, device: str, random_seed: int) -> RunOptions:
        """The options of an operation that only CPUs compute, by its own solver or in rounds."""
        check_choice("engine", engine, ("auto", "local"))
        check_choice("device", device, ("auto", "cpu"))
        if engine == "local" and parts > 1:
            raise OptionError('engine="local" is not available with several partitions; choose "auto"')
        return cls(engine=engine, device=CPU, random_seed=random_seed)

    def afterwards(self) -> RunOptions:
        """Options for a run after the first, in rounds and without limits or checkpoints."""
        engine = Gas(
            deterministic=self.rounds.deterministic,
            direction=self.engine.direction if isinstance(self.engine, Gas | Bsp | BulkAsync) else "auto",
            optimizations=self.optimizations,
        )
        return replace(self, engine=engine, checkpoint=None)


USUAL_ROUNDS = Gas()


def engine_with_limit(engine: Any, max_rounds: Any) -> Any:
    """The engine with the value of `max_rounds=`, the short form of `dgraph.run`, set in it."""
    if max_rounds is None:
        return engine
    check_integer("max_rounds", max_rounds)
    engine = engine_value(engine)
    held = getattr(engine, "max_rounds", None)
    if held not in (None, max_rounds):
        raise OptionError(
            f"max_rounds={max_rounds!r} conflicts with the max_rounds in engine={engine!r}: set it in one place"
        )
    return _with_limit(engine, max_rounds)


def _with_limit(engine: Any, max_rounds: int) -> Any:
    if engine == AUTO:
        return Gas(max_rounds=max_rounds)
    if not isinstance(engine, Gas | Bsp):
        raise OptionError(
            f"max_rounds={max_rounds!r} is not available with engine={engine!r}, which does not run the program in "
            "rounds; choose dg.Gas or dg.Bsp"
        )
    return replace(engine, max_rounds=max_rounds)
