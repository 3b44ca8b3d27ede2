-- What the oltp_* workloads share: sysbench's tables, options and statements (its manual's names
-- and defaults, our own code). Each workload names the kinds of statements in one of its events.

local statements = require("_oltp_statements")

local oltp = {}

local MANDATORY = {"rand_type", "time", "warmup_time", "tables", "table_size", "auto_inc",
  "create_secondary"}

local function positive(_, text)
  return tonumber(text) > 0
end

local OPTIONS = {
  rand_type = {"Distribution of ids: uniform, gaussian, special, pareto or zipfian", "uniform"},
  time = {"Seconds to measure, unless events are set", 2},
  warmup_time = {"Seconds to play before measuring", 0.5},
  tables = {"Number of tables", 1, nil, positive},
  table_size = {"Rows per table", 10000, nil, positive},
  auto_inc = {"Let the engine number the rows", true},
  create_secondary = {"Index the column k after the load", true},
  range_size = {"Rows in a range query", 100},
  skip_trx = {"Leave out BEGIN and COMMIT", false},
  point_selects = {"Point selects per event", 10},
  simple_ranges = {"Simple range queries per event", 1},
  sum_ranges = {"SUM() range queries per event", 1},
  order_ranges = {"ORDER BY range queries per event", 1},
  distinct_ranges = {"DISTINCT range queries per event", 1},
  index_updates = {"Updates of the indexed column per event", 1},
  non_index_updates = {"Updates of an unindexed column per event", 1},
  delete_inserts = {"Deletes, each followed by an insert of the same id, per event", 1},
}

local ID = {
  sqlite = "INTEGER NOT NULL PRIMARY KEY",
  mysql = "INTEGER NOT NULL AUTO_INCREMENT PRIMARY KEY",
  pgsql = "SERIAL PRIMARY KEY",
}

local ROW_BYTES = 230 -- with its entry in the index, measured on SQLite

-- An engine without SQL of its own here takes what sysbench's scripts would send it.
local function dialect()
  return ID[dyno.engine] and dyno.engine or ID[dyno.dialect] and dyno.dialect or "pgsql"
end

local function create_table(con, number)
  con:query(string.format([[CREATE TABLE sbtest%d (
    id %s,
    k INTEGER DEFAULT 0 NOT NULL,
    c CHAR(120) DEFAULT '' NOT NULL,
    pad CHAR(60) DEFAULT '' NOT NULL)]], number, ID[dialect()]))
end

local function load_table(con, number)
  local opt, rand, k_sum = sysbench.opt, sysbench.rand, 0
  con:query("BEGIN")
  con:bulk_insert_init(string.format("INSERT INTO sbtest%d (%sk, c, pad) VALUES", number,
    opt.auto_inc and "" or "id, "))
  for id = 1, opt.table_size do
    local k = rand.default(1, opt.table_size)
    k_sum = k_sum + k
    con:bulk_insert_next(string.format("(%s%d,'%s','%s')", opt.auto_inc and "" or id .. ",", k,
      rand.string(statements.C), rand.string(statements.PAD)))
  end
  con:bulk_insert_done()
  con:query("COMMIT")
  dyno.count("loaded", opt.table_size)
  dyno.count("k_loaded", k_sum)
end

local function load_tables()
  local con = sysbench.sql.driver():connect()
  for number = 1, sysbench.opt.tables do
    create_table(con, number)
    load_table(con, number)
    if sysbench.opt.create_secondary then
      con:query(string.format("CREATE INDEX k_%d ON sbtest%d(k)", number, number))
    end
  end
end

local function drop_tables()
  local con = sysbench.sql.driver():connect()
  for number = 1, sysbench.opt.tables do
    con:query("DROP TABLE IF EXISTS sbtest" .. number)
  end
end

-- One SQL number over all tables.
local function total(expression)
  local parts = {}
  for number = 1, sysbench.opt.tables do
    parts[number] = string.format("(SELECT %s FROM sbtest%d)", expression, number)
  end
  return "SELECT " .. table.concat(parts, " + ")
end

-- Where nothing is written, the same questions have the same answers on every candidate.
local ANSWERS = {
  "SELECT id, k, c, pad FROM sbtest1 WHERE id BETWEEN 1 AND 100",
  "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN 101 AND 200 ORDER BY c",
  "SELECT MIN(id), MAX(id), MIN(k), MAX(k) FROM sbtest1",
}

local function ledger(spec)
  local entries = {{name = "rows = loaded + inserted - deleted", sql = total("COUNT(*)"),
    counters = {loaded = 1, inserted = 1, deleted = -1}}}
  if spec.sums_k or not spec.writes then
    entries[2] = {name = "sum of k = loaded + inserted + updated", sql = total("SUM(k)"),
      counters = {k_loaded = 1, k_inserted = 1, updated = 1}}
  end
  for i, sql in ipairs(spec.writes and {} or ANSWERS) do
    entries[#entries + 1] = {name = "answer " .. i, sql = sql, counters = {}}
  end
  return entries
end

-- In an open loop the rate is given, so the latency is what a verdict can rest on.
local function primary()
  local open = sysbench.opt.rate > 0
  return {stream = "event", metric = open and "latency_ns_p99" or "rate_per_s"}
end

local function phases(spec)
  local opt = sysbench.opt
  local stream = {name = "event", run = "event", connections = opt.threads,
    role = spec.writes and "writer" or "reader"}
  if opt.rate > 0 then
    stream.pace = {kind = opt.arrivals, rate_per_s = opt.rate}
  end
  local stop = opt.events > 0 and {kind = "count", events = opt.events}
    or {kind = "time", duration_s = opt.time}
  return {{name = "run", streams = {stream}, stop = stop, warmup_s = opt.warmup_time,
    stationary = not spec.drifts, primary = {primary()},
    expected_s = opt.warmup_time + (stop.duration_s or opt.events / 50000)}}
end

-- What one event plays: kinds of statements, each as often as its option says, on one random
-- table per kind, as in sysbench. The driver rolls back what a failed transaction left open.
local function items(spec)
  local con, list = sysbench.sql.driver():connect(), {}
  for i, kind in ipairs(spec.kinds) do
    local tables = {}
    for number = 1, sysbench.opt.tables do
      tables[number] = statements.build(con, kind, number)
    end
    list[i] = dyno.one_of(tables)
  end
  if spec.transaction and not sysbench.opt.skip_trx then
    table.insert(list, 1, {con:prepare("BEGIN")})
    table.insert(list, {con:prepare("COMMIT")})
    list.atomic = true
  end
  return list
end

local function declare_options(spec)
  local options = {}
  local function declare(names)
    for _, name in ipairs(names) do
      options[name] = OPTIONS[name]
    end
  end
  declare(MANDATORY)
  declare(spec.options or {})
  sysbench.cmdline.options = options
end

-- Makes a script of a spec:
--   kinds        what an event plays, in order (keys of KINDS)
--   options      the further options (keys of OPTIONS) that the script has; a kind without its
--                option is played once
--   transaction  an event is one transaction, unless `skip_trx`
--   writes       the stream's role is writer
--   drifts       the tables grow or shrink, so the phase is not stationary
--   sums_k       nothing deletes; inserts and updates count what they add to the sum of k, as
--                `k_inserted` and `updated`
function oltp.workload(spec)
  declare_options(spec)
  event = dyno.event(function() return items(spec) end)
  prepare, cleanup = load_tables, drop_tables
  dyno.phases = function() return phases(spec) end
  dyno.ledger = function() return ledger(spec) end
  dyno.size_bytes = function() return sysbench.opt.tables * sysbench.opt.table_size * ROW_BYTES end
end

return oltp
