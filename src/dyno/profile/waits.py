"""What a server's thread executes while it waits for its client, or by the clock: not counted.

Whether a request is there already when the server looks for it depends on the client's speed: each
wait more is some instructions more, and none of the operation's. Statistics that are told once a
second are more of an operation where the host is slow.
"""

from __future__ import annotations

import re
from collections import Counter

from dyno.profile.attribution import tidy_name
from dyno.profile.callgrind import CodeFunction, InstructionProfile

#: Calls within a wait are followed so deep.
DEEPEST = 20


def leave_out_waits(
    profile: InstructionProfile, waits: re.Pattern[str] | None
) -> tuple[InstructionProfile, int]:
    """The profile without functions whose names match `waits`, and without all that they call; and
    how many instructions that were.

    Of a function that others call as well, the waits' share goes: callgrind knows calls and no
    whole stacks.
    """
    if waits is None:
        return profile, 0
    spent: Counter[CodeFunction] = Counter()
    inclusive: Counter[CodeFunction] = Counter()
    callees: dict[CodeFunction, Counter[CodeFunction]] = {}
    for (caller, callee), instructions in profile.calls.items():
        inclusive[callee] += instructions
        callees.setdefault(caller, Counter())[callee] += instructions

    def follow(function: CodeFunction, share: float, path: tuple[CodeFunction, ...]) -> None:
        spent[function] += round(share * profile.own[function])
        if len(path) < DEEPEST:
            for callee, instructions in callees.get(function, Counter()).items():
                whole = inclusive[callee]
                if whole and callee not in path and not waits.match(tidy_name(callee.name)):
                    follow(callee, share * instructions / whole, (*path, callee))

    for function in list(profile.own):
        if waits.match(tidy_name(function.name)):
            follow(function, 1.0, (function,))
    own = Counter({function: n - min(spent[function], n) for function, n in profile.own.items()})
    calls = Counter(
        {
            call: n
            for call, n in profile.calls.items()
            if not any(waits.match(tidy_name(each.name)) for each in call)
        }
    )
    return InstructionProfile(own, calls), profile.total - own.total()
