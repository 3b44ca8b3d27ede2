"""What a sample of a phase's profile stands for."""

from __future__ import annotations

from fakes import make_record, make_tally
from msgspec.structs import replace

from dyno.record import Reading
from dyno.record.profile import CpuProfile


def test_a_sample_stands_for_its_share_of_the_cpu_time_that_was_charged() -> None:
    """Of the time in user mode, where the kernel's is not seen; of the period, where none is."""
    record = make_record([make_tally(100.0)])
    assert record.sample_ns == 0.0
    profile = CpuProfile(80, 0, 1_000_000, ())
    assert replace(record, profile=profile).sample_ns == 1e6
    readings = tuple(
        Reading("process", name, "µs", "lower", value, True)
        for name, value in (("server_cpu_us", 1e5), ("server_user_us", 6e4))
    )
    record = replace(record, profile=profile, readings=readings)
    assert record.sample_ns == 1e8 / 80
    assert replace(record, profile=replace(profile, kernel=False)).sample_ns == 6e7 / 80
