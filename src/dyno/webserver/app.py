"""The addresses of the served pages, and what answers each.

A run is found by its key among those that were listed, so no part of an address is ever a path.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from dyno.errors import DynoError, describe_damage
from dyno.pages.beside import build_beside_page, build_choice_page
from dyno.pages.frame import (
    REPORT_POLICY,
    SiteFrame,
    SitePage,
    build_policy,
    build_problem_page,
    quote_key,
)
from dyno.pages.heat import build_heat_page
from dyno.pages.history import HistoryShelf, build_history_page, list_links
from dyno.pages.library import Library
from dyno.pages.live import EVERY_S, build_live_page, find_state, render_state
from dyno.pages.matrix import build_matrix_page
from dyno.pages.reports import read_report
from dyno.pages.run_list import build_list_page, parse_query
from dyno.pages.waiting import WAIT_S, StillReading, build_waiting_page

#: A served page's own, beside that of its `<meta>`: nobody may frame it.
POLICY = f"{build_policy()}; frame-ancestors 'none'"


class PagesApp:
    """What answers each address, from one library."""

    def __init__(self, library: Library, footer: str = "") -> None:
        self.library, self.frame = library, SiteFrame("served", footer)
        self._shelf = HistoryShelf()

    def build(self) -> Starlette:
        """The application."""
        routes = [
            Route("/", self.show_list),
            Route("/index.html", self.show_list),
            Route("/runs/{key}.html", self.show_report),
            Route("/heat/{key}.html", self.show_heat),
            Route("/matrix.html", self.show_matrix),
            Route("/beside.html", self.choose_two),
            Route("/beside/{one}/{other}.html", self.show_beside),
            Route("/history.html", self.show_history),
            Route("/live.html", self.show_live),
            Route("/live/events", self.send_events),
        ]
        handlers = {HTTPException: self.tell_missing, Exception: self.tell_fault}
        return Starlette(routes=routes, exception_handlers=handlers)

    def show_list(self, request: Request) -> Response:
        """The list of runs, by the address's query."""
        query = parse_query(dict(request.query_params))
        return self._show(lambda: build_list_page(self.library.list_runs(), query), request)

    def show_report(self, request: Request) -> Response:
        """A run's own report, under the site's bar."""
        key = request.path_params["key"]
        try:
            self.library.wait_for_list()
            text = read_report(self.library.find(key).place)
        except StillReading as still:
            return self._tell_progress(still, request)
        except Exception as error:  # whatever one record holds, the server goes on
            return self._tell_problem(error, request)
        page = self.frame.add_bar(text, 1, key)
        return HTMLResponse(page, headers={"content-security-policy": REPORT_POLICY})

    def show_heat(self, request: Request) -> Response:
        """A run's heat map."""
        key = request.path_params["key"]
        return self._show(lambda: build_heat_page(self.library.find(key)), request)

    def show_matrix(self, request: Request) -> Response:
        """Verdicts by workload and build."""
        return self._show(lambda: build_matrix_page(self.library.list_runs()), request)

    def choose_two(self, request: Request) -> Response:
        """Two runs that were ticked lead to their page; else the page on which two are chosen."""
        chosen = list(dict.fromkeys(request.query_params.getlist("run")))
        if len(chosen) == 2:
            one, other = map(quote_key, chosen)
            return RedirectResponse(f"/beside/{one}/{other}.html", 303)
        return self._show(lambda: build_choice_page(self.library.list_runs()), request)

    def show_beside(self, request: Request) -> Response:
        """Two runs side by side."""
        one, other = request.path_params["one"], request.path_params["other"]

        def build() -> SitePage:
            return build_beside_page(self.library.find(one), self.library.find(other))

        return self._show(build, request)

    def show_history(self, request: Request) -> Response:
        """The history of all runs."""
        asked = request.query_params.get("newest", "")
        newest = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 7 else 0

        def build() -> SitePage:
            runs = self.library.list_runs()
            return build_history_page(self._shelf.wait_for_history(runs), list_links(runs), newest)

        return self._show(build, request)

    def show_live(self, request: Request) -> Response:
        """What plays just now."""
        return self._show(lambda: build_live_page(self.library.list_runs()), request)

    async def send_events(self, request: Request) -> Response:
        """The state of what plays, anew whenever it is another, until the reader has gone."""
        headers = {"content-security-policy": "default-src 'none'"}
        if request.method == "HEAD":
            return Response(media_type="text/event-stream", headers=headers)
        return StreamingResponse(
            self._follow(request), media_type="text/event-stream", headers=headers
        )

    async def _follow(self, request: Request) -> AsyncIterator[str]:
        last: object = None
        while not await request.is_disconnected():
            runs = await run_in_threadpool(self.library.list_runs)
            state = await run_in_threadpool(find_state, runs)
            if state != last:
                text = await run_in_threadpool(render_state, runs)
                yield f"event: state\ndata: {json.dumps(str(text))}\n\n"
                last = state
            else:
                yield ": still here\n\n"
            await asyncio.sleep(EVERY_S)

    def _show(self, build: Callable[[], SitePage], request: Request) -> Response:
        try:
            self.library.wait_for_list()
            page = build()
        except StillReading as still:
            return self._tell_progress(still, request)
        except Exception as error:  # whatever one record holds, the server goes on
            return self._tell_problem(error, request)
        return self._answer(page)

    def _answer(
        self, page: SitePage, status: int = 200, more: dict[str, str] | None = None
    ) -> Response:
        headers = {"content-security-policy": POLICY, **(more or {})}
        return HTMLResponse(self.frame.build(page), status, headers)

    def _tell_progress(self, still: StillReading, request: Request) -> Response:
        page = build_waiting_page(still.progress, _count_depth(request))
        return self._answer(page, 503, {"retry-after": str(WAIT_S)})

    def _tell_problem(self, error: Exception, request: Request) -> Response:
        """What is wrong with a run, as a page: a sentence, and what to do."""
        sentence, hint = describe_damage(error), ""
        if isinstance(error, DynoError):
            hint = error.hint
        status = 404 if "unknown run" in sentence else 500
        return self._answer(self._make_problem(request, sentence, hint), status)

    def _make_problem(self, request: Request, sentence: str, hint: str = "") -> SitePage:
        return build_problem_page(sentence, hint, _count_depth(request))

    def tell_missing(self, request: Request, error: Exception) -> Response:
        """An address that leads nowhere."""
        del error
        return self._answer(self._make_problem(request, "There is no page at this address"), 404)

    def tell_fault(self, request: Request, error: Exception) -> Response:
        """A fault of ours: its kind, and no traceback."""
        return self._answer(self._make_problem(request, describe_damage(error)), 500)


def _count_depth(request: Request) -> int:
    """How many folders stand above the page that is asked for."""
    return max(request.url.path.count("/") - 1, 0)
