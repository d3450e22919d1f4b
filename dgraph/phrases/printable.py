"""Makes arbitrary text (ids, names of columns and files, messages of other libraries) safe for a terminal.

A terminal obeys control characters: `\\x1b[2J` in an id would clear the screen, and a line break in a file's name would
forge a second message.
"""

from __future__ import annotations

import re

LONGEST = 10_000  # the maximum number of characters in a message

# C0 and C1 control characters, line and paragraph separators, characters that reorder text, and lone surrogates, which
# cannot be encoded
_UNSAFE = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(text: object, keep: str = "") -> str:
    """The text with control characters escaped, except those in `keep`. Escapes are Python's. From U+007F on, where
    `json.dumps` leaves characters unchanged, they are valid JSON as well."""

    def escaped(found: re.Match[str]) -> str:
        sign, code = found[0], ord(found[0])
        if sign in keep:
            return sign
        return _SHORT.get(sign) or (f"\\x{code:02x}" if code < 0x7F else f"\\u{code:04x}")

    return _UNSAFE.sub(escaped, str(text))


def message(text: str, keep: str = "") -> str:
    """A message made printable in the same way, and truncated if it is too long to read."""
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} [... {len(text) - LONGEST:,} characters ...] {text[-LONGEST // 2 :]}"
    return printable(text, keep)
