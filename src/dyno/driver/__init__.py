"""The Python side of `dyno-driver`: find it, ask it, play a plan through its handshake."""

from dyno.driver.events import Answered, End, Event, Hello, Progress, Ready, Settle, StreamProgress
from dyno.driver.process import Launch, Limit, Process
from dyno.driver.questions import ask, describe, driver_environment, driver_program, schema

__all__ = [
    "Answered",
    "End",
    "Event",
    "Hello",
    "Launch",
    "Limit",
    "Process",
    "Progress",
    "Ready",
    "Settle",
    "StreamProgress",
    "ask",
    "describe",
    "driver_environment",
    "driver_program",
    "schema",
]
