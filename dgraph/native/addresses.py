"""Memory by its address: a kernel that gets addresses reads any number of arrays in one call. Nothing checks them, so
who passes an address holds the array meanwhile."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

_intrinsic: Any = intrinsic


def address_of(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def _pointer_to(kind: Any, name: str) -> Any:
    def typer(context, address):
        def generate(context, builder, signature, arguments):
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return types.CPointer(kind)(types.int64), generate

    typer.__name__ = name
    return _intrinsic(typer)


bytes_at = _pointer_to(types.uint8, "bytes_at")
shorts_at = _pointer_to(types.uint16, "shorts_at")
words_at = _pointer_to(types.uint32, "words_at")
longs_at = _pointer_to(types.uint64, "longs_at")
numbers_at = _pointer_to(types.int64, "numbers_at")
