-- Key-value: reads, inserts, updates, deletes and scans of one table by its key, one at a time,
-- many keys to a statement (`batch`), or many statements to a round trip (`in_flight`). Mixes are
-- YCSB's.
-- title: reads and writes by key

local words = require("_kv_words")

sysbench.cmdline.options = {
  mix = {"YCSB's a to f, or kinds with their shares: read=90,update=10", "c", nil, words.is_mix},
  records = {"Rows of the table", 10000, nil, words.is_positive},
  value_bytes = {"Bytes of a value", 100, nil, words.is_positive},
  batch = {"Keys in a statement", 1, nil, words.is_positive},
  in_flight = {"Statements that leave together and are awaited as one", 1, nil, words.is_positive},
  scan_length = {"Rows of the longest scan; lengths are uniform from 1 on", 100, nil,
    words.is_positive},
  rand_type = {"Distribution of keys: uniform, gaussian, special, pareto or zipfian", "uniform"},
  time = {"Seconds to measure, unless events are set", 2},
  warmup_time = {"Seconds to play before measuring", 0.5},
}

local VALUES, SAMPLED = "values", 256 -- keys whose values are held against what was written
local ROW_BYTES = 40 -- beside the value: key, header, entry in the key's index

local opt = sysbench.opt
local mix, con, statements, user, inserted, uncounted, written

-- ---- statements -------------------------------------------------------------------------------

local function cells(statement, type, count, max_length)
  local found = {}
  for i = 1, count do
    found[i] = statement:bind_create(type, max_length)
  end
  return found
end

-- One statement of `kind`, prepared, with a cell for each key, value and limit in it.
local function prepared(kind)
  local statement = con:prepare(words.sql[kind](opt.batch))
  local count = words.counts[kind](opt.batch)
  local made = {statement = statement, sent = {},
    keys = cells(statement, sysbench.sql.type.BIGINT, count.keys),
    values = cells(statement, sysbench.sql.type.VARCHAR, count.values, opt.value_bytes),
    limits = cells(statement, sysbench.sql.type.BIGINT, count.limits)}
  statement:bind_param(unpack(words.in_order(kind, made)))
  return made
end

-- ---- keys -------------------------------------------------------------------------------------

local function any_key()
  return sysbench.rand.default(1, opt.records)
end

-- Each user's keys are a sequence of its own behind those that were loaded.
local function own_key(number)
  return opt.records + 1 + user + number * opt.threads
end

local function new_key()
  inserted = inserted + 1
  return own_key(inserted - 1)
end

-- The newest are read the most: those that this user has inserted, then those loaded last.
local function latest_key()
  local age = sysbench.rand.zipfian(1, opt.records)
  return age <= inserted and own_key(inserted - age) or opt.records + 1 + inserted - age
end

-- ---- events -----------------------------------------------------------------------------------

local function value()
  return sysbench.rand.string(("@"):rep(opt.value_bytes)) -- letters: as SQL they need no quoting
end

-- For the ledger: an update writes one value under all its keys.
local function note(keys, text)
  for i = 1, #keys do written:note(keys[i], text) end
end

-- Sends one statement, whose keys are drawn by `key`.
local function send(kind, key)
  local made = statements[kind]
  local keys, text = made.sent
  for i = 1, #made.keys do
    keys[i] = key()
    made.keys[i]:set(keys[i])
  end
  for i = 1, #made.values do
    text = value()
    made.values[i]:set(text)
  end
  if kind == "update" then note(keys, text) end
  for i = 1, #made.limits do made.limits[i]:set(sysbench.rand.uniform(1, opt.scan_length)) end
  return made.statement:execute().nrows
end

-- Nothing that was loaded goes but by deletes: a read that finds nothing is the engine's fault.
-- (null keeps no rows.)
local function check_found(kind, rows)
  if rows == 0 and not mix.deletes and dyno.engine ~= "null" then
    error("a " .. kind .. " by a key that is there finds no row")
  end
end

local function key_of(kind)
  return kind == "insert" and new_key or mix.latest and kind == "read" and latest_key or any_key
end

-- Reads a row and writes it anew, as YCSB's f does: no transaction around both.
local function modify()
  local key = any_key()
  local function same() return key end
  check_found("read", send("read", same))
  send("update", same)
end

local COUNTERS = {insert = "inserted", delete = "deleted"}

local function count_rows(kind, rows)
  if COUNTERS[kind] then dyno.count(COUNTERS[kind], rows) end
end

-- Sends `in_flight` statements and awaits them as one. Where one of them is refused MySQL has
-- played the others all the same; the event that failed keeps no counts, so they wait for the
-- next one's.
local function send_together(kind, key)
  con:pipeline_begin()
  for _ = 1, opt.in_flight do send(kind, key) end
  local ok, read, changed = pcall(con.pipeline_sync, con)
  local before = uncounted[kind] or 0
  if not ok then
    uncounted[kind] = before + con.sql_changed
    error(read, 0)
  end
  uncounted[kind] = nil
  return read, before + changed
end

local function play(kind)
  if kind == "modify" then return modify() end
  local key = key_of(kind)
  if opt.in_flight == 1 then
    local rows = send(kind, key)
    if kind == "read" then check_found(kind, rows) end
    return count_rows(kind, rows)
  end
  local read, changed = send_together(kind, key)
  if kind == "read" then check_found(kind, read) end
  count_rows(kind, changed)
end

function event()
  local kind = words.draw(mix)
  if mix.many then dyno.transaction(kind) end
  play(kind)
end

function thread_init(tid)
  mix, user, inserted, statements, uncounted = words.read_mix(opt), tid, 0, {}, {}
  written = dyno.written(VALUES, math.ceil(opt.records / SAMPLED))
  con = sysbench.sql.driver():connect()
  for _, kind in ipairs(words.kinds_sent(mix)) do
    statements[kind] = prepared(kind)
  end
end

function thread_done()
  for kind, rows in pairs(uncounted) do count_rows(kind, rows) end
end

-- ---- the table --------------------------------------------------------------------------------

function prepare()
  words.read_mix(opt)
  local con = sysbench.sql.driver():connect()
  con:query(("CREATE TABLE kv (k BIGINT NOT NULL PRIMARY KEY, v VARCHAR(%d) NOT NULL)")
    :format(opt.value_bytes))
  con:query("BEGIN")
  con:bulk_insert_init("INSERT INTO kv (k, v) VALUES")
  for key = 1, opt.records do
    con:bulk_insert_next(("(%d,'%s')"):format(key, value()))
  end
  con:bulk_insert_done()
  con:query("COMMIT")
  dyno.count("loaded", opt.records)
end

function cleanup()
  sysbench.sql.driver():connect():query("DROP TABLE IF EXISTS kv")
end

-- ---- what is played ---------------------------------------------------------------------------

function dyno.phases()
  local mixed = words.read_mix(opt)
  local stream = {name = "kv", run = "event", connections = opt.threads,
    role = mixed.writes and "writer" or "reader",
    unit = "key", units_per_event = opt.batch * opt.in_flight}
  local primary = {stream = "kv", metric = "rate_per_s"}
  if opt.rate > 0 then
    stream.pace = {kind = opt.arrivals, rate_per_s = opt.rate}
    primary.metric = "latency_ns_p99"
  end
  local stop = opt.events > 0 and {kind = "count", events = opt.events}
    or {kind = "time", duration_s = opt.time}
  return {{name = "run", streams = {stream}, stop = stop, warmup_s = opt.warmup_time,
    stationary = not mixed.drifts, primary = {primary},
    expected_s = opt.warmup_time + (stop.duration_s or opt.events / 50000)}}
end

-- An update of a row that somebody else has deleted writes nothing, and an engine may say so late.
local function updates_entry(mixed)
  local name = "values of sampled keys are what was written last"
  if mixed.deletes then
    return {name = "values updated", unchecked = "keys are deleted meanwhile"}
  end
  return {name = name, sql = "SELECT k, v FROM kv WHERE k IN (?)", written = VALUES}
end

function dyno.ledger()
  local mixed, counters = words.read_mix(opt), {loaded = 1, inserted = 1, deleted = -1}
  local entries = {
    {name = "rows = loaded + inserted - deleted", sql = "SELECT COUNT(*) FROM kv",
      counters = counters},
  }
  if mixed.writes then
    entries[2] = {name = "whole values = rows", counters = counters,
      sql = "SELECT COUNT(*) FROM kv WHERE LENGTH(v) = " .. opt.value_bytes}
  end
  if mixed.updates then
    entries[3] = updates_entry(mixed)
  end
  return entries
end

function dyno.size_bytes()
  return opt.records * (opt.value_bytes + ROW_BYTES)
end
