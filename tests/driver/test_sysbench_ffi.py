"""What scripts for sysbench reach by `ffi`: its types, its functions, its random numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from played_scripts import Player

from dyno.errors import DynoError

#: As Percona's sysbench-tpcc begins: a type of sysbench's, and a function of the C library.
HEAD = """
ffi.cdef[[
void sb_counter_inc(int, sb_counter_type);
typedef uint32_t useconds_t;
int usleep(useconds_t useconds);
]]
"""


@pytest.fixture
def play(tmp_path: Path) -> Player:
    return Player(tmp_path)


def test_what_a_script_counts_itself_is_in_the_tally(play: Player) -> None:
    tally, _ = play(
        HEAD
        + """
        function event(tid)
          ffi.C.usleep(1)
          ffi.C.sb_counter_inc(sysbench.tid, ffi.C.SB_CNT_ERROR)
          ffi.C.sb_counter_inc(sysbench.tid, ffi.C.SB_CNT_READ)
        end
        """,
        events=3,
    )
    assert (tally.done, tally.failed, tally.errors, tally.queries) == (3, 0, {"script": 3}, 3)


@pytest.mark.parametrize(
    "call",
    [
        "ffi.C.sb_counter_inc(0, ffi.C.SB_CNT_TRX)",
        "ffi.C.sb_counter_val(0, 0)",
        "ffi.C.db_query(nil, '', 0)",
    ],
)
def test_what_is_not_done_is_refused_by_name(call: str, play: Player) -> None:
    name = call.partition("(")[0]
    with pytest.raises(DynoError, match=name):
        play(f"function event() {call} end", events=1)


def test_random_numbers_by_ffi_are_in_their_range(play: Player) -> None:
    play(
        """
        ffi.cdef[[
        uint32_t sb_rand_uniform(uint32_t, uint32_t);
        void sb_rand_str(const char *, char *);
        double sb_rand_uniform_double(void);
        ]]
        function event()
          for _, name in ipairs {"default", "uniform", "gaussian", "special", "pareto"} do
            local n = ffi.C["sb_rand_" .. name](3, 5)
            assert(n >= 3 and n <= 5 and n % 1 == 0, name)
          end
          local text = ffi.new("char[6]")
          ffi.C.sb_rand_str("a-##@", text)
          assert(ffi.string(text):match("^a%-%d%d%l$"))
          assert(ffi.C.sb_rand_uniform_double() < 1)
          assert(ffi.C.sb_rand_uniform_uint64() >= 0ULL)
          local n = sb_rnd()
          assert(n >= 0 and n < 2 ^ 32 and n % 1 == 0)
        end
        """,
        events=1,
    )


def test_unique_numbers_of_a_range_are_in_it_and_no_two_alike(play: Player) -> None:
    _, counters = play(
        "function event() dyno.count('n' .. sb_rand_uniq(11, 110)) end", events=1, time=0
    )
    assert len(counters) == 1
    script = """
    function event(tid)
      for _ = 1, 50 do dyno.count("n" .. sb_rand_uniq(11, 110)) end
      dyno.count("done")
      return false
    end
    function thread_run(tid) event(tid) end
    """
    _, counters = play(script, threads=2)
    assert counters.pop("done") == 2
    assert counters == {f"n{number}": 1 for number in range(11, 111)}


def test_the_c_library_is_where_it_was(play: Player) -> None:
    play(
        """
        ffi.cdef[[ int getpid(void); int abs(int); ]]
        function event() assert(ffi.C.getpid() > 0 and ffi.C.abs(-3) == 3) end
        """,
        events=1,
    )


def test_bounds_of_random_numbers_have_32_bits_as_in_sysbench(play: Player) -> None:
    """A script joins numbers up to 9e15 to a name of at most 64 letters."""
    play(
        """
        function event()
          for _, name in ipairs { "default", "uniform", "gaussian", "special", "pareto" } do
            assert(sysbench.rand[name](2 ^ 32 + 7, 2 ^ 40 + 7) == 7, name)
          end
          local number = sb_rand_uniq(1, 9000000000000000)
          assert(number >= 1 and number < 2 ^ 32, number)
          assert(sysbench.rand.uniform(-3, -3) == -3)
        end
        """,
        events=50, time=0,
    )  # fmt: skip
