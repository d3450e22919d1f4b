"""The public names: what type checkers see, and where `__init__.py` finds each one when it is first used. The order is
that of listings; `OPERATIONS` are the names that `ops/` has for any graph, `ALL_OPERATIONS` also that for ratings."""

# graphs: from frames, files, generators and other libraries, and back
from dgraph.graph import Graph as Graph
from dgraph.io.graphs import (
    open_graph as open_graph,
    read_edges as read_edges,
    write_edges as write_edges,
    compact as compact,
)
from dgraph.io.library_graphs import (
    from_networkx as from_networkx,
    from_igraph as from_igraph,
    from_scipy as from_scipy,
    to_networkx as to_networkx,
    to_igraph as to_igraph,
    to_scipy as to_scipy,
)
from dgraph.io.format_options import Text as Text, Parquet as Parquet
from dgraph.io.generated_graphs import (
    rmat as rmat,
    uniform as uniform,
    grid as grid,
    ratings as ratings,
    bipartite as bipartite,
)

# algorithms
from dgraph.ops.pagerank import pagerank as pagerank
from dgraph.ops.fast_rp import fast_rp as fast_rp
from dgraph.ops.harmonic import harmonic as harmonic
from dgraph.ops.hits import hits as hits
from dgraph.ops.katz import katz as katz
from dgraph.ops.eccentricity import eccentricity as eccentricity
from dgraph.ops.eigenvector import eigenvector as eigenvector
from dgraph.ops.betweenness import betweenness as betweenness
from dgraph.ops.degrees import degrees as degrees
from dgraph.ops.closeness import closeness as closeness
from dgraph.ops.degree_centrality import degree_centrality as degree_centrality
from dgraph.ops.bfs import bfs as bfs
from dgraph.ops.sssp import sssp as sssp
from dgraph.ops.wcc import wcc as wcc
from dgraph.ops.scc import scc as scc
from dgraph.ops.k_core import k_core as k_core, core_number as core_number
from dgraph.ops.triangles import triangles as triangles
from dgraph.ops.lcc import lcc as lcc
from dgraph.ops.leiden import leiden as leiden
from dgraph.ops.louvain import louvain as louvain
from dgraph.ops.label_propagation import label_propagation as label_propagation
from dgraph.ops.cdlp import cdlp as cdlp
from dgraph.ops.matching import matching as matching
from dgraph.ops.maximal_independent_set import maximal_independent_set as maximal_independent_set
from dgraph.ops.coloring import coloring as coloring
from dgraph.ops.topological_generations import topological_generations as topological_generations
from dgraph.ops.factorize import factorize as factorize
from dgraph.factors.fit_options import Gradient as Gradient, HeldOut as HeldOut, LeastSquares as LeastSquares

# numbers that describe a graph
from dgraph.measures.cycles import find_cycle as find_cycle, is_dag as is_dag
from dgraph.measures.diameter import diameter as diameter, radius as radius
from dgraph.measures.shortest_path import shortest_path as shortest_path

from dgraph.measures.neighborhood import neighborhood_function as neighborhood_function
from dgraph.measures.similarity import similarity as similarity
from dgraph.measures.summary import summary as summary
from dgraph.measures.triads import triad_census as triad_census

# communities: how good a division is, and the graph of communities; dense subgraphs
from dgraph.communities.quality import modularity as modularity, partition_quality as partition_quality
from dgraph.communities.coarsening import coarsen as coarsen
from dgraph.communities.trusses import k_truss as k_truss, truss_number as truss_number

# graphs cut out of graphs
from dgraph.subgraphs.subgraph import subgraph as subgraph
from dgraph.subgraphs.ego import ego as ego
from dgraph.subgraphs.largest_component import largest_component as largest_component
from dgraph.subgraphs.reverse import reverse as reverse
from dgraph.subgraphs.simplify import simplify as simplify
from dgraph.subgraphs.filter_edges import filter_edges as filter_edges

# walks, and samples of neighbourhoods
from dgraph.walks.random_walks import random_walks as random_walks
from dgraph.walks.sample_neighbors import sample_neighbors as sample_neighbors

# trees and cuts
from dgraph.trees.cuts import (
    articulation_points as articulation_points,
    biconnected_components as biconnected_components,
    bridges as bridges,
)
from dgraph.trees.spanning_forest import spanning_forest as spanning_forest

# your own programs: their parts, their generated kernels, and how to run them
from dgraph.programs.program import (
    VertexProgram as VertexProgram,
    State as State,
    Delta as Delta,
    Message as Message,
    Parameter as Parameter,
    EdgeColumn as EdgeColumn,
    VertexColumn as VertexColumn,
    Global as Global,
    Result as Result,
    Phase as Phase,
    vertex as vertex,
)
from dgraph.programs.monoid import (
    MIN as MIN,
    MAX as MAX,
    SUM as SUM,
    PRODUCT as PRODUCT,
    AND as AND,
    OR as OR,
    Monoid as Monoid,
    MOST_FREQUENT as MOST_FREQUENT,
    HEAVIEST as HEAVIEST,
    CHOOSE as CHOOSE,
    H_INDEX as H_INDEX,
    NONE as NONE,
    UNREACHED as UNREACHED,
)
from dgraph.programs.syntax import dot as dot, total as total
from dgraph.runs.explanations import explain as explain
from dgraph.runs.execution import run as run
from dgraph.options import (
    Gas as Gas,
    Bsp as Bsp,
    BulkAsync as BulkAsync,
    BlockDescent as BlockDescent,
    Optimizations as Optimizations,
    Cuda as Cuda,
    Daemons as Daemons,
    Checkpoint as Checkpoint,
)

# where and how to run: policies, workers of unequal speed, lost workers
from dgraph.partition.policies import Policy as Policy
from dgraph.cluster.calibration import capacities as capacities
from dgraph.partition.balance import daemons_for as daemons_for
from dgraph import errors as errors
from dgraph.programs import laws as laws, reference as reference

__version__: str
OPERATIONS: tuple[str, ...]
ALL_OPERATIONS: tuple[str, ...]
