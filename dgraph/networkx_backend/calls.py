"""Calls of NetworkX's functions: the graph is prepared, and dgraph's errors become those of NetworkX."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from importlib import import_module
from itertools import chain, islice
from typing import Any

import networkx as nx

from dgraph.errors import DgraphError, IdError, InputError
from dgraph.networkx_backend.function_table import FUNCTIONS
from dgraph.networkx_backend.node_graphs import NodeGraph, node_graph
from dgraph.networkx_backend.originals import weighted_by

WEIGHTS = ("weight", "distance")  # parameters for which NetworkX takes functions in place of attributes


def function_of(name: str) -> Callable[..., Any]:
    """The function of this folder that stands for one of NetworkX."""
    return getattr(import_module(f"dgraph.networkx_backend.{FUNCTIONS[name]}"), name)


def call_of(name: str) -> Callable[..., Any]:
    """What NetworkX calls: the function with its graph prepared, and its errors translated even if they come late.

    A generator has its first item before the call returns, so that what dgraph rejects is rejected while NetworkX can
    still take over. All other errors come with the first item, as in NetworkX.
    """
    function = function_of(name)

    @wraps(function)
    def call(G: Any, *args: Any, **kwargs: Any) -> Any:
        with translated_errors():
            found = function(_weighted(node_graph(G), name, args, kwargs), *args, **kwargs)
        return _begun(found) if inspect.isgenerator(found) else found

    return call


def _weighted(G: NodeGraph, name: str, args: tuple, kwargs: dict[str, Any]) -> NodeGraph:
    """The graph with weights by a function, if its caller asks for that."""
    if not any(map(callable, (*args, *kwargs.values()))):
        return G
    given = signature_of(name).bind(G, *args, **kwargs).arguments
    functions = [given[one] for one in WEIGHTS if callable(given.get(one))]
    return weighted_by(G, *functions) if functions else G


@cache
def signature_of(name: str) -> inspect.Signature:
    return inspect.signature(function_of(name))


def _begun(items: Iterator[Any]) -> Iterator[Any]:
    try:
        with translated_errors():
            first = list(islice(items, 1))
    except NotImplementedError:
        raise
    except Exception as error:
        return _failed(error)
    return _translated(chain(first, items))


def _translated(items: Iterator[Any]) -> Iterator[Any]:
    with translated_errors():
        yield from items


def _failed(error: Exception) -> Iterator[Any]:
    raise error
    yield


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise NetworkX's errors with ours as causes. What dgraph rejects is "not implemented": NetworkX may take it."""
    try:
        yield
    except IdError as error:
        raise nx.NodeNotFound(str(error)) from error
    except InputError as error:
        raise NotImplementedError(f"dgraph: {error}") from error
    except DgraphError as error:
        raise nx.NetworkXError(f"dgraph: {error}") from error
