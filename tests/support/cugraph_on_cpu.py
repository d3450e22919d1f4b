"""`pylibcugraph` and the little of `cupy` that it takes, computed by NetworkX: with the signatures, the checks and the
conventions of pylibcugraph 26.10, as `test_stand_ins.py` finds. Arrays cannot be read but by `get()`."""

from types import ModuleType, SimpleNamespace

import networkx as nx
import numpy as np


class Array:
    """An array on a device that is not there."""

    def __init__(self, values):
        self._values = np.array(values)
        self.dtype = self._values.dtype

    def __len__(self):
        return len(self._values)

    def __array__(self, *_, **__):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    @property
    def __cuda_array_interface__(self):
        return {"shape": self._values.shape, "typestr": self.dtype.str, "data": (1, False), "version": 3}

    def get(self):
        return self._values.copy()


def of_device(array, optional=False):
    if not (optional and array is None) and not hasattr(array, "__cuda_array_interface__"):
        raise TypeError(f"{type(array)} does not support __cuda_array_interface__")
    return array


class ResourceHandle:
    def __init__(self, handle=None):
        self.handle = handle


class GraphProperties:
    def __init__(self, is_symmetric=False, is_multigraph=False):
        self.is_symmetric, self.is_multigraph = is_symmetric, is_multigraph


class SGGraph:
    def __init__(
        self,
        resource_handle,
        graph_properties,
        src_or_offset_array,
        dst_or_index_array,
        weight_array=None,
        store_transposed=False,
        renumber=False,
        do_expensive_check=False,
        edge_id_array=None,
        edge_type_array=None,
        edge_start_time_array=None,
        edge_end_time_array=None,
        input_array_format="COO",
        vertices_array=None,
        drop_self_loops=False,
        drop_multi_edges=False,
        symmetrize=False,
    ):
        assert isinstance(resource_handle, ResourceHandle) and input_array_format == "COO" and not symmetrize
        arrays = [of_device(array) for array in (src_or_offset_array, dst_or_index_array, vertices_array)]
        assert len({array.dtype for array in arrays}) == 1 and arrays[0].dtype in (np.int32, np.int64)
        sources, destinations, vertices = (array.get() for array in arrays)
        of_device(weight_array, optional=True)
        self.score = np.dtype(np.float32) if weight_array is None else weight_array.dtype
        weights = np.ones(len(sources), self.score) if weight_array is None else weight_array.get()
        kept = sources != destinations if drop_self_loops else np.ones(len(sources), bool)
        if drop_multi_edges:
            first = np.unique(np.stack([sources, destinations]), axis=1, return_index=True)[1]
            kept &= np.isin(np.arange(len(sources)), first)
        arcs = list(zip(sources[kept].tolist(), destinations[kept].tolist(), strict=True))
        if graph_properties.is_symmetric:
            assert sorted(arcs) == sorted((v, u) for u, v in arcs), "it is not symmetric"
        assert graph_properties.is_multigraph or len(set(arcs)) == len(arcs), "it has repeated edges"
        self.properties, self.transposed, self.vertices = graph_properties, store_transposed, vertices
        self.sources, self.destinations, self.weights = sources[kept], destinations[kept], weights[kept]
        self.nx = nx.MultiDiGraph()
        self.nx.add_nodes_from(vertices.tolist())
        self.nx.add_weighted_edges_from((u, v, w) for (u, v), w in zip(arcs, self.weights.tolist(), strict=True))

    def told(self, *columns):
        """Vertices in no order, and what was found of them."""
        order = np.random.default_rng(len(self.vertices)).permutation(len(self.vertices))
        return tuple(Array(np.asarray(column)[order]) for column in (self.vertices, *columns))

    def gathered(self, values, *, weighted=True):
        found = np.zeros(len(self.vertices), self.score)
        np.add.at(found, self.destinations, values[self.sources] * (self.weights if weighted else 1))
        return found

    def simple(self):
        assert self.properties.is_symmetric and not self.properties.is_multigraph
        found = nx.Graph(self.nx)
        found.remove_edges_from(list(nx.selfloop_edges(found)))
        return found


def pagerank(
    resource_handle,
    graph,
    precomputed_vertex_out_weight_vertices,
    precomputed_vertex_out_weight_sums,
    initial_guess_vertices,
    initial_guess_values,
    alpha,
    epsilon,
    max_iterations,
    do_expensive_check,
    fail_on_nonconvergence=True,
    _jumps=None,
):
    n = len(graph.vertices)
    out = np.zeros(n)
    np.add.at(out, graph.sources, graph.weights)
    jumps, ranks = np.full(n, 1 / n) if _jumps is None else _jumps / _jumps.sum(), np.full(n, 1 / n)
    if initial_guess_vertices is not None:
        ranks = np.zeros(n)
        ranks[of_device(initial_guess_vertices).get()] = of_device(initial_guess_values).get()
    for rounds in range(1, max_iterations + 1):  # noqa: B007
        before = ranks
        lost = ranks[out == 0].sum()
        ranks = alpha * graph.gathered(ranks / np.where(out == 0, 1, out)) + (alpha * lost + 1 - alpha) * jumps
        if np.abs(ranks - before).sum() < epsilon:
            break
    converged = rounds < max_iterations
    if fail_on_nonconvergence and not converged:
        raise RuntimeError("PageRank failed to converge.")
    return (*graph.told(ranks), *([] if fail_on_nonconvergence else [converged]))


def personalized_pagerank(
    resource_handle, graph, *nothing, personalization_vertices=None, personalization_values=None, **options
):
    jumps = np.zeros(len(graph.vertices))
    jumps[of_device(personalization_vertices).get()] = of_device(personalization_values).get()
    return pagerank(resource_handle, graph, *nothing, **options, _jumps=jumps)


def katz_centrality(resource_handle, graph, betas, alpha, beta, epsilon, max_iterations, do_expensive_check):
    scores = np.zeros(len(graph.vertices))
    for _ in range(max_iterations):
        before, scores = scores, alpha * graph.gathered(scores) + beta
        if np.abs(scores - before).sum() < epsilon:
            return graph.told(scores)
    raise RuntimeError("Katz Centrality failed to converge.")


def hits(
    resource_handle,
    graph,
    tol,
    max_iter,
    initial_hubs_guess_vertices,
    initial_hubs_guess_values,
    normalized,
    do_expensive_check,
):
    n = len(graph.vertices)
    hubs = np.full(n, 1 / n)
    for _ in range(max_iter):
        before, authorities, hubs = hubs, graph.gathered(hubs, weighted=False), np.zeros(n)
        np.add.at(hubs, graph.sources, authorities[graph.destinations])
        hubs, authorities = hubs / hubs.max(), authorities / authorities.max()
        if np.abs(hubs - before).sum() < n * tol:
            return graph.told(hubs / hubs.sum(), authorities / authorities.sum())
    raise RuntimeError("HITS failed to converge.")


def bfs(
    handle, graph, sources, direction_optimizing, depth_limit, compute_predecessors, do_expensive_check
):  # the first is called so
    assert graph.properties.is_symmetric or not direction_optimizing
    starts, kind = of_device(sources).get(), graph.sources.dtype
    assert len(set(starts.tolist())) == len(starts) and starts.dtype == kind
    most = np.iinfo(kind).max
    distances, before = (np.full(len(graph.vertices), value, kind) for value in (most, -1))
    distances[starts], level = 0, 0
    while (distances == level).any() and (depth_limit <= 0 or level < depth_limit):
        for u, v in graph.nx.edges():
            if distances[u] == level and distances[v] == most:
                distances[v], before[v] = level + 1, u
        level += 1
    vertices, distances, before = graph.told(distances, before)
    return distances, before, vertices


def sssp(resource_handle, graph, source, cutoff, compute_predecessors, do_expensive_check):
    assert isinstance(source, int) and cutoff == np.inf
    assert (graph.weights >= 0).all()
    reached, paths = nx.single_source_dijkstra(graph.nx, source)
    distances = np.full(len(graph.vertices), np.finfo(graph.score).max, graph.score)
    before = np.full(len(graph.vertices), -1, graph.sources.dtype)
    for vertex, distance in reached.items():
        distances[vertex], before[vertex] = distance, paths[vertex][-2] if len(paths[vertex]) > 1 else -1
    return graph.told(distances, before)


def weakly_connected_components(resource_handle, graph, offsets, indices, weights, labels, do_expensive_check):
    assert graph.properties.is_symmetric and offsets is indices is weights is labels is None
    found = np.zeros(len(graph.vertices), graph.sources.dtype)
    for component in nx.weakly_connected_components(graph.nx):
        found[list(component)] = max(component)  # any will do
    return graph.told(found)


def core_number(resource_handle, graph, degree_type, do_expensive_check):
    return graph.told(list(dict(sorted(nx.core_number(graph.simple()).items())).values()))


def triangle_count(resource_handle, graph, start_list, do_expensive_check):
    assert start_list is None
    return graph.told(list(dict(sorted(nx.triangles(graph.simple()).items())).values()))


def degrees(resource_handle, graph, source_vertices, do_expensive_check):
    n = len(graph.vertices)
    return graph.told(*(np.bincount(ends, minlength=n) for ends in (graph.destinations, graph.sources)))


FUNCTIONS = (pagerank, personalized_pagerank, katz_centrality, hits, bfs, sssp, weakly_connected_components)
FUNCTIONS += (core_number, triangle_count, degrees)


def modules() -> dict[str, ModuleType]:
    """To be put into `sys.modules`."""
    found = {name: ModuleType(name) for name in ("cupy", "pylibcugraph")}
    found["cupy"].asarray = Array
    found["cupy"].get_default_memory_pool = lambda: SimpleNamespace(free_all_blocks=lambda: None)
    for one in (ResourceHandle, GraphProperties, SGGraph, *FUNCTIONS):
        setattr(found["pylibcugraph"], one.__name__, one)
    return found
