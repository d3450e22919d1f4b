"""Columns of ids as users have them: what each becomes, how it comes back, and what is refused."""

import uuid
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dgraph.errors import IdError
from dgraph.partition.ids.id_types import IdType, id_column

A, B = uuid.UUID(int=1 << 127), uuid.UUID(int=2)
TEXT = ["b", "a", "é", "😀", ""]

INTEGERS = {
    "int8": np.array([-3, 4], np.int8),
    "uint64": np.array([0, 2**64 - 1], np.uint64),
    "strided": np.arange(10)[::3],
    "series": pd.Series([5, -5]),
    "pandas nullable": pd.Series([2**60 + 1, -1], dtype="Int64"),
    "pandas nullable, short": pd.Series([7, 1], dtype="UInt8"),
    "pandas on Arrow": pd.Series([2**60 + 1, -1], dtype="int64[pyarrow]"),
    "categories": pd.Series(pd.Categorical([9, 3, 9])),
    "objects": np.array([2**60 + 1, np.int8(4)], object),
    "large objects": np.array([2**63, 1], object),
    "Arrow": pa.chunked_array([[1, 2], [2**60 + 1]]),
    "Arrow uint32": pa.array([1, 2], pa.uint32()),
    "Arrow dictionary": pa.chunked_array([pa.array([4, 4, 2]).dictionary_encode()]),
    "Arrow decimals": pa.chunked_array([pa.array([1, 2**60 + 1]).cast(pa.decimal128(38, 0))]),
    "Arrow decimals, large": pa.array([Decimal(2**64 - 1), Decimal(0)], pa.decimal256(60, 0)),
    "pandas on Arrow, decimals": pd.Series([Decimal(7), Decimal(1)], dtype=pd.ArrowDtype(pa.decimal128(19, 0))),
    "objects, decimals": np.array([Decimal(7), Decimal(2**60 + 1)], object),
    "list": [3, 1],
}
STRINGS = {
    "NumPy": np.array(TEXT),
    "objects": np.array(TEXT, object),
    "series": pd.Series(TEXT),
    "index": pd.Index(TEXT),
    "series of objects": pd.Series(TEXT, dtype=object),
    "pandas nullable": pd.Series(TEXT, dtype="string"),
    "pandas on Arrow": pd.Series(TEXT, dtype="string[pyarrow]"),
    "categories": pd.Series(TEXT, dtype="category"),
    "Arrow": pa.array(TEXT),
    "Arrow, large": pa.chunked_array([pa.array(TEXT, pa.large_string())]),
    "Arrow, views": pa.array(TEXT, pa.string_view()),
    "Arrow dictionary": pa.array(TEXT).dictionary_encode(),
    "Arrow dictionaries that differ": pa.chunked_array(
        [pa.array(TEXT[:2]).dictionary_encode(), pa.array(TEXT[2:]).dictionary_encode()]
    ),
    "list": TEXT,
}
UUIDS = {
    "objects": np.array([A, B], object),
    "series": pd.Series([A, B]),
    "bytes": pa.array([A.bytes, B.bytes], pa.binary(16)),
    "Arrow": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([A.bytes, B.bytes], pa.binary(16))),
    "Arrow, chunked": pa.chunked_array(
        [pa.ExtensionArray.from_storage(pa.uuid(), pa.array([A.bytes, B.bytes], pa.binary(16)))]
    ),
}


def plain(values):
    return values.to_pylist() if isinstance(values, pa.Array | pa.ChunkedArray) else list(values)


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_columns_keep_their_values_and_type(name):
    values = INTEGERS[name]
    id_type, kept = id_column(values, "id")
    assert id_type.kind == "integer"
    assert isinstance(kept, np.ndarray)
    assert [int(value) for value in kept] == [int(value) for value in plain(values)]
    assert id_type.restore(kept).dtype == id_type.dtype


@pytest.mark.parametrize("name", STRINGS)
def test_string_columns_keep_their_values(name):
    id_type, kept = id_column(STRINGS[name], "id")
    assert id_type == IdType("string")
    assert kept.to_pylist() == TEXT
    assert list(id_type.restore(kept)) == TEXT


@pytest.mark.parametrize("name", UUIDS)
def test_uuid_columns_keep_their_values(name):
    id_type, kept = id_column(UUIDS[name], "id")
    assert id_type == IdType("uuid")
    assert list(id_type.restore(kept)) == [A, B]


def test_integers_come_back_in_the_type_they_had():
    assert id_column(np.array([1], np.int16), "id")[0].dtype == "int16"
    assert id_column(np.array([2**63], object), "id")[0].dtype == "uint64"
    assert IdType("integer", "int16").join(IdType("integer", "uint16")).dtype == "int32"
    assert IdType("none").join(IdType("string")) == IdType("string")
    assert IdType("uuid").join(IdType("none")) == IdType("uuid")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.array([1.0, np.nan, 2.0]), "row 1.*missing.*drop or fill"),
        (pd.Series([3, None], dtype="Int64"), "row 1.*missing.*drop or fill"),
        (pd.Series(["a", "b", None]), "row 2.*missing.*drop or fill"),
        (np.array(["a", None], object), "row 1.*missing.*drop or fill"),
        (pd.Series(pd.Categorical(["a", None, "b"])), "row 1.*missing.*drop or fill"),
        (pa.chunked_array([["a"], [None]]), "row 1.*missing.*drop or fill"),
        (pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None])), "row 1.*missing.*drop or fill"),
        (pa.array([1.0, float("nan")]), "row 1.*missing.*drop or fill"),
        (pa.nulls(2), "row 0.*missing.*drop or fill"),
        (np.array([0.5, 1.0]), r"float64.*0\.5.*whole numbers"),
        (pd.Series([1.0], dtype="Float64"), r"float64.*1\.0.*astype\('int64'\)"),
        (np.array([True, False]), "type bool.*whole numbers"),
        (pd.Series([True], dtype="boolean"), "type bool.*whole numbers"),
        (np.array([True, 1], object), "type bool, int.*one kind"),
        (np.array(["a", 1], object), "type int, str.*one kind"),
        (np.array([b"a"], object), "type bytes"),
        (np.array([2**64, 1], object), f"{2**64} is beyond 64 bits.*strings"),
        (np.array([-(2**63) - 1], object), f"{-(2**63) - 1} is beyond 64 bits.*strings"),
        (np.array([-1, 2**63], object), f"{2**63} is beyond 64 bits.*strings"),
        (np.array(["2020-01-01"], "datetime64[D]"), "datetime64.*whole numbers"),
        (pa.array([[1]]), "list.*whole numbers"),
        (pa.array([Decimal("1.5")]), "decimal.*whole numbers"),
        (pa.array([Decimal(2**64), Decimal(1)]), "beyond 64 bits.*astype"),
        (np.array([Decimal("1.0")], object), "decimal.*whole numbers"),
    ],
)
def test_invalid_ids_are_refused_with_the_column(values, said):
    with pytest.raises(IdError, match=said) as caught:
        id_column(values, "home")
    assert "'home'" in str(caught.value)


def test_kinds_do_not_mix():
    with pytest.raises(IdError, match=r"integer ids and string ids.*convert"):
        IdType("integer").join(IdType("string"))
    for id_type, wrong in [("integer", "7"), ("integer", True), ("string", 7), ("uuid", "7")]:
        with pytest.raises(IdError, match=f"{wrong!r} is not an id"):
            IdType(id_type).scalar(wrong)


@pytest.mark.parametrize(
    "name", [name for name in STRINGS if name != "list" and str(getattr(STRINGS[name], "dtype", None)) != "object"]
)
def test_an_empty_string_column_stays_a_string_column(name):
    """So that an empty result can be joined with a column of strings; objects could be anything."""
    id_type, kept = id_column(STRINGS[name][:0], "id")
    ids = id_type.join(IdType("none")).restore(kept)
    assert (len(ids), ids.dtype) == (0, IdType("string").restore(pa.array(["a"])).dtype)
