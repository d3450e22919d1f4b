"""Experimental: Parquet and text read by cuDF, one task per block, on workers that have cuDF and a GPU.

On a cluster the columns are copied to main memory on the same worker, so no device array reaches a worker without a
GPU. In this process numbers stay on the GPU, which builds the graph if it can (`building/gpu_build.py`).
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from contextlib import closing
from io import BytesIO
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from dgraph.cluster.workers import Workers
from dgraph.devices import own_device
from dgraph.devices.probe import CUDF_PACKAGES, INSTALL, missing_requirements
from dgraph.errors import LostError
from dgraph.frames.any_frame import DeviceFrame, LazyPieces
from dgraph.io import lazy_edges
from dgraph.io.columnar.parquet import BROKEN, check_block
from dgraph.io.paths import explain_failure
from dgraph.io.text.dialect import BLANKS


class CudfFrames:
    """Makes a lazy frame from blocks with cuDF, in place of `lazy_edges.PandasFrames`."""

    def __init__(self, workers: Workers):
        self.workers = workers
        self.fitting = workers.capabilities.that_have(
            'read_edges(device="cuda")', CUDF_PACKAGES, f'{INSTALL}; or choose device="cpu"'
        )

    def parquet(self, pieces: list[tuple[str, int]], weight: str | None, schema: pa.Schema) -> LazyPieces:
        return self._pieces(parquet_block, pieces, weight, schema)

    def text(self, blocks: list[tuple], spec: Any, id_type: str, schema: pa.Schema) -> LazyPieces:
        return self._pieces(text_block, blocks, spec, id_type, schema)

    def _pieces(self, read: Callable, blocks: list, *how: Any) -> LazyPieces:
        def tasks() -> list[Any]:
            places = zip(blocks, cycle(self.fitting))
            stays = self.workers.client is None
            return [self.workers.call(_on_gpu, read, block, *how, stays, on=on) for block, on in places]

        return LazyPieces(lambda: how[-1].empty_table().to_pandas(), tasks, cudf=True)


def _on_gpu(read: Callable, block: Any, *how: Any) -> pd.DataFrame | DeviceFrame:
    if lacks := missing_requirements(CUDF_PACKAGES):
        raise LostError(f"a GPU task was placed on a worker that lacks {' and '.join(lacks)}; run again")
    own_device.own_memory().give_back()  # cuDF cannot use memory that our runs hold
    return read(block, *how)


def parquet_block(
    piece: tuple[str, int], weight: str | None, schema: pa.Schema, stays: bool
) -> pd.DataFrame | DeviceFrame:
    import cudf

    name, group = piece
    problem, failures = f"row group {group} does not match the schema of all files", (*BROKEN, RuntimeError)
    with explain_failure(name, problem, "write all files with the same columns", failures):
        frame = cudf.read_parquet(name, columns=schema.names, row_groups=[group], use_pandas_metadata=False)
        if stays and (on_device := _on_device({name: frame[name] for name in schema.names}, schema)) is not None:
            return on_device
        table = frame.to_arrow().select(schema.names).replace_schema_metadata(None).cast(schema)
    check_block(table, weight, f"{name}: row group {group}")
    return table.to_pandas()


def text_block(block: tuple, spec: Any, id_type: str, schema: pa.Schema, stays: bool) -> pd.DataFrame | DeviceFrame:
    """Read some lines of text. Anything unusual is left to the CPU reader, which reports the line of an error."""
    import cudf

    name, dialect, span = block
    quoting = csv.QUOTE_NONE if dialect.delimiter == BLANKS else csv.QUOTE_MINIMAL
    names, kinds = list(dialect.names), spec.kinds
    with closing(lazy_edges.open_span(name, dialect, span)) as stream:
        lines = b"".join(iter(lambda: stream.read(1 << 20), b""))
    try:
        if dialect.bare_cr or len(set(names)) < len(names):
            raise ValueError("cuDF cannot distinguish these columns")
        how = {"sep": _separator(dialect.delimiter, lines), "quoting": quoting, "dtype": dict.fromkeys(kinds, "str")}
        frame = cudf.read_csv(BytesIO(lines), header=None, names=names, usecols=list(kinds), **how)
        values = [_numbers(frame[name], kind, id_type) for name, kind in kinds.items()]
        columns = dict(zip(spec.labels, values, strict=True))
        if stays and (on_device := _on_device(columns, schema)) is not None:
            return on_device
        return pa.table({label: one.to_arrow() for label, one in columns.items()}).cast(schema).to_pandas()
    except (pa.ArrowException, ValueError, TypeError, KeyError, RuntimeError):
        return lazy_edges.text_block(block, spec, id_type, schema)


def _separator(delimiter: str, lines: bytes) -> str:
    """The separator as the one character that cuDF accepts; a ValueError if blanks separate in another way."""
    if delimiter != BLANKS:
        return delimiter
    one = b"\t" if b"\t" in lines else b" "
    others = {b" ", b"\t", b"\v", b"\f"} - {one}
    if any(odd in lines for odd in (*others, 2 * one, one + b"\n", b"\n" + one)) or lines.startswith(one):
        raise ValueError("values are not separated by single blanks")
    return one.decode()


def _on_device(columns: dict[str, Any], schema: pa.Schema) -> DeviceFrame | None:
    """cuDF's columns unchanged, if they are numbers with the types of the schema."""
    fits = all(columns[field.name].dtype == np.dtype(field.type.to_pandas_dtype()) for field in schema)
    return DeviceFrame.from_cudf(columns) if fits else None


def _numbers(texts: Any, kind: str, id_type: str) -> Any:
    """Convert a column of text to its kind exactly, or raise a ValueError."""
    if kind == "other":
        return texts
    if texts.null_count:
        raise ValueError("a value is missing")
    if kind == "weight":
        return texts.astype("float64")
    if id_type == "string":
        return texts
    numbers = texts.astype("int64")
    if not (numbers.astype("str") == texts).all():
        raise ValueError("an id is not written as a plain integer")
    return numbers
