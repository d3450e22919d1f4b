"""A task of Dask's that calls a function: what it is given, and what Dask knows of it."""

from __future__ import annotations

from operator import add

import pytest

from dgraph.cluster.tasks import task


def shout(*given, mark="!"):
    return [f"{one}{mark}" for one in given]


@pytest.mark.parametrize(
    "given",
    [(), (1, "two", None), ([],), ([1, [2, 3]], (4, 5), {"six": 6}), ([], [1], 2, [3, 4])],
)
def test_arguments_arrive_as_they_were_given(given):
    assert task(shout, *given, mark="?").compute() == shout(*given, mark="?")


def test_tasks_are_computed_wherever_they_are_given():
    one, two = task(add, 1, 2), task(add, 3, 4)
    assert task(shout, [one, 0], two, (two, [one]), mark=one).compute() == shout([3, 0], 7, (7, [3]), mark=3)


def test_items_of_lists_stay_tasks_of_their_own():
    """Else Dask goes through all tasks behind a list for each of its items, and they are wanted where the list is."""
    deep = task(add, 1, 2, on="there")
    items = [task(add, deep, number) for number in range(3)]
    made = task(sum, items, on="elsewhere")
    assert made.dask.layers.keys() == {made.key, deep.key, *(item.key for item in items)}
    assert made.dask.layers[deep.key].annotations["workers"] == ["there"]
    assert made.compute() == 12


def test_tasks_are_named_after_their_function():
    assert task(shout, 1).key.startswith("dgraph-shout-")
    assert task(shout, 1).key != task(shout, 1).key
