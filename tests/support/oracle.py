"""What the edges of a graph must be, in plain Python, and what every set of partitions must satisfy."""

from collections import Counter

import numpy as np
import pandas as pd

MERGE = {"first": lambda values: values[0], "sum": sum, "min": min, "max": max}


def listed(frame, source="src", destination="dst", weight="weight"):
    """The rows of a pandas frame as (source, destination, weight); without weights the third is None."""
    weights = frame[weight].tolist() if weight in frame else [None] * len(frame)
    return list(zip(frame[source].tolist(), frame[destination].tolist(), weights, strict=True))


def edges_of(rows, *, directed=True, loops="keep", repeats="keep", symmetrize=False):
    """The edges of the graph, each in the direction in which it was first listed."""
    edges = [edge for edge in rows if loops == "keep" or edge[0] != edge[1]]
    if symmetrize:
        edges += [(v, u, w) for u, v, w in edges if u != v]
    if repeats == "keep":
        return edges
    groups = {}
    for u, v, w in edges:
        groups.setdefault((u, v) if directed else frozenset((u, v)), []).append((u, v, w))
    return [(*same[0][:2], MERGE[repeats]([w for _, _, w in same])) for same in groups.values()]


def arcs_of(edges, directed):
    """What engines walk along: an undirected edge is two arcs, a self loop always one."""
    return edges if directed else edges + [(v, u, w) for u, v, w in edges if u != v]


# -- partitions --------------------------------------------------------------------------------------------------------


def collect(partitions):
    """Partitions as objects, whether futures of a cluster or already here."""
    return [one.result() if hasattr(one, "result") else one for one in partitions]


def owners(partitions):
    """The owner of every vertex by number; each must be owned once, in ascending order, with its id."""
    sizes = [one.num_owned for one in partitions]
    owner = np.full(sum(sizes), -1)
    for one in partitions:
        mine = one.numbers[: one.num_owned]
        assert (np.diff(mine.astype(np.int64)) > 0).all()
        assert (owner[mine] == -1).all()
        owner[mine] = one.index
        assert len(one.ids) == one.num_owned
    return owner


def numbered_arcs(partition, weight=None, side="out"):
    """The arcs of a partition by number, as a multiset."""
    found = getattr(partition, side)
    rows, others = partition.numbers[found.rows()].tolist(), partition.numbers[found.neighbours].tolist()
    ends = (rows, others) if side == "out" else (others, rows)
    weights = found.columns[weight].tolist() if weight else [None] * found.num_edges
    return Counter(zip(*ends, weights, strict=True))


def user_ids(graph):
    """The user's id of every number."""
    return list(graph.numbering.id_type.restore(graph.numbering.ids()))


def by_id(arcs, ids):
    """A multiset of arcs by number, with the user's ids in their place."""
    out = Counter()
    for (u, v, w), count in arcs.items():
        out[ids[u], ids[v], w] += count
    return out


def check_adjacency(adjacency, num_local):
    assert len(adjacency.indptr) == num_local + 1
    assert adjacency.indptr[0] == 0
    assert adjacency.indptr[-1] == adjacency.num_edges
    assert (np.diff(adjacency.indptr) >= 0).all()
    assert adjacency.neighbours.dtype == np.uint32
    assert (adjacency.neighbours < num_local).all()
    assert all(len(column) == adjacency.num_edges for column in adjacency.columns.values())


def check_proxies(partitions, owner):
    """Proxies are exactly the copies that the edges call for, grouped by owner, and owners know them in that order."""
    for one in partitions:
        has_out = np.zeros(one.num_local, bool)
        has_in = np.zeros(one.num_local, bool)
        has_out[one.out.rows()] = True
        has_in[one.out.neighbours] = True
        seen = np.zeros(one.num_local, int)
        for peer in partitions:
            reduced, broadcast = one.proxies.copies("in", peer.index), one.proxies.copies("out", peer.index)
            for chosen, kind, masters in (
                (reduced, has_in, peer.proxies.originals("in", one.index)),
                (broadcast, has_out, peer.proxies.originals("out", one.index)),
            ):
                assert kind[chosen].all()
                assert (owner[one.numbers[chosen]] == peer.index).all()
                assert (masters < peer.num_owned).all()
                np.testing.assert_array_equal(one.numbers[chosen], peer.numbers[masters])
            if peer is one:
                assert reduced.start == reduced.stop and broadcast.start == broadcast.stop
            seen[reduced] += has_in[reduced]
            seen[broadcast] += has_out[broadcast]
        proxy = np.arange(one.num_local) >= one.num_owned
        np.testing.assert_array_equal(seen, np.where(proxy, has_in.astype(int) + has_out, 0))
        assert (has_in | has_out)[proxy].all()
        assert len(np.unique(one.numbers)) == one.num_local


def check_places(policy, partitions, owner, in_degree, high):
    """Every arc is where the rule of the policy puts it, and the proxies are as the rule promises."""
    columns = max(c for c in range(1, len(partitions) + 1) if c * c <= len(partitions) and len(partitions) % c == 0)
    place = {
        0: lambda u, v: owner[u],
        1: lambda u, v: owner[v],
        2: lambda u, v: owner[u] // columns * columns + owner[v] % columns,
        3: lambda u, v: owner[u] if in_degree[v] > high else owner[v],
    }[policy.rule]
    for one in partitions:
        assert all(place(u, v) == one.index for u, v, _ in numbered_arcs(one))
        for peer in range(len(partitions)):
            if policy.rule == 0:
                assert len(one.proxies.originals("out", peer)) == 0
            if policy.rule == 1:
                assert len(one.proxies.originals("in", peer)) == 0


def check_graph(graph, edges, *, vertices=(), weight=None, high=100):
    """All of the above: partitions hold the arcs of `edges`, and the vertices that these or the user name."""
    partitions = collect(graph.partitioned(("out", "incoming"), [weight] if weight else []))
    ids = user_ids(graph)
    named = {end for u, v, _ in edges for end in (u, v)} | set(vertices)
    assert ids == sorted(named)
    assert graph.num_vertices == len(ids)
    assert graph.num_edges == len(edges)
    owner = owners(partitions)
    assert len(owner) == len(ids)
    found = Counter()
    for part, one in enumerate(partitions):
        assert (one.index, one.parts) == (part, len(partitions))
        restored = graph.numbering.id_type.restore(one.ids)
        assert list(restored) == [ids[number] for number in one.numbers[: one.num_owned]]
        for side in (one.out, one.incoming):
            check_adjacency(side, one.num_local)
        arcs = numbered_arcs(one, weight)
        assert arcs == numbered_arcs(one, weight, "incoming")
        found += arcs
    expected = Counter(arcs_of(edges, graph.directed))
    if weight is None:
        expected = Counter((u, v, None) for u, v, _ in expected.elements())
    assert by_id(found, ids) == expected
    check_proxies(partitions, owner)
    in_degree = Counter(v for _, v, _ in found.elements())
    if graph.cut.edges is None:
        check_places(graph.cut, partitions, owner, in_degree, high)
    return partitions


def frame_with_ids(kind, edges=300, vertices=40):
    """A frame of weighted edges whose ids are dense, sparse or strings."""
    draw = np.random.default_rng(8)
    ends = draw.integers(0, vertices, (edges, 2))
    names = {
        "dense": np.arange(vertices),
        "sparse": np.sort(draw.integers(-(2**62), 2**62, vertices)),
        "string": np.array([f"v{k:02}" for k in range(vertices)], object),
    }[kind]
    weights = draw.integers(1, 9, edges).astype(float)
    return pd.DataFrame({"src": names[ends[:, 0]], "dst": names[ends[:, 1]], "weight": weights})
