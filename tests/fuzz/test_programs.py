"""Random programs are refused with a reason, or give the same answer on every engine. `make fuzz-programs` tries many
more."""

import random
from collections import Counter

import pytest
from program_trials import SmallGraph, admitted, tried
from random_programs import NEEDED, Writer, made

from dgraph.errors import ProgramError

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


def test_a_fifth_of_the_accepted_programs_have_each_feature():
    accepted, features = 0, Counter()
    for seed in range(200):
        writer = Writer(seed)
        try:
            admitted(made(writer.text, str(seed)))
        except ProgramError:
            continue
        accepted += 1
        features.update(writer.features)
    assert min(features[one] for one in NEEDED) > accepted / 5, (accepted, features)
