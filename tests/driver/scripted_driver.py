#!/usr/bin/env python3
"""A driver that acts a part, for tests of whoever listens to it; the part is the option `act`."""

import json
import os
import signal
import sys
import time
from typing import Any


def say(event: str, **fields: Any) -> None:
    sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
    sys.stdout.flush()


def go() -> None:
    if sys.stdin.readline() != "go\n":
        sys.exit(3)


def failure(blame: str) -> dict[str, Any]:
    where: dict[str, Any] = {"phase": "run", "place": "mine.lua:7", "connection": 3}
    if blame == "streams":
        blame, where["stream"] = "user", "readers"
    return {"blame": blame, "message": "it broke: for a reason", "hint": "mend it", **where}


def play() -> None:
    plan = json.loads(sys.stdin.readline())
    act = plan["script"]["options"].get("act", "")
    say("hello", version=9 if act == "old" else 1, driver="0.1.0")
    sys.stderr.write("a word in the log\n")
    say("ready", phase="run", monotonic_ns=time.monotonic_ns())
    go()
    if act == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif act == "exit":
        sys.exit(7)
    elif act == "hang":
        time.sleep(30)
    elif act == "endless":
        while True:
            sys.stdout.write("x" * (1 << 20))
    elif act == "deep":
        sys.stdout.write("[" * 200_000 + "\n")
    elif act == "list":
        sys.stdout.write("[1]\n")
    elif act == "untyped":
        say("error", blame=7, message=["x"], hint={}, place=3)
    elif act == "wrong":
        say("end", counters={"inserted": "two"})
    elif act == "babble":
        sys.stdout.write("no json\n")
    elif act:
        say("error", **failure(act))
        sys.exit(1)
    say("end", counters={"inserted": 2})


def answer(question: dict[str, Any]) -> None:
    texts = question.get("statements") or [question["script"]["options"].get("act", "")]
    if texts == ["bad"]:
        say("error", **failure("user"))
        return
    if texts == ["hang"]:
        time.sleep(30)
    if texts[-1] == "SELECT endless":
        sys.stdout.write('[{"columns": ["a"], "rows": [["1"]]}, {"columns": ["a"], "rows": [["x"]')
        while True:
            sys.stdout.write(", " + ", ".join(['["xxxxxxxxxxxx"]'] * 10_000))
    if texts[-1] == "SELECT nonsense":
        sys.stdout.write('[{"rows": 7}]\n')
        return
    if texts[-1] == "SELECT less":
        sys.stdout.write("[]\n")
        return
    if texts == ["who"]:
        texts = [str(os.getpid())]
    if texts == ["die"]:
        sys.stderr.write("thread panicked\nwhat a pity\n")
        sys.exit(101)
    sys.stdout.write(json.dumps([{"columns": ["a"], "rows": [[t], [None]]} for t in texts]) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "run":
        play()
    else:
        for line in sys.stdin:
            answer(json.loads(line))
            sys.stdout.flush()
