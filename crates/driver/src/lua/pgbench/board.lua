-- What a client of `dyno pgbench` counts, in a row of a file that Dyno's other process reads while
-- it plays (`src/dyno/compat/pgbench/play.py` has the same columns): doubles in memory that both
-- map.
local number, values = ...
local ffi = require("ffi")

ffi.cdef [[
   typedef struct { int64_t seconds, nanoseconds; } pgbench_time;
   int clock_gettime(int clock, pgbench_time *time);
   int open(const char *path, int flags, ...);
   int close(int file);
   void *mmap(void *address, size_t bytes, int protection, int flags, int file, int64_t offset);
]]

local board = {}
local ROW_BYTES, CELLS = 65536, 8192
local READ_WRITE, PROTECTION, SHARED = 2, 3, 1 -- O_RDWR; PROT_READ | PROT_WRITE; MAP_SHARED

-- Columns of the row: of the client, from SCRIPTS on of each script, then of each command.
local SCRIPTS, PER_SCRIPT, PER_COMMAND = 8, 16, 4
board.CONNECT_US, board.CONNECTS, board.ABORTED = 0, 1, 2
board.DONE, board.SKIPPED, board.SERIALIZATION, board.DEADLOCK, board.OTHER = 0, 1, 2, 3, 4
board.RETRIED, board.RETRIES, board.LATE = 5, 6, 7
board.LATENCY_US, board.LATENCY_US2, board.LAG_US, board.LAG_US_MAX = 8, 9, 10, 11
board.PLAYED, board.SPENT_US, board.FAILURES, board.REPEATS = 0, 1, 2, 3

function board.open(path)
   local file = ffi.C.open(path, READ_WRITE)
   local row = ffi.C.mmap(nil, ROW_BYTES, PROTECTION, SHARED, file, number * ROW_BYTES)
   ffi.C.close(file)
   if file < 0 or ffi.cast("intptr_t", row) == -1 then
      values.fail("cannot map the row of client %d in %s", number, path)
   end
   board.cells = ffi.cast("double *", row)
end

-- Where a script's columns begin; scripts count from 0.
function board.script(script)
   return SCRIPTS + script * PER_SCRIPT
end

-- Where a command's begin: the `command`th of all, from 0, behind those of so many scripts.
function board.command(scripts, command)
   local at = board.script(scripts) + command * PER_COMMAND
   if at + PER_COMMAND > CELLS then
      values.fail("more commands than --report-per-command can tell apart: %d", command)
   end
   return at
end

function board.add(at, more)
   board.cells[at] = board.cells[at] + (more or 1)
end

-- ---- the time in microseconds: since the phase's clock began, and since 1970 -------------------

local time = ffi.new("pgbench_time")
local REALTIME, MONOTONIC = 0, 1

local function read(clock)
   ffi.C.clock_gettime(clock, time)
   return tonumber(time.seconds) * 1e6 + tonumber(time.nanoseconds) / 1e3
end

function board.now_us() return read(MONOTONIC) end

function board.epoch_us() return read(REALTIME) end

return board
