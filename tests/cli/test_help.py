"""The help of operations: each option has its own text, in words that fit a command line."""

import re

import pytest

from dgraph.cli.app import dgraph

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
