"""dgraph: graph algorithms on Dask.

Public names are imported on first use, so that `import dgraph` itself is almost free.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.10.0"

_NAMES = {
    # graphs: from frames, files, generators and other libraries, and back
    "dgraph.graph": "Graph",
    "dgraph.io.graphs": "open_graph read_edges write_edges",
    "dgraph.io.library_graphs": "from_networkx from_igraph from_scipy to_networkx to_igraph to_scipy",
    "dgraph.io.format_options": "Text Parquet",
    "dgraph.io.generated_graphs": "rmat uniform grid ratings bipartite",
    # algorithms
    "dgraph.ops.pagerank": "pagerank",
    "dgraph.ops.hits": "hits",
    "dgraph.ops.katz": "katz",
    "dgraph.ops.degrees": "degrees",
    "dgraph.ops.bfs": "bfs",
    "dgraph.ops.sssp": "sssp",
    "dgraph.ops.wcc": "wcc",
    "dgraph.ops.scc": "scc",
    "dgraph.ops.k_core": "k_core core_number",
    "dgraph.ops.triangles": "triangles",
    "dgraph.ops.lcc": "lcc",
    "dgraph.ops.leiden": "leiden",
    "dgraph.ops.louvain": "louvain",
    "dgraph.ops.label_propagation": "label_propagation",
    "dgraph.ops.cdlp": "cdlp",
    "dgraph.ops.matching": "matching",
    "dgraph.ops.factorize": "factorize",
    # communities: how good a division is, and the graph of communities; dense subgraphs
    "dgraph.communities.quality": "modularity partition_quality",
    "dgraph.communities.coarsening": "coarsen",
    "dgraph.communities.trusses": "k_truss truss_number",
    # your own programs: their parts, their generated kernels, and how to run them
    "dgraph.programs.program": "VertexProgram State Delta Message Parameter EdgeColumn VertexColumn "
    "Global Result Phase vertex",
    "dgraph.programs.monoid": "MIN MAX SUM PRODUCT AND OR Monoid MOST_FREQUENT HEAVIEST CHOOSE H_INDEX NONE UNREACHED",
    "dgraph.programs.syntax": "dot",
    "dgraph.runs.explanations": "explain",
    "dgraph.runs.execution": "run",
    "dgraph.options": "Gas Bsp BulkAsync BlockDescent Optimizations Cuda Daemons Checkpoint",
    # where and how to run: policies, workers of unequal speed, lost workers
    "dgraph.partition.policies": "Policy",
    "dgraph.cluster.calibration": "capacities",
    "dgraph.partition.balance": "daemons_for",
    "dgraph": "errors",
    "dgraph.programs": "laws reference",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = ["__version__", *_HOME]
# operations that take any graph; `factorize` takes ratings of items by users
OPERATIONS = tuple(name for name, home in _HOME.items() if home.startswith("dgraph.ops.") and name != "factorize")

if TYPE_CHECKING:  # type checkers consider only `name as name` public
    from dgraph import errors as errors
    from dgraph.programs import laws as laws
    from dgraph.programs import reference as reference
    from dgraph.cluster.calibration import capacities as capacities
    from dgraph.communities.coarsening import coarsen as coarsen
    from dgraph.communities.quality import modularity as modularity, partition_quality as partition_quality
    from dgraph.communities.trusses import k_truss as k_truss
    from dgraph.communities.trusses import truss_number as truss_number
    from dgraph.runs.explanations import explain as explain
    from dgraph.graph import Graph as Graph
    from dgraph.io.format_options import Parquet as Parquet, Text as Text
    from dgraph.io.generated_graphs import (
        bipartite as bipartite,
        grid as grid,
        ratings as ratings,
        rmat as rmat,
        uniform as uniform,
    )
    from dgraph.io.graphs import open_graph as open_graph, read_edges as read_edges, write_edges as write_edges
    from dgraph.io.library_graphs import (
        from_igraph as from_igraph,
        from_networkx as from_networkx,
        from_scipy as from_scipy,
        to_igraph as to_igraph,
        to_networkx as to_networkx,
        to_scipy as to_scipy,
    )
    from dgraph.programs.monoid import (
        AND as AND,
        CHOOSE as CHOOSE,
        H_INDEX as H_INDEX,
        HEAVIEST as HEAVIEST,
        MAX as MAX,
        MIN as MIN,
        MOST_FREQUENT as MOST_FREQUENT,
        NONE as NONE,
        OR as OR,
        PRODUCT as PRODUCT,
        SUM as SUM,
        UNREACHED as UNREACHED,
        Monoid as Monoid,
    )
    from dgraph.ops.bfs import bfs as bfs
    from dgraph.ops.cdlp import cdlp as cdlp
    from dgraph.ops.degrees import degrees as degrees
    from dgraph.ops.factorize import factorize as factorize
    from dgraph.ops.hits import hits as hits
    from dgraph.ops.k_core import core_number as core_number, k_core as k_core
    from dgraph.ops.katz import katz as katz
    from dgraph.ops.label_propagation import label_propagation as label_propagation
    from dgraph.ops.lcc import lcc as lcc
    from dgraph.ops.leiden import leiden as leiden
    from dgraph.ops.louvain import louvain as louvain
    from dgraph.ops.matching import matching as matching
    from dgraph.ops.pagerank import pagerank as pagerank
    from dgraph.ops.scc import scc as scc
    from dgraph.ops.sssp import sssp as sssp
    from dgraph.ops.triangles import triangles as triangles
    from dgraph.ops.wcc import wcc as wcc
    from dgraph.partition.balance import daemons_for as daemons_for
    from dgraph.partition.policies import Policy as Policy
    from dgraph.programs.program import (
        Delta as Delta,
        EdgeColumn as EdgeColumn,
        Global as Global,
        Message as Message,
        Parameter as Parameter,
        Phase as Phase,
        Result as Result,
        State as State,
        VertexColumn as VertexColumn,
        VertexProgram as VertexProgram,
        vertex as vertex,
    )
    from dgraph.runs.execution import run as run
    from dgraph.options import (
        BlockDescent as BlockDescent,
        Bsp as Bsp,
        BulkAsync as BulkAsync,
        Checkpoint as Checkpoint,
        Cuda as Cuda,
        Daemons as Daemons,
        Gas as Gas,
        Optimizations as Optimizations,
    )
    from dgraph.programs.syntax import dot as dot


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        from dgraph.phrases.suggestions import suggestion

        said = "" if name.startswith("_") else suggestion(name, [*__all__, "Graph.from_edges"], operations=True)
        raise AttributeError(f"module 'dgraph' has no attribute {name!r}{said and f'; {said}'}")
    from dgraph.native.garbage import defer_collection  # imported here to keep `import dgraph` cheap

    home = _HOME[name]
    with defer_collection():
        is_module = home in ("dgraph", "dgraph.programs")
        value = import_module(f"{home}.{name}") if is_module else getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
