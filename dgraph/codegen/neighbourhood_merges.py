"""Kernel text of the merges that need a whole neighbourhood, and the test whether an unchanged neighbourhood must be
merged again.

The first `count` elements of `slots` (at least one) are the values, and those of `loads` their weights. `keys` and
`counts` are per-thread scratch, at least four times as long as the largest neighbourhood; `word` is the random word of
(seed, round, vertex).
"""

from __future__ import annotations

from dgraph.programs.analysis import Analysis, PhaseAnalysis
from dgraph.programs.kernel_names import field_name
from dgraph.programs.monoid import CHOOSE as BY_CHANCE

MOST_FREQUENT = '''
@njit
def most_frequent(slots, count, keys, counts, word):
    """The most frequent value, the smallest of several, counted in an open hash table, or by comparison if few."""
    size, shift, few = uint64(2), uint64(63), count <= 6
    while size < uint64(2) * count:
        size, shift = size << one, shift - one
    if not few:
        for i in range(size):
            counts[i] = 0
    best = slots[0]
    most = int64(0)
    for i in range(count):
        value, times = slots[i], int64(1)
        if few:
            for j in range(i):
                times += int64(slots[j] == value)
        else:
            place = (uint64(value) * uint64(0x9E3779B97F4A7C15)) >> shift
            while counts[place] != 0 and keys[place] != value:
                place = (place + one) & (size - one)
            times += counts[place]
            keys[place] = value
            counts[place] = times
        if times > most or (times == most and value < best):
            best = value
            most = times
    return best
'''

HEAVIEST = '''
@njit
def heaviest(slots, loads, count, keys, counts, word):
    """The value with the largest sum of weights, the smallest of several, and that sum, in an open hash table."""
    size = uint64(2)
    while size < uint64(2) * count:
        size = size << one
    for i in range(size):
        counts[i] = -1
    best = slots[0]
    most = int64(0)
    for i in range(count):
        value = slots[i]
        place = mix(uint64(value)) & (size - one)
        while counts[place] >= 0 and keys[place] != value:
            place = (place + one) & (size - one)
        keys[place] = value
        counts[place] = max(counts[place], int64(0)) + loads[i]
        if counts[place] > most or (counts[place] == most and value < best):
            best = value
            most = counts[place]
    return best, most
'''

CHOOSE = '''
@njit
def choose(slots, count, keys, counts, word):
    """A random one of the distinct values, independent of their order: the one whose mixed word is smallest."""
    best = slots[0]
    least = mix(word ^ uint64(best))
    for i in range(one, count):
        value = slots[i]
        mixed = mix(word ^ uint64(value))
        if mixed < least or (mixed == least and value < best):
            best = value
            least = mixed
    return best
'''

H_INDEX = '''
@njit
def h_index(slots, count, keys, counts, word):
    """The largest h such that h of the values are at least h."""
    for i in range(count + one):
        counts[i] = 0
    for i in range(count):
        counts[min(uint64(max(slots[i], 0)), count)] += 1
    h = count
    above = counts[h]
    while int64(h) > above:
        h -= one
        above += counts[h]
    return int64(h)
'''

TEXTS = {"most_frequent": MOST_FREQUENT, "heaviest": HEAVIEST, "choose": CHOOSE, "h_index": H_INDEX}  # by function
SLOTS, LOADS = "slots", "loads"
SCRATCH = {SLOTS: 1, LOADS: 1, "keys": 4, "counts": 4}  # length as a multiple of the neighbourhood's length


def recounts(analysis: Analysis, phase: PhaseAnalysis) -> bool:
    """Whether a vertex may keep the message that it has gathered until one of the arrays in `broadcast` changes at an
    in-neighbour or at itself. A program with several phases cannot detect that."""
    tracked = {field_name(name.removeprefix("target_")) for name in phase.send.names_of("target")} <= set(
        phase.broadcast
    )
    changes = phase.send.names_of("global") or phase.send.depends_on_round
    by_chance = any(message.merge is BY_CHANCE for message in phase.messages)
    single = analysis.synchronous and len(analysis.phases) == 1
    return single and not phase.combines and tracked and not changes and not by_chance
