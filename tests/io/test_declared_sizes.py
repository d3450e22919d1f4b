"""A file that declares, or grows to, more than there is memory for is refused before memory is taken.

One process with a limit of memory reads them all, so that a reader which believes such a file fails here.
"""

import bz2
import gzip
import io
import json
import lzma
import os
import random
import re
import subprocess
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOM = 400 << 20  # bytes beside what the process has before the first file
SECONDS = 10  # of the processors, whatever else they do
VARIED = "".join(f"{random.Random(k).randrange(10**6)} {k}\n" for k in range(40_000))
TEXT = VARIED.encode() + b"1 2\n" * (4 << 20)  # gzip makes it about a hundredth, as it does with no bomb
PACKED = gzip.compress(TEXT, 6)

CHILD = """
import json, os, resource, sys, time, warnings
import pyarrow as pa
pa.set_cpu_count(2)
import dgraph as dg
from dgraph.io import declared_sizes as declared

warnings.simplefilter("ignore")
declared.LARGE = 16 << 20
folder, room = sys.argv[1], int(sys.argv[2])
for name in os.listdir(folder):
    if name.startswith("sound"):
        dg.read_edges(os.path.join(folder, name))
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + room, size + room))
for name in sorted(os.listdir(folder)):
    begun = time.process_time()
    try:
        how = dg.Parquet(lazy=True) if name.startswith("lazy") else None
        graph = dg.read_edges(os.path.join(folder, name), format=how)
        told = "read", f"{graph.num_vertices} {graph.num_edges}"
        del graph
    except Exception as error:
        told = type(error).__name__, str(error)
    print(json.dumps([name, *told, time.process_time() - begun]), flush=True)
"""


def npz(**arrays) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def npz_with_shape(shape: str) -> bytes:
    """An archive whose `source` has a header of this shape, and three numbers."""
    data = io.BytesIO()
    np.lib.format.write_array(data, np.arange(3))
    lie = data.getvalue().replace(b"(3,), }" + b" " * (len(shape) - 4), f"{shape}, }}".encode())
    buffer = io.BytesIO(npz(destination=np.arange(3)))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("source.npy", lie)
    return buffer.getvalue()


def parquet(table: pa.Table, groups: int = 1, **note) -> bytes:
    buffer = io.BytesIO()
    schema = table.schema.with_metadata({"dgraph": json.dumps({"source": "a", "destination": "b", **note})})
    with pq.ParquetWriter(buffer, schema) as writer:
        for _ in range(groups):
            writer.write_table(table.replace_schema_metadata(schema.metadata))
    return buffer.getvalue()


def long_text() -> pa.Table:
    """100 GB of text, as a category in 100,000 rows."""
    once = pa.array(["x" * 10**6])
    return pa.table({end: pa.DictionaryArray.from_arrays(np.zeros(10**5, np.int32), once) for end in "ab"})


def without_categories(data: bytes) -> bytes:
    """The same file for a reader that does not know that a column is a category."""
    table = pq.ParquetFile(io.BytesIO(data))
    assert table.metadata.num_rows == 10**5
    return data.replace(b"ARROW:schema", b"ARROW:schemX")


PAIR = pa.table({"a": [1], "b": [2]})
SAME = pa.table({"a": np.ones(1 << 21, np.int64), "b": np.ones(1 << 21, np.int64)})
ZEROS = np.zeros(30 << 20, np.int64)
MANY = 900_000_000_000
COMPRESS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lambda data: lzma.compress(data, preset=0)}
COMPRESS[".zst"] = lambda data: pa.Codec("zstd").compress(data, asbytes=True)

FILES = {
    "sound.csv": lambda: b"1,2\n",
    "sound.parquet": lambda: parquet(PAIR),
    "sound.npz": lambda: npz(source=[1], destination=[2]),
    "ncon.graph": lambda: b"0 0 10 999999999999999\n",
    "ncon-of-a-row.graph": lambda: b"1 0 10 999999999\n1\n",
    "ncon-rows.graph": lambda: b"9999999 0 10 4000\n" + b"1\n" * 999,
    "vertices.graph": lambda: f"{MANY} 1\n2\n1\n".encode(),
    "vertices.mtx": lambda: f"%%MatrixMarket matrix coordinate pattern general\n{MANY} {MANY} 1\n1 2\n".encode(),
    "entries.mtx": lambda: b"%%MatrixMarket matrix coordinate pattern general\n9 9 99999999\n1 2\n",
    "no-columns.mtx": lambda: b"%%MatrixMarket matrix array real general\n1000000000 0\n",
    "vertices.konect": lambda: f"% sym unweighted\n% 1 {MANY} {MANY}\n1 2\n".encode(),
    "edges.konect": lambda: b"% sym unweighted\n% 99999999 3 3\n1 2\n",
    "integers.konect": lambda: f"% sym unweighted\n% 1 {10**30} 1\n1 2\n".encode(),
    "left.konect": lambda: f"% bip unweighted\n% 1 {2**63 - 1} 2\n1 2\n".encode(),
    "vertices.gr": lambda: f"p sp {MANY} 1\na 1 2 3\n".encode(),
    "arcs.gr": lambda: b"p sp 2 99999999\na 1 2 3\n",
    "range.npz": lambda: npz(source=[1], destination=[2], vertices_range=np.array([0, MANY, 1])),
    "integers.npz": lambda: npz(source=[1], destination=[2], vertices_range=np.array([0, 2**64 - 1, 1], np.uint64)),
    "matrix.npz": lambda: npz(
        format="coo", shape=np.array([2**63 - 1, 9]), row=np.array([1]), col=np.array([1]), data=np.array([1])
    ),
    "repeats.npz": lambda: npz(
        format="csr",
        shape=np.array([4, 4]),
        indptr=np.array([0, 2**63 - 1, -(2**63), -1, 5]),
        indices=np.arange(4)[[0, 1, 2, 3, 0]],
        data=np.ones(5),
    ),
    "shape.npz": lambda: npz_with_shape("(99999999999,)"),
    "negative.npz": lambda: npz(format="coo", shape=np.array([-5, 3]), row=ZEROS[:0], col=ZEROS[:0], data=ZEROS[:0]),
    "quadruple.npz": lambda: npz(
        format="coo", shape=np.array([3, 3]), row=[1], col=[1], data=np.ones(1, np.longdouble)
    ),
    "zeros.npz": lambda: npz(source=ZEROS, destination=ZEROS),
    "note.parquet": lambda: parquet(PAIR, vertices=[0, MANY, 1]),
    "integers.parquet": lambda: parquet(PAIR, vertices=[0, 10**30, 1]),
    "rows.parquet": lambda: parquet(SAME, 14),
    "lazy-integers.parquet": lambda: parquet(PAIR, vertices=[0, 10**30, 1]),
    "text.parquet": lambda: without_categories(parquet(long_text())),
    "lazy-text.parquet": lambda: without_categories(parquet(long_text())),
    "columns.csv": lambda: (b",".join(b"%d" % (k % 9) for k in range(120_000)) + b"\n") * 2,
    "comments.mtx.gz": lambda: gzip.compress(
        b"%%MatrixMarket matrix coordinate pattern general\n" + b"\n" * (15 << 20) + b"2 2 1\n1 2\n"
    ),
    "facts.e": lambda: b"1 2\n",
    "facts.properties.gz": lambda: PACKED * 2,
    "window.el.zst": lambda: b"\x28\xb5\x2f\xfd\x00\xa0\x21\x00\x00" + b"1 2\n",  # of 1 GiB
    "rows.el.gz": lambda: PACKED * 36,
    "rows.graph.gz": lambda: b"".join((gzip.compress(b"800000000 0\n"), PACKED * 36)),
    **{f"blank.el{suffix}": lambda pack=pack: pack(b"1 2\n" + b"\n" * (40 << 20)) for suffix, pack in COMPRESS.items()},
}


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("declared")
    for name, content in FILES.items():
        (folder / name).write_bytes(content())
        assert (folder / name).stat().st_size < 10 << 20
    found = {}
    command = [sys.executable, "-c", CHILD, str(folder), str(ROOM)]
    arenas = {"MALLOC_ARENA_MAX": "1"}  # each thread that finds the others taken would reserve 64 MiB more
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **arenas})
    for line in done.stdout.splitlines():
        name, *rest = json.loads(line)
        found[name] = rest
    assert done.returncode == 0, f"{done.stderr[-2000:]} after {list(found)[-1:]}"
    return found


LIES = {
    **dict.fromkeys(["ncon.graph", "ncon-of-a-row.graph"], ("FileError", "at most 4,096 weights")),
    "ncon-rows.graph": ("FileError", "but the file has only"),
    "vertices.graph": ("FileError", "truncated"),
    **dict.fromkeys(["entries.mtx", "edges.konect", "arcs.gr"], ("FileError", "declares 99999999 ")),
    **dict.fromkeys(
        ["vertices.mtx", "no-columns.mtx", "vertices.konect", "vertices.gr", "range.npz", "note.parquet"],
        ("RoomError", "vertices that the file declares need about"),
    ),
    **dict.fromkeys(
        [
            *("integers.konect", "left.konect", "integers.npz", "matrix.npz", "integers.parquet"),
            "lazy-integers.parquet",
        ],
        ("IdError", "exceed signed 64-bit integers"),
    ),
    "shape.npz": ("FileError", r"has shape \(99999999999,\)"),
    "repeats.npz": ("FileError", "indptr does not fit"),
    "negative.npz": ("FileError", "a matrix cannot have -5 rows and 3 columns"),
    "quadruple.npz": ("ColumnError", "array 'data' of type .* has no Arrow type"),
    "columns.csv": ("read", "1?[0-9] 2"),
    "comments.mtx.gz": ("FileError", "expected rows, columns and entries"),
    **dict.fromkeys(["facts.e", "facts.properties.gz"], ("FileError", "more than 16,777,216 bytes")),
    "window.el.zst": ("FileError", "window above 128 MiB .decompress it first"),
    "zeros.npz": ("RoomError", "arrays of 503,316,736 bytes need about"),
    "rows.parquet": ("RoomError", "29,360,128 rows that its footer declares need about"),
    "text.parquet": ("RoomError", "texts of its 100,000 rows need about"),
    "lazy-text.parquet": ("RoomError", "texts of its 100,000 rows need about"),
    # the check while it is read, or, if Arrow's threads are ahead of it, an allocation that fails
    "rows.el.gz": ("RoomError", "not enough memory to read (the file|it)"),
    # before the first look at the memory, if what was read before has left little of it
    "rows.graph.gz": ("RoomError", "of its content, which need about|not enough memory to read it, .* are free"),
    **{f"blank.el{suffix}": ("FileError", "250 times as large as its compressed bytes") for suffix in COMPRESS},
    **dict.fromkeys(["sound.csv", "sound.parquet", "sound.npz"], ("read", "2 1")),
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_declare_more_than_they_contain_are_refused(told, name):
    assert name in LIES, f"add the expected error of {name} to LIES"
    kind, said, seconds = told[name]
    expected, match = LIES[name]
    assert kind == expected, said
    assert re.search(match, said), said
    assert seconds < SECONDS
