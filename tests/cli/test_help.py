"""The help of operations: each option has its own text, in words that fit a command line."""

import re

import pytest

from dgraph import plan
from dgraph.cli.app import dgraph
from dgraph.partition import policies

RUN = dgraph.get_command(None, "run")


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
        ("device", set(plan.DEVICES)),
        ("policy", {"auto", *policies.NAMES}),
    ],
)
def test_the_shell_offers_all_that_the_library_knows(run, option, known):
    asked = {"_DGRAPH_COMPLETE": "bash_complete", "COMP_WORDS": f"dgraph run wcc a --{option} ", "COMP_CWORD": "5"}
    assert set(run("", env=asked).output.split()) == {f"plain,{word}" for word in known}
