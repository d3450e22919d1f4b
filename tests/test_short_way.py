"""The way of `dg.pagerank(G).compute()` from the public function to the compiled kernel is short, and is the one that
docs/how_it_works.md tells."""

import re
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

from distributed import Client, LocalCluster

import dgraph as dg

PACKAGE = Path(dg.__file__).parent
HOW_IT_WORKS = (Path(__file__).parents[1] / "docs" / "how_it_works.md").read_text()
KERNEL = "codegen/compiler.py", "run_rows"  # calls a compiled kernel of a program
HERE, CLUSTER = "## One partition, in this process", "## On a Dask cluster, in rounds"


class Way:
    """The modules of dgraph that are entered, in the order in which they are, and how deep its calls nest in each
    thread. Comprehensions and lambdas do not count."""

    def __init__(self):
        self.modules, self.calls, self.depths = [], 0, {}
        self.by_thread, self.with_kernels = {}, set()  # the modules of each thread, and the threads that run kernels
        self.to_the_kernel = set()  # the modules of a thread until its last kernel, and of others until any

    @property
    def rooms(self):
        return {module.partition("/")[0] for module in self.modules if "/" in module}

    def note(self, frame, event, argument):
        if event != "call" or (module := module_of(frame)) is None:
            return
        if module.startswith("dashboard/"):  # what the live page is told beside the run, which nobody waits for
            return
        if module not in self.modules:
            self.modules.append(module)
        thread = threading.current_thread()
        self.by_thread.setdefault(thread, set()).add(module)
        if (module, frame.f_code.co_name) == KERNEL:
            self.with_kernels.add(thread)
            for other in self.by_thread.keys() - self.with_kernels | {thread}:
                self.to_the_kernel |= self.by_thread[other]
        self.calls += frame.f_code.co_name[0] != "<"
        depth = 0
        while frame is not None:
            depth += module_of(frame) is not None and frame.f_code.co_name[0] != "<"
            frame = frame.f_back
        who = "client" if thread is threading.main_thread() else "worker"
        self.depths[who] = max(self.depths.get(who, 0), depth)

    def until(self, module):
        return self.modules[: self.modules.index(module) + 1]

    def __repr__(self):
        return f"{len(self.modules)} modules, {self.calls} calls, {self.depths} deep: {' '.join(self.modules)}"


def module_of(frame):
    path = Path(frame.f_code.co_filename)
    return path.relative_to(PACKAGE).as_posix() if path.is_relative_to(PACKAGE) else None


@contextmanager
def traced(way):
    """Every thread that starts in the body is traced as well."""
    before = sys.getprofile()
    threading.setprofile(way.note)
    sys.setprofile(way.note)
    try:
        yield
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


def told_in(heading):
    """The folders that a section of the page names."""
    section = HOW_IT_WORKS[HOW_IT_WORKS.index(heading) + len(heading) :].partition("\n## ")[0]
    return set(re.findall(r"`(\w+)/`", section))


def test_few_modules_are_entered_in_this_process():
    graph = dg.rmat(scale=8, edge_factor=8, seed=1)
    dg.pagerank(graph).compute()  # builds the partition, and compiles
    way = Way()
    with traced(way):
        dg.pagerank(graph).compute()
    assert len(way.until("native/team.py")) <= 12, way
    assert len(way.modules) <= 23 and way.calls <= 165 and way.depths["client"] <= 12, way
    assert way.rooms - {"programs", "cluster", "tables"} <= told_in(HERE), way


def test_few_modules_are_entered_on_a_cluster():
    way, tracing = Way(), threading.Event()

    def note(frame, event, argument):
        if tracing.is_set():
            way.note(frame, event, argument)

    threading.setprofile(note)  # threads of scheduler and workers start now
    try:
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
            Client(cluster),
        ):
            graph = dg.rmat(scale=8, edge_factor=8, seed=1)
            dg.pagerank(graph).compute()
            tracing.set()
            sys.setprofile(note)
            dg.pagerank(graph)
            sys.setprofile(None)
            tracing.clear()
    finally:
        threading.setprofile(None)
    assert len(way.to_the_kernel) <= 38, way
    assert way.depths["client"] <= 14 and way.depths["worker"] <= 18, way
    assert way.rooms >= {"runs", "supersteps", "engines", "vertex_state", "devices", "exchange"}, way
