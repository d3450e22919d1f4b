"""The help of commands: examples that work, flags that mean one thing, words that fit a command line, completion."""

import re
from collections import defaultdict

import click
import pytest

from dgraph.cli.app import dgraph
from dgraph.keywords import NAMES_OF_DEVICES
from dgraph.partition import policies
from dgraph.runs import plan

RUN = dgraph.get_command(None, "run")


def commands(command, path="dgraph"):
    """Every command with a help text of its own."""
    yield path, command
    if isinstance(command, click.Group):
        names = [*command.list_commands(click.Context(command)), *(["quick"] if path == "dgraph bench" else [])]
        for name in names:
            yield from commands(command.get_command(click.Context(command), name), f"{path} {name}")


NAMES = [path.partition(" ")[2] for path, _ in commands(dgraph)]


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name != "bench quick"]
)  # of which the example of bench runs a part
def test_every_help_ends_in_an_example_that_works(run, name):
    text = run(f"{name} --help").output
    example = re.findall(r"^ +\$ dgraph (.*)$", text, re.MULTILINE)
    assert example, text
    assert text.rstrip().endswith(example[-1])
    again = [line for line in example if line.startswith(name)]  # over what is there by then
    assert again, text
    for line in [*example, *again]:
        done = run(line)
        assert done.exit_code == 0, f"{line}\n{done.output}"


def test_a_flag_means_the_same_in_every_command():
    """It has one type, and what its help says first is the same words: up to the first stop, comma or colon."""
    meanings = defaultdict(lambda: defaultdict(list))
    for path, command in commands(dgraph):
        for one in command.params:
            for flag in [*one.opts, *one.secondary_opts] if isinstance(one, click.Option) else []:
                said = re.split(r"[.,:;]( |$)", one.help)[0]
                meanings[flag][one.type.name, one.is_flag, one.multiple, one.nargs, said].append(path)
    several = {flag: dict(found) for flag, found in meanings.items() if len(found) > 1}
    assert several.keys() == {"--remove"}, several  # edges of `update`; of `run k-core` what Python calls remove=
    opposites = {flag for flag in meanings if flag.startswith("--no-")}
    assert {flag.replace("--no-", "--") for flag in opposites} & meanings.keys() == {"--header"}
    assert "" not in {said for found in meanings.values() for *_, said in found}


def test_lists_of_commands_are_not_cut_off(run):
    for name in ("", "run", "generate"):
        text = run(f"{name} --help").output
        listed = re.search(r"Commands:\n(.*?)\n\n", text, re.DOTALL)[1].splitlines()
        assert all(re.match(r"  [\w-]+  +[A-Z]", line) and not line.endswith("...") for line in listed), text


@pytest.mark.parametrize("name", RUN.list_commands(None))
def test_every_option_of_an_operation_says_what_it_is(name):
    command = RUN.get_command(None, name)
    for option in command.params:
        if option.name.startswith("of_"):
            assert re.fullmatch(r'[A-Z"].*\.', option.help), option.name
            assert not re.search("mapping|list of|{vertex", option.help), option.name
    whole = command.help.partition("Example:")[0]
    assert not re.search(r"^\w+: |ptions are those of `dgraph.run`", whole, re.MULTILINE)


@pytest.mark.parametrize(
    ("option", "known"),
    [
        ("engine", {plan.AUTO, plan.LOCAL, plan.CUGRAPH, *plan.ENGINES}),
        ("device", set(NAMES_OF_DEVICES)),
        ("policy", {"auto", *policies.POLICY_NAMES}),
    ],
)
def test_shell_completion_offers_every_choice_of_an_option(run, option, known):
    asked = {"_DGRAPH_COMPLETE": "bash_complete", "COMP_WORDS": f"dgraph run wcc a --{option} ", "COMP_CWORD": "5"}
    assert set(run("", env=asked).output.split()) == {f"plain,{word}" for word in known}


def test_shell_completion_offers_commands_arguments_and_files(run):
    asked = {"_DGRAPH_COMPLETE": "bash_complete", "COMP_WORDS": "dgraph val", "COMP_CWORD": "1"}
    assert run("", env=asked).output.split() == ["plain,validate"]
    offered = {"bench qui": "quick", "plan pager": "pagerank", "warmup core-": "core-number"}
    offered |= {"run wcc a --policy o": "outgoing", "run pagerank a --dtype float3": "float32"}
    offered |= {"validate a --of wc": "wcc", "graphalytics --algorithm b": "bfs", "run wcc a --format nu": ""}
    offered |= {"bench quick --graph gr": "grid", "estimate bui": "build", "bench typo --graph g": ""}
    for begun, one in offered.items():
        asked |= {"COMP_WORDS": f"dgraph {begun}", "COMP_CWORD": str(len(begun.split()))}
        assert run("", env=asked).output.split() == [f"plain,{one}"] * bool(one)
    for begun in ("run wcc", "run wcc a -o", "validate a --result", "graphalytics", "bench", "explain"):
        asked |= {"COMP_WORDS": f"dgraph {begun} my", "COMP_CWORD": str(len(begun.split()) + 1)}
        assert run("", env=asked).output.split() == ["file,my"]
    assert "_dgraph_completion" in run("", env={"_DGRAPH_COMPLETE": "bash_source"}).output


@pytest.mark.parametrize(
    ("name", "engines", "rounds"),
    [
        ("leiden", "auto or local", False),
        ("factorize", "auto or block_descent", False),
        ("triangles", "auto, local or cugraph", False),
        ("wcc", "auto, local, gas, bsp, bulk_async, block_descent or cugraph", True),
    ],
)
def test_an_operation_offers_only_the_engines_and_options_that_it_takes(run, name, engines, rounds):
    text = " ".join(run(f"run {name} --help").output.split())
    assert f"Engine: {engines}." in text
    assert ("--max-rounds" in text) == rounds
    assert ("cuda" in text.partition("--device")[2].partition("[default")[0]) == (name != "leiden")
