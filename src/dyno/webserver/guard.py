"""Who may read: only GET and HEAD, only under a name of this host, only with the token where there
is one. What passes gets headers that keep its answers out of other sites and of caches.

A page of another site that had its name resolve to this host (DNS rebinding) comes under that name,
and is refused; an address in numbers can be rebound to nothing.
"""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
import stat
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass
from http.cookies import SimpleCookie
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from dyno.errors import UsageError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: No header takes a longer one.
TOKEN_MOST = 4096
#: A shorter one could be guessed, and other letters would not travel in a cookie.
TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{20,}")
COOKIE = "dyno_token"
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}
METHODS = ("GET", "HEAD")


def make_token() -> str:
    """A new one, of 256 bits."""
    return secrets.token_urlsafe(32)


def read_token(file: Path) -> str:
    """The token in a file; `UsageError` where others may read it, or it is too short."""
    try:
        mode = file.stat().st_mode
        if not stat.S_ISREG(mode):
            raise UsageError(f"{file} is not a plain file", hint="a token is in a file of its own")
        with file.open(encoding="utf-8") as opened:
            text = opened.read(TOKEN_MOST + 1).strip()
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read the token in {file}", cause=error) from None
    if mode & (stat.S_IRGRP | stat.S_IROTH):
        raise UsageError(f"others may read {file}", hint=f"chmod 600 {file}")
    if not TOKEN.fullmatch(text):
        cause = "a token has 20 letters or more, of A-Z a-z 0-9 . _ ~ + / = -"
        hint = "openssl rand -hex 32 makes one"
        raise UsageError(f"there is no token in {file}", cause=cause, hint=hint)
    return text


def is_loopback(host: str) -> bool:
    """Is that an address which only this host reaches?"""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def list_host_names(more: Iterable[str] = ()) -> frozenset[str]:
    """The names under which pages are asked for, beside addresses in numbers."""
    own = os.uname().nodename.lower()
    return frozenset({"localhost", own, own.partition(".")[0], *(it.lower() for it in more)})


@dataclass(frozen=True)
class HttpRefusal:
    """Why a request is not answered."""

    status: int
    sentence: str
    headers: tuple[tuple[str, str], ...] = ()


class Guard:
    """Answers what may not pass, and hands on what may; `names` are `list_host_names`', the `token`
    is empty where none is asked for.
    """

    def __init__(self, app: ASGIApp, names: frozenset[str], token: str = "") -> None:
        self._app, self._names, self._token = app, names, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI's."""
        if scope["type"] != "http":
            return  # no sockets, and no lifespan
        headers = _read_headers(scope)
        refusal = self._check_method(scope) or self._check_host(headers)
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if refusal is None and self._token:
            given = [value for name, value in query if name == "token"]
            if given and any(map(self._is_token, given)):
                refusal = self._take_token(scope, query)
            elif not self._has_token(headers):
                challenge = (("www-authenticate", "Bearer"),)
                refusal = HttpRefusal(401, "A token is asked for: ?token=… or a header", challenge)
        if refusal:
            await _refuse(refusal, scope, send)
            return
        await self._app(scope, receive, _add_headers(send))

    def _check_method(self, scope: Scope) -> HttpRefusal | None:
        if scope["method"] in METHODS:
            return None
        allowed = (("allow", ", ".join(METHODS)),)
        return HttpRefusal(405, "These pages are for reading only", allowed)

    def _check_host(self, headers: dict[str, list[str]]) -> HttpRefusal | None:
        given = headers.get("host", [])
        if len(given) == 1 and is_name_allowed(given[0], self._names):
            return None
        return HttpRefusal(421, "These pages are not at that host name; --allow-host adds one")

    def _has_token(self, headers: dict[str, list[str]]) -> bool:
        for value in headers.get("authorization", []):
            kind, _, token = value.partition(" ")
            if kind.lower() == "bearer" and self._is_token(token.strip()):
                return True
        for value in headers.get("cookie", []):
            for name, morsel in _parse_cookies(value).items():
                if name == COOKIE and self._is_token(morsel):
                    return True
        return False

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self._token.encode())

    def _take_token(self, scope: Scope, query: list[tuple[str, str]]) -> HttpRefusal:
        """The same page without the token in its address, which a browser would keep."""
        rest = urlencode([pair for pair in query if pair[0] != "token"])
        path = scope["raw_path"].decode("latin-1").partition("?")[0]
        target = f"/{path.lstrip('/')}{f'?{rest}' if rest else ''}"
        cookie = f"{COOKIE}={self._token}; Path=/; HttpOnly; SameSite=Lax"
        return HttpRefusal(
            303, "The token is taken", (("location", target), ("set-cookie", cookie))
        )


def is_name_allowed(host: str, names: frozenset[str]) -> bool:
    """Is a Host header an address in numbers, or one of `names`, with or without a port?"""
    name, _, port = host.rpartition(":") if _has_port(host) else (host, "", "0")
    if not port.isdigit():
        return False
    if name.lower() in names:
        return True
    try:
        ipaddress.ip_address(name[1:-1] if name.startswith("[") else name)
    except ValueError:
        return False
    return True


def _has_port(host: str) -> bool:
    return ":" in host.rpartition("]")[2]


def _parse_cookies(text: str) -> dict[str, str]:
    try:
        return {name: morsel.value for name, morsel in SimpleCookie(text).items()}
    except Exception:  # whatever a stranger sends is no cookie of ours
        return {}


def _read_headers(scope: Scope) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


def _add_headers(send: Send) -> Send:
    async def send_more(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *_encode(HEADERS.items())]
        await send(message)

    return send_more


def _encode(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]


async def _refuse(refusal: HttpRefusal, scope: MutableMapping[str, Any], send: Send) -> None:
    body = f"{refusal.sentence}.\n".encode()
    headers = {
        "content-type": "text/plain; charset=utf-8",
        "content-length": str(len(body)),
        "content-security-policy": "default-src 'none'",
    }
    start = {
        "type": "http.response.start",
        "status": refusal.status,
        "headers": _encode([*headers.items(), *HEADERS.items(), *refusal.headers]),
    }
    await send(start)
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
