"""Freed memory is used again on workers, unless somebody has chosen otherwise."""

import os
import subprocess
import sys

import pytest

from dgraph.exchange.worker_memory import OF_NANNIES, SETTING

PAGES = 256  # of the array below, 4 KB each
FAULTS = """
import resource, sys
import numpy as np
from dgraph.exchange.worker_memory import keep_freed

changed = keep_freed()
for _ in range(5):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    np.ones(1 << 17)
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
print(changed, faults)
"""


def faults(setting: str) -> tuple[str, int]:
    """Whether the heap was changed, and how many pages of an array of freed memory had to come from the system."""
    environment = {**os.environ, SETTING: setting}
    done = subprocess.run([sys.executable, "-c", FAULTS], env=environment, capture_output=True, text=True, check=True)
    changed, count = done.stdout.split()
    return changed, int(count)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems' heaps have no such setting")
def test_freed_memory_is_used_again_under_the_setting_of_nannies():
    changed, count = faults(OF_NANNIES)
    if changed == "False":
        pytest.skip("this library of C has no mallopt")
    assert count < PAGES // 2


@pytest.mark.skipif(sys.platform != "linux", reason="other systems' heaps have no such setting")
def test_a_choice_of_the_user_stays():
    changed, count = faults("65537")
    assert changed == "False"
    assert count >= PAGES // 2
