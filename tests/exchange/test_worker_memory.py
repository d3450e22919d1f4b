"""Freed memory is used again on workers, unless somebody has chosen otherwise."""

import os
import subprocess
import sys

import pytest

from dgraph.exchange.worker_memory import OF_NANNIES, SETTING

PAGES = 100 * 256  # of the arrays below, 4 KB each
FAULTS = """
import resource, sys
from threading import Thread
import numpy as np
from dgraph.exchange.worker_memory import Heap

def faults():
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        arrays = [np.ones(1 << 17) for _ in range(100)]  # they fill a heap of a thread, and more
        found.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
        del arrays

def last():
    thread = Thread(target=faults)
    thread.start()
    thread.join()
    return found[-1]

heap, found = Heap(), []
heap.keep()
kept = last()
heap.give_back()
print(heap.adjustable, kept, last())
"""


def faults(setting: str) -> tuple[str, int, int]:
    """Whether the heap is changed; and how many pages of arrays of freed memory have to come from the system while it
    keeps that, and when it has given it back."""
    environment = {**os.environ, SETTING: setting}
    done = subprocess.run([sys.executable, "-c", FAULTS], env=environment, capture_output=True, text=True, check=True)
    changed, kept, after = done.stdout.split()
    return changed, int(kept), int(after)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems' heaps have no such setting")
def test_freed_memory_is_used_again_under_the_setting_of_nannies():
    changed, kept, after = faults(OF_NANNIES)
    if changed == "False":
        pytest.skip("this library of C has no mallopt")
    assert kept < PAGES // 10 < after


@pytest.mark.skipif(sys.platform != "linux", reason="other systems' heaps have no such setting")
def test_a_choice_of_the_user_stays():
    changed, *counts = faults("65537")
    assert changed == "False"
    assert min(counts) >= PAGES // 2
