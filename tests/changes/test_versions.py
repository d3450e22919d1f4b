"""A changed graph that is saved where it came from becomes a new version there, and opens as it was."""

import shutil
import uuid
import warnings

import numpy as np
import pandas as pd
import pytest
from changed import NAMES, RULES, ListedGraph, ask, check_alike, edges, frame_of, named, rename, rows_of, updates
from hypothesis import given, settings
from hypothesis import strategies as st
from saved import IDS, example

import dgraph as dg
from dgraph import errors
from dgraph.partition import store

ROWS = [(0, 1, 3), (1, 2, 5), (2, 0, 4), (0, 1, 7), (3, 3, 1), (4, 1, 2)]
THEN = ["nothing", "nothing", "save", "save", "reopen", "reopen in parts", "compact"]


def graph_of(rows=ROWS, **options):
    return dg.Graph.from_edges(frame_of(rows), weight="w", **options)


@settings(max_examples=50)
@given(edges(12), updates(), RULES, st.sampled_from(NAMES), st.sampled_from([1, 1, 3]), st.data())
def test_each_version_is_the_graph_that_was_saved(tmp_path_factory, rows, steps, rules, name, parts, data):
    folder = tmp_path_factory.mktemp("versions") / "g"
    listed = ListedGraph(rename(rows, name), [named(0, name)], **rules)
    graph = listed.graph(name, parts=parts)
    ask(graph, data.draw(st.sampled_from(["nothing", "out", "both", "plain"])))
    graph.save(folder)
    versions, first = [listed], 0
    for added, removed, isolated, asked in steps:
        more, less, alone = rename(added, name), rename(removed, name), [named(one, name) for one in isolated]
        listed = listed.updated(more, less, alone)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.MissingEdgesWarning)
            graph = graph.updated(
                frame_of(more, name),
                frame_of(less, name)[["src", "dst"]],
                vertices=pd.Series(alone, dtype=frame_of([], name)["src"].dtype),
            )
        ask(graph, asked)
        then = data.draw(st.sampled_from(THEN))
        if then == "nothing":
            assert graph.version is None
            continue
        graph.save(folder)
        versions.append(listed)
        assert graph.version == len(versions) - 1
        if then.startswith("reopen"):
            graph = dg.open_graph(folder, parts=2 if then == "reopen in parts" else None)
        if then == "compact":
            dg.compact(folder)
            graph, first = dg.open_graph(folder), len(versions) - 1
    for number, rows in enumerate(versions[first:], first):
        found = dg.open_graph(folder, version=number)
        assert found.version == number
        check_alike(found, rows.graph(name), saved=True)
    for number in range(first):
        with pytest.raises(errors.OptionError, match=f"version={number} is not in"):
            dg.open_graph(folder, version=number)
    dg.open_graph(folder).validate()


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("kind", IDS)
def test_attributes_and_other_columns_of_versions_come_back(tmp_path, kind, parts):
    G = example(kind, parts=parts)
    ids, frame = IDS[kind], G.edges.compute()
    more = frame[:20].assign(a=ids(np.full(20, 38)))
    towns = pd.DataFrame({"id": ids(np.array([38])), "name": ["new"], "k": [7]})
    G.save(tmp_path / "g")
    H = G.updated(added=more, removed=frame[:30])
    H.save(tmp_path / "g")
    K = H.updated(vertices=towns, removed=more[5:9])
    K.save(tmp_path / "g")
    for graph, number in ((G, 0), (H, 1), (K, 2)):
        found = dg.open_graph(tmp_path / "g", version=number)
        for ours, theirs in ((graph.edges, found.edges), (graph.vertices, found.vertices)):
            before, after = (one.compute() for one in (ours, theirs))
            before, after = (one.sort_values(list(before.columns), ignore_index=True) for one in (before, after))
            text = {"name": "string"} if "name" in before else {}
            pd.testing.assert_frame_equal(before.astype(text), after.astype(text))
    assert K.vertices.compute()["name"].tolist().count("new") == 1


def test_results_are_saved_with_a_version(tmp_path):
    G = graph_of()
    G.save(tmp_path / "g", results={"near": dg.sssp(G, 0)})
    H = G.updated(added=frame_of([(2, 9, 1)]))
    near, names = dg.sssp(H, 0), dg.wcc(H)
    H.save(tmp_path / "g", results={"near": near, "names": names})
    for _ in ("appended", "compacted"):
        found = dg.open_graph(tmp_path / "g").results
        assert list(found) == ["near", "names"]
        pd.testing.assert_frame_equal(found["near"].compute(), near.compute())
        pd.testing.assert_frame_equal(found["names"].compute(), names.compute())
        dg.compact(tmp_path / "g")
    K = H.updated(added=frame_of([(9, 4, 1)]))
    K.save(tmp_path / "g")
    assert not dg.open_graph(tmp_path / "g").results
    with pytest.raises(errors.OptionError, match=r"'near'.*vertices other than those"):
        K.updated(vertices=[77]).save(tmp_path / "g", results={"near": near})
    assert dg.open_graph(tmp_path / "g").version == 2


def test_only_the_changes_are_written(tmp_path):
    G = graph_of()
    G.save(tmp_path / "g")
    kept = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "g").glob("*.[na]*")}
    G.updated(added=frame_of([(0, 4, 1)])).save(tmp_path / "g")
    now = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "g").glob("*.[na]*")}
    assert kept.items() <= now.items()
    assert now.keys() - kept.keys() == {"v1.edges.arrow"}


def test_edges_without_columns(tmp_path):
    G = dg.Graph.from_edges({"src": ["a", "b"], "dst": ["b", "c"]})
    G.save(tmp_path / "g")
    H = G.updated(added={"src": ["d"], "dst": ["a"]}, removed={"src": ["a"], "dst": ["b"]})
    H.save(tmp_path / "g")
    pd.testing.assert_frame_equal(dg.open_graph(tmp_path / "g").edges.compute(), H.edges.compute())


def test_several_updates_become_one_version(tmp_path):
    G = graph_of()
    G.save(tmp_path / "g")
    H = G.updated(added=frame_of([(7, 8, 1)])).updated(removed={"src": [7], "dst": [8]}).updated(vertices=[9])
    H.save(tmp_path / "g")
    found = dg.open_graph(tmp_path / "g")
    assert (found.version, found.num_edges) == (1, len(ROWS))
    assert found.vertices.compute()["id"].tolist() == [0, 1, 2, 3, 4, 7, 8, 9]
    assert repr(found.changes) == "<0 edges added, 0 removed, 3 new vertices; not merged yet>"


def test_a_graph_that_was_updated_before_the_first_was_saved_is_appended(tmp_path):
    G = graph_of()
    H = G.updated(added=frame_of([(5, 0, 1)]))
    dg.wcc(H)  # merges the changes
    G.save(tmp_path / "g")
    H.save(tmp_path / "g")
    check_alike(dg.open_graph(tmp_path / "g"), graph_of([*ROWS, (5, 0, 1)]))


def test_a_backup_elsewhere_does_not_cut_the_graph_off(tmp_path):
    G = graph_of()
    G.save(tmp_path / "g")
    G.save(tmp_path / "backup")
    for name in ("g", "backup"):
        G.updated(added=frame_of([(5, 0, 1)])).save(tmp_path / name)
        assert dg.open_graph(tmp_path / name).num_edges == len(ROWS) + 1


def test_a_copy_of_the_folder_goes_on_by_itself(tmp_path):
    graph_of().save(tmp_path / "g")
    G = dg.open_graph(tmp_path / "g")
    shutil.copytree(tmp_path / "g", tmp_path / "copy")
    G.updated(added=frame_of([(5, 0, 1)])).save(tmp_path / "copy")
    G.updated(added=frame_of([(5, 1, 1)])).save(tmp_path / "g")
    assert [dg.open_graph(tmp_path / name).version for name in ("g", "copy")] == [1, 1]
    K = dg.open_graph(tmp_path / "g").updated(vertices=[8])
    with pytest.raises(errors.StorageError, match="made from version 1, and there is another one of that number now"):
        K.save(tmp_path / "copy")


def test_rules_hold_for_updates_of_an_opened_graph(tmp_path):
    for repeats, weight in (("sum", 10 + 5), ("min", 3), ("max", 7), ("first", 3)):
        G = graph_of(repeats=repeats, loops="drop")
        G.save(tmp_path / repeats)
        more = frame_of([(0, 1, 5), (6, 6, 1)])
        H = dg.open_graph(tmp_path / repeats).updated(added=more)
        check_alike(H, graph_of([*ROWS, (0, 1, 5), (6, 6, 1)], repeats=repeats, loops="drop"))
        assert [row[2] for row in rows_of(H.edges.compute()) if row[:2] == (0, 1)] == [weight]


def test_graphs_with_added_reverses_get_no_versions(tmp_path):
    G = graph_of(symmetrize=True)
    G.save(tmp_path / "g")
    with pytest.raises(errors.InputError, match=r"symmetrize=True cannot be appended.*pass another path"):
        G.updated(added=frame_of([(5, 0, 1)])).save(tmp_path / "g")
    with pytest.raises(errors.InputError, match=r"made with symmetrize=True.*make it anew with directed=False"):
        dg.open_graph(tmp_path / "g").updated(added=frame_of([(5, 0, 1)]))


def test_what_does_not_belong_there_is_refused(tmp_path):
    G = graph_of()
    G.save(tmp_path / "g", columns=["w"])
    H = G.updated(added=frame_of([(5, 0, 1)]))
    with pytest.raises(errors.OptionError, match=r"g already exists, and has this graph as version 0; pass another"):
        G.save(tmp_path / "g")
    with pytest.raises(errors.OptionError, match=r"g already exists; pass another path"):
        graph_of([(1, 2, 3)]).save(tmp_path / "g")
    dg.Graph.from_edges({"src": [1], "dst": [2]}).save(tmp_path / "other")
    with pytest.raises(errors.OptionError, match=r"other already exists, and this graph was not made from the one"):
        H.save(tmp_path / "other")
    with pytest.raises(errors.OptionError, match=r"columns=\['note'\] differ from .* \['w'\]; leave columns= out"):
        H.save(tmp_path / "g", columns=["note"])
    for number in (-1, 1.5, "x"):
        with pytest.raises(errors.OptionError, match=r"version=.* must be an integer >= 0, or None"):
            dg.open_graph(tmp_path / "g", version=number)
    with pytest.raises(errors.OptionError, match=r"version=1 is not in .*, which has only version 0"):
        dg.open_graph(tmp_path / "g", version=1)
    H.save(tmp_path / "g")
    assert dg.open_graph(tmp_path / "g").edge_columns == ["w"]
    with pytest.raises(errors.OptionError, match=r"version=2 is not in .*, which has the versions 0 to 1"):
        dg.open_graph(tmp_path / "g", version=2)


def test_overwrite_replaces_all_versions(tmp_path):
    G = graph_of()
    G.save(tmp_path / "g")
    H = G.updated(added=frame_of([(5, 0, 1)]))
    H.save(tmp_path / "g")
    H.save(tmp_path / "g", overwrite=True)
    found = dg.open_graph(tmp_path / "g")
    assert (found.version, H.version) == (0, 0)
    check_alike(found, H)
    with pytest.raises(errors.OptionError, match="was not made from the one that is saved there"):
        G.updated(vertices=[8]).save(tmp_path / "g")


def test_a_saved_graph_is_updated_without_reading_its_edges_as_a_frame(tmp_path, monkeypatch):
    graph_of().save(tmp_path / "g")
    monkeypatch.setattr("dgraph.building.saved_graph.SavedGraph.edge_table", None)
    H = dg.open_graph(tmp_path / "g").updated(added=frame_of([(5, 0, 1)]), removed={"src": [1], "dst": [2]})
    H.save(tmp_path / "g")
    assert dg.wcc(dg.open_graph(tmp_path / "g")).compute()["component"].tolist() == [0, 0, 0, 3, 0, 0]


def test_a_version_opens_on_a_cluster(tmp_path, client):
    G = graph_of()
    G.save(tmp_path / "g")
    H = G.updated(added=frame_of([(5, 0, 1)]), removed={"src": [1], "dst": [2]}, vertices=[9])
    H.save(tmp_path / "g")
    found = dg.open_graph(tmp_path / "g", client=client)
    for run in (dg.wcc, lambda graph: dg.sssp(graph, 0)):
        pd.testing.assert_frame_equal(run(found).compute(), run(H).compute())


def chain(folder, restart):
    """Answers that go on from version to version, saved with each; with `restart`, from what is opened each time."""
    G, answers = graph_of([*ROWS, *((k, k + 1, 1) for k in range(10, 200))]), {}
    for number, (added, removed) in enumerate(
        [([], []), ([(4, 10, 1)], [(1, 2, 0)]), ([(9, 4, 2)], []), ([], [(2, 0, 0)])]
    ):
        if number:
            G = G.updated(frame_of(added), frame_of(removed)[["src", "dst"]])
        runs = {"near": (dg.sssp, 0), "hops": (dg.bfs, [0, 3]), "names": (dg.wcc,)}
        answers = {name: run(G, *how, previous=answers.get(name)) for name, (run, *how) in runs.items()}
        G.save(folder, results=answers)
        for name, (run, *how) in runs.items():
            pd.testing.assert_frame_equal(answers[name].compute(), run(G, *how).compute())
            said = answers[name].report.options.get("previous", "first")
            assert said.startswith("went on" if number else "first"), said
        if restart:
            G = dg.open_graph(folder)
            answers = dict(G.results)
    return answers


@pytest.mark.parametrize("restart", [False, True])
def test_answers_go_on_from_version_to_version(tmp_path, restart):
    chain(tmp_path / "g", restart)


@pytest.mark.parametrize("compacts", [False, True])
def test_a_saved_answer_goes_on_at_a_later_version(tmp_path, compacts):
    chain(tmp_path / "g", True)
    earlier = dict(dg.open_graph(tmp_path / "g", version=1).results)
    if compacts:
        dg.compact(tmp_path / "g")
    G = dg.open_graph(tmp_path / "g")
    for run, source, near in ((dg.sssp, 0, earlier["near"]), (dg.bfs, [0, 3], earlier["hops"])):
        found = run(G, source, previous=near)
        how = "computed anew" if compacts else "went on"  # what changed between merged versions is not kept
        assert found.report.options["previous"].startswith(how)
        pd.testing.assert_frame_equal(found.compute(), run(G, source).compute())
    H = G.updated(frame_of([(199, 0, 1)]))
    found = dg.wcc(H, previous=G.results["names"])
    assert found.report.options["previous"].startswith("went on")
    pd.testing.assert_frame_equal(found.compute(), dg.wcc(H).compute())
    with pytest.raises(errors.OptionError, match=r"previous= was found with source=0, and this call has source=1"):
        dg.sssp(H, 1, previous=G.results["near"])


def test_a_saved_answer_for_another_version_or_graph_does_not_mislead(tmp_path):
    chain(tmp_path / "g", True)
    last = dg.open_graph(tmp_path / "g").results["names"]
    found = dg.wcc(dg.open_graph(tmp_path / "g", version=1), previous=last)
    assert found.report.options["previous"].startswith("computed anew: what changed")
    graph_of().save(tmp_path / "other")
    with pytest.raises(errors.OptionError, match=r"previous= is a result for another graph"):
        dg.wcc(dg.open_graph(tmp_path / "other"), previous=last)
    G = graph_of()
    names, H = dg.wcc(G), G.updated(frame_of([(1, 1, 1)]))
    H.save(tmp_path / "new", results={"names": names})  # an answer for the graph before
    with pytest.raises(errors.OptionError, match=r"previous= is not a whole result of dg.wcc"):
        dg.wcc(dg.open_graph(tmp_path / "new"), previous=dg.open_graph(tmp_path / "new").results["names"])


@pytest.mark.parametrize("ids", [["a", "b", "é"], [uuid.UUID(int=k) for k in range(3)], [2**63, 2**63 + 1, 2**64 - 1]])
def test_answers_for_sources_of_every_kind_go_on(tmp_path, ids):
    G = dg.Graph.from_edges({"src": ids[:2], "dst": ids[1:]})
    G.save(tmp_path / "g", results={"hops": dg.bfs(G, ids[:2], depth_limit=5)})
    G = dg.open_graph(tmp_path / "g")
    H = G.updated(removed={"src": ids[1:2], "dst": ids[2:]})
    found = dg.bfs(H, ids[:2], depth_limit=5, previous=G.results["hops"])
    assert found.report.options["previous"].startswith("went on")
    pd.testing.assert_frame_equal(found.compute(), dg.bfs(H, ids[:2]).compute())


@pytest.mark.parametrize("ids", [["a", "b", "é"], [uuid.UUID(int=k) for k in range(3)], [2**63, 2**63 + 1, 2**64 - 1]])
def test_ranks_with_chosen_jumps_go_on_after_they_were_saved(tmp_path, ids):
    how = {"personalization": {ids[0]: 1, ids[1]: 2}, "dangling": {ids[1]: 3}}
    G = dg.Graph.from_edges({"src": ids[:2], "dst": ids[1:]})
    G.save(tmp_path / "g", results={"ranks": dg.pagerank(G, **how)})
    G = dg.open_graph(tmp_path / "g")
    H = G.updated(added={"src": ids[:1], "dst": ids[1:2]})
    found = dg.pagerank(H, **how, previous=G.results["ranks"])
    assert found.report.options["previous"].startswith("went on")
    other = how | {"personalization": {ids[0]: 1}}
    with pytest.raises(errors.OptionError, match=r"previous= was found with personalization="):
        dg.pagerank(H, **other, previous=G.results["ranks"])


@pytest.mark.parametrize("kind", ["int", "str"])
def test_an_empty_graph_has_versions_too(tmp_path, kind):
    folder = tmp_path / "g"
    dg.Graph.from_edges(frame_of([], kind), weight="w", directed=False, repeats="first").save(folder)
    empty = dg.open_graph(folder)
    still = empty.updated(added=frame_of([], kind))
    still.save(folder)
    assert (empty.version, still.version, dg.open_graph(folder).version) == (0, 1, 1)
    H = still.updated(added=frame_of(rename(ROWS, kind), kind))
    assert H.version is None
    names = dg.wcc(H)
    H.save(folder, results={"names": names})
    assert (H.version, dg.open_graph(folder).version) == (2, 2)
    K = dg.open_graph(folder).updated(added=frame_of(rename([(7, 8, 1), (0, 1, 9)], kind), kind))
    found = dg.wcc(K, previous=dg.open_graph(folder).results["names"])
    assert "went on" in found.report.options["previous"]
    K.save(folder)
    for number, rows in ((2, ROWS), (3, [*ROWS, (7, 8, 1), (0, 1, 9)])):
        fresh = ListedGraph(rename(rows, kind), directed=False, repeats="first").graph(kind)
        check_alike(dg.open_graph(folder, version=number), fresh, saved=True)
    with pytest.raises(errors.OptionError, match=r"version=0 is not in .*, which has the versions 2 to 3"):
        dg.open_graph(folder, version=0)


def test_the_second_of_two_first_batches_is_refused(tmp_path):
    dg.Graph.from_edges(frame_of([])).save(tmp_path / "g")
    one, two = (dg.open_graph(tmp_path / "g").updated(added=frame_of(ROWS[:k])) for k in (1, 2))
    one.save(tmp_path / "g")
    with pytest.raises(errors.StorageError, match="made from version 0, and there is version 1 now"):
        two.save(tmp_path / "g")
    again = two.updated(added=frame_of(ROWS[2:]))
    with pytest.raises(errors.StorageError, match="made from version 0, and there is version 1 now"):
        again.save(tmp_path / "g")
    assert dg.open_graph(tmp_path / "g").num_edges == 1


def test_results_are_added_to_a_version_that_is_saved(tmp_path):
    folder = tmp_path / "g"
    G = graph_of()
    G.save(folder, results={"names": dg.wcc(G)})
    G.save(folder, results={"near": dg.sssp(G, 0), "cores": dg.core_number(G)})
    H = dg.open_graph(folder).updated(added=frame_of([(2, 9, 1)]))
    H.save(folder)
    H.save(folder, results={"names": dg.wcc(H)})
    assert (G.version, H.version) == (0, 1)
    for number, graph, names in ((0, G, ["names", "near", "cores"]), (1, H, ["names"])):
        found = dg.open_graph(folder, version=number)
        assert list(found.results) == names
        pd.testing.assert_frame_equal(found.results["names"].compute(), dg.wcc(graph).compute())
    near = dg.open_graph(folder, version=0).results["near"]
    assert "went on" in dg.sssp(dg.open_graph(folder), 0, previous=near).report.options["previous"]
    with pytest.raises(errors.OptionError, match=r"results=: version 1 in .* already has a result 'names'"):
        H.save(folder, results={"more": dg.wcc(H), "names": dg.wcc(H)})
    with pytest.raises(errors.StorageError, match="this graph is version 0, and there is version 1 now"):
        G.save(folder, results={"late": dg.wcc(G)})
    (folder / "result3.p0.numbers.npy").write_bytes(b"of a save that was killed")
    H.save(folder, results={"more": dg.core_number(H)})
    assert list(dg.open_graph(folder).results) == ["names", "more"]
    assert dg.open_graph(folder).validate().blocks == len(list(folder.iterdir())) - 1, "nothing else is left"


def test_results_that_cannot_be_written_leave_the_version_as_it_was(tmp_path, monkeypatch):
    folder = tmp_path / "g"
    G = graph_of()
    G.save(folder)
    before = sorted(folder.iterdir())

    def full_disk(file):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(store, "flush", full_disk)
        with pytest.raises(errors.StorageError, match="No space left"):
            G.save(folder, results={"names": dg.wcc(G)})
    assert sorted(folder.iterdir()) == before and not dg.open_graph(folder).results
    G.save(folder, results={"names": dg.wcc(G)})
    assert list(dg.open_graph(folder).results) == ["names"]


def test_distances_along_other_weights_are_not_gone_on_from(tmp_path):
    frame = frame_of(ROWS).assign(km=[9, 9, 9, 9, 9, 9])
    dg.Graph.from_edges(frame, weight="w").save(tmp_path / "g")
    short, long = (dg.open_graph(tmp_path / "g", weight=weight) for weight in ("w", "km"))
    with pytest.raises(errors.OptionError, match="previous= was found with weight='w', and this call has weight='km'"):
        dg.sssp(long, 0, previous=dg.sssp(short, 0))
    with pytest.raises(errors.OptionError, match="previous= was found with weight='w', and this call has weight='km'"):
        dg.pagerank(long, weighted=True, previous=dg.pagerank(short, weighted=True))
    assert "went on" in dg.pagerank(long, previous=dg.pagerank(short)).report.options["previous"]
