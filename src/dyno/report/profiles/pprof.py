"""Go's pprof: gzipped Protocol Buffers of `profile.proto`, each sample with its layer and phase.

Five messages of numbers, texts and each other are written here; a library would bring a generator
of code for them.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from dataclasses import dataclass, field

from dyno.report.profiles import CandidateProfile, ExportedFrame, Stack

SUFFIX = ".pb.gz"
#: Protocol Buffers' wire types.
_VARINT, _BYTES = 0, 2


def encode(profile: CandidateProfile) -> bytes:
    """The whole file. `go tool pprof -tagroot=phase,layer` shows phases and layers as frames."""
    writer = _Writer(profile.period_ns)
    for stack, samples in profile.stacks.items():
        writer.add_sample(stack, samples)
    return gzip.compress(writer.build(), mtime=0)


@dataclass
class _Writer:
    """Numbers texts, functions and files as it meets them; pprof counts from 1, texts from 0."""

    period_ns: int
    texts: dict[str, int] = field(default_factory=lambda: {"": 0})
    functions: dict[ExportedFrame, int] = field(default_factory=dict)
    mappings: dict[str, int] = field(default_factory=dict)
    samples: list[bytes] = field(default_factory=list)

    def add_sample(self, stack: Stack, samples: int) -> None:
        """A stack, innermost first as pprof wants it; what is no function is a label of it."""
        phase, *frames = stack
        functions = [frame for frame in frames if frame.kind == "function"]
        locations = [self._number_function(frame) for frame in reversed(functions)]
        labels = {"phase": phase.name, "layer": functions[-1].layer}
        message = _encode_packed(1, locations)
        message += _encode_packed(2, [samples, samples * self.period_ns])
        for key, text in labels.items():
            label = _encode_number(1, self._number_text(key))
            message += _encode_bytes(3, label + _encode_number(2, self._number_text(text)))
        self.samples.append(message)

    def build(self) -> bytes:
        """The message `Profile`."""
        message = b"".join(_encode_bytes(1, self._make_type(*each)) for each in _TYPES)
        message += b"".join(_encode_bytes(2, sample) for sample in self.samples)
        message += b"".join(
            _encode_bytes(3, self._make_mapping(path, at)) for path, at in self.mappings.items()
        )
        for frame, at in self.functions.items():
            mapping = _encode_number(2, self.mappings[frame.module])
            line = _encode_bytes(4, _encode_number(1, at))
            message += _encode_bytes(4, _encode_number(1, at) + mapping + line)
        message += b"".join(
            _encode_bytes(5, self._make_function(frame, at)) for frame, at in self.functions.items()
        )
        period = self._make_type(*_TYPES[1])
        message += b"".join(_encode_bytes(6, text.encode()) for text in self.texts)
        return message + _encode_bytes(11, period) + _encode_number(12, self.period_ns)

    def _make_type(self, kind: str, unit: str) -> bytes:
        return _encode_number(1, self._number_text(kind)) + _encode_number(
            2, self._number_text(unit)
        )

    def _make_mapping(self, path: str, number: int) -> bytes:
        """A file; its names are in the profile, so that pprof looks for no file."""
        name = _encode_number(5, self._number_text(path))
        return _encode_number(1, number) + name + _encode_number(7, 1)

    def _make_function(self, frame: ExportedFrame, number: int) -> bytes:
        name = self._number_text(frame.name)
        texts = _encode_number(2, name) + _encode_number(3, name)
        return (
            _encode_number(1, number) + texts + _encode_number(4, self._number_text(frame.source))
        )

    def _number_function(self, frame: ExportedFrame) -> int:
        self.mappings.setdefault(frame.module, len(self.mappings) + 1)
        return self.functions.setdefault(frame, len(self.functions) + 1)

    def _number_text(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))


_TYPES = (("samples", "count"), ("cpu", "nanoseconds"))


def _encode_varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _encode_number(field_number: int, number: int) -> bytes:
    return _encode_varint(field_number << 3 | _VARINT) + _encode_varint(number)


def _encode_bytes(field_number: int, content: bytes) -> bytes:
    return _encode_varint(field_number << 3 | _BYTES) + _encode_varint(len(content)) + content


def _encode_packed(field_number: int, numbers: Iterable[int]) -> bytes:
    return _encode_bytes(field_number, b"".join(_encode_varint(each) for each in numbers))
