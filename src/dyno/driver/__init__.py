"""The Python side of `dyno-driver`: find it, ask it, play a plan through its handshake."""

from dyno.driver.conversation import Conversation, LateAnswer, ask
from dyno.driver.events import (
    Answered,
    Bucket,
    End,
    Event,
    Failing,
    Hello,
    Loads,
    Progress,
    Ready,
    Report,
    Settle,
    StatementExample,
    StreamProgress,
    UserShare,
    WrittenKey,
    WrittenKeys,
)
from dyno.driver.process import DriverLaunch, DriverProcess, Limit
from dyno.driver.questions import (
    build_driver_environment,
    describe,
    find_driver,
    outline,
    read_schema,
)

__all__ = [
    "Answered",
    "Bucket",
    "Conversation",
    "DriverLaunch",
    "DriverProcess",
    "End",
    "Event",
    "Failing",
    "Hello",
    "LateAnswer",
    "Limit",
    "Loads",
    "Progress",
    "Ready",
    "Report",
    "Settle",
    "StatementExample",
    "StreamProgress",
    "UserShare",
    "WrittenKey",
    "WrittenKeys",
    "ask",
    "build_driver_environment",
    "describe",
    "find_driver",
    "outline",
    "read_schema",
]
