"""A coloring on threads: outside of bipartite components, a vertex takes the smallest color that none of its earlier
neighbours has."""

from __future__ import annotations

import math

import numpy as np
from numba import uint64

from dgraph.native.machine_code import inlined, scalar_part
from dgraph.native.team import ONE, STOP, atomic_add, atomic_load, barrier, compare_and_swap, kernel, share, team
from dgraph.solvers.random_order import GRAIN, LOTS, Aside, both_sides, degree_of, draw_lots, neighbour_at
from dgraph.solvers.solver import Problem, Solution
from dgraph.solvers.subgraphs.cores import distinct_degrees
from dgraph.solvers.subgraphs.sides import NEITHER

UNCOLORED = -1
CURSOR, EDGES = 0, 16  # positions in `tally`, each on a separate cache line


def color_vertices(problem: Problem) -> Solution:
    """Solver of `coloring`. Vertices on a side of a bipartite component have it as their color."""
    side, edges = problem.columns["side"], 0
    colors = side.astype(np.int32)
    colors[side == NEITHER] = UNCOLORED
    if (side == NEITHER).any():
        edges = _color_others(problem, colors)
    totals = {"colors": int(colors.max(initial=UNCOLORED)) + 1}
    return Solution({"color": colors.astype(np.int64)}, 1, edges, totals)


def _color_others(problem: Problem, colors: np.ndarray) -> int:
    """Color the vertices without a color, and return how many edges were read. A vertex of color c has c earlier
    neighbours, which have at least as many neighbours as it has, and that is at least c: so c * c is at most the number
    of arcs."""
    first, second = both_sides(problem)
    n, threads, tally = problem.vertices, problem.threads, np.zeros(32, np.int64)
    degrees = distinct_degrees(problem.edges.senders("both"), n, threads)
    lots, turns = np.empty(n, np.uint32), np.empty(n, np.int64)
    aside = Aside.of(threads, n)
    marks = np.zeros((threads, math.isqrt(int(degrees.sum(dtype=np.int64))) + 2), np.uint32)
    seed = problem.values["random_seed"]
    team(_color, threads, first, second, degrees, lots, turns, colors, marks, aside, tally, seed)
    return int(tally[EDGES])


@kernel
def _color(rank, size, signals, first, second, degrees, lots, turns, colors, marks, aside, tally, random_seed):
    draw_lots(rank, size, lots, random_seed)
    n = lots.size
    begin, end = share(rank, size, n)
    for u in range(uint64(begin), uint64(end)):
        turns[u] = (n - degrees[u]) * LOTS + lots[u]
    barrier(size, signals)
    mark, vertices, places = marks[rank], aside.vertices[rank], aside.places[rank]
    seen = uint64(0)
    while atomic_load(signals, STOP) == 0:
        grain = uint64(atomic_add(tally, CURSOR, GRAIN))
        if grain >= uint64(n):
            break
        for v in range(grain, min(grain + uint64(GRAIN), uint64(n))):
            while colors[v] == UNCOLORED:
                seen += _color_one(v, first, second, turns, colors, mark, vertices, places)
    atomic_add(tally, EDGES, seen)


@scalar_part
def _color_one(v, first, second, turns, colors, mark, vertices, places):
    """Color a vertex, and before it the earlier neighbours that have no color yet, and theirs. Returns the number of
    edges read.

    A later neighbour that has a color got it after this vertex did, from another thread. So if this vertex has none
    when it gets the one found here, only earlier neighbours were marked."""
    depth, seen = uint64(0), uint64(0)
    vertices[depth], places[depth] = v, 0
    while True:
        u, begin = uint64(vertices[depth]), places[depth]
        place, before = _mark_colors(u, begin, first, second, turns, colors, mark)
        if before != u:
            places[depth] = place
            depth = depth + ONE if depth + ONE < uint64(vertices.size) else uint64(0)
            vertices[depth], places[depth] = before, 0
            continue
        seen += place
        if begin > uint64(0):  # others have used the marks since the first edges were read
            _mark_colors(u, uint64(0), first, second, turns, colors, mark)
        smallest = 0
        while mark[smallest] == u + ONE:
            smallest += 1
        compare_and_swap(colors, u, UNCOLORED, smallest)
        if depth == uint64(0):
            return seen
        depth -= ONE


@inlined
def _mark_colors(u, place, first, second, turns, colors, mark):
    """Mark the colors of neighbours from a place on, up to an earlier one without a color. Returns its place and it, or
    the number of edges and u."""
    degree = degree_of(u, first, second)
    while place < degree:
        x = neighbour_at(place, u, first, second)
        found = colors[x]
        if found != UNCOLORED:
            mark[found] = u + ONE
        elif turns[x] < turns[u] or (turns[x] == turns[u] and x < u):
            return place, x
        place += ONE
    return place, u
