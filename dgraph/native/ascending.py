"""Binary search in compiled code."""

from __future__ import annotations

from numba import uint64

from dgraph.native.machine_code import inlined

ONE = uint64(1)


@inlined
def first_from(values, first, last, value):
    """The first place from `first` on of ascending integers that are not below `value`; `last` if none is."""
    count = last - first
    while count > ONE:
        half = count >> ONE
        first += half * uint64(uint64(values[first + half - ONE]) < value)  # no branch, which could not be foreseen
        count -= half
    return first + uint64(count == ONE and uint64(values[first]) < value)


@inlined
def contains(values, first, last, value):
    place = first_from(values, first, last, value)
    return place < last and uint64(values[place]) == value
