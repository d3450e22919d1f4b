"""Random programs are refused, or give the same answer on every engine. `make fuzz-programs` tries many more."""

import random

from interpreted import interpreted
from random_programs import Graphs, Writer, differences

MANY = 50


def test_random_programs_have_one_answer():
    counts = {"refused": 0, "agrees": 0, "endless": 0}
    graphs = Graphs(0)
    with interpreted():
        for seed in range(MANY):
            text = Writer(seed).program()
            outcome, found = differences(text, graphs, random.Random(seed))
            assert not found, f"seed {seed}\n{text}\n" + "\n".join(found)
            counts[outcome] += 1
    assert counts["refused"] > MANY // 20
    assert counts["agrees"] > MANY // 2
