"""dgraph: graph algorithms on Dask.

The public names are loaded when they are first used, so that `import dgraph` itself costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

_NAMES = {
    # a graph: from frames, files, generators and other libraries, and back
    "dgraph.graph": "Graph",
    "dgraph.building.saved": "open_graph",
    "dgraph.io.graphs": "read_edges write_edges from_networkx from_igraph from_scipy to_networkx to_igraph to_scipy",
    "dgraph.io.generated": "rmat uniform grid ratings bipartite",
    # algorithms
    "dgraph.ops.pagerank": "pagerank",
    "dgraph.ops.hits": "hits",
    "dgraph.ops.katz": "katz",
    "dgraph.ops.degrees": "degrees",
    "dgraph.ops.bfs": "bfs",
    "dgraph.ops.sssp": "sssp",
    "dgraph.ops.wcc": "wcc",
    "dgraph.ops.k_core": "k_core",
    "dgraph.ops.core_number": "core_number",
    "dgraph.ops.triangles": "triangles",
    "dgraph.ops.lcc": "lcc",
    "dgraph.ops.label_propagation": "label_propagation",
    "dgraph.ops.cdlp": "cdlp",
    "dgraph.ops.matching": "matching",
    "dgraph.ops.factorize": "factorize",
    # programs of your own: what they are made of, what became of them, and to run them
    "dgraph.program": "VertexProgram State Delta Message Parameter EdgeColumn VertexColumn Global Result Phase vertex",
    "dgraph.monoid": "MIN MAX SUM PRODUCT AND OR Monoid MOST_FREQUENT HEAVIEST CHOOSE H_INDEX NONE UNREACHED",
    "dgraph.functions": "dot",
    "dgraph.codegen.explain": "explain",
    "dgraph.runs.execution": "run",
    # where and how: placing edges, unlike workers, losses
    "dgraph.partition.policies": "Policy",
    "dgraph.estimates.calibration": "capacities",
    "dgraph.partition.balance": "daemons_for",
    "dgraph.checkpoint.option": "Checkpoint",
    "dgraph": "errors",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

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
    from dgraph.io.generated import bipartite, grid, ratings, rmat, uniform
    from dgraph.io.graphs import (
        from_igraph,
        from_networkx,
        from_scipy,
        read_edges,
        to_igraph,
        to_networkx,
        to_scipy,
        write_edges,
    )
    from dgraph.monoid import (
        AND,
        CHOOSE,
        H_INDEX,
        HEAVIEST,
        MAX,
        MIN,
        MOST_FREQUENT,
        NONE,
        OR,
        PRODUCT,
        SUM,
        UNREACHED,
        Monoid,
    )
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
    from dgraph.garbage import put_off  # not before there is something to import

    home = _HOME[name]
    with put_off():
        value = import_module(f"{home}.{name}") if home == "dgraph" else getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
