"""Attributes of other libraries' graphs as columns of a frame, and rows of a frame as attributes."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from dgraph.errors import IdError

_KINDS = {"strings": str, "UUIDs": uuid.UUID}


def attribute_column(values: list[Any]) -> pd.Series:
    """The values with their types kept: in arrays where all are alike, else as objects; pd.NA is "missing"."""
    kinds = {type(value) for value in values if value is not pd.NA}
    complete = not any(value is pd.NA for value in values)
    if kinds == {bool}:
        return pd.Series(values, dtype=bool if complete else "boolean")
    if kinds == {int} and all(value is pd.NA or -(2**63) <= value < 2**63 for value in values):
        return pd.Series(values, dtype=np.int64 if complete else "Int64")
    if kinds == {float} and complete:
        return pd.Series(values, dtype=np.float64)
    if kinds == {str} and complete:
        return pd.Series(values, dtype="str")
    column = pd.Series([None] * len(values), dtype=object)
    for place, value in enumerate(values):
        column.iat[place] = value
    return column


def present(value: Any) -> bool:
    return value is not pd.NA


def plain(value: Any) -> Any:
    """A NumPy scalar as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


def records(frame: pd.DataFrame, keys: list[str]) -> Iterator[tuple[tuple, dict[str, Any]]]:
    """(values of the keys, the other columns as attributes without those that are missing) for each row."""
    others = [name for name in frame.columns if name not in keys]
    ids = zip(*(frame[key].tolist() for key in keys), strict=True)
    rest: Iterable[tuple] = (
        zip(*(frame[name].tolist() for name in others), strict=True) if others else ((),) * len(frame)
    )
    for key, row in zip(ids, rest, strict=True):
        yield key, {name: plain(value) for name, value in zip(others, row, strict=True) if present(value)}


def check_id_list(ids: list[Any], remedy: str) -> None:
    """Ids are all 64-bit integers, all strings or all UUIDs."""
    first: dict[str, Any] = {}  # of each kind
    for value in ids:
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        kind = next((name for name, one in _KINDS.items() if isinstance(value, one)), "integers" if whole else None)
        if kind is None:
            wrong = f"id {value!r} of type {type(value).__name__} is neither an integer nor a string nor a UUID"
            raise IdError(f"{wrong} ({remedy})")
        if whole and not -(2**63) <= int(value) < 2**64:
            raise IdError(f"id {value} is beyond 64 bits ({remedy})")
        first.setdefault(kind, value)
    if len(first) > 1:
        (one, value), (other, another) = sorted(first.items())[:2]
        raise IdError(f"ids {value!r} and {another!r}: {one} and {other} in one graph ({remedy})")
    if "integers" in first and int(min(ids)) < 0 and int(max(ids)) >= 2**63:
        raise IdError(f"ids {min(ids)} and {max(ids)}: no 64-bit integer type holds both ({remedy})")
