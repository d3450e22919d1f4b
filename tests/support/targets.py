"""What is fuzzed: each target takes any bytes, and may raise nothing but an error of dgraph's own."""

import ast
import bz2
import gzip
import json
import linecache
import lzma
import os
import tempfile
import types
import warnings
import zipfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from pickle import dumps

import numpy as np
import pyarrow as pa
import seeds
import xxhash

import dgraph as dg
from dgraph.building.saved_graph import KIND, MANIFEST, VERSION, SavedGraph
from dgraph.checkpoint.piece import from_bytes, rows_for
from dgraph.errors import DgraphError
from dgraph.exchange.dask import unpack
from dgraph.exchange.mail import decode, join
from dgraph.io.lazy_edges import lazy_edge_list
from dgraph.partition import policies, store
from dgraph.partition.manifest import manifest_text
from dgraph.programs.functions import read_function

ROOM = tempfile.TemporaryDirectory(prefix="dgraph-fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
FOLDER = Path(ROOM.name)  # goes with the process


def read_file(suffix: str, data: bytes) -> None:
    path = FOLDER / f"{os.getpid()}{suffix}"
    path.write_bytes(data)
    dg.read_edges(path, columns="all")


COMPRESS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": partial(lzma.compress, preset=0),
    ".zst": partial(pa.Codec("zstd").compress, asbytes=True),
}
LARGE, UNIT = 9 << 20, 1 << 20  # bytes of a compressed file at most, and of the content of a member of a large one


def read_packed(suffix: str, data: bytes) -> None:
    """A compressed file: the first byte chooses the compression, the second how often the content is repeated; from 250
    on it fills the file, a bomb."""
    if len(data) < 3:
        return
    compression, times, content = list(COMPRESS)[data[0] % len(COMPRESS)], data[1], data[2:]
    if times < 250:
        packed = COMPRESS[compression](content * (times + 1))
    else:
        packed = COMPRESS[compression](content * (1 + UNIT // len(content)))
        packed *= max(1, min(4096, LARGE // len(packed)) >> (255 - times))
    read_file(suffix + compression, packed)


def read_arrays(data: bytes) -> None:
    """An archive whose entries are right, whatever the arrays in them say."""
    path = FOLDER / f"{os.getpid()}.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, entry in enumerate(data.split(seeds.BETWEEN)):
            name, _, array = entry.partition(b":")
            text = name.decode("latin-1").replace("\0", "")[:40] or str(number)
            archive.writestr(f"{text}.npy", array)
    dg.read_edges(path, columns="all")


def read_lazily(suffix: str, data: bytes) -> None:
    path = FOLDER / f"{os.getpid()}-lazy{suffix}"
    path.write_bytes(data)
    blocks = {} if suffix == ".parquet" else {"block_size": max(16, len(data) // 64)}
    lazy_edge_list(path, columns="all", **blocks).edges.compute(scheduler="sync")


def read_manifest(data: bytes) -> None:
    """A manifest whose checksum is right, so that what it says is looked at; and then the blocks it names."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        return
    folder = _saved_folder()
    text = manifest_text(KIND, VERSION, content)
    (folder / MANIFEST).write_text(text)
    open_saved(folder)


def open_saved(folder: Path) -> None:
    found = SavedGraph.find(folder)
    known = found.numbering()
    where = found.placement(policies.choose_policy("auto", 1))
    for part in range(found.parts):
        found.partition(part, known, where)


def read_block(data: bytes) -> None:
    """A block of a saved graph by another content, whose size and checksum are right."""
    folder, names = _saved_folder(), sorted(name for name in seeds.saved_graph() if name.endswith(".npy"))
    name = names[data[0] % len(names) if data else 0]
    content = json.loads(seeds.saved_graph()[MANIFEST])["content"]
    (folder / name).write_bytes(data[1:])
    try:
        array = np.load(folder / name, allow_pickle=False)
        if array.dtype.hasobject:
            return
        entry = {"bytes": len(data) - 1, "checksum": store.checksum(array)}
    except Exception:
        entry = {"bytes": max(len(data) - 1, 0), "checksum": ""}
    for blocks in (*content["partitions"], content["shared"]):
        if name in blocks:
            blocks[name] = entry
    (folder / MANIFEST).write_text(manifest_text(KIND, VERSION, content))
    try:
        open_saved(folder)
    finally:
        (folder / name).write_bytes(seeds.saved_graph()[name])


def _saved_folder() -> Path:
    folder = FOLDER / f"{os.getpid()}-graph"
    if not folder.exists():
        folder.mkdir()
        for name, content in seeds.saved_graph().items():
            (folder / name).write_bytes(content)
    return folder


def read_manifest_text(data: bytes) -> None:
    folder = _saved_folder()
    (folder / MANIFEST).write_bytes(data)
    SavedGraph.find(folder)


def decode_buffer(data: bytes) -> None:
    buffer = np.zeros(len(data), np.uint8)
    buffer[:] = np.frombuffer(data, np.uint8)
    positions, values = decode(buffer)
    room = np.zeros(1 << 12)
    if isinstance(positions, np.ndarray):
        assert not len(positions) or positions.max() < max(len(room), 1 << 62)
    assert all(value.nbytes <= buffer.nbytes for value in values)


def take_message(data: bytes) -> None:
    try:
        given = json.loads(data)
        sizes = [int(size) % 4096 for size in given["frames"]]
        manifest = list(given["manifest"])
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return
    frames = [np.zeros(size, np.uint8) for size in sizes]
    join(unpack("run", 3, 0, 0, manifest, frames, [], dumps((None, (), False, 0))).fragments)


def read_piece(data: bytes) -> None:
    """A piece of a checkpoint, and one whose checksums are right."""
    with suppress(DgraphError):
        from_bytes(data, "a piece")
    head, _, body = data.partition(b"\n")
    try:
        content = json.loads(head)["content"]
        content |= {"bytes": len(body), "checksum": xxhash.xxh3_128_hexdigest(body)}
        head = manifest_text("dgraph checkpoint", 1, content).encode()
    except (ValueError, KeyError, TypeError, RecursionError):
        return
    piece = from_bytes(head + b"\n" + body, "a piece")
    rows_for({0: piece}, np.arange(3, dtype=np.uint32), "a piece")


ADMITTED = {"min", "max", "abs", "round", "int", "float", "bool", "range", "math"}


def analyse_text(data: bytes) -> None:
    """A function of a program as text. What is admitted must call nothing but what the analysis lists."""
    text = data.decode("utf-8", errors="replace")
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    source = f"def send(dist, weight):\n{lines}\n"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = compile(source, "<fuzz>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return
    body = code.co_consts[0] if code.co_consts else None
    if not isinstance(body, types.CodeType) or body.co_name != "send":
        return
    function = types.FunctionType(body, {"__builtins__": __builtins__, "os": os, "np": np}, "send")
    linecache.cache["<fuzz>"] = (len(source), None, source.splitlines(keepends=True), "<fuzz>")
    found = read_function.__wrapped__(function, "send of Fuzzed")
    known = ADMITTED | set(found.parameters)
    tree = ast.parse(found.text("send"))
    known |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            assert node.id in known, f"{node.id} came through"
        if isinstance(node, ast.Attribute):
            assert isinstance(node.value, ast.Name), "an attribute of a value came through"
            assert node.value.id == "math", f"an attribute of {node.value.id} came through"
        assert not isinstance(node, ast.Import | ast.ImportFrom | ast.Lambda | ast.Subscript), "this came through"


BY_BLOCKS = (".csv", ".parquet")
PACKED = (".csv", ".el", ".e", ".mtx", ".graph", ".gr", ".konect", "")
PROGRAMS = [
    b"return dist + weight",
    b"x = 0\nfor i in range(3):\n    x += math.sqrt(dist) if weight > 1 else abs(weight)\nreturn min(x, 2.0 ** weight)",
    b"while dist < 3:\n    dist += 1\nif dist > 2:\n    return 1\nelse:\n    return -dist // 2 % 3",
    b"return os.system('true')",
    b"return (lambda: np.load)(dist)",
]

Target = Callable[[bytes], None]
TARGETS: dict[str, tuple[Target, Callable[[], list[bytes]]]] = {
    **{f"file{suffix}": (partial(read_file, suffix), partial(seeds.files, suffix)) for suffix in seeds.SUFFIXES},
    **{f"packed{suffix}": (partial(read_packed, suffix), partial(seeds.packed, suffix)) for suffix in PACKED},
    "arrays.npz": (read_arrays, seeds.arrays),
    **{f"lazy{suffix}": (partial(read_lazily, suffix), partial(seeds.files, suffix)) for suffix in BY_BLOCKS},
    "manifest": (read_manifest, seeds.manifests),
    "manifest-text": (read_manifest_text, lambda: [seeds.saved_graph()["manifest.json"]]),
    "block": (read_block, seeds.blocks),
    "buffer": (decode_buffer, seeds.buffers),
    "message": (take_message, seeds.messages),
    "piece": (read_piece, seeds.pieces),
    "program": (analyse_text, lambda: PROGRAMS),
}


def try_one(name: str, data: bytes) -> bool:
    """Whether the input was taken; what else than an error of ours it raises goes on."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            TARGETS[name][0](data)
    except DgraphError:
        return False
    return True
