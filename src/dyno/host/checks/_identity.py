"""Which host this is, in a word that tells nothing of it; and the group that a user says it is of.

The id is the same from boot to boot and after every upgrade, since it is made of nothing that is
measured. Copies of one disk image may share it: whoever clones machines gives each its own
/etc/machine-id (systemd-machine-id-setup(1)).
"""

from __future__ import annotations

import hmac
import os
import re
import socket
from collections.abc import Callable
from hashlib import sha256

from dyno.errors import UsageError
from dyno.host.checks._machine import Machine
from dyno.printable import escape_line

#: What machine-id(5) calls an application's own id: another application's hash is another one.
APPLICATION = bytes.fromhex("6e2b1f0c9a5d4e778c31d2f6a4b90e58")
#: Digits of an id: 64 bits, so that two of a million hosts hardly share one.
DIGITS = 16
#: Where a machine's own id lies, the best first. Only root reads the board's.
ID_FILES = (
    "/etc/machine-id",
    "/var/lib/dbus/machine-id",
    "/sys/class/dmi/id/product_uuid",
)
#: Ids of many machines: a board's that its maker has not filled in.
OF_NOBODY = {"03000200040005000006000700080009"}
#: A container's name is often the beginning of its own id: another one for each.
_CONTAINER_NAME = re.compile(r"[0-9a-f]{12}")

GROUP_LENGTH_MAX = 64


def read_host_id(machine: Machine, ask_name: Callable[[], str] = socket.gethostname) -> str:
    """The id of the machine, hashed for Dyno alone: HMAC-SHA256 keyed by the machine's own, as
    machine-id(5) asks, `DIGITS` hexadecimal digits. Of the host's name where it has no id; empty
    where that name is a container's, which is new each time.
    """
    for file in ID_FILES:
        own = machine.read_text(file).replace("-", "").lower()
        if re.fullmatch("[0-9a-f]{32}", own) and len(set(own)) > 1 and own not in OF_NOBODY:
            return _hash(bytes.fromhex(own))
    name = ask_name().strip().lower()
    if name in {"", "localhost"} or _CONTAINER_NAME.fullmatch(name):
        return ""
    return _hash(name.encode())


def _hash(own: bytes) -> str:
    return hmac.new(own, APPLICATION, sha256).hexdigest()[:DIGITS]


def read_host_group() -> str:
    """The group that this host is said to be of; empty where nobody says so. `UsageError` for a
    name that is none.
    """
    name = os.environ.get("DYNO_HOST_GROUP", "")
    return check_host_group(name) if name else ""


def check_host_group(name: str) -> str:
    """`name`, if it can stand for a group of hosts; else `UsageError`."""
    hint = f"up to {GROUP_LENGTH_MAX} printable characters, such as ci"
    if not name.strip():
        raise UsageError("DYNO_HOST_GROUP needs a name", hint=hint)
    if len(name) > GROUP_LENGTH_MAX:
        raise UsageError(f"the host group's name is too long ({len(name)} characters)", hint=hint)
    if not name.isprintable() or escape_line(name) != name or name != name.strip():
        shown = escape_line(name)
        raise UsageError(
            f"'{shown}' is no name of a host group",
            cause="it has control characters, or blanks at an end",
            hint=hint,
        )
    return name
