"""Keywords of 0.9 that are now fields of values. The error about such a keyword shows how to write the whole call. This
file will be removed in 0.11."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields, replace
from typing import Any

from dgraph.arguments import AUTO, is_default
from dgraph.errors import OptionError
from dgraph.keywords import ENGINE_VALUES
from dgraph.options import BlockDescent, BulkAsync, Cuda, Daemons, Gas, Optimizations
from dgraph.phrases.phrases import format_option

BLOCKS = ("block_size", "order", "mode", "operator")
ROUNDS = ("max_rounds", "deterministic", "rebalance", "local_rounds", "direction")
SWITCHES = ("active_only", "changed_only", "skip_exchange", "lazy_upload", "drop_weights", "exchange")
OF_DAEMONS = {"pipeline_block": "block", "vertex_cache": "cache"}
OF_FACTORIZE = {
    "learning_rate": "write update=dg.Gradient(learning_rate={value!r})",
    "block_size": "leave it out",
    "threads": "leave it out; the result no longer depends on the threads",
}
OLD = (*BLOCKS, *ROUNDS, *SWITCHES, *OF_DAEMONS, "memory_budget")


def old_keywords(known: Collection[str], given: dict[str, Any]) -> None:
    """Reject keywords of 0.9 among those passed to a function that has the parameters `known`."""
    for name, remedy in OF_FACTORIZE.items() if "biases" in known else ():
        if name in given:
            said = format_option(name, given[name])
            remedy = "leave it out" if given[name] is None else remedy.format(value=given[name])
            raise OptionError(f"{said} is an option of 0.9: {remedy}")
    old = [name for name in given if name in OLD and name not in known]
    if not old or "daemons" not in known:  # such an operation runs no program and never had these keywords
        return
    new = {name: value for name, value in spelled_now(known, given).items() if value is not given.get(name)}
    said = " and ".join(format_option(name, given[name]) for name in old)
    verb = "is an option of" if len(old) == 1 else "are options of"
    if not new:
        raise OptionError(
            f"{said} {verb} 0.9, with the value that is now the default: leave {'it' if len(old) == 1 else 'them'} out"
        )
    kind = " and ".join({"engine": "an engine", "device": "a device", "daemons": "daemons"}[name] for name in new)
    calls = ", ".join(f"{name}={value!r}" for name, value in new.items())
    raise OptionError(f"{said} {verb} {kind} since 0.10: write {calls}")


def spelled_now(known: Collection[str], given: dict[str, Any]) -> dict[str, Any]:
    """The keywords of a call, with values in place of keywords of 0.9. Raises an OptionError for combinations that were
    never possible."""
    new = {name: value for name, value in given.items() if name not in OLD or name in known}
    old = {name: value for name, value in given.items() if name in OLD and name not in known}
    if of_engine := _engine_fields(old):
        new["engine"] = _engine(new.get("engine", AUTO), of_engine)
    of_daemons = {OF_DAEMONS[name]: value for name, value in old.items() if name in OF_DAEMONS}
    if (memory := old.get("memory_budget")) is not None:
        of_device = {"memory": memory, **{name: value for name, value in of_daemons.items() if name == "block"}}
        new["device"] = Cuda(**of_device)
    elif of_daemons := {name: value for name, value in of_daemons.items() if not is_default(value, AUTO)}:
        daemons = new.get("daemons", "own process")
        if isinstance(daemons, Daemons):
            new["daemons"] = replace(daemons, **of_daemons)
        else:
            new["daemons"] = Daemons("own process" if is_default(daemons, AUTO) else daemons, **of_daemons)
    return new


def _engine_fields(old: dict[str, Any]) -> dict[str, Any]:
    """The fields of an engine that keywords of 0.9 set to something other than the default."""
    found = {name: AUTO if old[name] is None else old[name] for name in BLOCKS if name in old}
    found = {name: value for name, value in found.items() if not is_default(value, AUTO)}
    usual = {one.name: one.default for one in fields(Gas)}
    found |= {name: old[name] for name in ROUNDS if name in old and not is_default(old[name], usual[name])}
    off = {name: False for name in SWITCHES if name in old and is_default(old[name], False)}
    if is_default(old.get("exchange"), "graph"):
        off["direct_exchange"] = False
    return found | ({"optimizations": Optimizations(**off)} if off else {})


def _engine(engine: Any, found: dict[str, Any]) -> Any:
    """The engine with these fields."""
    if not isinstance(engine, str):
        return replace(engine, **found)
    if engine in ENGINE_VALUES:
        return ENGINE_VALUES[engine](**found)
    if found.keys() & set(BLOCKS):
        return BlockDescent(**found)
    return (BulkAsync if found.get("local_rounds", 1) != 1 else Gas)(**found)
