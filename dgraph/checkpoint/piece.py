"""A piece of a checkpoint as bytes: a line of JSON that describes it, followed by arrays.

A piece contains no pickles. Everything has a checksum, which is verified before the data is used.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import xxhash

from dgraph.errors import StorageError
from dgraph.partition import manifest
from dgraph.partition.manifest import is_count, is_number_type, is_text, list_of, table_of

KIND, VERSION = "dgraph checkpoint", 1
NUMBERS = " numbers"  # the name of the array of vertex numbers; the space keeps it distinct from names of fields
REMEDY = "the previous checkpoint is used instead"


def is_array(value: Any) -> bool:
    keys = {"name": is_text, "dtype": is_number_type, "shape": list_of(is_count)}
    return isinstance(value, dict) and all(key in value and test(value[key]) for key, test in keys.items())


MANIFEST_SHAPE = {
    "identity": table_of(is_text),
    **dict.fromkeys(("round", "part", "parts", "bytes"), is_count),
    "checksum": is_text,
    "arrays": list_of(is_array),
}


class CheckpointPiece(NamedTuple):
    """The part of a checkpoint that belongs to one partition: `arrays` of its owned vertices, including their numbers,
    and the global values."""

    identity: dict[str, str]  # what identifies the run: kind -> value
    round: int
    part: int
    parts: int
    arrays: dict[str, np.ndarray]


class PieceLabel(NamedTuple):
    """Identifies a piece among all that a worker keeps."""

    run: str
    checkpoint: str
    part: int


def name_of(round: int, attempt: str) -> str:
    """The name of a checkpoint. It includes the attempt, because pieces of two attempts cannot be combined, even after
    the same round: if the engine does not run in rounds, one attempt may have sent what the other has not received."""
    return f"{round:09d}-{attempt}"


def round_of(name: str) -> int:
    """The round in a checkpoint's name; 0 if this is not the name of a checkpoint."""
    return int(name[:9]) if re.fullmatch(r"[0-9]{9}-[0-9a-f]+", name) else 0


def to_bytes(piece: CheckpointPiece) -> bytes:
    arrays = {name: np.asarray(array, order="C") for name, array in piece.arrays.items()}
    body = b"".join(array.tobytes() for array in arrays.values())
    listed = [{"name": name, "dtype": a.dtype.str, "shape": list(a.shape)} for name, a in arrays.items()]
    content = {**piece._asdict(), "arrays": listed, "bytes": len(body), "checksum": xxhash.xxh3_128_hexdigest(body)}
    return manifest.manifest_text(KIND, VERSION, content).encode() + b"\n" + body


def from_bytes(data: bytes, where: Any) -> CheckpointPiece:
    """Decode a piece. Raises a StorageError if it is incomplete or was changed."""
    head, _, body = data.partition(b"\n")
    content = manifest.read_manifest(head, KIND, VERSION, MANIFEST_SHAPE, path=where, remedy=REMEDY)
    if len(body) != content["bytes"] or xxhash.xxh3_128_hexdigest(body) != content["checksum"]:
        raise StorageError(f"{where}: the file is incomplete or was changed; {REMEDY}")
    arrays, used = {}, 0
    with manifest.refuse_mismatch(where, REMEDY):
        for one in content["arrays"]:
            dtype, count = np.dtype(one["dtype"]), math.prod(one["shape"])
            manifest.require(used + count * dtype.itemsize <= len(body), "arrays beyond the end")
            arrays[one["name"]] = np.frombuffer(body, dtype, count, used).reshape(one["shape"])
            used += count * dtype.itemsize
        manifest.require(NUMBERS in arrays and arrays[NUMBERS].ndim == 1, "no numbers")
    return CheckpointPiece(content["identity"], content["round"], content["part"], content["parts"], arrays)


def rows_for(pieces: Mapping[int, CheckpointPiece], numbers: np.ndarray, where: Any) -> dict[str, np.ndarray]:
    """The arrays of the vertices with these numbers, from whichever pieces have them."""
    all_arrays = [piece.arrays for piece in pieces.values()]
    rows = {name: array for name, array in all_arrays[0].items() if not array.ndim}  # global values
    with manifest.refuse_mismatch(where, REMEDY):
        stored = np.concatenate([arrays[NUMBERS] for arrays in all_arrays])
        manifest.require(np.isin(numbers, stored).all(), "vertices that no piece has")
        order = np.argsort(stored)
        places = order[np.searchsorted(stored, numbers, sorter=order)]
        for name in all_arrays[0].keys() - rows.keys() - {NUMBERS}:
            rows[name] = np.concatenate([arrays[name] for arrays in all_arrays])[places]
    return rows
