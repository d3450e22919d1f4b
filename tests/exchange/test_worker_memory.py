"""Freed memory is used again on workers, unless somebody has chosen otherwise."""

import ctypes
import os
import subprocess
import sys

import pytest

from dgraph.native.hosts import NANNY_DEFAULT, TRIM_SETTING

LINUX = sys.platform == "linux"
PAGES = 100 * 256  # of the arrays below, 4 KB each
FAULTS = """
import resource, sys
from threading import Thread
import numpy as np
from dgraph.native.hosts import Heap

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
print(kept, last())
"""


def faults(setting: str) -> tuple[int, int]:
    """How many pages of arrays of freed memory have to come from the system while a heap keeps that, and when it has
    given it back."""
    environment = {**os.environ, TRIM_SETTING: setting}
    done = subprocess.run([sys.executable, "-c", FAULTS], env=environment, capture_output=True, text=True, check=True)
    kept, after = done.stdout.split()
    return int(kept), int(after)


@pytest.mark.skipif(not (LINUX and hasattr(ctypes.CDLL(None), "mallopt")), reason="this library of C has no mallopt")
def test_freed_memory_is_used_again_under_the_setting_of_nannies():
    kept, after = faults(NANNY_DEFAULT)
    assert kept < PAGES // 10 < after


@pytest.mark.skipif(not LINUX, reason="other systems' heaps have no such setting")
def test_a_memory_setting_of_the_user_is_kept():
    assert min(faults("65537")) >= PAGES // 2
