"""sysbench's life of a script: who calls `init`, `thread_run` and `done`, what an end counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from played_scripts import Player

from dyno.errors import DynoError

TWO_A_TURN = """
function event() dyno.count("events") end
function thread_run(thread_id)
  while ffi.C.sb_more_events(thread_id) do
    for _ = 1, 2 do
      ffi.C.sb_event_start(thread_id)
      event()
      ffi.C.sb_event_stop(thread_id)
    end
  end
  dyno.count("tails")
end
"""


@pytest.fixture
def play(tmp_path: Path) -> Player:
    return Player(tmp_path)


def test_init_and_done_are_called_once_around_all_users_and_told_no_number(play: Player) -> None:
    _, counters = play(
        """
        function init(...)
          assert(... == nil and sysbench.tid == 0)
          assert(sysbench.opt.threads == 2)
          local con = sysbench.sql.driver():connect()
          con:query("INSERT INTO t VALUES (1)")
          dyno.count("init")
          was_called = true
        end
        function thread_init(tid) assert(was_called == nil and tid == sysbench.tid) end
        function event() dyno.count("events") end
        function done() assert(was_called) dyno.count("done") end
        """,
        threads=2,
        events=6,
    )
    assert counters == {"init": 1, "events": 6, "done": 1}


@pytest.mark.parametrize("function", ["init", "done"])
def test_an_error_in_init_or_done_fails_the_trial(function: str, play: Player) -> None:
    with pytest.raises(DynoError, match="not today"):
        play(f"function event() end function {function}() error('not today') end", events=1)


@pytest.mark.parametrize("options", [{"events": 10, "time": 0}, {"time": 600}])
def test_a_true_value_ends_a_thread_and_is_no_event(options: dict[str, int], play: Player) -> None:
    tally, _ = play(
        """
        local n = 0
        function event() n = n + 1 return n == 3 end
        """,
        threads=2,
        **options,
    )
    assert (tally.done, tally.intended, tally.failed) == (4, 4, 0)


def test_a_loop_of_the_scripts_own_counts_what_it_begins_and_ends(play: Player) -> None:
    tally, counters = play(TWO_A_TURN, events=10, threads=2)
    assert (tally.done, tally.intended) == (20, 20)
    assert counters == {"events": 20, "tails": 2}


def test_a_loop_of_its_own_that_never_asks_for_events_has_none(play: Player) -> None:
    tally, counters = play(
        """
        function event() dyno.count("events") end
        function thread_run() event() event() end
        """,
        time=600,
    )
    assert (tally.done, counters) == (0, {"events": 2})


def test_an_event_that_its_own_loop_leaves_is_none(play: Player) -> None:
    tally, _ = play(
        """
        function event() end
        function thread_run(tid)
          local n = 0
          while ffi.C.sb_more_events(tid) do
            n = n + 1
            ffi.C.sb_event_start(tid)
            if n % 2 == 0 then ffi.C.sb_event_stop(tid) end
          end
        end
        """,
        events=10,
    )
    assert (tally.done, tally.intended) == (5, 5)


def test_at_a_rate_a_loop_of_its_own_plays_each_arrival_once(play: Player) -> None:
    once = TWO_A_TURN.replace("1, 2", "1, 1")
    tally, _ = play(once, events=20, rate=20000)
    assert (tally.done, tally.skipped, tally.lateness.count) == (20, 0, 20)
    with pytest.raises(DynoError, match="without sb_more_events"):
        play(TWO_A_TURN, events=20, rate=20000)


def test_an_error_of_its_own_loop_fails_the_trial(play: Player) -> None:
    with pytest.raises(DynoError, match="no more of this"):
        play("function event() end function thread_run() error('no more of this') end", events=1)


def test_the_default_loop_can_be_called_by_one_around_it(play: Player) -> None:
    tally, counters = play(
        """
        function event() end
        local loop = thread_run
        function thread_run(tid) dyno.count("begun") loop(tid) end
        """,
        events=5,
    )
    assert (tally.done, counters) == (5, {"begun": 1})


def test_sb_event_start_outside_of_a_loop_of_its_own_is_refused_by_name(play: Player) -> None:
    with pytest.raises(DynoError, match="sb_event_start is for a script's own thread_run"):
        play("function event() ffi.C.sb_event_start(0) end", events=1)


@pytest.mark.parametrize(
    "pause",
    [
        "ffi.cdef('int usleep(unsigned);') ffi.C.usleep(20000)",
        "os.execute('sleep 0.02')",
        "ffi.cdef('struct timespec {long tv_sec; long tv_nsec;};')"
        " ffi.C.nanosleep(ffi.new('struct timespec', {0, 2e7}), nil)",
    ],
)
def test_who_pauses_gives_way_to_the_threads_other_users(pause: str, play: Player) -> None:
    _, counters = play(
        f"""
        function event(tid)
          local before = dyno.turn()
          if tid == 0 then {pause} dyno.count("between", dyno.turn() - before - 1) end
          return tid == 1
        end
        """,
        threads=2,
        events=2,
    )
    assert counters["between"] == 1


def test_what_a_program_writes_or_reads_is_not_the_drivers(play: Player) -> None:
    tally, counters = play(
        """
        os.execute("echo loaded")
        function event()
          assert(os.execute("echo played; read line && exit 9; exit 3") == 3 * 256)
          assert(io.popen("cat"):read("*a") == "")
          io.write("written\\n")
        end
        """,
        events=2,
    )
    assert (tally.done, counters) == (2, {})


def test_commands_are_told_no_number_and_fail_by_false(play: Player) -> None:
    script = """
    function prepare(...) assert(... == nil) dyno.count("prepared") end
    function check() return false end
    sysbench.cmdline.commands = {check = {check}}
    """
    assert play(script, "prepare")[1] == {"prepared": 1}
    with pytest.raises(DynoError, match="command check returned false"):
        play(script, "check")
