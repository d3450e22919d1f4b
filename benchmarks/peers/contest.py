"""Contests of all libraries on one operation and one graph: trials in turn, verification, and the resulting claims."""

from __future__ import annotations

from collections.abc import Callable

from harness import Claim

from dgraph.testing.verify import AnswerError, verify
from dgraph.testing.verify.communities import quality as modularity
from dgraph.testing.verify.triangles import triangles
from peers.peer import Lacks, NotRun, Peer, TooLong, Trial
from peers.workloads import Workload

TITLES = {
    "pagerank": "PageRank, 20 rounds",
    "bfs": "BFS",
    "sssp": "SSSP",
    "wcc": "WCC",
    "scc": "SCC",
    "triangles": "triangles",
    "label_propagation": "label propagation",
    "cdlp": "CDLP, 10 rounds",
    "core_number": "core numbers",
    "louvain": "Louvain",
    "leiden": "Leiden",
}
COMMUNITIES = {  # the most that ours may take, relative to the peer
    ("louvain", "NetworKit"): 1 / 2.5,
    ("leiden", "NetworKit"): 1 / 2.5,
    ("leiden", "igraph"): 1 / 8,
    ("leiden", "leidenalg"): 1 / 50,
}
SAME_QUALITY = 0.995  # the least that the quality of our communities may be, relative to the peer's
SAMPLE = 4_000_000  # the number of edges beyond which triangles are verified for a sample of vertices
ROW = 1.5  # the maximum time of any operation on any graph, relative to GAP's
GRAPHX = {"alone": 1 / 50, "workers": 1 / 10, "end to end": 1 / 60}
FLOAT32, DISTANCES = "dgraph float32", "dgraph, distances only"  # our variants that compute no more than GAP does
WORKERS = {"pagerank": 5.6, "bfs": 4.7, "wcc": 14.3, "sssp": 3.9}  # Gemini's two processes, relative to GAP


class Contest:
    """The libraries that run one operation on one graph, in turn."""

    def __init__(self, operation: str, workload: Workload, scale: int, trials: int, slow: float):
        self.operation, self.workload, self.scale = operation, workload, scale  # the scale of the whole run
        self.trials, self.slow = trials, slow
        self.runs: dict[str, Callable[[], Trial]] = {}
        self.seconds: dict[str, list[float]] = {}
        self.left: dict[str, int] = {}  # how many trials are left
        self.warming: set[str] = set()
        self.over: set[str] = set()  # who was stopped, and so takes longer than the recorded seconds
        self.absent: dict[str, str] = {}
        self.lacking: set[str] = set()
        self.loading: dict[str, float | None] = {}
        self.notes: dict[str, str] = {}
        self.memory: dict[str, int] = {}
        self.quality: dict[str, list[float]] = {}

    def enter(self, label: str, peer: Peer, run: Callable[[str, Workload], Trial] | None = None) -> None:
        try:
            self.notes[label] = ""
            self.notes[label] = peer.note(self.operation)
            self.loading[label] = peer.load(self.operation, self.workload)
            self.runs[label] = lambda: (run or peer.trial)(self.operation, self.workload)
            self.left[label] = self.trials + 1
            if peer.warms_up:
                self.warming.add(label)
        except Lacks:
            self.lacking.add(label)
        except NotRun as why:
            self.absent[label] = str(why)

    def hold(self) -> None:
        """Run all trials. The first trial of each does not count, unless it is so slow that a second is pointless."""
        while any(self.left.values()):
            for label in [label for label, trials in self.left.items() if trials]:
                first = self.left[label] == self.trials + 1
                self.left[label] -= 1
                try:
                    done = self.runs[label]()
                    counts = not first or (done.seconds > self.slow and label not in self.warming)
                    if counts:
                        self.verify(done)
                        self._note_quality(label, done)
                except TooLong as limit:
                    self.left[label], self.seconds[label] = 0, [limit.seconds]
                    self.over.add(label)
                except NotRun as why:
                    self._drop(label, str(why))
                except AnswerError as wrong:
                    if label.startswith("dgraph"):
                        raise
                    self._drop(label, f"its answer is wrong: {wrong}")
                else:
                    if first and done.seconds > self.slow:
                        self.left[label] = 0 if counts else 1
                    if counts:
                        self.seconds.setdefault(label, []).append(done.seconds)
                        if done.memory is not None:
                            self.memory[label] = max(done.memory, self.memory.get(label, 0))

    def verify(self, done: Trial) -> None:
        if not done.answer:
            return
        options, edges = {**self.workload.known(self.operation), **done.options}, self.workload.edges
        if "tol" in done.options:  # of PageRank until it converges
            del options["rounds"]
        if self.operation == "triangles" and len(edges.source) > SAMPLE and "triangles" in done.answer:
            options["sample"] = 1000  # all others must then agree on the total
            edges.known["triangles in all"] = int(done.answer["triangles"].sum()) // 3
        if "total" in done.answer:  # of triangles, which is no column of vertices
            triangles(edges, **done.answer)
        else:
            verify(self.operation, edges, done.answer, **options)

    def _note_quality(self, label: str, done: Trial) -> None:
        """Keep the modularity of communities, by its definition."""
        if self.operation in ("louvain", "leiden") and "community" in done.answer:
            found = modularity(self.workload.edges, done.answer["community"], 1.0, "modularity", False)
            self.quality.setdefault(label, []).append(found)

    def _drop(self, label: str, why: str) -> None:
        self.left[label] = 0
        self.seconds.pop(label, None)
        self.absent[label] = why

    def claims(self, peers: list[Peer]) -> None:
        """Record claims that compare ours with each peer."""
        skewed = self.workload.title.startswith("R-MAT")
        for peer in peers:
            graphx, gap = peer.name == "GraphX" and self.operation != "bfs", peer.name.startswith("GAP")
            gemini = peer.name.startswith("Gemini")
            target = GRAPHX["alone"] if graphx else ROW if gap else None if gemini else 1.0
            self._claim("alone", "dgraph", peer, COMMUNITIES.get((self.operation, peer.name), target))
            if "dgraph" in self.quality and peer.name in self.quality:
                self._claim("modularity", "dgraph", peer, None, floor=SAME_QUALITY)
            if gap:
                self._claim("workers", "dgraph, two workers", peer, WORKERS.get(self.operation) if skewed else None)
                if self.operation == "pagerank":
                    self._claim("float32", FLOAT32, peer, 1.0)
                if self.operation == "sssp":
                    self._claim("distances only", DISTANCES, peer, None)
            elif graphx or gemini:
                limit = GRAPHX["workers"] if graphx else 1.0 if "2 processes" in peer.name and skewed else None
                self._claim("workers", "dgraph, two workers", peer, limit)
            if self.loading.get(peer.name) is not None:
                self._claim("end to end", "dgraph end to end", peer, GRAPHX["end to end"] if graphx else 1.0)
                self._claim("build", "dgraph build", peer, None)
            if peer.name in self.memory and "dgraph" in self.memory:
                self._claim("memory", "dgraph", peer, None)
        self._claim("with a frame", "dgraph with compute()", None, None)
        if self.operation in ("louvain", "leiden"):
            self._claim("workers", "dgraph, two workers", None, 4.0)

    def _claim(self, column: str, mine: str, peer: Peer | None, target: float | None, floor: float = 0.0) -> None:
        theirs = "dgraph" if peer is None else peer.name
        if {mine, theirs} & self.lacking or not {mine, theirs} <= self.notes.keys():
            return
        facts = {
            "detail": True,
            "scale": self.scale,
            "graph": self.workload.title,
            "operation": self.operation,
            "title": TITLES[self.operation],
            "column": column,
            "over": theirs in self.over,
            "notes": [self.notes.get(mine, ""), self.notes.get(theirs, "")],
        }
        where = "" if column == "alone" else f", {column}"
        what = f"{TITLES[self.operation]}{where}, {self.workload.title}"
        unit = {"memory": "B", "modularity": ""}.get(column, "s")
        claim = Claim("operations", what, theirs, target, unit=unit, floor=floor, facts=facts)
        missing = self.absent.get(theirs) or self.absent.get(mine)
        if missing or not (self.seconds.get(mine) and self.seconds.get(theirs)):
            claim.absent(missing or "no trial")
            return
        loading = self.loading[theirs] or 0.0
        if column == "memory":
            claim.record([self.memory[mine]], [self.memory[theirs]])
        elif column == "modularity":
            claim.record(self.quality[mine], self.quality[theirs])
        elif column == "build":
            claim.record(self.seconds[mine], [loading])
        else:
            extra = loading if column == "end to end" else 0.0
            claim.record(self.seconds[mine], [extra + one for one in self.seconds[theirs]])
