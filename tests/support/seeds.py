"""Small sound inputs of every kind, which fuzzing changes bit by bit."""

import io
import json
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

import dgraph as dg
from dgraph.checkpoint import piece
from dgraph.exchange.mail import Packet, cut, encode
from dgraph.io.edge_list import EdgeList
from dgraph.io.formats import write_edge_list

NUMBERS = pa.table({"source": [1, 2, 3, 1], "destination": [2, 3, 3, 1], "weight": [1.0, 2.0, 0.5, 4.0]})
NAMES = pa.table({"source": ["a", "b", "ü"], "destination": ["b", "c, d", "a"], "weight": [1.0, -2.0, 0.5]})
PLAIN = pa.table({"source": [1, 2, 3], "destination": [2, 3, 1]})

BY_HAND = {
    ".graph": [b"3 3\n2 3\n1 3\n1 2\n", b"3 2 11 1\n5 2 1\n1 1 1 3 2\n1 2 2\n", b"% c\n2 1 001\n2 7\n1 7\n"],
    ".mtx": [
        b"%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 0.5\n3 1 2\n",
        b"%%MatrixMarket matrix coordinate pattern symmetric\n%%GraphBLAS type bool\n3 3 2\n2 1\n3 3\n",
        b"%%MatrixMarket matrix array integer general\n2 2\n1\n0\n0\n4\n",
    ],
    ".gr": [b"c road\np sp 3 2\na 1 2 5\na 3 1 7\n"],
    ".e": [b"1 2 0.5\n2 3 1.5\n"],
    ".csv": [b'src,dst,w\n1,2,0.5\n"2",3,1e9\n', b"a;b\nx;y\n"],
    ".txt": [b"# comment\n1 2\n2\t3\n", b"1\n2\n"],
    ".konect": [b"% sym unweighted\n% 2 3 3\n1 2\n2 3\n"],
    "": [b"1 2\n2 3\n", b"p sp 2 1\na 1 2 3\n", b"% bip weighted\n1 2 3\n"],
}
WRITTEN = (".csv", ".el", ".wel", ".parquet", ".npz", ".el.gz")
SUFFIXES = tuple(dict.fromkeys((*BY_HAND, *WRITTEN)))


@cache
def files(suffix: str) -> list[bytes]:
    """Edge lists as files with this suffix."""
    found = list(BY_HAND.get(suffix, []))
    if suffix in WRITTEN:
        for table in (NUMBERS, NAMES, PLAIN):
            weight = "weight" if "weight" in table.column_names and suffix not in (".el", ".el.gz") else None
            if (suffix == ".wel" and weight is None) or (table is NAMES and suffix not in (".csv", ".parquet", ".npz")):
                continue
            chosen = table if weight else table.select(["source", "destination"])
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / f"graph{suffix}"
                write_edge_list(EdgeList(chosen, "source", "destination", weight), path)
                found.append(path.read_bytes())
    if suffix == ".npz":
        found += [_matrix(kind) for kind in ("csr", "coo")]
    return found


def _matrix(kind: str) -> bytes:
    import scipy.sparse

    buffer = io.BytesIO()
    scipy.sparse.save_npz(buffer, scipy.sparse.random(4, 5, 0.4, format=kind, rng=1))
    return buffer.getvalue()


def packed(suffix: str) -> list[bytes]:
    """The same with the two bytes before them that `read_packed` takes."""
    found = files(suffix)
    return [bytes([number % 4, 0]) + one for number, one in enumerate([*found, *found, *found, *found])]


BETWEEN = b"\0entry\0"


def arrays() -> list[bytes]:
    """The arrays of archives, each after its name."""
    found = []
    for archive in files(".npz"):
        with np.load(io.BytesIO(archive)) as named:
            entries = []
            for name in named.files:
                np.lib.format.write_array(entry := io.BytesIO(), named[name])
                entries.append(name.encode() + b":" + entry.getvalue())
        found.append(BETWEEN.join(entries))
    bounds = io.BytesIO()
    np.lib.format.write_array(bounds, np.array([0, 9, 1]))
    return [*found, BETWEEN.join([found[0], b"vertices_range:" + bounds.getvalue()])]


@cache
def saved_graph() -> dict[str, bytes]:
    """The files of a saved graph of two partitions."""
    with tempfile.TemporaryDirectory() as folder:
        frame = pd.DataFrame({"src": [0, 1, 2, 5, 5], "dst": [1, 2, 5, 0, 1], "weight": [1.0, 2, 3, 4, 5]})
        graph = dg.Graph.from_edges(frame, weight="weight", vertices=pd.DataFrame({"id": [9], "name": ["x"]}), parts=2)
        graph.partitioned(("out", "incoming"), ["weight"])
        graph.save(Path(folder) / "graph")
        return {path.name: path.read_bytes() for path in sorted((Path(folder) / "graph").iterdir())}


def manifests() -> list[bytes]:
    """What a manifest says, without its checksum."""
    return [json.dumps(json.loads(saved_graph()["manifest.json"])["content"]).encode()]


def blocks() -> list[bytes]:
    """Every array of the saved graph, its place in the list before it."""
    names = sorted(name for name in saved_graph() if name.endswith(".npy"))
    return [bytes([place]) + saved_graph()[name] for place, name in enumerate(names)]


def buffers() -> list[bytes]:
    """Encoded values of proxies: dense, bitmask and index."""
    floats, pairs = np.arange(40.0), np.arange(80, dtype=np.int32).reshape(40, 2)
    few, many = np.arange(40) == 3, np.arange(40) % 3 > 0
    found = [encode(changed, [floats, pairs]) for changed in (None, few, many)]
    return [one.tobytes() for one in found if one is not None]


def pieces() -> list[bytes]:
    """A piece of a checkpoint of three vertices."""
    states = {"rank": np.arange(3.0), "factors": np.ones((3, 2), np.float32), "global total": np.array(7)}
    arrays = {piece.NUMBERS: np.arange(3, dtype=np.uint32), **states}
    return [piece.to_bytes(piece.CheckpointPiece({"kernels": "ab12"}, 10, 0, 2, arrays))]


def messages() -> list[bytes]:
    """Messages between workers as JSON, frames apart: their manifest and their sizes."""
    from dgraph.exchange.dask import pack

    small = [*cut(0, 1, 0, np.arange(40, dtype=np.uint8)), *cut(1, 0, 0, np.empty(0, np.uint8))]
    found = pack(Packet("run", 3, 0, 0, small))
    manifest = [int(number) for number in found["manifest"]]
    return [json.dumps({"manifest": manifest, "frames": [40]}).encode()]
