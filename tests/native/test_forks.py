"""A process forked from one that has run something runs, too: none of the threads it knows of are there."""

import multiprocessing
import subprocess
import sys

WORK = """
import multiprocessing, numpy as np, dgraph as dg

def components(parts):
    ends = np.random.default_rng(1).integers(0, 1 << 40, (2, 1 << 16))  # so many are numbered by several threads
    return len(dg.wcc(dg.Graph.from_edges({"src": ends[0], "dst": ends[1]}, parts=parts)).compute())

here = [components(parts) for parts in (1, 3)]
with multiprocessing.get_context("fork").Pool(1) as pool:
    assert pool.map(components, (1, 3)) == here
"""


def test_a_forked_process_has_threads_of_its_own():
    assert "fork" in multiprocessing.get_all_start_methods()
    subprocess.run([sys.executable, "-W", "ignore", "-c", WORK], check=True)
