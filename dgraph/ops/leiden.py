"""Leiden: well connected communities (Traag, Waltman, van Eck 2019)."""

from __future__ import annotations

from typing import Any, Literal

from dgraph.communities.detection import CommunityResult, detect, detection
from dgraph.graph import Graph
from dgraph.keywords import CheckpointLike, ProgressLike
from dgraph.runs.operation import operation


@operation
def leiden(
    graph: Graph,
    *,
    resolution: float = 1.0,
    objective: str = "modularity",
    weighted: bool = False,
    max_levels: int = 20,
    tol: float = 1e-4,
    random_seed: int = 0,
    previous: Any = None,
    deterministic: bool = False,
    engine: Literal["auto", "local"] = "auto",
    device: Literal["auto", "cpu"] = "auto",
    checkpoint: CheckpointLike = None,
    progress: ProgressLike = None,
) -> CommunityResult:
    """Leiden communities: groups of vertices with many more edges inside than expected by chance.

    Each community is connected. Vertices move to the community that raises the quality most; then each community is
    divided into well connected parts, which become the vertices of the next level. Each iteration starts from the
    communities that the last one found; the search ends when an iteration raises the quality by no more than 1 %.
    Without an earlier division, the first iteration takes communities whole, as Louvain does.

    Parameters
    ----------
    graph : Graph
        The graph. Repeated edges add up. Modularity takes directions into account (Leicht and Newman).
    resolution : float, default 1.0
        Resolution of the division: a larger value gives more and smaller communities.
    objective : {"modularity", "cpm"}, default "modularity"
        The quality to raise: modularity, or that of the constant Potts model (CPM), for which `resolution` is the
        density that the edges of a community must exceed.
    weighted : bool, default False
        Use the graph's weights, which must be finite and >= 0. An edge of weight 0 does not connect.
    max_levels : int, default 20
        Maximum number of levels per iteration.
    tol : float, default 1e-4
        Convergence tolerance: stop moving the vertices of a level once a pass over them raises the quality by less than
        this. With ``objective="cpm"``, this is a share of the weight of all edges.
    random_seed : int, default 0
        Seed of the random number generator. It determines the order in which vertices move.
    previous : RunResult, str, mapping, Series, frame or array, optional
        An earlier division to start from, perhaps of a graph with other vertices. Its communities are named by vertex
        ids. A community keeps the name of the earlier one with which it shares the most vertices, and each name is used
        once.
    deterministic : bool, default False
        Find the same communities for the same seed on any number of threads, partitions and workers. The search then
        uses one thread of one worker, which gathers all edges. Otherwise, two runs may find different communities of
        about the same quality.
    engine : {"auto", "local"}, default "auto"
        No other engine applies.
    device : {"auto", "cpu"}, default "auto"
        The kernels run only on the CPU.
    checkpoint : path, URL or Checkpoint, optional
        Where to save the state of the search after each level, so that the same call resumes from there. With
        ``every=None``, it is saved only after a level that ends at least `seconds` after the last checkpoint. Without a
        path, nothing is saved.
    progress : bool or callable, optional
        Whether to show progress, or a function that receives a dict of counts after a level (a superstep). The levels
        that one worker of a cluster finds by itself are not shown. By default progress is shown on a terminal and in
        notebooks.

    Returns
    -------
    CommunityResult
        One row per vertex: ``vertex`` and ``community``. A community is named by its smallest vertex, unless it keeps a
        name from `previous`. The quality is ``totals["modularity"]`` or ``totals["cpm"]``, and ``levels`` has the
        communities of each level.

    Raises
    ------
    OptionError
        If an option has a value that is not allowed.
    ColumnError
        If ``weighted=True`` and the graph has no weights.
    WeightError
        If a weight is negative or infinite.
    RoomError
        If there is not enough memory, on the workers or in this process.
    StorageError
        If a checkpoint cannot be written or read.

    Examples
    --------
    >>> G = dg.Graph.from_edges({"src": [0, 1, 2, 2, 3, 4, 5], "dst": [1, 2, 0, 3, 4, 5, 3]}, directed=False)
    >>> dg.leiden(G).compute()["community"].tolist()
    [0, 0, 0, 3, 3, 3]
    """
    options = {"engine": engine, "device": device, "random_seed": random_seed, "deterministic": deterministic}
    job = detection(graph, "leiden", resolution, objective, weighted, max_levels, tol, options)
    return detect(graph, job, previous, checkpoint, progress)
