"""Delimited text: ids stay what the file says, and what is wrong is named by line and value."""

import gzip
import threading

import pyarrow.csv
import pytest

from dgraph.errors import ColumnError, FileError, IdError, OptionError, WeightError
from dgraph.io.format_options import Text
from dgraph.io.formats import read_edge_list
from dgraph.io.text import diagnosis


def ids(path, **options):
    edges = read_edge_list(path, **options)
    return [edges.edges[name].to_pylist() for name in (edges.source, edges.destination)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("1,2\n3,4\n", [[1, 3], [2, 4]]),
        ("1 2\n# said between\n3\t4  \n\n  5   6\r\n", [[1, 3, 5], [2, 4, 6]]),
        ("src;dst\n1;2\n", [[1], [2]]),
        ("1;2;0,5\n3;4;1,5\n", [[1, 3], [2, 4]]),
        ("a;b,1\nc,2\n", [["a;b", "c"], ["1", "2"]]),
        ("a,b\nb,c\n", [["a", "b"], ["b", "c"]]),
        ("007,1\n7,1\n", [["007", "7"], ["1", "1"]]),
        ("0x10,1\n", [["0x10"], ["1"]]),
        ("1,2\n3,x\n", [["1", "3"], ["2", "x"]]),
        ("-0,1\n", [["-0"], ["1"]]),
        ("+5,1\n", [["+5"], ["1"]]),
        ("1.0,2\n1.0.1,3\n", [["1.0", "1.0.1"], ["2", "3"]]),
        ("NA,nan\nnull,None\n", [["NA", "null"], ["nan", "None"]]),
        ("-9223372036854775808,9223372036854775807\n", [[-(2**63)], [2**63 - 1]]),
        ("0,18446744073709551615\n", [[0], [2**64 - 1]]),
        ("-2147483648,2147483648\n", [[-(2**31)], [2**31]]),
        ('source,target\n"a,""b""","\nc"\n', [['a,"b"'], ["\nc"]]),
        ("source,target\n", [[], []]),
        ("% konect-like comment\n1 2\n", [[1], [2]]),
        ("\ufeffsource,target\n1,2\n", [[1], [2]]),
        ("1, 2\nx, 3\n", [["1", "x"], ["2", "3"]]),
        ("1,2\r3,4", [[1, 3], [2, 4]]),
    ],
)
def test_ids_get_the_expected_type(put, content, expected):
    assert ids(put("a.csv", content)) == expected


def test_a_late_string_turns_all_ids_to_strings(put):
    content = "".join(f"{i} {i + 1}\n" for i in range(200_000)) + "x 1\n"
    source, destination = ids(put("a.txt", content))
    assert (source[0], source[-1], destination[0]) == ("0", "x", "1")


def test_a_late_leading_zero_is_kept(put):
    content = "".join(f"{i} {i + 1}\n" for i in range(200_000)) + "1 02\n"
    assert ids(put("a.txt", content))[1][-1] == "02"


@pytest.mark.parametrize(
    ("content", "options", "error", "said"),
    [
        ("1,2\n3,4,5\n", {}, FileError, "line 2: expected 2 fields, got 3"),
        ("a -> b\nb -> c\n", {}, FileError, "an arrow between the ids .*'a -> b' .*source=0, destination=2"),
        ("1 -- 2 0.5\n2 -- 3 1.5\n", {}, FileError, "an arrow between the ids .*source=0, destination=2"),
        ("1,2\n3,\n", {}, IdError, "line 2: the id in column .* is missing"),
        ("1,2\n3,\\N\n", {}, IdError, "line 2: .* missing"),
        ("1,2\nnan,3\n", {}, IdError, "line 2: id 'nan' in column 'column0' is not a number .*id_type=\"string\""),
        (
            "u,v\n1.0,2.0\n3.0,None\n",
            {"format": Text(header=True)},
            IdError,
            "line 3: id 'None' in column 'v' is not a number",
        ),
        ("1 2\n3 NA\n", {}, IdError, "line 2: id 'NA'"),
        ('a,b\n"",c\n', {"format": Text(header=False)}, IdError, "line 2: .* missing"),
        ("1,2\n99999999999999999999,1\n", {}, IdError, "line 2: id 99999999999999999999 does not fit into 64 bits"),
        ("-1,2\n18446744073709551615,1\n", {}, IdError, "line 2: ids -1 and 18446744073709551615"),
        ("a,b,w\n1,2,3\n1,2,heavy\n", {"weight": "w"}, WeightError, "line 3: weight 'heavy'"),
        ("a;b;w\n1;2;3,5\n", {"weight": "w"}, WeightError, "line 2: weight '3,5'.*pandas.read_csv.*decimal=','"),
        ('a,b,w\n1,2,"1,234.5"\n', {"weight": "w"}, WeightError, "line 2: weight '1,234.5'.*thousands=','"),
        ("a,b,w\n1,2,3\n1,2,\n", {"weight": "w"}, WeightError, "line 3: .*missing"),
        ("a,b,w\n1,2,3\n1,2,nan\n", {"weight": "w"}, WeightError, "line 3: .*missing"),
        ("a,b,w\n1,2,3\n", {"weight": "cost"}, ColumnError, "'cost'.*a, b, w"),
        ("1,2,3\n", {"weight": "cost"}, ColumnError, "no header"),
        ("1,2\n", {"weight": 2}, ColumnError, "only 2 columns"),
        ("1,2\n", {"source": 1, "destination": 1}, OptionError, "both"),
        ("1\n2\n", {}, FileError, "only one column"),
        ("", {}, FileError, "empty"),
        ("# nothing\n\n", {}, FileError, "no row of data"),
        (b"\x00\x01\x02,\xff\n", {}, FileError, "binary"),
        (b"\xff\xfe1\x00", {}, FileError, "UTF-16"),
        (b"a,b\nc,\xff\n", {"format": Text(header=True)}, FileError, "UTF-8"),
        ("1,2\n", {"id_type": "float"}, OptionError, "float"),
        ("1,2\nx,3\n", {"id_type": "int64"}, IdError, "line 2: id 'x'"),
        ("1.0,2\n2.0,3\n", {}, IdError, r"id '1\.0' is not an integer, .*Int64.*id_type"),
        ("1.0,2.0\n", {}, IdError, r"id '1\.0' is not an integer"),
        ("2,3\n007,-.5\n", {}, IdError, r"id '-\.5' is not an integer"),
    ],
)
def test_errors_name_line_value_and_remedy(put, content, options, error, said):
    with pytest.raises(error, match=said):
        read_edge_list(put("a.csv", content), **options)


def test_warns_of_a_first_row_that_may_be_a_header(put):
    text = "who,whom\nann,bob\nbob,cat\n"
    with pytest.warns(UserWarning, match="first row, 'who', 'whom', is read as an edge.*header=True"):
        assert ids(put("a.csv", text)) == [["who", "ann", "bob"], ["whom", "bob", "cat"]]
    assert ids(put("a.csv", text), format=Text(header=True)) == [["ann", "bob"], ["bob", "cat"]]
    assert ids(put("a.csv", text), format=Text(header=False))[0][0] == "who"
    assert ids(put("b.csv", "ann,bob\ncat,ann\n"))[0] == ["ann", "cat"]  # an id comes again: no header
    assert ids(put("c.txt", "ann bob\ncat dan\n"))[0] == ["ann", "cat"]  # lists between blanks have none


def test_columns_are_chosen_by_name_or_position(put):
    path = put("a.csv", "when,from,to,cost,code\n2001,a,b,1.5,007\n")
    edges = read_edge_list(path, source="from", destination="to", weight="cost", columns=["code", 0])
    assert edges.edges.to_pylist() == [{"from": "a", "to": "b", "cost": 1.5, "code": "007", "when": 2001}]
    assert read_edge_list(path, source=1, destination=2).edges.column_names == ["from", "to"]
    assert read_edge_list(path, source=1, destination=2, columns="all").edges.num_columns == 5


def test_a_third_column_is_a_weight_only_if_asked(put):
    assert read_edge_list(put("a.txt", "1 2 3\n")).weight is None
    assert read_edge_list(put("a.txt", "1 2 3\n"), weight=True).weight == "weight"
    assert read_edge_list(put("a.wel", "1 2 3\n")).weight == "weight"
    assert read_edge_list(put("a.wel", "1 2 3\n"), weight=False).weight is None


def test_numeric_ids_are_strings_on_request(put):
    assert ids(put("a.csv", "1,2\n3,4\n"), id_type="string") == [["1", "3"], ["2", "4"]]
    assert ids(put("a.csv", "1.0,2\n"), id_type="string") == [["1.0"], ["2"]]


def test_files_of_a_folder_agree_on_the_type_of_ids(put, tmp_path):
    put("1.csv", "1,2\n")
    put("2.csv", "x,3\n")
    assert ids(str(tmp_path)) == [["1", "x"], ["2", "3"]]
    put("3.csv", "source,target\nx,3\n")
    with pytest.raises(ColumnError, match=r"3\.csv"):
        read_edge_list(str(tmp_path))


def test_arrow_has_let_go_of_a_file_when_it_is_read(put, monkeypatch):
    """A thread of Arrow's that still holds the stream when this process ends would take it down."""
    held, read = [], pyarrow.csv.read_csv

    def slow(source, **options):
        found = read(source, **options)
        held.append(source)
        threading.Timer(0.2, held.clear).start()
        return found

    monkeypatch.setattr(pyarrow.csv, "read_csv", slow)
    assert ids(put("a.csv", "1,2\n")) == [[1], [2]]
    assert not held


def test_few_lines_of_compressed_text_are_searched_for_a_fault(tmp_path, monkeypatch):
    """Very short lines decompress from almost nothing, and the search is slow."""
    monkeypatch.setattr(diagnosis, "EXAMINED_LINES", 100)
    for blanks, told in (90, "line 92: expected 2 fields, got 3"), (200, "cannot be parsed"):
        (tmp_path / "edges.el.gz").write_bytes(gzip.compress(b"1 2\n" + b"\n" * blanks + b"1 2 3\n"))
        with pytest.raises(FileError, match=told):
            read_edge_list(tmp_path / "edges.el.gz")
