"""What the command line makes of awkward files, pipes and words: it reads them, or says in one line what to type."""

import errno
import gzip
import json
import subprocess
import sys
import warnings
from pathlib import Path

import pandas as pd
import pytest

from dgraph.io import declared_sizes


def test_a_run_on_workers_prints_the_first_rows(run):
    """Whose client is not the process' own."""
    assert run("run wcc calls.csv --workers 2").output.split()[:4] == ["vertex", "component", "ann", "ann"]


def test_validate_names_remedies_as_flags(run):
    told = run("validate -", input="1 1\n1 2\n1 2\n").output
    assert '(--loops "drop" removes them)' in told
    assert '(--repeats "first" merges them)' in told
    told = json.loads(run("validate - --json", input="1 1\n1 2\n1 2\n").output)
    assert told["rules"][0] == 'self loops (1) are kept (--loops "drop" removes them)'
    assert told["operations"]["pagerank"].endswith("set --dangling to change that")


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("src,dst,weight\n1,2,3\n2,3,\n3,4,-5\n", ""),
        ("src,dst,km\n1,2,3\n2,3,nan\n3,4,-5\n", "--weight km"),
        ("1 2 3\n2 3 nan\n3 4 -5\n", "--weight 2"),
    ],
)
def test_validate_counts_missing_weights_of_files(run, tmp_path, text, options):
    (tmp_path / "gaps.csv").write_text(text)
    for told in (run(f"validate gaps.csv {options} --json"), run(f"validate - {options} --json", input=text)):
        found = json.loads(told.output)
        assert (found["counts"]["missing_weights"], found["counts"]["negative_weights"]) == (1, 1)
        assert found["rules"][-1].startswith("missing weights (1) are refused by operations that read them")
    assert "the weight" in run(f"run sssp gaps.csv --source-vertex 1 {options}").output  # which still refuses them


def test_validate_does_not_count_another_column_where_a_format_has_fixed_ones(run, tmp_path):
    (tmp_path / "gap.mtx").write_text("%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 nan\n2 3 7\n")
    done = run("validate gap.mtx")
    assert "gap.mtx: column 'weight', row 0: the weight is missing" in done.output and done.exit_code


def test_text_options_and_column_positions_are_respected(run, tmp_path):
    (tmp_path / "names.txt").write_text("who|whom|n\nann|bob|007\nbob|cat|8\n")
    asked = run("run wcc names.txt --header --delimiter '|' --source 1 --destination 0 -o -")
    assert asked.output.splitlines() == ['"vertex","component"', *(f'"{v}","ann"' for v in ("ann", "bob", "cat"))]
    told = json.loads(run("run wcc names.txt --no-header --json").output)
    assert (told["vertices"], told["edges"]) == (5, 3)
    ids = run("run degrees names.txt --source 2 --destination 0 --id-type string --header -o -").output
    assert '"007"' in ids
    pd.DataFrame({"src": [1], "dst": [2]}).to_parquet(tmp_path / "a.parquet")
    told = run("run wcc a.parquet --delimiter ;").output
    assert "a.parquet: parquet has no option --delimiter ';'; text has it" in told


def test_convert_keeps_only_the_named_columns(run, tmp_path):
    (tmp_path / "paid.csv").write_text("from,to,amount,year\nann,bob,3,2020\n")
    kept = {"": "from,to", "--weight amount": "from,to,amount", "--columns year": "from,to,year"}
    kept |= {"--columns amount --columns year": "from,to,amount,year", "--columns all": "from,to,amount,year"}
    for options, columns in kept.items():
        assert run(f"convert paid.csv {options} -o -").stdout.splitlines()[0].replace('"', "") == columns


def test_convert_can_leave_out_the_weight_that_a_file_declares(run):
    run("convert calls.csv --weight minutes -o weighted.parquet")
    kept = {"": "minutes", "--unweighted": "dst", "--weight minutes": "minutes"}
    for options, last in kept.items():
        head = run(f"convert weighted.parquet {options} -o -").stdout.splitlines()[0]
        assert head.replace('"', "").split(",")[-1] == last
    assert "are mutually exclusive" in run("convert weighted.parquet --unweighted --weight minutes -o -").output


def test_compressed_edges_are_read_from_standard_input(run):
    assert run("run wcc - -o -", input=gzip.compress(Path("calls.csv").read_bytes())).output.count("ann") == 5


def test_the_dask_command_offers_the_dgraph_commands():
    asked = [sys.executable, "-m", "dask", "dgraph", "info", "--json"]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert "dgraph" in json.loads(done.stdout)


def test_values_in_a_pipe_are_verified(run, tmp_path):
    """Ids that read like numbers, or like nothing, are ids."""
    (tmp_path / "ids.csv").write_text("a,b\n007,NA\n7,nan\n")
    edges = "ids.csv --header --id-type string"
    values = run(f"run wcc {edges} -o -").stdout
    assert [line.split(",")[0].strip('"') for line in values.splitlines()[1:]] == ["007", "7", "NA", "nan"]
    done = run(f"validate {edges} --result - --of wcc", input=values)
    assert (done.exit_code, done.output) == (0, "- is right for all 4 vertices\n")


def test_every_command_has_json_output(run):
    saved = json.loads(run("partition calls.csv -o calls.dgraph --json").output)
    assert (saved["output"], saved["edge_balance"]) == ("calls.dgraph", 1)
    assert json.loads(run("explain wcc --json").output)["program"] == "Components"
    assert run("explain pagerank").output.startswith("PageRank: synchronous")
    assert json.loads(run("warmup degrees --json").output)["operation"] == "degrees"
    assert "quick" in json.loads(run("bench --list --json").output)
    assert run("partition calls.csv -o calls.dgraph --overwrite").output == ""  # in a pipe


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("run wcc calls.csv --source x", "Error: calls.csv: --source 'x', but there is no such column"),
        ("run sssp calls.csv --source-vertex ann --source x", "Error: calls.csv: --source 'x', but there is no such"),
        ("run wcc - --source x", "Error: standard input: --source 'x', but there is no such column"),
        ("run sssp missing.csv --source-vertex 1 --weight w", "or read the file with --unweighted)"),
        ("run wcc huge.csv", '(read the file with --id-type "string", or renumber the vertices)'),
        ("run pagerank calls.csv --alpha 2", "Error: --alpha 2.0 must be a number from 0 to 1"),
        ("run pagerank calls.csv --personalization ann=0", "Error: --personalization {'ann': 0.0}: weights must be"),
        ("convert alone.graphml -o -", "cannot detect the format by suffix or content"),
        ("convert alone.v -o -", "Error: standard output: text lists only edges"),
        ("convert alone.v -o -", "or leave out such vertices with --drop-isolated)"),
        ("estimate pagerank calls.csv --memory lots", "'--memory': 'lots' is not a number of bytes, such as 4096 or"),
        ("plan wcc calls.csv --latency soon", "and --latency 'soon': expected a bandwidth such as"),
        ("plan wcc calls.csv --cores 0", "Error: --cores 0 and --devices 0: one of them must be > 0"),
        ("plan wcc calls.csv --device-cores -2", "Error: --device-cores -2.0 must be a finite number > 0"),
        ("run pagerank calls.csv --dangling off", 'choose one of "uniform", "personalization", "none"\n'),
        ("partition calls.csv -o -", "a saved graph is a folder"),
        ("run wcc calls.csv -o - --report -", "cannot both be standard output"),
        ("validate - --result - --of wcc", "cannot both be standard input"),
        ("run wcc calls.csv --policy magic", "choose one of auto, outgoing, incoming"),
        ("run wcc nowhere.csv --engine magic", "Error: --engine 'magic' is not known; choose one of auto, local"),
        ("graphalytics nowhere --engine magic", "Error: --engine 'magic' is not known; choose one of auto, local"),
        ("graphalytics nowhere --algorithm magic", "'magic' is not one of 'bfs'"),
        ("run wcc calls.csv --max-rounds 0", "--max-rounds 0 must be an integer >= 1, or leave it out"),
        ("run pagerank calls.csv --tol -1", "--tol -1.0 must be a number >= 0; 0 runs exactly --max-iter rounds"),
        ("generate rmat --scale 99 -o -", "Error: --scale 99 must be an integer from 0 to 40"),
        ("run wcc links", "gone.csv: there is no such file"),
        ("generate rmat -o edges.csv", "Error: Missing option '--scale'"),
        ("run walk calls.csv", "Error: there is no 'walk'; choose one of "),
        ("walk calls.csv", "Error: there is no 'walk'; choose one of run, "),
        ("pagerank calls.csv", "did you mean `dgraph run pagerank`? choose one of run, "),
        ("run connected-components calls.csv", "did you mean `dgraph run wcc`? choose one of pagerank, "),
        ("run pagerank calls.csv --damping 0.9", "Error: there is no --damping; did you mean --alpha?"),
        ("run pagerank calls.csv --tolerance=0.9", "Error: there is no --tolerance; did you mean --tol?"),
        ("run bfs calls.csv --root ann", "Error: there is no --root; did you mean --source-vertex?"),
        (
            "run girvan_newman calls.csv",
            "leiden and louvain find communities; or use networkx.community.girvan_newman(",
        ),
        ("find_cliques calls.csv", "use networkx.find_cliques(dgraph.to_networkx(G)), or choose one of run, "),
        ("estimate girvan_newman calls.csv", "or use networkx.community.girvan_newman("),
        ("plan kcore calls.csv", "did you mean k-core? choose one of pagerank, "),
        (
            "explain find_cliques",
            "use networkx.find_cliques(dgraph.to_networkx(G)), or choose one of pagerank",
        ),
        ("run matching calls.csv --random-seed 1", "Error: there is no --random-seed; did you mean --seed?"),
        ("run PageRank calls.csv", "did you mean `dgraph run pagerank`? choose one of pagerank, "),
        ("run pagerank calls.csv --weighted", "make the graph with --weight 'minutes' to use it"),
        ("run bfs calls.csv --source-vertex weight=3", "Error: the graph has no vertex 'weight=3'"),
        (
            "run wcc calls.csv -o ./calls.csv",
            "Error: ./calls.csv is the file of edges; write",
        ),
        (
            "run wcc calls.csv --vertex-file people.csv -o people.csv",
            "Error: people.csv is the file of vertices; write",
        ),
        ("run similarity calls.csv --vertex-file p.csv -o p.csv", "Error: p.csv is the file of vertices; write"),
        ("run wcc calls.csv -o found.csv --report found.csv", "-o and --report cannot both be found.csv"),
        ("run wcc calls.csv -o calls.csv/values.csv", "calls.csv: Not a directory; choose another folder"),
        ("run wcc calls.csv --cluster http://127.0.0.1:8786", "is not the address of a scheduler"),
        ("run wcc calls.csv --cluster tcp://127.0.0.1:8786 --tls-ca-file calls.csv", "does not use TLS"),
        ("explain broken.py:Program", "Error: cannot run broken.py: NameError: name 'nobody' is not defined"),
        ("convert nope.csv -o calls.xyz", ".ncol"),
        ("convert nope.csv -o calls.mtx --renumber ids.xyz", "unknown suffix for values"),
        ("convert nope.csv -o - --renumber ids.csv", "is for formats that number vertices from 1"),
        ("validate calls.csv --result values.csv --of bfs", "--source-vertex is missing"),
    ],
)
def test_errors_name_options_as_flags(run, tmp_path, line, told):
    (tmp_path / "values.csv").write_text(
        "vertex,distance\n" + "".join(f"{v},0\n" for v in ("ann", "bob", "cat", "eve"))
    )
    (tmp_path / "broken.py").write_text("nobody\n")
    (tmp_path / "missing.csv").write_text("src,dst,w\n1,2,1\n2,3,\n")
    (tmp_path / "huge.csv").write_text("18446744073709551616,1\n")
    (tmp_path / "alone.v").write_text("1\n2\n3\n")
    (tmp_path / "alone.e").write_text("1 2\n")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "gone.csv").symlink_to(tmp_path / "nowhere.csv")
    (tmp_path / "alone.graphml").write_text("<graphml/>\n")
    done = run(line, input=Path("calls.csv").read_text())
    assert done.exit_code == 2 and told in done.output and done.output.splitlines()[-1].startswith("Error: ")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_warning_names_unused_columns_called_src_and_dst(run, suffix):
    Path("numbered.csv").write_text("id,src,dst\n7,1,2\n8,2,3\n")
    pd.read_csv("numbered.csv").to_parquet("numbered.parquet")
    for command, told in (("bfs numbered.{} --source-vertex 7", True), ("wcc numbered.{} --source src", False)):
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            done = run(f"run {command.format(suffix)} -o -")
        assert done.exit_code == 0 and told == (
            "Warning: edges are read from the first two columns, 'id' and 'src', although there are columns 'src' and "
            "'dst'; choose with --source and --destination" in done.stderr
        )


@pytest.mark.parametrize(
    "line", ["sssp nowhere.csv --source-vertex ann --per-source -o d.csv", "factorize nowhere.csv -o -"]
)
def test_writing_vectors_to_csv_is_refused_before_the_run(run, line):
    done = run(f"run {line}")
    assert (done.exit_code, "vectors, which CSV cannot hold; write .parquet or .arrow" in done.output) == (2, True)


@pytest.mark.parametrize(
    ("listed", "alone"),
    [
        ("yan\nbob\nzoe\n", {"yan", "zoe"}),
        ("Name\nyan\n", {"yan"}),
        ("new york\nyan smith\n", {"new york", "yan smith"}),
        ("id\tage\nyan\t3\nbob\t4\n", {"yan"}),
        ("who,from\nyan,rome\n", {"yan"}),
        ("who;from\nyan smith;rome\n", {"yan smith"}),
    ],
)
def test_a_vertex_file_adds_isolated_vertices(run, tmp_path, listed, alone):
    (tmp_path / "all.txt").write_text(listed)
    done = run("run wcc calls.csv --vertex-file all.txt -o -")
    assert {line.split(",")[0].strip('"') for line in done.output.splitlines()[1:]} == {
        *("ann", "bob", "cat", "eve"),
        *alone,
    }


def test_vertex_files_may_be_compressed_text_or_parquet(run, tmp_path):
    (tmp_path / "all.txt.gz").write_bytes(gzip.compress(b"id,age\nyan,3\n"))
    pd.DataFrame({"age": [3]}, index=pd.Index(["yan"], name="id")).reset_index().to_parquet(tmp_path / "all.parquet")
    for name in "all.txt.gz", "all.parquet":
        assert '"yan"' in run(f"run wcc calls.csv --vertex-file {name} -o -").output


def test_vertex_files_too_large_for_memory_are_refused(run, tmp_path, monkeypatch):
    """As files of edges are: what decompresses to too much, and rows that there is no memory for."""
    monkeypatch.setattr(declared_sizes, "LARGE", 1 << 20)
    monkeypatch.setattr(declared_sizes, "RESERVE", 0)
    (tmp_path / "all.txt.gz").write_bytes(gzip.compress(b"id\n" + b"1\n" * (20 << 20)))
    done = run("run wcc calls.csv --vertex-file all.txt.gz")
    assert (done.exit_code, "250 times as large as its compressed bytes" in done.output) == (2, True)
    pd.DataFrame({"id": range(1000)}).to_parquet(tmp_path / "all.parquet")
    monkeypatch.setenv("DGRAPH_MEMORY", "1")
    done = run("run wcc calls.csv --vertex-file all.parquet")
    assert (done.exit_code, "the 1,000 rows that its footer declares need about" in done.output) == (2, True)


def test_writing_an_undirected_graph_as_text_warns_that_direction_is_lost(run):
    for line in ("generate grid --rows 2 --cols 2 -o grid.csv", "convert calls.csv --undirected -o grid.tsv"):
        done = run(line)
        assert done.exit_code == 0 and "read it with --undirected" in done.stderr
    assert not run("generate grid --rows 2 --cols 2 -o grid.parquet").stderr
    assert not run("convert calls.csv -o calls.tsv").stderr


def test_warnings_can_be_errors(run):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = run("run pagerank calls.csv --max-iter 1 -o -")
    assert (done.exit_code, done.output.startswith("Error: scores had not converged after --max-iter 1")) == (1, True)


def test_a_vertex_named_twice_in_an_option_is_refused(run):
    done = run("run pagerank calls.csv --personalization ann=1 --personalization ann=2")
    assert "--personalization lists vertex 'ann' 2 times; give it one number" in done.output


def test_a_full_disk_is_reported_as_such(run, monkeypatch):
    def full(*array, **how):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("numpy.lib.format.write_array", full)
    done = run("generate grid --rows 3 --cols 4 -o grid.npz")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "check the free disk space" in done.stderr
