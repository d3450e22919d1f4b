"""Random programs are refused with a reason, or give the same answer on every engine. `make fuzz-programs` tries many
more."""

import random
from collections import Counter

import pytest
from program_trials import SmallGraph, tried
from random_programs import NEEDED, Writer

GRAPHS = [SmallGraph(random.Random(number)) for number in range(6)]


@pytest.mark.parametrize(("how", "seeds"), [("reference", range(60)), ("interpreted", range(60, 76))])
def test_random_programs_are_refused_or_have_one_answer(how, seeds):
    counts = Counter()
    for seed in seeds:
        writer = Writer(seed)
        result = tried(writer, seed, GRAPHS, random.Random(seed), how)
        assert result.outcome != "differs", f"seed {seed}\n{writer.text}\n" + "\n".join(result.found)
        assert result.outcome != "refused" or ": " in result.found[0]
        counts[result.outcome] += 1
    assert counts["agrees"] > len(seeds) // 2


def test_a_fifth_of_the_programs_have_each_feature():
    features = Counter(one for seed in range(1000) for one in Writer(seed).features)
    assert min(features[one] for one in NEEDED) > 200, features
