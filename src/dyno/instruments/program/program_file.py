"""A program that prints a number, as a TOML file describes it: `[NAME=]FILE[?VARIABLE=VALUE&…]`.

    command = ["redis-benchmark", "-s", "{folder}/socket", "-t", "set", "--csv"]
    rate = '"SET","([0-9.]+)"'

No shell splits or expands a word. `{NAME}` is a placeholder, a variable of the file or one of
`PLACEHOLDERS`; `{{` stands for a brace, and what follows a `$` is left to the program.
"""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from dyno.builds import compute_sha256
from dyno.errors import HostError, UsageError, build_unknown_error
from dyno.record import Better
from dyno.record.program import RATES, TIMES, ProgramFile, ProgramSide

#: What each start fills in: a new folder that goes with it; one that stays for the whole run; the
#: block's seed, the same for all sides. `here` is the folder of the TOML file.
PLACEHOLDERS = ("folder", "run_folder", "seed", "here")
_PLACEHOLDER = re.compile(r"\{\{|\}\}|(?<![$])\{(\w+)\}")
#: A number as a page writes it: 12,345.6.
THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+(\.\d+)?")
_WORD = re.compile(r"(?:(?P<name>[^=?/]+)=)?(?P<file>[^?]+)(?:\?(?P<pairs>.*))?")
LOWER = 'write better = "lower", or a rate: unit = "…/s" or "…/min"'


def read_side(word: str) -> tuple[ProgramFile, ProgramSide]:
    """Return the file that a word names, and the side with its variables put in; `UsageError` for
    what cannot be played.
    """
    found = _WORD.fullmatch(word.removeprefix("command:"))
    if found is None:
        raise UsageError(f"'{word}' names no file", hint="write [NAME=]FILE.toml[?VARIABLE=VALUE]")
    path = Path(found["file"])
    made = _read_file(path)
    chosen = _parse_pairs(word, found["pairs"] or "", made.variables)
    variables = made.variables | chosen
    clash = next((name for name in variables if name in PLACEHOLDERS), "")
    if clash:
        raise UsageError(f"{path} has a variable '{clash}'", cause="it is a placeholder of Dyno's")
    known = variables | {name: f"{{{name}}}" for name in PLACEHOLDERS if name != "here"}
    known["here"] = str(path.resolve().parent)

    def put_in(words: Sequence[str]) -> tuple[str, ...]:
        return tuple(fill_in(each, known, keep=True) for each in words)

    command = put_in(made.command)
    side = ProgramSide(
        name=found["name"] or path.name + (f"?{found['pairs']}" if found["pairs"] else ""),
        spec=word,
        file=str(path.resolve()),
        command=command,
        rate=made.rate,
        last=made.last,
        setup=put_in(made.setup),
        before_each=put_in(made.before_each),
        timeout_s=made.timeout_s,
        environment={name: put_in([text])[0] for name, text in made.environment.items()},
        programs=measure_programs(command, path.resolve().parent),
        chosen=chosen,
    )
    return made, side


def _read_file(path: Path) -> ProgramFile:
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        hint = "a TOML file with `command` and `rate`: docs/guides/programs.md"
        cause = (error.strerror or "").lower()
        raise UsageError(f"cannot read {path}", cause=cause, hint=hint) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is no TOML", cause=error) from None
    known = ProgramFile.__struct_fields__
    if unknown := [key for key in data if key not in known]:
        raise build_unknown_error(f"key of {path}", unknown[0], known)
    try:
        made = msgspec.convert(data, ProgramFile)
    except msgspec.ValidationError as error:
        hint = "`command` is a list of words, `rate` a regular expression"
        raise UsageError(f"{path} cannot be played", cause=error, hint=hint) from None
    _check(path, made)
    return made


def _check(path: Path, made: ProgramFile) -> None:
    if not made.command:
        raise UsageError(f"{path} has an empty command")
    try:
        groups = re.compile(made.rate, re.MULTILINE).groups
    except re.error as error:
        raise UsageError(f"rate of {path} is no regular expression", cause=error) from None
    if groups != 1:
        hint = "put the number, and nothing else, in ( ); (?: ) groups without keeping"
        raise UsageError(f"rate of {path} has {groups} groups, and 1 is needed", hint=hint)
    if not made.timeout_s > 0:
        raise UsageError(f"timeout_s of {path} must be positive (got {made.timeout_s:g})")
    is_rate = made.unit.endswith(RATES)
    if made.better is None and not is_rate and made.unit not in TIMES:
        raise UsageError(f"{path} does not say whether less '{made.unit}' is better", hint=LOWER)
    if made.better == "higher" and not is_rate:
        cause = "the judge compares times, and more is better of rates alone"
        raise UsageError(f"more '{made.unit}' cannot be better in {path}", cause=cause, hint=LOWER)


def choose_better(made: ProgramFile) -> Better:
    """What the file says; else more of a rate, and less of a time."""
    return made.better or ("higher" if made.unit.endswith(RATES) else "lower")


def _parse_pairs(word: str, pairs: str, variables: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in filter(None, pairs.split("&")):
        name, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"'{pair}' in '{word}' is not VARIABLE=VALUE")
        if name not in variables:
            raise build_unknown_error(f"variable of {word.partition('?')[0]}", name, variables)
        found[name] = value
    return found


def fill_in(word: str, values: Mapping[str, str], keep: bool = False) -> str:
    """Return a word with its placeholders replaced; `keep` leaves doubled braces for the next time.

    `UsageError` for a placeholder that is unknown.
    """

    def replace_one(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0] if keep else found[0][0]
        if found[1] not in values:
            hint = f"known: {', '.join(values)}; {{{{{found[1]}}}}} is the word in braces"
            raise UsageError(f"unknown placeholder {found[0]} in '{word}'", hint=hint)
        return values[found[1]]

    return _PLACEHOLDER.sub(replace_one, word)


def measure_programs(command: Sequence[str], here: Path) -> dict[str, str]:
    """Return the checksums of the files that a start reads: the program, and words of the command
    that are files beside the TOML file. `HostError` where there is no such program.
    """
    program = shutil.which(command[0])
    if program is None:
        hint = "write its whole path, or {here}/NAME if it lies beside the TOML file"
        raise HostError(f"there is no program {command[0]}", hint=hint)
    if not Path(command[0]).is_absolute() and "/" in command[0]:
        hint = f"it starts in a folder of its own: write {{here}}/{command[0]}"
        raise UsageError(f"the program {command[0]} has no whole path", hint=hint)
    paths = [Path(program).resolve()]
    paths += [Path(it) for it in command[1:] if it.startswith(f"{here}/") and Path(it).is_file()]
    try:
        return {str(path): compute_sha256(path) for path in paths}
    except OSError as error:
        raise HostError(f"cannot read {error.filename}", cause=error.strerror) from None


def read_number(text: str, side: ProgramSide) -> float | str:
    """Return the number that a program printed, or why there is none that can be believed."""
    found = [it[1] or "" for it in re.finditer(side.rate, text, re.MULTILINE)]
    if not found:
        return f"it printed nothing that matches {side.rate!r}"
    if len(found) > 1 and not side.last:
        few = ", ".join(found[:3]) + (", …" if len(found) > 3 else "")
        return (
            f"{side.rate!r} matches {len(found)} times ({few}): a longer expression is needed, "
            "or `last = true`"
        )
    try:
        number = float(found[-1].replace(",", "") if THOUSANDS.fullmatch(found[-1]) else found[-1])
    except ValueError:
        return f"'{found[-1]}' is no number: the group of {side.rate!r} must hold its digits alone"
    return number if 0 < number < float("inf") else f"'{found[-1]}' is not above 0"
