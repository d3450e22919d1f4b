"""How a command line ends: one line for an error, an exit code, and an orderly stop by Ctrl-C or SIGTERM.

0 done; 1 the run failed, or found what was looked for to be wrong; 2 what was asked for cannot be done; 130 stopped by
Ctrl-C, 143 by SIGTERM: workers that were started are gone by then, and files are whole or as they were.
"""

from __future__ import annotations

import errno
import os
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
    """The exit code for an error: REFUSED if another command line would cure it, else FAILED."""
    of_a_disk = getattr(error.__cause__, "errno", None) in FULL
    refused = isinstance(error, InputError | ProgramError | StorageError | RoomError) and not of_a_disk
    return REFUSED if refused else FAILED


def error_text(error: BaseException) -> str:
    """The text of an error. To one of the operating system it adds the file and what to do."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error) or type(error).__name__
    if error.filename is not None:
        return f"{error.filename}: {error.strerror} (check the path, its rights and its disk)"
    if error.errno in FULL:
        return f"standard output cannot be written: {error.strerror} (check the space there, or name a file)"
    return str(error)


def run_and_exit(run: Callable[[], Any]) -> NoReturn:
    """Call `run`, and end the process: with what it returns if that is a number, with 0 if not, and after an error with
    the error's code and one line on standard error."""
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
        code = _line(f"Error: {error_text(error)}", FAILED)
    sys.exit(code if isinstance(code, int) else 0)


def _line(text: str, code: int) -> int:
    """Print a line on standard error; returns the code."""
    click.echo(text, err=True)
    return code


@contextmanager
def _terminable() -> Iterator[None]:
    """In the block SIGTERM raises `Terminated` in the main thread, as Ctrl-C raises KeyboardInterrupt: once what it is
    at has ended, a kernel say. A second signal of either kind ends the process at once."""
    here = threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def stop(number: int, frame: Any) -> None:
        raise Terminated

    heard, told = os.pipe()
    os.set_blocking(told, False)
    threading.Thread(target=_end_at_second, args=(heard,), name="dgraph-stops", daemon=True).start()
    before = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.set_wakeup_fd(before)
        os.close(told)  # which ends the thread


def _end_at_second(heard: int) -> None:
    """End the process at the second stop. This thread reads from a pipe the signals that Python is told of, a byte
    each, because the main thread may be in a kernel."""
    stops = 0
    with os.fdopen(heard, "rb", buffering=0) as signals:
        while number := signals.read(1):
            stops += number[0] in (signal.SIGINT, signal.SIGTERM)
            if stops > 1:
                os._exit(128 + number[0])
