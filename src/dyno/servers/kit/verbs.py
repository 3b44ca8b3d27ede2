"""`install`, `upgrade`, `uninstall`, `read_status`: what becomes of the kit's parts in a server.

No list of what is installed is kept: the server's own table of functions says it, and the
schemas that stand there.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType

import dyno
from dyno.builds import Say
from dyno.errors import DynoError, HostError, TrialFailed, UsageError
from dyno.servers.kit import history, jobs, library, rights, routines
from dyno.servers.kit.library import FUNCTION_RIGHTS, PARTS, VERSION, Function, HeldLibrary, Part
from dyno.servers.kit.server import LIBRARY, KitServer, hold_lock, read_scheduler, run_all


@dataclass(frozen=True)
class State:
    """What a server has of a part; `state` is one of STATES, `detail` says more."""

    part: Part
    state: str
    detail: str = ""


ABSENT, INSTALLED, NATIVE, DAMAGED = "not installed", "installed", "the server's own", "damaged"
#: Whether the library is there, a server that dies of a call of what is gone does not tell.
UNCHECKED = "registered"
#: What this user may not look at may be there, or whole, all the same.
HIDDEN = "not seen"
#: Of an older version, whose routines have rights that callers must not get.
UNSAFE = "unsafe"
STATES = (ABSENT, INSTALLED, NATIVE, DAMAGED, HIDDEN, UNSAFE, UNCHECKED)
#: What an upgrade loads anew.
MENDED = (INSTALLED, DAMAGED, UNSAFE, UNCHECKED)
MISSING = "registered, its library is missing"


def read_status(server: KitServer) -> list[State]:
    """What the server has of each part, as far as this user sees it."""
    found = _list_states(server)
    return found if server.sees_all() else [_as_seen(state) for state in found]


def _as_seen(state: State) -> State:
    """Return the state, as seen by a user from whom schemas may be hidden."""
    has_schema = bool(state.part.routines) or not state.part.functions
    if not has_schema or state.state in (INSTALLED, NATIVE, UNCHECKED):
        return state
    return State(state.part, HIDDEN, "it takes SELECT ON *.*, or on the part's schemas, to see it")


def _list_states(server: KitServer) -> list[State]:
    ours = _list_ours(server)
    held = library.find_held(server, ours) if ours else HeldLibrary()
    states = [_find_state(server, part, ours, held) for part in PARTS.values()]
    return [_as_safe(server, state) for state in states]


def _list_ours(server: KitServer) -> list[str]:
    """Return the functions that the server has registered from the library."""
    return [name for name, owner in server.list_registered().items() if owner == LIBRARY]


def _as_safe(server: KitServer, state: State) -> State:
    """Return the state; another one if the part's routines give their callers rights."""
    if state.state not in MENDED or not (found := rights.find_unsafe(server, state.part.name)):
        return state
    more = f" and {len(found) - 1} more" if found[1:] else ""
    detail = f"{found[0]}{more} may give callers its definer's rights: dyno kit upgrade"
    return State(state.part, UNSAFE, detail)


def _find_state(
    server: KitServer, part: Part, registered: Sequence[str], held: HeldLibrary
) -> State:
    if part.name == history.PART:
        return _find_history_state(server, part)
    if not part.functions:
        return (_find_routines_state if part.routines else _find_jobs_state)(server, part)
    if _is_native(server, part):
        return State(part, NATIVE, f"{server.version} brings it")
    missing = [it.name for it in (*part.functions, VERSION) if it.name not in registered]
    if all(it.name in missing for it in part.functions):
        if not part.routines or not routines.is_there(server, part.name):
            return State(part, ABSENT)
        missing = ["its functions"]
    elif held.is_missing:
        told = f"{MISSING}; dyno kit uninstall {part.name} takes the rows out"
        return State(part, DAMAGED, told)
    if part.routines and not routines.read_version(server, part.name):
        missing.append("its procedures")
    if missing:
        return State(part, DAMAGED, f"without {', '.join(missing)}")
    if not held.version:
        return State(part, UNCHECKED, "not checked: a call would end a server without the library")
    return State(part, INSTALLED, held.version)


def _find_routines_state(server: KitServer, part: Part) -> State:
    if version := routines.read_version(server, part.name):
        return State(part, INSTALLED, version)
    if routines.is_there(server, part.name):
        return State(part, DAMAGED, "not all of it is there")
    return State(part, ABSENT)


def _find_jobs_state(server: KitServer, part: Part) -> State:
    found = jobs.read_version(server)
    if found in ("", jobs.STRANGE):
        return State(part, DAMAGED if found else ABSENT, found and "the schema async is not ours")
    if found == jobs.BEGUN or not jobs.is_whole(server):
        return State(part, DAMAGED, "not all of it is there: dyno kit upgrade")
    names = ", ".join(account.name for account in jobs.list_accounts(server))
    return State(part, INSTALLED, f"{found}, for {names}{_explain_rest(server, jobs)}")


def _find_history_state(server: KitServer, part: Part) -> State:
    found, detail = history.read_state(server)
    if found and not history.is_whole(server):
        return State(part, DAMAGED, detail)
    at_rest = _explain_rest(server, history)
    return State(part, INSTALLED, detail + at_rest) if found else State(part, ABSENT)


def _explain_rest(server: KitServer, part: ModuleType) -> str:
    """Return the remark for a part that events run, if none runs."""
    if (found := read_scheduler(server)) != "ON":
        return f"; the event scheduler is {found}: nothing runs"
    told = part.explain_stopped(server)
    return f"; {told}" if told else ""


def _is_native(server: KitServer, part: Part) -> bool:
    since = part.native_since
    return since is not None and not server.is_mariadb and server.number[:2] >= since


def install(
    server: KitServer, parts: Sequence[Part], say: Say, accounts: Sequence[str] = ()
) -> None:
    """Install parts; one that is there already stays. After a refusal, what is half-made is
    removed. `accounts` may queue jobs, if that is among the parts.

    `UsageError` or `HostError` if a right is missing, a name is taken, the library cannot be put
    where the server looks for it, or the one that it has loaded is of another version.
    """
    if accounts and not any(part.name == jobs.PART for part in parts):
        raise UsageError("--account is the part async's", hint="dyno kit install async --account …")
    with hold_lock(server):
        _install(server, parts, say, accounts)


def _install(server: KitServer, parts: Sequence[Part], say: Say, accounts: Sequence[str]) -> None:
    loadable = [part for part in parts if part.functions]
    wanted = [part for part in loadable if not _is_native(server, part)]
    for part in loadable:
        if part not in wanted:
            say(f"{part.name}: {server.version} brings it, nothing to do")
    if wanted:
        _check_names(server, wanted)
        _load(server, wanted, say)
    for part in parts:
        if part not in loadable:
            say(f"{part.name}: {_install_schema(server, part, accounts)}")


def _install_schema(server: KitServer, part: Part, accounts: Sequence[str]) -> str:
    """Make a part that has no functions; return the message."""
    if part.routines or part.name == history.PART:
        made = routines.install(server, part.name) if part.routines else history.install(server)
        return "installed" if made else "is installed already"
    let = jobs.install(server, accounts)
    return f"installed, for {', '.join(let)}" if let else "is installed already"


def _check_names(server: KitServer, parts: Sequence[Part]) -> None:
    """Raise `UsageError` if another library's function has a name that is wanted."""
    registered = server.list_registered()
    for name in [each.name for part in parts for each in part.functions]:
        if (owner := registered.get(name, LIBRARY)) != LIBRARY:
            raise UsageError(
                f"the function '{name}' is there already, from {owner}",
                hint=f"DROP FUNCTION {name}, if you want the kit's in its place",
            )


def _load(server: KitServer, parts: Sequence[Part], say: Say) -> None:
    ours = _list_ours(server)
    held = library.find_held(server, ours) if ours else HeldLibrary()
    if held.is_missing:
        raise UsageError(
            f"functions of {LIBRARY} are {MISSING}",
            hint="dyno kit upgrade loads it anew, dyno kit uninstall PART takes the rows out",
        )
    written = not ours and library.put(server)
    made: list[str] = []
    try:
        if not held.version:  # what the server has just loaded may be called
            _unload(server, [name for name in ours if name == VERSION.name])
            _create(server, VERSION, made)
            held = HeldLibrary(server.read_library_version())
        _check_version(held)
        for part in parts:
            missing = [each for each in part.functions if each.name not in ours]
            for function in missing:
                _create(server, function, made)
            changed = part.routines and routines.install(server, part.name)
            say(f"{part.name}: {'installed' if missing or changed else 'is installed already'}")
    except BaseException:
        with suppress(DynoError):  # the first error is told; `read_status` shows what is left
            _unload(server, [name for name in reversed(made) if name not in ours])
            if written:
                library.take_away(server)
        raise


def _create(server: KitServer, function: Function, made: list[str]) -> None:
    doing = f"load the function {function.name}"
    run_all(server, [function.create(LIBRARY)], doing, FUNCTION_RIGHTS)
    made.append(function.name)


def _check_version(held: HeldLibrary) -> None:
    """Raise `UsageError` if the library that the server has loaded is not the package's."""
    if held.version != dyno.__version__:
        raise UsageError(
            f"the server has another {LIBRARY} loaded ({held.version or library.OTHER}), this is "
            f"{dyno.__version__}",
            hint="dyno kit upgrade brings them together",
        )


def upgrade(server: KitServer, say: Say) -> None:
    """Bring every part to this version, and repair what is damaged."""
    with hold_lock(server):
        ours = sorted(_list_ours(server))
        others = _upgrade_schemas(server, say)
        if ours:
            _upgrade_library(server, ours, say)
        elif not others:
            raise UsageError("no part is installed here", hint="dyno kit install PART…")


def _upgrade_schemas(server: KitServer, say: Say) -> bool:
    """Upgrade the parts that have no functions; return whether one is there."""
    found = False
    for part in [it for it in PARTS.values() if not it.functions]:
        if part.routines and not routines.is_there(server, part.name):
            continue
        if part.name == jobs.PART and jobs.read_version(server) in ("", jobs.STRANGE):
            continue
        if part.name == history.PART and history.read_state(server)[0] in ("", history.STRANGE):
            continue
        found = True
        if part.routines:
            made = routines.install(server, part.name)
        else:
            made = (history if part.name == history.PART else jobs).upgrade(server)
        told = "upgraded to" if made else "is of version"
        say(f"{part.name} {told} {dyno.__version__}{'' if made else ' already'}")
    return found


def _upgrade_library(server: KitServer, ours: Sequence[str], say: Say) -> None:
    """Replace the server's library by the package's, and load its functions anew.

    If a session still runs one of them, the server keeps the old library: `HostError` says so.
    """
    found = [it for it in _list_states(server) if it.part.functions and it.state in MENDED]
    written = library.put(server)
    whole = all(state.state == INSTALLED for state in found)
    behind = [
        state.part.name
        for state in found
        if state.part.routines
        and (
            state.state == UNSAFE
            or routines.read_version(server, state.part.name) != dyno.__version__
        )
    ]
    whole = whole and not behind
    held = library.find_held(server, ours)
    if whole and not written and held.version == dyno.__version__:
        say(f"{LIBRARY} {dyno.__version__} is loaded already")
        return
    if held.is_missing and not server.is_mariadb and server.number < (8, 0):
        raise HostError(
            f"this server looks for {LIBRARY} only as it starts",
            hint=f"see that it lies in {server.plugins} (`dyno kit library`), and restart the "
            "server; or dyno kit uninstall PART",
        )
    names = ", ".join(state.part.name for state in found)
    say(f"loading {LIBRARY} anew: {names}")
    _unload(server, ours)
    functions = [VERSION, *(each for state in found for each in state.part.functions)]
    run_all(
        server,
        [each.create(LIBRARY) for each in functions],
        f"load {LIBRARY} anew",
        FUNCTION_RIGHTS,
    )
    if (now := server.read_library_version()) != dyno.__version__:
        raise HostError(
            f"the server still holds {LIBRARY} {now}, not {dyno.__version__}",
            hint="a session uses it: end it and upgrade once more, or restart the server; one on "
            f"another machine must get the new {LIBRARY} first (`dyno kit library`)",
        )
    for name in behind:
        routines.install(server, name)
    say(f"upgraded to {LIBRARY} {now}: {names}")


def uninstall(server: KitServer, parts: Sequence[Part], say: Say) -> None:
    """Remove parts; with the last function the library goes, too.

    `UsageError` if indexes in files would be left behind: only their owner removes them.
    """
    with hold_lock(server):
        _check_files(server, parts)
        for part in parts:
            say(f"{part.name}: {'uninstalled' if _take_out(server, part) else 'was not installed'}")
        if any(part.functions for part in parts) and _list_ours(server) in ([], [VERSION.name]):
            _unload(server, _list_ours(server))
            if not library.take_away(server):
                say(f"{LIBRARY} stays in {server.plugins} of the server's machine")


def _take_out(server: KitServer, part: Part) -> bool:
    """Remove a part, its functions last; return whether anything of it was there."""
    if not part.functions and not part.routines:
        return history.uninstall(server) if part.name == history.PART else jobs.uninstall(server)
    gone = routines.uninstall(server, part.name) if part.routines else False
    ours = _list_ours(server) if part.functions else []
    names = [each.name for each in part.functions if each.name in ours]
    _unload(server, names)
    return gone or bool(names)


def _check_files(server: KitServer, parts: Sequence[Part]) -> None:
    found = [it for part in parts for it in part.functions if it.name == "fb_list"]
    if not found or found[0].name not in _list_ours(server):
        return
    try:
        if server.calls_lost:  # what it has just loaded may be called
            _unload(server, ["fb_list"])
            server.query(found[0].create(LIBRARY))
        ((names,),) = server.query("SELECT CONVERT(fb_list() USING utf8mb4)")
    except TrialFailed:
        return  # the library is gone: what it kept cannot be asked for
    if names:
        first = names.partition(",")[0]
        raise UsageError(
            f"there are indexes in files: {names}",
            hint=f"SELECT fb_drop('{first}') removes one with its rows; then uninstall",
        )


def _unload(server: KitServer, names: Sequence[str]) -> None:
    """Drop functions. MySQL 5 and 9.7 cannot drop those that the server lost at its start: their
    rows are deleted.
    """
    doing = "unload functions"
    try:
        run_all(server, [f"DROP FUNCTION {name}" for name in names], doing, FUNCTION_RIGHTS)
    except UsageError:
        loaded, ours = server.list_loaded(), _list_ours(server)
        for name in [it for it in names if it in ours]:
            row = f"FROM mysql.func WHERE name = '{name}' AND dl = '{LIBRARY}'"
            is_lost = loaded is not None and name not in loaded
            drop = f"DELETE {row}" if is_lost else f"DROP FUNCTION {name}"
            try:
                run_all(server, [drop], doing, FUNCTION_RIGHTS)
            except UsageError:
                if server.is_mariadb or server.number >= (8, 0):
                    raise
                run_all(server, [f"DELETE {row}"], doing, FUNCTION_RIGHTS)
