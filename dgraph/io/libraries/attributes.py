"""Attributes of other libraries' graphs as columns of a frame, and rows of a frame as attributes."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from dgraph.arguments import AUTO, is_default
from dgraph.errors import ColumnError, IdError, WeightError
from dgraph.frames.sources import WEIGHT, warn_not_numeric

_KINDS = {"strings": str, "UUIDs": uuid.UUID}
_DTYPES = {bool: ("bool", "boolean"), int: ("int64", "Int64"), float: ("float64", "object"), str: ("str", "object")}


def attribute_column(values: list[Any]) -> pd.Series:
    """The values with their types kept: a typed column if all have one type, else objects. pd.NA means missing."""
    kinds = {type(value) for value in values if value is not pd.NA}
    missing = any(value is pd.NA for value in values)
    kind = kinds.pop() if len(kinds) == 1 else object
    if kind is int and not all(value is pd.NA or -(2**63) <= value < 2**63 for value in values):
        kind = object
    return pd.Series(values, dtype=_DTYPES.get(kind, ("object", "object"))[missing])


def set_weight(
    frame: pd.DataFrame, weight: Any, attributes: Mapping[str, Sequence[Any]], ends: Sequence[tuple[Any, Any]]
) -> str | None:
    """Put the weight of each edge under the option `weight` into the frame of edges, and return its name; None for an
    unweighted graph. `attributes` has the values of each attribute, and None or pd.NA for an edge without it."""
    auto = is_default(weight, AUTO)
    name = WEIGHT if auto else weight
    if name is None or (auto and name not in attributes):
        return None
    if not isinstance(name, str) or name not in attributes:
        known = ", ".join(map(repr, attributes)) or "none"
        raise ColumnError(f"weight={name!r} must be the name of an edge attribute; there are {known}")
    values = attributes[name]
    missing = [value is None or value is pd.NA or (_is_number(value) and value != value) for value in values]
    wrong = [not (skip or _is_number(value)) for skip, value in zip(missing, values, strict=True)]
    if auto and any(wrong):
        warn_not_numeric("attribute")
        return None
    for (u, v), value, is_missing, is_wrong in zip(ends, values, missing, wrong, strict=True):
        if is_missing:
            remedy = "give every edge a number (1, say), or pass weight=None"
            raise WeightError(f"the edge from {u!r} to {v!r}: the attribute {name!r} is missing ({remedy})")
        if is_wrong:
            remedy = "correct it, or name another attribute with weight="
            raise WeightError(f"the edge from {u!r} to {v!r}: {name} {value!r} is not a number ({remedy})")
    frame[name] = pd.Series(values, dtype=None if len(values) else "float64")
    return name


def _is_number(value: Any) -> bool:
    return isinstance(value, Real | Decimal) and not isinstance(value, bool)


def to_python(value: Any) -> Any:
    """A NumPy scalar as a Python scalar; other values unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def records(frame: pd.DataFrame, keys: list[str]) -> Iterator[tuple[tuple, dict[str, Any]]]:
    """For each row, (the values of the keys, the other columns as attributes); missing attributes are left out."""
    others = [name for name in frame.columns if name not in keys]
    for row in zip(*(frame[name].tolist() for name in (*keys, *others)), strict=True):
        values = zip(others, row[len(keys) :], strict=True)
        yield row[: len(keys)], {name: to_python(value) for name, value in values if value is not pd.NA}


def check_id_list(ids: list[Any], remedy: str) -> None:
    """Raise an IdError unless all ids are 64-bit integers, all are strings or all are UUIDs."""
    first: dict[str, Any] = {}  # one id of each kind
    for value in ids:
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        kind = next((name for name, one in _KINDS.items() if isinstance(value, one)), "integers" if whole else None)
        if kind is None:
            problem = f"id {value!r} of type {type(value).__name__} must be an integer, a string or a UUID"
            raise IdError(f"{problem} ({remedy})")
        if whole and not -(2**63) <= int(value) < 2**64:
            raise IdError(f"id {value} does not fit into 64 bits ({remedy})")
        first.setdefault(kind, value)
    if len(first) > 1:
        (one, value), (other, another) = sorted(first.items())[:2]
        raise IdError(f"ids {value!r} and {another!r}: {one} and {other} in one graph ({remedy})")
    if "integers" in first and int(min(ids)) < 0 and int(max(ids)) >= 2**63:
        raise IdError(f"ids {min(ids)} and {max(ids)}: no 64-bit integer type holds both ({remedy})")
