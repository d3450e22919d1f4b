"""Verifiers: they accept what other libraries find, and refuse every small corruption of it."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.sparse.csgraph import dijkstra

import dgraph as dg
from dgraph.errors import OptionError
from dgraph.testing.verify import OPERATIONS, AnswerError, Edges, verify

N = 60


class Case:
    """A random graph with loops, repeats, isolated vertices and no way out of some, in three shapes."""

    def __init__(self, directed):
        rng = np.random.default_rng(7)
        u, v = rng.integers(0, N - 5, (2, 170))
        w = rng.integers(0, 4, 170).astype(float)  # some are 0
        self.edges = Edges(u, v, N, directed, w)
        self.directed = directed
        self.multi = (nx.MultiDiGraph if directed else nx.MultiGraph)()
        self.multi.add_nodes_from(range(N))
        self.multi.add_weighted_edges_from(zip(u.tolist(), v.tolist(), w.tolist(), strict=True))
        self.simple = nx.Graph(self.multi)
        self.simple.remove_edges_from(list(nx.selfloop_edges(self.simple)))
        self.source = int(u[0])

    def by_number(self, values):
        return np.array([values[v] for v in range(N)])

    def bfs(self):
        distance = nx.single_source_shortest_path_length(self.multi, self.source)
        distance = np.array([distance.get(v, np.inf) for v in range(N)])
        return {"distance": distance, "predecessor": self.smallest(distance, 1)}, {"source": self.source}

    def sssp(self):
        best = nx.single_source_dijkstra_path_length(self.multi, self.source)
        distance = np.array([best.get(v, np.inf) for v in range(N)])
        before = nx.dijkstra_predecessor_and_distance(self.multi, self.source)[0]
        reached = np.isfinite(distance) & (np.arange(N) != self.source)
        predecessor = np.array([before[v][0] if reached[v] else -1 for v in range(N)])
        return {"distance": distance, "predecessor": predecessor}, {"source": self.source, "ties": "any"}

    def smallest(self, distance, length):
        predecessor = np.full(N, -1)
        for u, v in zip(*self.edges.arcs[:2], strict=True):
            if np.isfinite(distance[v]) and distance[u] + length == distance[v]:
                predecessor[v] = u if predecessor[v] < 0 else min(u, predecessor[v])
        return predecessor

    def wcc(self, directed=nx.weakly_connected_components):
        parts = (directed if self.directed else nx.connected_components)(self.multi)
        return {"component": self.by_number({v: min(part) for part in parts for v in part})}, {}

    def scc(self):
        return self.wcc(nx.strongly_connected_components)

    def pagerank(self):
        return {"pagerank": self.by_number(nx.pagerank(self.counted(), tol=1e-12, max_iter=500))}, {"tol": 1e-10}

    def counted(self):
        """Repeated edges as one, with their number as its weight; networkx counts an undirected loop once, as we do."""
        graph = (nx.DiGraph if self.directed else nx.Graph)()
        graph.add_nodes_from(range(N))
        for u, v in self.multi.edges():
            graph.add_edge(u, v, weight=graph.get_edge_data(u, v, {"weight": 0})["weight"] + 1)
        return graph

    def cdlp(self):
        votes = {v: [] for v in range(N)}
        for u, v in zip(*self.edges.arcs[:2], strict=True):
            votes[v].append(u)
            if self.directed:
                votes[u].append(v)
        label = np.arange(N)
        for _ in range(4):
            heard = {v: pd.Series(label[near]).mode()[0] for v, near in votes.items() if near}
            label = np.array([heard.get(v, label[v]) for v in range(N)])
        return {"label": label}, {"max_iter": 4}

    def label_propagation(self):
        label = np.arange(N)
        graph = nx.MultiGraph(self.multi.edges()) if self.directed else self.multi
        changed = True
        while changed:
            changed = False
            for v in graph:
                near = label[[w for a, w in graph.edges(v)] + [v] * (self.directed and graph.number_of_edges(v, v))]
                counts = np.bincount(near, minlength=N) if len(near) else np.zeros(N)
                if counts[label[v]] < counts.max():
                    label[v], changed = counts.argmax(), True
        return {"label": label}, {}

    def louvain(self):
        graph = self.counted()
        found = nx.community.louvain_communities(graph, weight="weight", seed=1)
        return {"community": self.by_number({v: min(one) for one in found for v in one})}, {}

    def leiden(self):
        answer, options = self.louvain()
        community, graph = answer["community"], nx.Graph(self.multi)
        for label in set(community.tolist()):
            for piece in nx.connected_components(graph.subgraph(np.flatnonzero(community == label).tolist())):
                community[list(piece)] = min(piece)
        return answer, options

    def triangles(self):
        return {"triangles": self.by_number(nx.triangles(self.simple))}, {}

    def lcc(self):
        if not self.directed:
            return {"lcc": self.by_number(nx.clustering(self.simple))}, {}
        graph = nx.DiGraph(self.multi)
        graph.remove_edges_from(list(nx.selfloop_edges(graph)))
        found = np.zeros(N)
        for v, near in self.simple.adjacency():
            if len(near) > 1:
                found[v] = graph.subgraph(near).number_of_edges() / (len(near) * (len(near) - 1))
        return {"lcc": found}, {}

    def core_number(self):
        return {"core": self.by_number(nx.core_number(self.simple))}, {}

    def k_core(self):
        return {"in_core": self.by_number(nx.core_number(self.simple)) >= 3}, {"k": 3}

    def matching(self):
        mate = np.full(N, -1)
        for u, v in nx.maximal_matching(self.simple):
            mate[u], mate[v] = v, u
        return {"mate": mate}, {}

    def maximal_independent_set(self):
        chosen = nx.maximal_independent_set(self.simple, seed=4)
        return {"in_set": np.isin(np.arange(N), chosen)}, {}

    def coloring(self):
        return {"color": self.by_number(nx.greedy_color(self.simple, strategy="largest_first"))}, {}

    def topological_generations(self):
        """Of the same edges without loops, directed to the larger vertex, because the graph has cycles."""
        apart = self.edges.source != self.edges.destination
        ends = np.sort([self.edges.source[apart], self.edges.destination[apart]], axis=0)
        self.edges = Edges(*ends, N)
        graph = nx.DiGraph(list(zip(*ends.tolist(), strict=True)))
        graph.add_nodes_from(range(N))
        found = enumerate(nx.topological_generations(graph))
        return {"generation": self.by_number({v: number for number, one in found for v in one})}, {}

    def hits(self):
        hub, authority = nx.hits(self.counted(), tol=1e-14, max_iter=1000)
        return {"hub": self.by_number(hub), "authority": self.by_number(authority)}, {}

    def katz(self):
        graph = self.counted()
        return {"katz": self.by_number(nx.katz_centrality(graph, alpha=0.05, tol=1e-12, weight="weight"))}, {
            "alpha": 0.05
        }

    def eigenvector(self):
        scores = nx.eigenvector_centrality(self.counted(), tol=1e-13, max_iter=100_000, weight="weight")
        return {"eigenvector": self.by_number(scores)}, {}

    def betweenness(self):
        """By the number of paths between every two vertices: powers of the matrix of edges, as NetworkX has no
        repeated edges."""
        step = np.zeros((N, N))
        np.add.at(step, self.edges.arcs[:2], 1)
        np.fill_diagonal(step, 0)
        power, length, paths = np.eye(N), np.where(np.eye(N), 0, np.inf), np.eye(N)
        for k in range(1, N):
            power = power @ step
            new = (power > 0) & np.isinf(length)
            length[new], paths[new] = k, power[new]
        total = np.zeros(N)
        for v in range(N):
            through = length[:, [v]] + length[[v], :] == length
            through &= np.isfinite(length)
            through[v] = through[:, v] = False
            np.fill_diagonal(through, False)
            total[v] = (paths[:, [v]] * paths[[v], :] / np.where(through, paths, np.inf)).sum()
        return {"betweenness": total / ((N - 1) * (N - 2))}, {}

    def closeness(self):
        return {"closeness": self.by_number(nx.closeness_centrality(self.multi))}, {}

    def harmonic(self):
        return {"harmonic": self.by_number(nx.harmonic_centrality(self.multi))}, {}

    def fast_rp(self):
        """The first number of each vector, from a dense matrix; the random vectors are those of another run."""
        frame = {"src": self.edges.source, "dst": self.edges.destination}
        graph = dg.Graph.from_edges(frame, vertices=N, directed=self.directed)
        drawn = dg.fast_rp(graph, dimensions=1, weights=[1], random_seed=3).by_number("embedding")
        step = np.zeros((N, N))
        np.add.at(step, self.edges.arcs[:2], 1)
        step /= np.maximum(step.sum(axis=1, keepdims=True), 1)
        return {"embedding": np.round(step @ drawn + step @ step @ drawn, 3)[:, 0]}, {
            "weights": [0, 1, 1],
            "random_seed": 3,
            "rtol": 1e-3,
        }

    def eccentricity(self):
        """Of the largest component, or all would be infinite."""
        parts = (nx.strongly_connected_components if self.directed else nx.connected_components)(self.multi)
        found = nx.eccentricity(self.multi.subgraph(max(parts, key=len)))
        return {"eccentricity": self.by_number({v: float(found.get(v, np.nan)) for v in range(N)})}, {
            "components": "largest"
        }

    def degree_centrality(self):
        answer, options = self.degrees()
        return {f"{name}_centrality": values / (N - 1) for name, values in answer.items()}, options

    def degrees(self):
        u, v, _ = self.edges.arcs
        into, out = (np.bincount(end, minlength=N) for end in (v, u))
        return {"in_degree": into, "out_degree": out, "degree": into + out if self.directed else out}, {}


@pytest.fixture(params=[True, False], ids=["directed", "undirected"])
def case(request):
    return Case(request.param)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_right_answers_pass_and_corrupted_ones_do_not(case, operation):
    """Each value of each column in turn is made a little larger, and another vertex's."""
    answer, options = getattr(case, operation)()
    verify(operation, case.edges, answer, **options)
    refused, with_others = 0, {v for v in range(N) if case.simple.degree(v)}
    for name, values in answer.items():
        for v in range(N):
            one_more = values[v] + 1 if values.dtype != bool else not values[v]
            for other in (
                (N + v,) if operation in ("label_propagation", "leiden", "louvain") else (one_more, values[(v + 1) % N])
            ):
                same = other == values[v] or (pd.isna(other) and pd.isna(values[v]))
                if same or (operation == "label_propagation" and v not in with_others):
                    continue
                wrong = values.copy()
                wrong[v] = other
                if operation == "sssp" and name == "predecessor" and tied(case, answer, v, other):
                    continue
                with pytest.raises(AnswerError):
                    verify(operation, case.edges, {**answer, name: wrong}, **options)
                refused += 1
        with pytest.raises(AnswerError, match="values for"):
            verify(operation, case.edges, {**answer, name: values[:-1]}, **options)
    assert refused >= 20


def tied(case, answer, v, other):
    """Whether another predecessor is as good: an edge of a shortest path from a vertex that is nearer, or as near."""
    distance = answer["distance"]
    u, ends, w = case.edges.arcs
    return bool(((u == other) & (ends == v) & (distance[u] + w == distance[v]) & np.isfinite(distance[v])).any())


@pytest.mark.parametrize(
    ("operation", "wrong", "words"),
    [
        ("wcc", {"component": np.array([0, 0, 0, 0, 4])}, "joins|components"),
        ("wcc", {"component": np.array([0, 0, 2, 2, 4])}, "joins"),
        ("wcc", {"component": np.array([1, 1, 1, 3, 3])}, "not a smaller"),
        ("scc", {"component": np.array([0, 0, 2, 3, 4])}, "vertex 1: component 0, not that of 1"),
        ("bfs", {"distance": np.array([0, 1, 3, np.inf, np.inf])}, "edge 1 -> 2"),
        ("bfs", {"distance": np.array([0, 1, 2, np.inf, 3])}, "no path has length 3"),
        ("bfs", {"distance": np.array([0, 1, 2, 5, 6])}, "no path has length"),
        ("bfs", {"distance": np.array([0, 1, 2, np.inf, -np.inf])}, "distance is -inf"),
        ("bfs", {"distance": np.array([0, 1, 2, np.inf, np.nan])}, "distance is nan"),
        ("bfs", {"predecessor": np.array([-1, 0, 1, 4, 3])}, "do not lead to the source"),
        ("bfs", {"predecessor": np.array([-1, 0, 0, -1, -1])}, "vertex|edge"),
        ("matching", {"mate": np.array([1, 0, -1, -1, -1])}, "neither end"),
        ("matching", {"mate": np.array([2, -1, 0, 4, 3])}, "no edge joins"),
        ("maximal_independent_set", {"in_set": np.array([0, 0, 1, 1, 0])}, "vertex 0: neither it nor a neighbour"),
        ("maximal_independent_set", {"in_set": np.array([1, 0, 1, 1, 1])}, "edge 3 - 4: both ends"),
        ("coloring", {"color": np.array([0, 1, 0, 1, 1])}, "edge 3 - 4: both ends have color 1"),
        ("coloring", {"color": np.array([0, 2, 0, 0, 1])}, "vertex 1: no neighbour has color 1"),
        ("coloring", {"color": np.array([0, 1, 0, -1, 0])}, "vertex 3: color -1"),
        ("topological_generations", {"generation": np.array([0, 1, 1, 0, 1])}, "edge 1 -> 2: generation 1 to 1"),
        ("topological_generations", {"generation": np.array([0, 1, 3, 0, 1])}, "vertex 2: generation 3, but"),
        ("label_propagation", {"label": np.array([0, 0, 7, 3, 3])}, "neighbours have its label"),
        ("louvain", {"community": np.array([1, 1, 1, 3, 3])}, "smallest vertex 0"),
        ("louvain", {"community": np.array([0, 1, 2, 3, 4])}, "below"),
        ("leiden", {"community": np.array([0, 0, 0, 0, 0])}, "no path inside community 0"),
        ("core_number", {"core": np.array([0, 0, 0, 1, 1])}, "in a higher one"),
        ("core_number", {"core": np.array([2, 2, 2, 1, 1])}, "neighbours in cores as high"),
        ("triangles", {"total": 1}, "no column"),
    ],
)
def test_wrong_answers_are_refused_with_the_reason(operation, wrong, words):
    """A path of three vertices and one of two."""
    edges = Edges(np.array([0, 1, 3]), np.array([1, 2, 4]), 5)
    options = {"source": 0} if operation == "bfs" else {}
    with pytest.raises(AnswerError, match=words):
        verify(operation, edges, wrong, **options)


def test_cycles_of_length_zero_do_not_prove_a_distance():
    edges = Edges(np.array([0, 1, 2]), np.array([3, 2, 1]), 4, weight=np.array([1.0, 0, 0]))
    right = {"distance": np.array([0, np.inf, np.inf, 1]), "predecessor": np.array([-1, -1, -1, 0])}
    verify("sssp", edges, right, source=0)
    wrong = {"distance": np.array([0, 5.0, 5, 1]), "predecessor": np.array([-1, 2, 1, 0])}
    with pytest.raises(AnswerError, match="no path has length 5"):
        verify("sssp", edges, wrong, source=0)
    reached = Edges(np.array([0, 1, 2]), np.array([1, 2, 1]), 3, weight=np.array([5.0, 0, 0]))
    circle = {"distance": np.array([0.0, 5, 5]), "predecessor": np.array([-1, 2, 1])}
    with pytest.raises(AnswerError):
        verify("sssp", reached, circle, source=0)


def test_verifiers_support_the_options_of_benchmarks(case):
    """What benchmarks ask for: PageRank of fixed rounds, several sources, float32, totals, names of any kind."""
    edges, graph = case.edges, case.counted()
    rank = np.full(N, 1 / N)
    share = nx.to_numpy_array(graph, nodelist=range(N))
    out = share.sum(axis=1)
    for _ in range(7):
        rank = 0.85 * (rank / np.where(out, out, np.inf)) @ share + (0.15 + 0.85 * rank[out == 0].sum()) / N
    verify("pagerank", edges, {"pagerank": rank}, rounds=7)
    verify("pagerank", edges, {"pagerank": rank.astype(np.float32)}, rounds=7, rtol=1e-5)
    lost = {"rounds": 7, "dangling": "none"}
    for other in (lost, {"rounds": 8}, {"rounds": 7, "alpha": 0.8}, {"tol": 1e-12}, {"rounds": 7, "weighted": True}):
        with pytest.raises(AnswerError):
            verify("pagerank", edges, {"pagerank": rank}, **other)
    verify("pagerank", edges, {"pagerank": rank}, rounds=7, dangling="uniform")
    there = np.eye(N)[3]
    ranked = nx.pagerank(graph, personalization={3: 1, 4: 1}, dangling={3: 1}, tol=1e-13, max_iter=500)
    halves = (np.eye(N)[3] + np.eye(N)[4]) / 2
    ranked = {"pagerank": case.by_number(ranked)}
    verify("pagerank", edges, ranked, personalization=halves, dangling=there, tol=1e-11)
    with pytest.raises(AnswerError, match="one more round"):
        verify("pagerank", edges, ranked, personalization=there, dangling=there, tol=1e-11)
    matrix = np.full((N, N), np.inf)
    np.minimum.at(matrix, edges.arcs[:2], edges.arcs[2] + 1)
    sources = np.array([1, 5])
    nearest = dijkstra(np.where(np.isinf(matrix), 0, matrix), indices=sources, min_only=True)
    longer = Edges(edges.source, edges.destination, N, case.directed, edges.weight + 1)
    verify("sssp", longer, {"distance": nearest}, source=sources)
    verify("sssp", longer, {"distance": (nearest * 1.0000001).astype(np.float32)}, source=sources, rtol=1e-5)
    component = case.wcc()[0]["component"]
    verify("wcc", edges, {"component": component + 1000}, names="any")
    with pytest.raises(AnswerError, match="components"):
        verify("wcc", edges, {"component": np.zeros(N)}, names="any")
    through = case.triangles()[0]["triangles"]
    function = OPERATIONS["triangles"][0]
    function(edges, total=int(through.sum()) // 3)
    function(edges, triangles=through, total=int(through.sum()) // 3, sample=40)
    more = {"triangles": through + 1, "sample": 9}
    for wrong in ({"total": 1}, more, {"triangles": through, "total": 1, "sample": 9}):
        with pytest.raises(AnswerError):
            function(edges, **wrong)


@pytest.mark.parametrize("directed", [True, False])
def test_graphs_and_results_of_dgraph_are_accepted(directed):
    """Ids are strings, numbers are positions in their order; results and frames are both taken."""
    rng = np.random.default_rng(3)
    names = np.array([f"v{i:02}" for i in rng.permutation(40)])
    frame = pd.DataFrame({"src": names[rng.integers(0, 40, 90)], "dst": names[rng.integers(0, 40, 90)], "w": 1.0})
    graph = dg.Graph.from_edges(frame, weight="w", directed=directed, parts=2)
    source = frame["src"][0]
    answers = {
        "pagerank": (dg.pagerank(graph, max_iter=9, tol=0), {"rounds": 9}),
        "bfs": (dg.bfs(graph, source), {"source": source}),
        "sssp": (dg.sssp(graph, source), {"source": source}),
        "wcc": (dg.wcc(graph), {}),
        "cdlp": (dg.cdlp(graph), {}),
        "k_core": (dg.k_core(graph, 2), {"k": 2}),
    }
    for operation, (result, options) in answers.items():
        verify(operation, graph, result, **options)
        verify(operation, graph, result.compute().sample(frac=1, random_state=1), **options)
    wrong = dg.bfs(graph, source).compute()
    wrong.loc[wrong["vertex"] == source, "distance"] = 1
    with pytest.raises(AnswerError, match="source"):
        verify("bfs", graph, wrong, source=source)


def test_what_has_no_verifier_is_refused():
    edges = Edges(np.array([0]), np.array([1]), 2)
    with pytest.raises(OptionError, match="'colour'"):
        verify("colour", edges, {})


def test_hubs_of_a_weaker_component_are_refused():
    """Each part of a graph has hubs and authorities of its own; the answer is those that grow most."""
    edges = Edges(np.array([0, 0, 0, 4]), np.array([1, 2, 3, 5]), 6)
    right = {"hub": np.array([1.0, 0, 0, 0, 0, 0]), "authority": np.array([0, 1, 1, 1, 0, 0]) / 3}
    verify("hits", edges, right)
    with pytest.raises(AnswerError, match="do not belong to the largest eigenvalue"):
        verify("hits", edges, {"hub": np.eye(6)[4], "authority": np.eye(6)[5]})
