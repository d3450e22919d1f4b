"""Sums of whole numbers that do not fit into 64 bits."""

from __future__ import annotations

import numpy as np

_HALF, _LOW = 32, 0xFFFF_FFFF


def sum_range(dtype: np.dtype) -> tuple[int, int]:
    """The least and the largest sum of numbers of this type."""
    whole = np.iinfo(np.uint64 if dtype.kind == "u" else np.int64)
    return int(whole.min), int(whole.max)


def may_exceed(values: np.ndarray, count: int) -> bool:
    """Whether a sum of `count` of these numbers may exceed 64 bits."""
    if values.dtype.kind not in "iu" or not len(values):
        return False
    least, most = sum_range(values.dtype)
    return int(values.max()) * count > most or int(values.min()) * count < least


def first_excess(values: np.ndarray, starts: np.ndarray) -> int | None:
    """The first group of values whose sum exceeds 64 bits, if any; a group extends from its start to the next one.

    The low and high halves of the numbers are summed separately, so that neither sum can overflow."""
    if not may_exceed(values, int(np.diff(starts, append=len(values)).max(initial=0))):
        return None
    wide = np.uint64 if values.dtype.kind == "u" else np.int64
    values = values.astype(wide, copy=False)
    low = np.add.reduceat((values & wide(_LOW)).astype(np.int64), starts)
    high = np.add.reduceat((values >> wide(_HALF)).astype(np.int64), starts) + (low >> _HALF)
    least, most = sum_range(values.dtype)
    exceeds = (high < least >> _HALF) | (high > most >> _HALF)
    return int(exceeds.argmax()) if exceeds.any() else None
