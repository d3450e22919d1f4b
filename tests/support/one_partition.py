"""Kernels driven over one partition, as an engine would: what `PartitionState` does, without partitions and threads."""

from itertools import pairwise

import numpy as np

from dgraph.codegen.bounds import compute_bounds, is_bounded
from dgraph.codegen.compiler import load
from dgraph.codegen.kernel_source import arrays_of, generate
from dgraph.codegen.recipe import recipe_of
from dgraph.programs.analysis import analyse
from dgraph.programs.kernel_names import before_name, by_name, field_name, inbox_name, phase_name, sent_name
from dgraph.programs.program import Delta
from dgraph.programs.random_draws import word_of_round

RANGES = 2  # ranges of rows that each kernel is called on


class OnePartition:
    """A run over a graph given as edges between vertex numbers, in the manner of `reference.run`."""

    def __init__(self, program, edges, vertices, columns=None, vertex_columns=None, *, directed=True, random_seed=0):
        self.program, self.analysis, self.kernels = program, analyse(program), load(generate(program))
        self.n, self.round, self.edges_seen, self.random_seed = vertices, 0, 0, random_seed
        self.graphs = adjacencies(edges, vertices, columns or {}, directed, self.analysis)
        self.arrays = {
            "vertices": vertices,
            "number": np.arange(vertices),
            **{field_name(name): value for name, value in program.values.items()},
        }
        for argument in arrays_of(self.analysis).values():
            if argument.name not in self.arrays and argument.dims:
                shape = (vertices,) if argument.dims == 1 else (vertices, program.vector_length)
                self.arrays[argument.name] = np.zeros(shape, argument.dtype)
        for state in self.analysis.states:
            self.arrays[field_name(state.name)][:] = state.start
        for column in self.analysis.vertex_columns:
            self.arrays[field_name(column.name)][:] = (vertex_columns or {}).get(column.name, column.missing)
        for phase in self.analysis.phases:
            for message in phase.messages:
                self.arrays[inbox_name(phase, message)][:] = message.identity
                self.arrays[sent_name(phase, message)][:] = message.identity
        self.frontier = self.senders = np.empty(0, np.uint32)
        self.prepare_round(self.analysis.phases[0])
        if "begin" in self.kernels:
            self.rows("begin", vertices)
        if "first" in self.kernels:
            self.round = 1
            self.frontier = self.listed("first", vertices)
            self.round = 0
        self.fold()

    def prepare_round(self, phase):
        """Take the edges along which a phase sends."""
        out, incoming = self.graphs[phase.along]
        self.arrays["degree"] = np.diff(out["indptr"])
        largest = int(np.diff(incoming["indptr"]).max(initial=0))
        self.arrays |= {"slots": np.zeros(largest + 1, np.int64)}
        self.arrays |= {name: np.zeros(4 * largest + 4, np.int64) for name in ("keys", "counts")}
        return out, incoming

    @property
    def now(self):
        """What kernels read of the round."""
        return {"round": self.round, "round_word": word_of_round(self.random_seed, self.round)}

    def rows(self, name, n, **more):
        """Run a kernel over n rows in ranges."""
        bounds = np.linspace(0, n, RANGES + 1).astype(int)
        values = {**self.arrays, **self.now, **more}
        return [self.kernels[name].run_rows(lo, hi, values) for lo, hi in pairwise(bounds)]

    def listed(self, name, n, **more):
        """Run a kernel that lists vertices; returns the list."""
        queue = np.zeros(max(n, 1), np.uint32)
        counts = self.rows(name, n, queue=queue, **more)
        starts = np.linspace(0, n, RANGES + 1).astype(int)
        return np.concatenate([queue[lo : lo + int(k or 0)] for lo, k in zip(starts, counts, strict=False)])

    def fold(self, name="fold"):
        """Compute global values."""
        if name in self.kernels:
            names = self.analysis.globals_each_round
            if name == "conclude":
                names = [n for n in self.analysis.globals if n not in names]
            parts = self.rows(name, self.n)
            for i, own in enumerate(names):
                merge = self.analysis.globals[own][0].merge.merge
                self.arrays[field_name(own)] = merge(parts[0][i], parts[1][i])

    def keep_before(self):
        """Copy the fields that global values compare."""
        for name in self.analysis.before:
            self.arrays[before_name(name)][:] = self.arrays[field_name(name)]

    def stop(self):
        """Whether the program says so."""
        return recipe_of(self.program).should_stop({**self.arrays, **self.now, **by_name(self.arrays)})

    def run(self, direction="push"):
        """All rounds."""
        return self.run_synchronous() if self.analysis.synchronous else self.run_accumulative(direction)

    def run_accumulative(self, direction):
        """Rounds of those that have a message."""
        (phase,) = self.analysis.phases
        out, incoming = self.prepare_round(phase)
        while len(self.frontier):
            self.round += 1
            self.keep_before()
            self.senders = self.listed("fire", len(self.frontier), frontier=self.frontier)
            self.fold()
            if self.stop():
                break
            self.round += 1  # messages belong to the round in which they are applied
            if direction == "push":
                queue = np.zeros(self.n, np.uint32)
                values = {
                    **self.arrays,
                    **out,
                    **self.now,
                    "senders": self.senders,
                    "queue": queue,
                    "queued": 0,
                }
                queued = self.kernels["push"].run_rows(0, len(self.senders), values)
                self.frontier = queue[: int(queued)].copy()
            else:
                self.arrays["sending"][:] = False
                self.arrays["sending"][self.senders] = True
                best = compute_bounds(phase, self.arrays, self.senders) if is_bounded(phase) else {}
                self.rows("pull", self.n, **incoming, **best)
                self.frontier = np.flatnonzero(self.arrays["arrived"]).astype(np.uint32)
            self.round -= 1
            if phase.hoisted and not phase.idempotent:
                for message in phase.messages:
                    self.arrays[sent_name(phase, message)][self.senders] = message.identity
        return self.results()

    def run_synchronous(self):
        """Rounds of all vertices."""
        done = False
        while not done:
            changed = 0
            for phase in self.analysis.phases:
                _, incoming = self.prepare_round(phase)
                self.round += 1
                self.keep_before()
                if phase.hoisted:
                    self.rows(phase_name(phase, "emit"), self.n)
                if phase.skips_silent:
                    self.rows(phase_name(phase, "mark"), self.n)
                self.rows(phase_name(phase, "pull"), self.n, **incoming)
                changed += sum(map(int, self.rows(phase_name(phase, "fire"), self.n)))
                self.fold()
            done = self.stop() if self.analysis.stop else changed == 0
        return self.results()

    def results(self):
        """The columns of the answer."""
        self.fold("conclude")
        if not self.analysis.results:
            return {s.name: self.arrays[field_name(s.name)] for s in self.analysis.states if not isinstance(s, Delta)}
        self.rows("finish", self.n)
        return {name: self.arrays[f"result_{name}"] for name in self.analysis.results}


def adjacencies(edges, vertices, columns, directed, analysis):
    """For each way along the edges: rows of out-edges and rows of in-edges."""
    source, destination = np.array(list(edges), np.int64).reshape(-1, 2).T
    columns = {c.name: np.asarray(columns[c.name]).astype(c.dtype) for c in analysis.edge_columns}
    index = np.arange(len(source))
    if not directed:
        proper = np.flatnonzero(source != destination)
        pairs = (source, destination), (destination, source), (index, index)
        source, destination, index = (np.concatenate([first, second[proper]]) for first, second in pairs)
    ordinals = 2 * places(source, destination, [values[index] for values in columns.values()])
    ways = {"out": (source, destination, index, ordinals), "in": (destination, source, index, ordinals + 1)}
    ways["both"] = tuple(np.concatenate(pair) for pair in zip(*ways.values(), strict=True))
    if not directed:
        ways = dict.fromkeys(ways, ways["out"])
    return {
        way: (rows(u, v, e, o, vertices, columns), rows(v, u, e, o, vertices, columns))
        for way, (u, v, e, o) in ways.items()
    }


def places(source, destination, columns):
    """The place of each edge among its repeats, which are in the order of their columns."""
    keys = list(zip(source.tolist(), destination.tolist(), *(values.tolist() for values in columns), strict=True))
    order = sorted(range(len(keys)), key=keys.__getitem__)
    found = np.zeros(len(keys), np.int64)
    for place, e in enumerate(order):
        found[e] = sum(keys[other][:2] == keys[e][:2] for other in order[:place])
    return found


def rows(u, v, e, ordinals, vertices, columns):
    """Neighbours and columns, row after row."""
    order = np.argsort(u, kind="stable")
    indptr = np.zeros(vertices + 1, np.int64)
    np.cumsum(np.bincount(u, minlength=vertices), out=indptr[1:])
    return {
        "indptr": indptr,
        "neighbours": v[order].astype(np.uint32),
        "ordinal": ordinals[order].astype(np.uint32),
        **{field_name(name): values[e[order]] for name, values in columns.items()},
    }
