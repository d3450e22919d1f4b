"""Every command as a user types it: the examples of its help, its output, its errors."""

import inspect
import json
import re
import signal
import subprocess
import sys
from functools import wraps
from pathlib import Path

import pandas as pd
import pytest

import dgraph as dg
from dgraph.bench.local_cluster import shield_workers_from_ctrl_c
from dgraph.cli.app import dgraph
from dgraph.cli.commands.generate import EXAMPLES
from dgraph.cli.commands.run_measure import MEASURES


def test_the_tour_of_the_readme_can_be_repeated(run):
    tour = (Path(__file__).parents[2] / "README.md").read_text().partition("## On the command line")[2]
    lines = re.findall(r"^dgraph ([^#\n]*)", tour.partition("```console\n")[2].partition("```")[0], re.MULTILINE)
    assert len(lines) == 5
    for line in [*lines, *lines]:
        done = run(line.replace("--scale 20", "--scale 8").replace("--workers 4", ""))
        assert done.exit_code == 0, f"{line}\n{done.output}"


def test_every_operation_has_a_command():
    names = {name.replace("_", "-") for name in (*dg.ALL_OPERATIONS, *MEASURES)}
    assert set(dgraph.get_command(None, "run").list_commands(None)) == names
    assert all(hasattr(dg, name) for name in EXAMPLES)


def test_workers_option_starts_that_many_workers(run):
    """More than there are cores; each has a partition."""
    done = run("run wcc calls.csv --workers 3 --json -o out.csv")
    assert json.loads(done.output)["partitions"] == 3


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_results_can_be_written_in_every_format(run, suffix):
    assert run(f"run sssp calls.csv --source-vertex ann --weight minutes -o out.{suffix}").exit_code == 0
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "arrow": pd.read_feather}[suffix]
    frame = read(f"out.{suffix}")
    assert frame["vertex"].tolist() == ["ann", "bob", "cat", "eve"]
    assert frame["distance"].tolist() == [0, 3, 1, float("inf")]
    assert frame["predecessor"].fillna("").tolist() == ["", "ann", "ann", ""]


def test_factorize_writes_factors_and_refuses_graphs_without_ratings(run):
    assert run("generate ratings --users 30 --items 10 --ratings 120 -o edges.parquet").exit_code == 0
    how = "--rank 3 --update least_squares --report epochs.csv"
    assert run(f"run factorize edges.parquet {how} -o factors.parquet").exit_code == 0
    assert {len(vector) for vector in pd.read_parquet("factors.parquet")["factors"]} == {3}
    report = pd.read_csv("epochs.csv")
    assert 8 <= len(report) <= 30 and report["kept"].sum() <= 1
    refused = run("run factorize calls.csv -o factors.parquet")
    assert refused.exit_code != 0 and "factorize needs ratings" in refused.output


def test_edges_come_from_standard_input_and_results_go_to_standard_output(run):
    done = run("run wcc - -o -", input=Path("calls.csv").read_text())
    assert done.output.splitlines() == ['"vertex","component"', *(f'"{v}","ann"' for v in ("ann", "bob", "cat", "eve"))]


@pytest.mark.filterwarnings("always::dgraph.errors.UnweightedWarning")
def test_several_sources_give_the_nearest_distances_and_json_describes_the_run(run):
    done = run("run sssp calls.csv --source-vertex bob --source-vertex eve -o d.csv --report r.csv --json")
    assert "its column 'minutes' is numeric: make the graph with --weight 'minutes' to use it, or with" in done.stderr
    assert "or with --unweighted to count edges on purpose" in done.stderr
    told = json.loads(done.stdout)
    assert (told["operation"], told["vertices"], told["edges"], told["output"]) == ("sssp", 4, 4, "d.csv")
    assert set(told["seconds"]) == {"load", "run", "write"}
    assert pd.read_csv("d.csv")["distance"].tolist() == [1, 0, 1, 0]
    assert "fired" in pd.read_csv("r.csv").columns


def test_a_pipe_receives_only_the_values(run):
    assert run("run wcc calls.csv -o out.csv").output == ""


def test_commands_share_the_common_options(run):
    wanted = ("--weight", "--policy", "--parts", "--workers", "--cluster", "--undirected", "--json", "--debug")
    for command in ("convert", "estimate build", "partition", "validate", "run wcc"):
        text = run(f"{command.split()[0]} {'wcc' if 'run' in command else ''} --help").output
        assert [option for option in wanted if option not in text] == []


def test_generate_writes_a_folder_that_is_new(run):
    told, edges = run("generate grid --rows 9 --cols 9 -o roads/ --json"), dg.grid(rows=9, cols=9).num_edges
    assert json.loads(told.stdout) == {"generated": "grid", "vertices": 81, "edges": edges, "output": "roads/"}
    assert [path.name for path in Path("roads").iterdir()] == ["part-00000.parquet"]
    assert run("run wcc roads -o -").exit_code == 0
    again = run("generate grid --rows 9 --cols 9 -o roads/")
    assert again.exit_code == 2 and "roads/ is there already; choose another folder, or remove it" in again.output


def test_piped_edges_equal_those_in_a_file(run):
    run("generate rmat --scale 5 -o edges.csv")
    assert run("generate rmat --scale 5 -o -").stdout_bytes == Path("edges.csv").read_bytes()
    assert run("convert edges.csv -o -").stdout_bytes == Path("edges.csv").read_bytes()
    table = run("run wcc - -o -", input=Path("edges.csv").read_bytes()).stdout
    assert table == run("run wcc edges.csv -o -").stdout and table.startswith('"vertex","component"')


def test_workers_leave_ctrl_c_to_the_command():
    before, ask = signal.getsignal(signal.SIGINT), "import signal; print(signal.getsignal(signal.SIGINT).name)"
    with shield_workers_from_ctrl_c():
        heard = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert heard.stdout.strip() == "SIG_IGN" and signal.getsignal(signal.SIGINT) is before


def test_personalization_takes_values_by_vertex(run):
    run("run pagerank calls.csv --personalization ann=1 --personalization eve=2.5 -o p.csv")
    expected = dg.pagerank(dg.read_edges("calls.csv"), personalization={"ann": 1, "eve": 2.5}).compute()
    pd.testing.assert_frame_equal(pd.read_csv("p.csv"), expected, check_dtype=False)


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("run wcc nope.csv", 2, "nope.csv: there is no such file (check the path)"),
        ("run bfs calls.csv --source-vertex zoe", 2, "'zoe'"),
        ("run wcc calls.csv -o out.xlsx", 2, "use .csv, .parquet"),
        ("run wcc calls.csv -o out.parquet.gz", 2, ".parquet files are compressed internally"),
        ("run wcc calls.csv --policy magic", 2, "--policy 'magic'"),
        ("run wcc calls.csv --engine magic", 2, "--engine 'magic'"),
        ("run wcc calls.csv --workers 1 --cluster tcp://127.0.0.1:1", 2, "are mutually exclusive"),
        ("run wcc calls.csv --workers 1 --tls-ca-file calls.csv", 2, "needs --cluster"),
        ("run wcc calls.csv --tls-key key.pem --cluster tls://127.0.0.1:1", 2, "--tls-ca-file"),
        ("run pagerank calls.csv --personalization ann", 2, "VERTEX=NUMBER"),
        ("convert calls.csv -o edges.gr", 2, "edges.gr"),
        ("explain nothing", 2, "'nothing' is not an operation"),
        ("explain nothing.py:Program", 2, "cannot read nothing.py"),
        ("warmup nothing", 2, "'nothing' is not an operation"),
        ("plan nothing calls.csv", 2, "'nothing' is not an operation"),
        ("estimate nothing calls.csv", 2, "'nothing' is not an operation"),
        ("run nothing calls.csv", 2, "nothing"),
    ],
)
def test_errors_are_printed_on_one_line(run, line, code, message):
    done = run(line)
    assert done.exit_code == code
    last = done.output.splitlines()[-1]
    assert message in last
    assert "Traceback" not in done.output


@pytest.mark.filterwarnings("always::dgraph.errors.UnsettledWarning")
def test_warnings_are_printed_on_one_line(run):
    done = run("run pagerank calls.csv --max-iter 1 -o ranks.csv")
    assert done.exit_code == 0
    assert re.fullmatch(r"Warning: scores .* --max-iter 1 .* --tol 1e-06 .*\n", done.stderr)


def test_debug_shows_the_traceback(run):
    done = run("run wcc nope.csv --debug")
    assert (done.exit_code, "Traceback" in done.output) == (2, True)
    assert done.output.splitlines()[-1].startswith("Error: nope.csv")


def test_a_failed_run_leaves_no_files(run, tmp_path):
    before = set(tmp_path.iterdir())
    assert run("run bfs calls.csv --source-vertex zoe -o out.csv").exit_code == 2
    assert set(tmp_path.iterdir()) == before


def test_commands_accept_a_saved_graph_in_place_of_edges(run):
    assert run("partition calls.csv --parts 2 --weight minutes -o calls.dgraph").exit_code == 0
    assert run("run sssp calls.dgraph --source-vertex ann -o out.csv").exit_code == 0
    assert pd.read_csv("out.csv")["distance"].tolist() == [0, 3, 1, float("inf")]
    assert "is a saved graph" in run("run wcc calls.dgraph --undirected").output
    assert run("partition calls.csv -o calls.dgraph").exit_code != 0
    assert run("partition calls.csv -o calls.dgraph --overwrite").exit_code == 0


def test_explain_reads_a_program_from_a_users_file(run, tmp_path):
    (tmp_path / "mine.py").write_text(
        "import dgraph as dg\n\n\nclass Mine(dg.VertexProgram):\n    value = dg.State(float)\n    merge = dg.MIN\n\n"
        "    def seed(id):\n        return 1.0 * id\n\n    def send(value):\n        return value\n\n"
        "    def apply(value, message):\n        return min(value, message)\n"
    )
    assert "Mine: accumulative" in run("explain mine.py:Mine").output
    assert "no vertex program 'Yours'" in run("explain mine.py:Yours").output


def test_formats_that_lose_isolated_vertices_need_drop_isolated(run):
    run("generate rmat --scale 6 --edge-factor 1 -o edges.parquet")
    assert json.loads(run("run wcc edges.parquet -o c.csv --json").output)["vertices"] == 64
    run("generate rmat --scale 6 --edge-factor 1 -o edges.csv")
    assert json.loads(run("run wcc edges.csv -o c.csv --json").output)["vertices"] < 64
    assert json.loads(run("run wcc edges.csv --vertices 64 -o c.csv --json").output)["vertices"] == 64
    done = run("convert edges.parquet -o edges.tsv")
    assert (done.exit_code, "no edge" in done.output) == (2, True)
    assert run("convert edges.parquet -o edges.tsv --drop-isolated").exit_code == 0


def test_a_run_can_use_an_existing_cluster(run, client):
    address = client.scheduler.address
    told = json.loads(run(f"run wcc calls.csv --cluster {address} -o c.csv --json").output)
    assert (told["partitions"], told["rounds"] > 0) == (2, True)
    assert sorted(pd.read_csv("c.csv")["vertex"]) == ["ann", "bob", "cat", "eve"]


@pytest.mark.parametrize("text", ["7\n0\n1\n2\n", "id\n7\n0\n1\n2\n", "7 x\n0 x\n1 y\n2 z\n"])
def test_vertex_files_may_have_a_header(run, tmp_path, text):
    (tmp_path / "vertices.txt").write_text(text)
    (tmp_path / "edges.csv").write_text("a,b\n0,1\n1,2\n")
    run("run wcc edges.csv --vertex-file vertices.txt -o out.csv")
    assert pd.read_csv("out.csv")["vertex"].tolist() == [0, 1, 2, 7]


def test_standard_output_is_only_json_or_only_values(run):
    assert json.loads(run("run wcc calls.csv --json").stdout)["operation"] == "wcc"
    assert run("run wcc calls.csv --json -o -").stdout.startswith('"vertex"')


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("run wcc calls.csv --cluster nonsense", "'nonsense' is not the address of a scheduler, such as tcp://"),
        ("run wcc calls.csv --scheduler-file nope.json", "nope.json does not contain the address of a scheduler"),
        ("run wcc calls.csv --scheduler-file calls.csv", "calls.csv does not contain the address of a scheduler"),
        ("run wcc nope.csv --report r.txt", "r.txt: unknown suffix"),  # before anything is read
        ("run wcc nope.csv -o folder.csv", "folder.csv is a folder"),
        ("run wcc calls.csv --cluster tls://127.0.0.1:1 --tls-ca-file no.pem", "no.pem: there is no such TLS file"),
        ("run wcc calls.csv --cluster tls://127.0.0.1:1", "needs --tls-ca-file, --tls-cert and --tls-key"),
        ("run wcc -", "standard input is empty"),
    ],
)
def test_invalid_options_are_refused_at_once(run, tmp_path, line, message):
    (tmp_path / "folder.csv").mkdir()
    done = run(line, input="")
    assert (done.exit_code, message in done.output.splitlines()[-1]) == (2, True), done.output


def test_an_error_of_the_run_is_not_taken_for_one_of_the_cluster(run, client, monkeypatch):
    @wraps(dg.wcc)
    def late(graph, **options):
        raise TimeoutError("a lock was not had in time")

    monkeypatch.setattr(dg, "wcc", late)
    done = run(f"run wcc calls.csv --cluster {client.scheduler.address} -o c.csv")
    assert (done.exit_code, "no scheduler answers" in done.output) == (1, False)


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet", "arrow"])
@pytest.mark.parametrize("operation", ["sssp --source-vertex ann --weight minutes", "wcc", "pagerank"])
def test_results_are_verified(run, suffix, operation):
    name, _, options = operation.partition(" ")
    assert run(f"run {name} calls.csv {options} -o r.{suffix}").exit_code == 0
    done = run(f"validate calls.csv --result r.{suffix} --of {name} {options} --json")
    assert json.loads(done.output) == {"result": f"r.{suffix}", "operation": name, "vertices": 4, "right": True}


@pytest.mark.parametrize(
    ("text", "options", "code", "message"),
    [
        (
            "vertex,component\nann,ann\nbob,ann\ncat,cat\neve,ann\n",
            "--of wcc",
            1,
            "(by position: 0 is ann, 2 is cat)",
        ),
        ("vertex,component\nann,ann\nbob,ann\neve,ann\n", "--of wcc", 2, "each vertex of the graph once"),
        ("vertex,component\nann,ann\nann,ann\ncat,ann\neve,ann\n", "--of wcc", 2, "each vertex of the graph once"),
        ("v,component\nann,ann\n", "--of wcc", 2, "no column 'vertex'"),
        ("vertex,distance\nann,0\nbob,1\ncat,1\neve,inf\n", "--of bfs", 2, "--source-vertex"),
        ("vertex,distance\nann,0\nbob,1\ncat,1\neve,inf\n", "--of bfs --with depth=1", 2, "depth= is not an option"),
        ("vertex,component\nann,ann\n", "--of nothing", 2, "label-propagation, leiden, louvain, cdlp"),
        ("vertex,distance\nann,0\nbob,1\ncat,1\neve,inf\n", "--of bfs --with deep=True", 2, "deep= is not an option"),
        ("vertex,component\nann,ann\n", "", 2, "must be used together"),
    ],
)
def test_wrong_results_are_reported(run, tmp_path, text, options, code, message):
    (tmp_path / "r.csv").write_text(text)
    done = run(f"validate calls.csv --result r.csv {options}")
    assert (done.exit_code, message in done.output.splitlines()[-1]) == (code, True), done.output


def test_factors_are_verified_against_the_reported_mean_and_error(run):
    run("generate ratings --users 30 --items 20 --ratings 200 -o r.parquet")
    told = json.loads(run("run factorize r.parquet --weight rating --test 0 -o f.parquet --json").output)
    assert told["rmse"] > 0 and "held_out" not in told
    options = f"--with mean={told['mean']!r} --with rmse={told['rmse'] * 1.0001!r}"
    line = f"validate r.parquet --weight rating --result f.parquet --of factorize {options}"
    assert (run(line).exit_code, run(f"{line}e-9").exit_code) == (0, 1)


def test_factors_are_planned_estimated_and_warmed_up(run, monkeypatch):
    run("generate ratings --users 30 --items 20 --ratings 200 -o r.parquet")
    told = [
        json.loads(run(f"plan factorize r.parquet --weight rating --on-workers 2 --rank {rank} --json").output)
        for rank in (2, 40)
    ]
    assert [one["rounds"] for one in told] == [30, 30]
    memory, traffic = ([one["policies"]["outgoing"][name] for one in told] for name in ("memory", "traffic"))
    assert memory[1] > 3 * memory[0] and traffic[1] == pytest.approx(41 / 3 * traffic[0], rel=0.01)
    wide = json.loads(run("estimate factorize r.parquet --weight rating --rank 40 --on-workers 2 --json").output)
    assert wide["policies"]["outgoing"]["run"] == memory[1]
    assert json.loads(run("warmup factorize --json").output)["operation"] == "factorize"
    assert "factorize is not a vertex program" in run("explain factorize").output


def test_planning_a_search_measures_a_source_that_reaches_vertices(run, tmp_path):
    """No edge leads from the first vertex; and where there is none at all, that is said."""
    chain = "".join(f"{vertex},{vertex + 1}\n" for vertex in range(1, 9))
    (tmp_path / "chain.csv").write_text(f"1,0\n1,3\n{chain}")
    assert json.loads(run("plan bfs chain.csv --json").output)["rounds"] > 3
    (tmp_path / "empty.csv").write_text("source,target\n")
    done = run("plan sssp empty.csv")
    assert (done.exit_code, "no edges" in done.output) == (2, True)


def test_a_community_search_continues_from_a_file_of_communities(run, tmp_path):
    (tmp_path / "g.csv").write_text("src,dst\n007,b\nb,c\nc,007\nc,d\nd,e\ne,f\nf,d\n")
    assert run("run leiden g.csv --undirected -o c.csv").exit_code == 0
    before = (tmp_path / "c.csv").read_text().replace('"', "")
    assert before == "vertex,community\n007,007\nb,007\nc,007\nd,d\ne,d\nf,d\n"
    renamed = before.replace(",007", ",c")
    (tmp_path / "c.csv").write_text(renamed)
    assert run("run leiden g.csv --undirected --previous c.csv -o d.csv").exit_code == 0
    assert (tmp_path / "d.csv").read_text().replace('"', "") == renamed
    done = run("run leiden g.csv --previous nowhere.csv")
    assert (done.exit_code, "nowhere.csv" in done.output.splitlines()[-1]) == (2, True), done.output


@pytest.mark.parametrize("name", ["leiden", "louvain"])
def test_what_has_no_rounds_is_not_planned(run, name):
    done = run(f"plan {name} calls.csv")
    assert (done.exit_code, f"{name} has no rounds to forecast" in done.output) == (2, True), done.output


def test_a_number_of_sources_is_drawn_and_one_source_is_a_vertex(run, tmp_path):
    edges = tmp_path / "edges.csv"
    edges.write_text("src,dst\n7,3\n3,5\n5,7\n")
    assert run(f"run closeness {edges} --sources 7 -o {tmp_path / 'listed.csv'}").exit_code == 0
    assert pd.read_csv(tmp_path / "listed.csv").to_numpy().tolist() == [[7, pytest.approx(2 / 3)]]
    assert run(f"run closeness {edges} --sample 2 --seed 5 -o {tmp_path / 'drawn.csv'}").exit_code == 0
    expected = dg.closeness(dg.read_edges(edges), sources=2, random_seed=5).compute()
    assert pd.read_csv(tmp_path / "drawn.csv")["vertex"].tolist() == expected["vertex"].tolist()
    both = run(f"run closeness {edges} --sample 2 --sources 7")
    assert both.exit_code and "--sample 2 draws the vertices that --sources lists" in both.output


def test_vectors_of_vertices_are_written_to_parquet(run, tmp_path):
    how = "--dimensions 8 --step-weights 1 --step-weights 0.5 --seed 3"
    assert run(f"run fast-rp calls.csv {how} -o {tmp_path / 'vectors.parquet'}").exit_code == 0
    read = pd.read_parquet(tmp_path / "vectors.parquet")
    expected = dg.fast_rp(dg.read_edges("calls.csv"), dimensions=8, weights=[1, 0.5], random_seed=3).compute()
    assert [one.tolist() for one in read["embedding"]] == [one.tolist() for one in expected["embedding"]]
    refused = run(f"run fast-rp calls.csv -o {tmp_path / 'vectors.csv'}")
    assert refused.exit_code and "CSV" in refused.output


# parameters of operations that cannot be typed
NOT_TYPED = {("betweenness", "edges"), ("factorize", "factors"), ("k_core", "remove"), ("spanning_forest", "weighted")}


@pytest.mark.parametrize("name", [*dg.ALL_OPERATIONS, *MEASURES])
def test_every_parameter_of_an_operation_is_an_option(name):
    function = getattr(dg, name)
    command = dgraph.get_command(None, "run").get_command(None, name.replace("_", "-"))
    names = {one.name.removeprefix("of_") for one in command.params}
    ours = set(inspect.signature(function).parameters) - {"graph", "daemons", "progress"}
    assert {one for one in ours - names if (name, one) not in NOT_TYPED} == set()


@pytest.mark.parametrize(
    ("options", "epochs", "regularization"),
    [("--regularization auto --stop none", 30, 0.003), ("--regularization 0.3 --stop none --epochs 3", 3, 0.3)],
)
def test_options_of_factorize_may_be_numbers_or_words(run, options, epochs, regularization):
    assert run("generate ratings --users 30 --items 10 --ratings 200 -o edges.parquet").exit_code == 0
    assert run(f"run factorize edges.parquet {options} --report e.csv -o f.parquet").exit_code == 0
    report = pd.read_csv("e.csv")
    assert len(report) == epochs and report["regularization"].iloc[-1] == pytest.approx(regularization)
    frame = pd.read_parquet("edges.parquet")
    frame.assign(mark=range(len(frame))).eval("mark = mark % 5 == 0").to_parquet("marked.parquet")
    done = run(
        f"run factorize marked.parquet --weight {frame.columns[2]} --columns mark --test mark -o f.parquet --json"
    )
    assert json.loads(done.output)["held_out"] > 0
    refused = run(f"run factorize marked.parquet --weight {frame.columns[2]} --test month -o f.parquet")
    assert "--test 'month' is not a column of the edges that can mark ratings" in refused.output


def test_a_word_that_an_option_has_is_not_nothing(run):
    pd.DataFrame({"src": [0, 1, 0], "dst": [1, 2, 2]}).to_parquet("chain.parquet")
    for dangling in ("none", "uniform"):
        assert run(f"run pagerank chain.parquet --dangling {dangling} -o {dangling}.parquet").exit_code == 0
    none, uniform = (pd.read_parquet(f"{one}.parquet")["pagerank"].sum() for one in ("none", "uniform"))
    assert none < 0.5 and uniform == pytest.approx(1)
    assert '"none"' in run("run factorize --help").output
