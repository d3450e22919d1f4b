"""Inputs that nobody would write raise errors of dgraph's own, and nothing else. `make fuzz` searches for more."""

import io
import json
from pathlib import Path

import mutation
import numpy as np
import pytest
import seeds
from targets import TARGETS, read_block, try_one

from dgraph.building.saved_graph import MANIFEST, SavedGraph
from dgraph.errors import RunError, StorageError
from dgraph.exchange.mail import HEADER, Encoding, decode

FEW = 25

LETTERS = (
    b"\x93NUMPY\x01\0v\0{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }".ljust(127) + b"\n\xff\xff\xff\xff"
)
ODD_LETTERS = seeds.BETWEEN.join([b"source:" + LETTERS, b"destination:" + LETTERS])

# what a search has found, by target: each was a crash once
FOUND = {
    "message": [
        b'{"manifest": [0, 1, 0, 99999999999999999999, 0, 1], "frames": [40]}',
        b'{"manifest": [0, 1, 0, 1, 0, 70000], "frames": [40]}',  # a large fragment without its frame
    ],
    "buffer": [
        HEADER.pack(Encoding.INDEX, 3, 0, 0, 40, 1) + bytes(8),  # positions of three bytes
        HEADER.pack(Encoding.DENSE, 2, 0, 1, 1, 1) + b",\0\0\0" + bytes(12),  # a type of syntax
        HEADER.pack(Encoding.DENSE, 2, 0, 1, 1, 1) + b"|O8\0" + bytes(12),  # a type of pointers
    ],
    "program": [b"return " + b"-" * 300 + b"dist"],
    **{
        f"{how}.parquet": [path.read_bytes() for path in sorted((Path(__file__).parent / "found").glob("*.parquet"))]
        for how in ("file", "lazy")
    },
    "file": [b"1" * (1 << 18)],  # a number, or not
    "arrays.npz": [ODD_LETTERS],
    "block": [
        b"\0" + b"\x93NUMPY\x01\0v\0{'descr': (" + b" " * 110,
        b"\x13"
        + f"{{'descr': ', 4294967296', 'fortran_order': False, 'shape': (9,), }}{'':61}\n".encode().join(
            [b"\x93NUMPY\x01\0v\0", bytes(8)]
        ),
    ],
}


@pytest.mark.parametrize("name", TARGETS)
def test_mutated_inputs_are_read_or_refused(name):
    known = TARGETS[name][1]()
    assert any(try_one(name, one) for one in known), "the sound inputs are taken"
    for data in mutation.inputs(known, len(known) + FEW, seed=7):
        try_one(name, data)


@pytest.mark.parametrize(("name", "data"), [(name, data) for name, found in FOUND.items() for data in found])
def test_inputs_that_once_failed_are_read_or_refused(name, data):
    assert not try_one(name, data)


@pytest.mark.parametrize("change", ["int16", ">i8", "float32", "one more dimension"])
def test_blocks_of_a_type_or_shape_that_kernels_do_not_know_are_refused(change):
    names = sorted(name for name in seeds.saved_graph() if name.endswith(".npy"))
    for number, name in enumerate(names):
        if "peers" in name and change == "one more dimension":
            continue  # rows of four numbers, however they are written
        array, forged = np.load(io.BytesIO(seeds.saved_graph()[name])), io.BytesIO()
        np.save(forged, array[..., None] if change == "one more dimension" else array.astype(change))
        with pytest.raises(StorageError):
            read_block(bytes([number]) + forged.getvalue())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("shared", {"../../etc/passwd": {"bytes": 1, "checksum": "0"}}),
        ("partitions", [{"/etc/passwd": {"bytes": 1, "checksum": "0"}}] * 2),
        ("partitions", [{}, {}]),
        ("owned", [5, -1]),
        ("owned", [2]),
        ("num_vertices", True),
        ("dtypes", ["|O8"]),
        ("dtypes", ["(99999999,)f8"]),
        ("orders", ["__class__"]),
        ("id_type", ["string", "float64", 1]),
        ("weight", 7),
        ("possible_weights", [7]),
    ],
)
def test_a_manifest_that_lies_is_refused(tmp_path, name, value):
    """Its checksum is right: anybody can compute one."""
    from dgraph.building.saved_graph import KIND, VERSION
    from dgraph.partition.manifest import manifest_text

    for file, data in seeds.saved_graph().items():
        (tmp_path / file).write_bytes(data)
    content = json.loads(seeds.saved_graph()[MANIFEST])["content"]
    (tmp_path / MANIFEST).write_text(manifest_text(KIND, VERSION, {**content, name: value}))
    with pytest.raises(StorageError, match=str(tmp_path)):
        SavedGraph.find(tmp_path).verify()


def test_a_bitmask_with_too_few_values_is_refused():
    """Kernels would read beyond the values' end."""
    kinds = [Encoding(np.frombuffer(one, np.uint8)[0]) for one in seeds.buffers()]
    assert set(kinds) == set(Encoding)
    found = np.frombuffer(seeds.buffers()[kinds.index(Encoding.BITMASK)], np.uint8).copy()
    head = HEADER.size + 2 * 8
    found[head] ^= 1
    with pytest.raises(RunError, match="positions"):
        decode(found)
