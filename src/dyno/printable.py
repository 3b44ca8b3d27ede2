"""Text of other people made fit to print: SQL, errors, names, versions and log lines.

A terminal obeys control characters, wherever they come from: one is shown as its code (`\\x1b`).
Knows nothing else of ours, so that an error can be said where nothing more can be loaded.
"""

from __future__ import annotations

import re

#: C0 but for tab and newline, DEL, C1, what turns the direction of text or hides in it, separators
#: of lines, tags, and halves of characters (a file's name that is no UTF-8).
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_BREAKS = str.maketrans({"\n": r"\n", "\t": r"\t"})


def escape_text(text: str) -> str:
    """The text with codes in place of control characters; tabs and newlines stay."""
    return _CONTROL.sub(_encode, text)


def escape_line(text: str) -> str:
    """The text as `escape_text` has it, with codes for its tabs and newlines, too: it can begin no
    line that would pass for one of ours.
    """
    return escape_text(text).translate(_BREAKS)


def _encode(found: re.Match[str]) -> str:
    number = ord(found[0])
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
