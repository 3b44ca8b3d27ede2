"""The driver's sampler of CPU time: whose samples it holds, and what it says where it may not."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from processes import wait_for

from dyno.driver.sampler import CpuSampler
from dyno.errors import HostError
from dyno.profile.debug_files import find_debug_folders
from dyno.record.profile import CpuProfile

#: A shell that forks another, which burns CPU; the first waits.
FORKING = "sh -c 'while :; do :; done' & echo begun; wait"
SAMPLED_S = 0.5
#: So often that a busy host leaves samples enough.
FINE_NS = 200_003


@contextmanager
def burning() -> Iterator[int]:
    """The process id of a shell whose child burns CPU."""
    with subprocess.Popen(
        ["sh", "-c", FORKING], stdout=subprocess.PIPE, process_group=0
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"begun\n"
        try:
            yield process.pid
        finally:
            subprocess.run(["kill", "-KILL", "--", f"-{process.pid}"], check=True)


def sample_burning(*, stacks: bool = False) -> CpuProfile:
    with burning() as pid, CpuSampler(FINE_NS) as sampler:
        (profile,) = sample(sampler, pid, stacks=stacks)
        return profile


def sample(sampler: CpuSampler, *pids: int, stacks: bool = False) -> list[CpuProfile]:
    """What the processes do for a moment; a host that permits nothing says why."""
    try:
        sampler.start(pids, stacks=stacks)
    except HostError as refused:
        assert "perf_event" in refused.message
        pytest.skip(refused.message)
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run(["sleep", "60"], timeout=SAMPLED_S, check=False)
    sampler.stop()
    return sampler.name()


def test_the_samples_of_a_forked_child_are_its_familys() -> None:
    profile = sample_burning()
    assert profile.samples > 0
    assert sum(each.samples for each in profile.functions) == profile.samples
    assert any("sh" in each.module for each in profile.functions)


def test_stacks_hold_each_sample_at_most_once() -> None:
    profile = sample_burning(stacks=True)
    assert 0 < sum(each.samples for each in profile.stacks) <= profile.samples
    places = range(len(profile.functions))
    assert all(frame in places for each in profile.stacks for frame in each.frames)


def test_of_two_processes_each_has_its_own_samples() -> None:
    with (
        burning() as busy,
        subprocess.Popen(["sleep", "60"]) as idle,
        CpuSampler(FINE_NS) as sampler,
    ):
        try:
            resting, burnt = sample(sampler, idle.pid, busy)
        finally:
            idle.kill()
    assert burnt.samples > 10
    assert resting.samples < 3


def test_functions_are_named_after_their_process_has_ended() -> None:
    with CpuSampler(FINE_NS) as sampler:
        with burning() as pid:
            sampler.start([pid])
            with pytest.raises(subprocess.TimeoutExpired):
                subprocess.run(["sleep", "60"], timeout=SAMPLED_S, check=False)
            sampler.stop()
        (profile,) = sampler.name()
    assert any("sh" in each.module for each in profile.functions)
    assert any(each.name for each in profile.functions)


def test_a_sampler_samples_again() -> None:
    with burning() as pid, CpuSampler(FINE_NS) as sampler:
        (first,), (second,) = sample(sampler, pid), sample(sampler, pid)
    assert first.samples > 10
    assert 10 < second.samples < 2 * first.samples


#: Samples itself, and is killed meanwhile.
KILLED = """
import os, time
from dyno.driver.sampler import CpuSampler
sampler = CpuSampler()
try:
    sampler.start([os.getpid()])
finally:
    print(sampler.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.chaos
def test_a_sampler_does_not_outlive_a_dyno_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE) as dyno:
        assert dyno.stdout is not None
        pid = int(dyno.stdout.readline())
        dyno.kill()
    wait_for(lambda: not Path(f"/proc/{pid}").exists())


def test_a_process_that_has_ended_is_told() -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
        with CpuSampler(FINE_NS) as sampler, pytest.raises(HostError, match="has ended"):
            sampler.start([process.pid])


#: Spends its time in a function that nobody else may call.
BUSY_C = """
static volatile unsigned long n;
static __attribute__((noinline)) void hidden(void) { for (;;) n++; }
int main(void) { hidden(); return 0; }
"""


def test_functions_of_a_stripped_program_have_the_names_of_its_debug_file(tmp_path: Path) -> None:
    busy, debug = tmp_path / "busy", tmp_path / "debug"
    (tmp_path / "busy.c").write_text(BUSY_C)
    kept = debug / ".build-id" / "ab" / "cdef0123456789.debug"
    kept.parent.mkdir(parents=True)
    commands: list[list[str | Path]] = [
        ["cc", "-O1", "-Wl,--build-id=0xabcdef0123456789", "-o", busy, tmp_path / "busy.c"],
        ["objcopy", "--only-keep-debug", busy, kept],
        ["objcopy", "--strip-all", f"--add-gnu-debuglink={kept}", busy],
    ]
    for command in commands:
        subprocess.run(command, check=True, timeout=60)
    with subprocess.Popen([busy]) as process:
        try:
            with CpuSampler(FINE_NS) as sampler:
                (without,) = sample(sampler, process.pid)
            with CpuSampler(FINE_NS, [debug]) as sampler:
                (named,) = sample(sampler, process.pid)
        finally:
            process.kill()
    own = [{each.name for each in it.functions if "busy" in each.module} for it in (without, named)]
    assert own == [{""}, {"hidden"}]


#: Copies in a loop, by the C library's function for this processor, which keeps no frame.
COPYING_C = """
#include <string.h>
static char from[1 << 16], to[1 << 16];
__attribute__((noinline)) void copy_rows(void) {
    for (;;) {
        memmove(to, from, sizeof to);
        __asm__ volatile("" : : : "memory");
    }
}
int main(void) { copy_rows(); return 0; }
"""


def test_a_leaf_of_the_c_library_has_its_caller_without_frame_pointers(tmp_path: Path) -> None:
    debug = find_debug_folders(lambda _: None)
    copying, source = tmp_path / "copying", tmp_path / "copying.c"
    source.write_text(COPYING_C)
    flags = ["-O2", "-fomit-frame-pointer", "-fno-builtin"]
    subprocess.run(["cc", *flags, "-o", copying, source], check=True, timeout=60)
    with subprocess.Popen([copying]) as process, CpuSampler(FINE_NS, debug) as sampler:
        try:
            (profile,) = sample(sampler, process.pid, stacks=True)
        finally:
            process.kill()
    names = [each.name for each in profile.functions]
    leaves = {
        at
        for at, each in enumerate(profile.functions)
        if "/libc" in each.module and each.name.startswith("__mem")
    }
    if not leaves:
        message = "the C library's debug file, which names its leaves, can be had by no mirror"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    called = {
        names[caller]
        for *_, caller, leaf in (it.frames for it in profile.stacks if len(it.frames) > 1)
        if leaf in leaves
    }
    # elsewhere the return address is in a register, which is not copied: nobody is named
    known = {"copy_rows"} if platform.machine() == "x86_64" else set()
    assert called == known
