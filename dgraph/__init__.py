"""dgraph: graph algorithms on Dask.

The public names are loaded when they are first used, so that `import dgraph` itself costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Graph": "dgraph.graph",
    "Policy": "dgraph.partition.policies",
    "errors": "dgraph.errors",
    "open_graph": "dgraph.building.saved",
    "bipartite": "dgraph.io.graphs",
    "from_igraph": "dgraph.io.graphs",
    "from_networkx": "dgraph.io.graphs",
    "from_scipy": "dgraph.io.graphs",
    "grid": "dgraph.io.graphs",
    "ratings": "dgraph.io.graphs",
    "read_edges": "dgraph.io.graphs",
    "rmat": "dgraph.io.graphs",
    "to_igraph": "dgraph.io.graphs",
    "to_networkx": "dgraph.io.graphs",
    "to_scipy": "dgraph.io.graphs",
    "uniform": "dgraph.io.graphs",
    "write_edges": "dgraph.io.graphs",
    "capacities": "dgraph.estimates.calibration",
    "daemons_for": "dgraph.partition.balance",
    "Checkpoint": "dgraph.checkpoint.option",
    "explain": "dgraph.codegen.explain",
    "run": "dgraph.runs.execution",
    "dot": "dgraph.functions",
    "AND": "dgraph.monoid",
    "CHOOSE": "dgraph.monoid",
    "H_INDEX": "dgraph.monoid",
    "MAX": "dgraph.monoid",
    "MIN": "dgraph.monoid",
    "MOST_FREQUENT": "dgraph.monoid",
    "Monoid": "dgraph.monoid",
    "NONE": "dgraph.monoid",
    "OR": "dgraph.monoid",
    "PRODUCT": "dgraph.monoid",
    "SUM": "dgraph.monoid",
    "UNREACHED": "dgraph.monoid",
    "Delta": "dgraph.program",
    "EdgeColumn": "dgraph.program",
    "Global": "dgraph.program",
    "Message": "dgraph.program",
    "Parameter": "dgraph.program",
    "Phase": "dgraph.program",
    "Result": "dgraph.program",
    "State": "dgraph.program",
    "VertexColumn": "dgraph.program",
    "VertexProgram": "dgraph.program",
    "vertex": "dgraph.program",
    "bfs": "dgraph.ops.bfs",
    "cdlp": "dgraph.ops.cdlp",
    "core_number": "dgraph.ops.core_number",
    "degrees": "dgraph.ops.degrees",
    "factorize": "dgraph.ops.factorize",
    "hits": "dgraph.ops.hits",
    "k_core": "dgraph.ops.k_core",
    "katz": "dgraph.ops.katz",
    "label_propagation": "dgraph.ops.label_propagation",
    "lcc": "dgraph.ops.lcc",
    "matching": "dgraph.ops.matching",
    "pagerank": "dgraph.ops.pagerank",
    "sssp": "dgraph.ops.sssp",
    "triangles": "dgraph.ops.triangles",
    "wcc": "dgraph.ops.wcc",
}

__all__ = ["__version__", *_HOME]
# those that take any graph; `factorize` is for ratings of items by users
OPERATIONS = tuple(name for name, home in _HOME.items() if home.startswith("dgraph.ops.") and name != "factorize")

if TYPE_CHECKING:
    from dgraph import errors
    from dgraph.building.saved import open_graph
    from dgraph.checkpoint.option import Checkpoint
    from dgraph.codegen.explain import explain
    from dgraph.estimates.calibration import capacities
    from dgraph.functions import dot
    from dgraph.graph import Graph
    from dgraph.io.graphs import (
        bipartite,
        from_igraph,
        from_networkx,
        from_scipy,
        grid,
        ratings,
        read_edges,
        rmat,
        to_igraph,
        to_networkx,
        to_scipy,
        uniform,
        write_edges,
    )
    from dgraph.monoid import AND, CHOOSE, H_INDEX, MAX, MIN, MOST_FREQUENT, NONE, OR, PRODUCT, SUM, UNREACHED, Monoid
    from dgraph.ops.bfs import bfs
    from dgraph.ops.cdlp import cdlp
    from dgraph.ops.core_number import core_number
    from dgraph.ops.degrees import degrees
    from dgraph.ops.factorize import factorize
    from dgraph.ops.hits import hits
    from dgraph.ops.k_core import k_core
    from dgraph.ops.katz import katz
    from dgraph.ops.label_propagation import label_propagation
    from dgraph.ops.lcc import lcc
    from dgraph.ops.matching import matching
    from dgraph.ops.pagerank import pagerank
    from dgraph.ops.sssp import sssp
    from dgraph.ops.triangles import triangles
    from dgraph.ops.wcc import wcc
    from dgraph.partition.balance import daemons_for
    from dgraph.partition.policies import Policy
    from dgraph.program import (
        Delta,
        EdgeColumn,
        Global,
        Message,
        Parameter,
        Phase,
        Result,
        State,
        VertexColumn,
        VertexProgram,
        vertex,
    )
    from dgraph.runs.execution import run


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'dgraph' has no attribute {name!r}")
    module = import_module(_HOME[name])
    value = module if _HOME[name] == f"dgraph.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
