"""Collapsed stacks, which flame graph tools read: `outermost;…;function SAMPLES`, one a line."""

from __future__ import annotations

from dyno.report.profiles import CandidateProfile

SUFFIX = ".collapsed.txt"
#: What would end a frame or a line.
_SEPARATORS = str.maketrans({";": ":", "\n": " ", "\r": " "})


def encode(profile: CandidateProfile) -> bytes:
    lines = [
        f"{';'.join(frame.name.translate(_SEPARATORS) for frame in stack)} {samples}"
        for stack, samples in profile.stacks.items()
    ]
    return "".join(f"{line}\n" for line in sorted(lines)).encode()
