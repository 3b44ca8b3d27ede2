"""A candidate as the user writes it: ``[name=]engine@build?key=value&key=value``.

A server that runs already is written as a URL, ``[name=]engine://user@host/database?key=value``;
its password, if it has one, is taken out at once. An engine may take other ways of writing one, as
the programs of its own take them (`convert_address`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from dyno.errors import UsageError, build_unknown_error
from dyno.former_names import CONTROLS, find_current_name
from dyno.passwords import HIDDEN, find_password, mask_password, mask_word
from dyno.plugins import load_things

FORM = "[name=]engine@build?key=value&key=value"

_SPEC = re.compile(
    r"(?:(?P<name>[^@=?&/]+)=)?(?P<engine>[^@=?&/:]+)"
    r"(?:@(?P<build>[^?]*)|:(?P<url>//[^?]*))?(?:\?(?P<keys>.*))?"
)


@dataclass(frozen=True)
class Spec:
    """One side of a comparison, parsed but not yet looked up.

    `keys` are the text's settings in their order; whose each one is, `owned` says. `text` is what
    the user wrote. A URL's password stands in `secret` alone; elsewhere it is `***`.
    """

    name: str
    engine: str
    build: str
    keys: dict[str, str] = field(default_factory=dict)
    text: str = ""
    secret: str = field(default="", repr=False)

    @property
    def is_url(self) -> bool:
        """Is it a server that runs already?"""
        return self.build.startswith("//")

    @property
    def with_password(self) -> str:
        """The build with its password: for the engine's `program`, and for nobody else."""
        return self.build.replace(f":{HIDDEN}@", f":{self.secret or HIDDEN}@", 1)


@dataclass(frozen=True)
class OwnedKeys:
    """The keys of a spec, each with the one thing that knows it."""

    flags: dict[str, str]
    settings: dict[str, str]
    controls: dict[str, str]


def parse_candidate(text: str) -> Spec:
    """`text` taken apart; `UsageError` where it is not a spec.

    Without a name the candidate is called by the text itself; without a build the engine gets
    an empty one, which it may take as its default.
    """
    secret, text = find_password(text), mask_password(text.strip())
    spelled = _spell_address(text)
    match = _SPEC.fullmatch(spelled)
    if match is None:
        raise UsageError(f"'{mask_word(text)}' does not name a candidate", hint=f"write {FORM}")
    keys = dict(_parse_pairs(text, match["keys"] or ""))
    if match["url"]:
        keys = {name: unquote(value) for name, value in keys.items()}
    text = text if "://" in text else spelled
    build = match["build"] or match["url"] or ""
    return Spec(match["name"] or text, match["engine"], build, keys, text, secret)


#: A server's address, with or without a name before it: a URL of whatever scheme, or words.
_ADDRESS = re.compile(r"(?P<name>[^@=?&/:]+=(?=[^?]*://))?(?P<address>.*://.*|\w+\s*=\s*\S.*)")


def _spell_address(text: str) -> str:
    """A server's address in our own way of writing it; any other text as it is."""
    match = _ADDRESS.fullmatch(text)
    if match is None:
        return text
    readers = load_things("dyno.engines", "convert_address").values()
    spelled = next(filter(None, (read(match["address"]) for read in readers)), "")
    return f"{match['name'] or ''}{spelled}" if spelled else text


def _parse_pairs(text: str, keys: str) -> Iterable[tuple[str, str]]:
    seen: set[str] = set()
    for pair in filter(None, keys.split("&")):
        key, equals, value = pair.partition("=")
        if not (key and equals):
            raise UsageError(f"'{pair}' in '{text}' is not key=value", hint=f"write {FORM}")
        if key in seen:
            raise UsageError(f"'{key}' is given twice in '{text}'")
        seen.add(key)
        yield key, value


def make_names_unique(specs: Sequence[Spec]) -> tuple[Spec, ...]:
    """The specs with unique names: the second of a name becomes ``name#2``.

    The same text twice is an A/A comparison, which `dyno compare` wants declared.
    """
    counts: dict[str, int] = {}
    apart = []
    for spec in specs:
        counts[spec.name] = count = counts.get(spec.name, 0) + 1
        apart.append(spec if count == 1 else replace(spec, name=f"{spec.name}#{count}"))
    return tuple(apart)


def with_keys(spec: Spec, name: str, keys: Mapping[str, str]) -> Spec:
    """The spec under another name, with `keys` beside its own."""
    text = append_keys(spec, spec.text, keys) if keys else spec.text
    return replace(spec, name=name, keys={**spec.keys, **keys}, text=text)


def append_keys(spec: Spec, text: str, keys: Mapping[str, str]) -> str:
    """`text`, which is the spec's own or that with its password, with more keys behind it."""
    values = {k: v.replace("%", "%25") if spec.is_url else v for k, v in keys.items()}
    joint = "&" if "?" in spec.text else "?"
    return text.rstrip("?") + joint + "&".join(f"{key}={value}" for key, value in values.items())


def sort_keys(
    keys: Mapping[str, str],
    *,
    flags: Iterable[str],
    options: Iterable[str],
    controls: Iterable[str],
    variables: bool = False,
) -> OwnedKeys:
    """Sorts keys into flags, settings and controls; `UsageError` with the nearest names for an
    unknown one, unless the engine takes `variables`: then it is a setting for its program to judge.
    """
    kinds = {"flag": set(flags), "setting": set(options), "control": set(controls)}
    sorted_out: dict[str, dict[str, str]] = {kind: {} for kind in kinds}
    for word, value in keys.items():
        key = word if word in kinds["setting"] else find_current_name(word, CONTROLS)
        owners = [kind for kind, known in kinds.items() if key in known]
        if not owners and variables:
            owners = ["setting"]
        if not owners:
            raise build_unknown_error("flag, setting or control", key, set().union(*kinds.values()))
        if len(owners) > 1:
            raise UsageError(f"'{key}' is both a {owners[0]} and a {owners[1]}")
        sorted_out[owners[0]][key] = value
    return OwnedKeys(sorted_out["flag"], sorted_out["setting"], sorted_out["control"])
