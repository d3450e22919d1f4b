"""How a command line ends: one line for an error, an exit code, and an orderly stop by Ctrl-C or SIGTERM.

0 done; 1 the run failed, or found what was looked for to be wrong; 2 what was asked for cannot be done; 130 stopped by
Ctrl-C, 143 by SIGTERM: workers that were started are gone by then, and files are whole or as they were.
"""

from __future__ import annotations

import errno
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from dgraph.errors import InputError, ProgramError, RoomError, StorageError

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}  # what a disk says, whatever was asked for
FAILED, REFUSED = 1, 2


class Terminated(KeyboardInterrupt):
    """SIGTERM, which stops a run as Ctrl-C does."""


def code_of(error: BaseException) -> int:
    """Refused is what another command line would cure."""
    of_a_disk = getattr(error.__cause__, "errno", None) in FULL
    refused = isinstance(error, InputError | ProgramError | StorageError | RoomError) and not of_a_disk
    return REFUSED if refused else FAILED


def words(error: BaseException) -> str:
    """An error in words: those of the system lack what to do."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error) or type(error).__name__
    if error.filename is not None:
        return f"{error.filename}: {error.strerror} (check the path, its rights and its disk)"
    if error.errno in FULL:
        return f"standard output cannot be written: {error.strerror} (check the space there, or name a file)"
    return str(error)


def ends(run: Callable[[], Any]) -> NoReturn:
    """Run, and leave with a code; click's own errors are told in one line, too."""
    try:
        with _terminable():
            code = run()
    except click.exceptions.NoArgsIsHelpError as asked:
        asked.show()
        code = asked.exit_code
    except click.UsageError as error:
        help_of = f" (`{error.ctx.command_path} --help` tells more)" if error.ctx is not None else ""
        code = _line(f"Error: {error.format_message().rstrip('.')}{help_of}", error.exit_code)
    except click.ClickException as error:
        code = _line(f"Error: {error.format_message()}", error.exit_code)
    except click.Abort as stop:
        number = signal.SIGTERM if isinstance(stop.__cause__, Terminated) else signal.SIGINT
        code = _line("\nStopped." if sys.stderr.isatty() else "Stopped.", 128 + number)  # behind ^C
    except OSError as error:  # of a help text, say
        code = _line(f"Error: {words(error)}", FAILED)
    sys.exit(code if isinstance(code, int) else 0)


def _line(text: str, code: int) -> int:
    click.echo(text, err=True)
    return code


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM is heard once; a second one ends the process as ever."""

    def stop(number: int, frame: Any) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise Terminated

    heard = threading.current_thread() is threading.main_thread()
    heard = heard and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if heard:
        signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        if heard:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
