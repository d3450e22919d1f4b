"""Free memory: the least of what the machine, its control groups and the user leave; and errors that say the sizes."""

import sys

import pandas as pd
import pytest

import dgraph as dg
from dgraph.cluster.tasks import compute_here, task
from dgraph.errors import OptionError, RoomError
from dgraph.io import graphs
from dgraph.native import free_memory as memory

VERSIONS = {
    "0::/jobs/one\n": ("jobs", "jobs/one", "memory.max", "memory.current", "inactive_file"),
    "5:cpu:/\n4:pids,memory:/jobs/one\n": (
        *("memory/jobs", "memory/jobs/one", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ),
}


@pytest.mark.parametrize("membership", VERSIONS)
def test_control_groups_limit_the_free_memory(tmp_path, monkeypatch, membership):
    """Those around the process's own count as well, and cached files make room."""
    outer, inner, limit, usage, cache = VERSIONS[membership]
    (tmp_path / "cgroup").write_text(membership)
    monkeypatch.setattr(memory, "MEMBERSHIP", tmp_path / "cgroup")
    monkeypatch.setattr(memory, "GROUPS", tmp_path / "groups")
    assert memory._control_groups() == sys.maxsize
    for group, most in (outer, "1000000"), (inner, "max"):
        folder = tmp_path / "groups" / group
        folder.mkdir(parents=True)
        (folder / limit).write_text(f"{most}\n")
        (folder / usage).write_text("700000\n")
        (folder / "memory.stat").write_text(f"anon 5\n{cache} 20000\n")
    assert memory._control_groups() == 320_000 == memory.free_memory()
    (tmp_path / "groups" / inner / limit).write_text("710000\n")
    assert memory._control_groups() == 30_000


@pytest.mark.parametrize(("text", "size"), [("3 GiB", 3 << 30), ("2.5g", 5 << 29), ("64MB", 64 << 20), ("1024", 1024)])
def test_users_say_how_much_a_process_may_use(monkeypatch, text, size):
    monkeypatch.setenv(memory.LIMIT, text)
    assert max(0, size - (2 << 30)) <= memory._users_limit() < max(1, size)
    for wrong in "much", "9" * 400:
        monkeypatch.setenv(memory.LIMIT, wrong)
        with pytest.raises(OptionError, match=rf"DGRAPH_MEMORY='{wrong}' must be a number of bytes, such as"):
            memory.free_memory()


@pytest.mark.parametrize(
    "make",
    [
        lambda **more: dg.rmat(scale=40, **more),
        lambda **more: dg.uniform(vertices=1 << 40, edges=10, **more),
        lambda **more: dg.uniform(vertices=10, edges=1 << 45, **more),
        lambda **more: dg.grid(rows=1 << 24, cols=1 << 24, **more),
        lambda **more: dg.bipartite(left=10, right=10, edges=1 << 45, **more),
        lambda **more: dg.ratings(users=10, items=10, ratings=1 << 45, **more),
    ],
)
def test_generators_refuse_what_cannot_be_held(client, make):
    for more in {}, {"client": client}:
        with pytest.raises(RoomError, match=r"generated edges between .* need about .*iB of memory, but only"):
            make(**more)


def test_a_graph_that_cannot_be_held_is_refused_before_it_is_built():
    frame = pd.DataFrame({"src": [0, 1], "dst": [1, 2]})
    graph = dg.Graph.from_edges(frame, vertices=range(1 << 40))
    with pytest.raises(
        RoomError, match=r"a graph of 1,099,511,627,776 vertices and 2 edges in this process need about 16.00 TiB"
    ):
        dg.degrees(graph)


@pytest.mark.parametrize(
    ("ask", "what"), [(lambda G: G.estimate(), "an estimate"), (lambda G: G.vertices.compute(), "the vertices")]
)
def test_estimates_and_frames_say_the_sizes(ask, what):
    graph = dg.Graph.from_edges(pd.DataFrame({"src": [0, 1], "dst": [1, 2]}), vertices=range(1 << 43))
    with pytest.raises(RoomError, match=rf"{what}.*: not enough memory to .* are free: Unable to allocate"):
        ask(graph)


def test_a_file_that_is_larger_than_the_users_limit_is_read_in_blocks(tmp_path, monkeypatch):
    (tmp_path / "edges.csv").write_text("0,1\n1,2\n")
    assert not graphs._is_large(tmp_path / "edges.csv", "text")
    monkeypatch.setenv(memory.LIMIT, "1")
    assert graphs._is_large(tmp_path / "edges.csv", "text")


def test_a_lack_of_memory_in_a_task_says_the_sizes():
    def greedy():
        raise MemoryError("Unable to allocate 9 GiB")

    with pytest.raises(
        RoomError, match=r"not enough memory to build it or to run on it, .* are free: Unable to allocate 9"
    ):
        compute_here([task(greedy)])
