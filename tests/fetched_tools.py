"""Tools that a machine need not have: Debian's packages, unpacked, as a build fetches its own."""

from __future__ import annotations

import sys
from pathlib import Path

from dyno.builds import deb

#: The packages that bring each.
PACKAGES = {"autoconf": ("autoconf", "m4", "libsigsegv2"), "meson": ("meson",)}
PACKAGES |= {"bison": ("bison", "m4", "libsigsegv2")}
#: What each is started by; it would look for its own files in /usr.
SCRIPTS = {
    "autoconf": """#!/bin/sh
export AC_MACRODIR={usr}/share/autoconf autom4te_perllibdir={usr}/share/autoconf
export AUTOM4TE={usr}/bin/autom4te AUTOM4TE_CFG={folder}/autom4te.cfg M4={usr}/bin/m4
export trailer_m4={usr}/share/autoconf/autoconf/trailer.m4 LD_LIBRARY_PATH={libraries}
exec {usr}/bin/autoconf "$@"
""",
    "bison": """#!/bin/sh
export BISON_PKGDATADIR={usr}/share/bison M4={usr}/bin/m4 LD_LIBRARY_PATH={libraries}
exec {usr}/bin/bison "$@"
""",
    "meson": """#!/bin/sh
export PYTHONPATH={usr}/lib/python3/dist-packages
exec {python} {usr}/bin/meson "$@"
""",
}


def put_tool(name: str, folder: Path) -> None:
    """Puts the tool into `folder`, to be found on the path."""
    first, *beside = PACKAGES[name]
    tree = deb.fetch(first, deb.find_installable_version(first), lambda _: None, beside)
    usr = tree / "usr"
    places = {
        "usr": usr,
        "folder": folder,
        "python": sys.executable,
        "libraries": ":".join(map(str, usr.glob("lib/*-linux-gnu"))),
    }
    settings = usr / "share" / "autoconf" / "autom4te.cfg"
    if settings.is_file():
        text = settings.read_text().replace("/usr/share", f"{usr}/share")
        (folder / "autom4te.cfg").write_text(text)
    (folder / name).write_text(SCRIPTS[name].format_map(places))
    (folder / name).chmod(0o755)
