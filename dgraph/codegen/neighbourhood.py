"""Kernel text of the merges that need a whole neighbourhood: count values at the head of `slots`, at least one.

What each weighs is at the head of `loads`. `keys` and `counts` are scratch of a thread, at least four times as long as
the largest neighbourhood; `word` is the random word of (seed, round, vertex).
"""

MOST_FREQUENT = '''
@njit
def most_frequent(slots, count, keys, counts, word):
    """The value that occurs most often, the smallest of several: counted in an open hash table."""
    size = uint64(2)
    while size < uint64(2) * count:
        size = size << one
    for i in range(size):
        counts[i] = 0
    best = slots[0]
    most = int64(0)
    for i in range(count):
        value = slots[i]
        place = mix(uint64(value)) & (size - one)
        while counts[place] != 0 and keys[place] != value:
            place = (place + one) & (size - one)
        keys[place] = value
        counts[place] += 1
        if counts[place] > most or (counts[place] == most and value < best):
            best = value
            most = counts[place]
    return best
'''

HEAVIEST = '''
@njit
def heaviest(slots, loads, count, keys, counts, word):
    """The value whose weights add up to most, the smallest of several, and that sum: in an open hash table."""
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
    """One of the different values, whatever their order: the one whose mixed word is smallest."""
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

TEXTS = {"MOST_FREQUENT": MOST_FREQUENT, "HEAVIEST": HEAVIEST, "CHOOSE": CHOOSE, "H_INDEX": H_INDEX}
SLOTS, LOADS = "slots", "loads"
SCRATCH = {SLOTS: 1, LOADS: 1, "keys": 4, "counts": 4}  # how often as long as the neighbourhood
