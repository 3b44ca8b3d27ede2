-- An operation that holds one lock for a known time, and then works outside of it for another: an
-- advisory lock (PostgreSQL), a user-level lock in a stored function (MySQL, MariaDB), the write
-- lock of a database in WAL mode (SQLite). What is spun is a number of rounds, timed by `prepare`:
-- a core is not always as fast, so that the counter `held_us` tells how long it was in fact, by the
-- clock of who held it.
sysbench.cmdline.options = {
  lock_us = {"How long an operation holds the lock", 200},
  free_us = {"How long it spins outside of it", 200},
  how = {"What the holder does: spin, or sleep (not in sqlite)", "spin"},
}

local ffi = require("ffi")
pcall(ffi.cdef, "typedef struct { long s; long ns; } known_time;"
  .. " int known_clock(int clock, known_time *now) __asm__(\"clock_gettime\");")

local SPIN = {
  postgres = "SELECT known_spin(%d)",
  mysql = "SELECT BENCHMARK(%d, SHA2('x', 256))",
  sqlite = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "
    .. "SELECT COUNT(*) FROM n",
}
local MADE = {
  postgres = {
    "CREATE FUNCTION known_spin(n BIGINT) RETURNS INT LANGUAGE plpgsql AS "
      .. "'BEGIN FOR i IN 1..n LOOP END LOOP; RETURN 0; END'",
    "CREATE FUNCTION known_event(held BIGINT, free BIGINT, slept FLOAT8) RETURNS INT LANGUAGE "
      .. "plpgsql AS 'DECLARE began TIMESTAMPTZ; us INT; BEGIN PERFORM pg_advisory_lock(62); "
      .. "began := clock_timestamp(); FOR i IN 1..held LOOP END LOOP; "
      .. "IF slept > 0 THEN PERFORM pg_sleep(slept); END IF; "
      .. "us := 1e6 * extract(epoch FROM clock_timestamp() - began); "
      .. "PERFORM pg_advisory_unlock(62); FOR i IN 1..free LOOP END LOOP; RETURN us; END'",
  },
  mysql = {
    "CREATE FUNCTION known_event(held INT, free INT, slept DOUBLE) RETURNS INT NOT DETERMINISTIC "
      .. "NO SQL BEGIN DECLARE x, us INT; DECLARE began DATETIME(6); "
      .. "SET x = GET_LOCK('known', 60); SET began = SYSDATE(6); "
      .. "SET x = BENCHMARK(held, SHA2('x', 256)); IF slept > 0 THEN SET x = SLEEP(slept); END IF; "
      .. "SET us = TIMESTAMPDIFF(MICROSECOND, began, SYSDATE(6)); SET x = RELEASE_LOCK('known'); "
      .. "SET x = BENCHMARK(free, SHA2('x', 256)); RETURN us; END",
  },
  sqlite = {
    "CREATE TABLE known (id INTEGER PRIMARY KEY, k INTEGER)",
    "INSERT INTO known VALUES (1, 0)",
  },
}
local DROPPED = {
  postgres = {"DROP FUNCTION IF EXISTS known_event", "DROP FUNCTION IF EXISTS known_spin"},
  mysql = {"DROP FUNCTION IF EXISTS known_event"},
  sqlite = {"DROP TABLE IF EXISTS known"},
}
local engine = SPIN[dyno.engine] and dyno.engine or SPIN[dyno.dialect] and dyno.dialect

local con, held, free, slept

local function now_us()
  local now = ffi.new("known_time")
  ffi.C.known_clock(1, now)
  return tonumber(now.s) * 1e6 + tonumber(now.ns) / 1e3
end

local function spin(rounds)
  con:query(SPIN[engine]:format(rounds))
end

-- The fastest of several plays: a core that is taken away makes one longer.
local function measure_us(rounds)
  local best = math.huge
  for _ = 1, 9 do
    local began = now_us()
    spin(rounds)
    best = math.min(best, now_us() - began)
  end
  return best
end

function prepare()
  assert(engine, "this engine has no known lock")
  con = sysbench.sql.driver():connect()
  for _, sql in ipairs(DROPPED[engine]) do con:query(sql) end
  for _, sql in ipairs(MADE[engine]) do con:query(sql) end
  con:query("CREATE TABLE known_rounds (per_ms INT)")
  local few, many = 2000, 42000
  local per_ms = 1000 * (many - few) / (measure_us(many) - measure_us(few))
  con:query(("INSERT INTO known_rounds VALUES (%d)"):format(math.floor(per_ms + 0.5)))
end

function cleanup()
  con = sysbench.sql.driver():connect()
  for _, sql in ipairs(DROPPED[engine]) do con:query(sql) end
  con:query("DROP TABLE IF EXISTS known_rounds")
end

function thread_init()
  con = sysbench.sql.driver():connect()
  local per_us = tonumber(con:query_row("SELECT per_ms FROM known_rounds")) / 1000
  local sleeps = sysbench.opt.how == "sleep"
  assert(not sleeps or engine ~= "sqlite", "sqlite cannot sleep")
  held = sleeps and 0 or math.floor(sysbench.opt.lock_us * per_us + 0.5)
  slept = sleeps and sysbench.opt.lock_us / 1e6 or 0
  free = math.floor(sysbench.opt.free_us * per_us + 0.5)
end

function event()
  if engine ~= "sqlite" then
    local us = con:query_row(("SELECT known_event(%d, %d, %g)"):format(held, free, slept))
    dyno.count("held_us", tonumber(us))
    return
  end
  con:query("BEGIN IMMEDIATE")
  local began = now_us()
  con:query("UPDATE known SET k = k + 1")
  spin(held)
  con:query("COMMIT")
  dyno.count("held_us", math.floor(now_us() - began))
  spin(free)
end
