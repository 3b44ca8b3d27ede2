-- What the oltp_* workloads share: sysbench's tables, options and statements (its manual's names
-- and defaults, our own code). Each workload names the kinds of statements in one of its events.

local oltp = {}

local MANDATORY = {"rand_type", "time", "warmup_time", "tables", "table_size", "auto_inc",
  "create_secondary"}

local OPTIONS = {
  rand_type = {"Distribution of ids: uniform, gaussian, special, pareto or zipfian", "uniform"},
  time = {"Seconds to measure; 0: no limit", 2},
  warmup_time = {"Seconds to play before measuring", 0.5},
  tables = {"Number of tables", 1},
  table_size = {"Rows per table", 10000},
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

local C = "###########" .. string.rep("-###########", 9) -- 119 bytes
local PAD = "###########" .. string.rep("-###########", 4) -- 59 bytes
local ROW_BYTES = 230 -- with its entry in the index, measured on SQLite

local rand = sysbench.rand

-- What this user's statements changed and the driver does not know yet.
local pending = {}

local function count(name, rows)
  pending[name] = (pending[name] or 0) + rows
end

local function report_counts()
  for name, rows in pairs(pending) do
    dyno.count(name, rows)
    pending[name] = nil
  end
end

local function forget_counts()
  for name in pairs(pending) do
    pending[name] = nil
  end
end

local function random_id()
  return rand.default(1, sysbench.opt.table_size)
end

local function random_pad()
  return rand.string(PAD)
end

local function random_c()
  return rand.string(C)
end

-- Rows that a statement reported as changed.
local function changed(answer)
  return answer and tonumber(answer.nrows) or 0
end

-- Builders: each prepares a statement on one connection and answers the function that plays it.

local INT, CHAR = sysbench.sql.type.INT, sysbench.sql.type.CHAR

local function by_id(con, sql)
  local statement = con:prepare(sql)
  local id = statement:bind_create(INT)
  statement:bind_param(id)
  return function(chosen)
    id:set(chosen or random_id())
    return statement:execute()
  end
end

local function by_range(con, sql)
  local statement = con:prepare(sql)
  local from, to = statement:bind_create(INT), statement:bind_create(INT)
  statement:bind_param(from, to)
  return function()
    local id = random_id()
    from:set(id)
    to:set(id + sysbench.opt.range_size - 1)
    statement:execute()
  end
end

local function index_update(con, sql)
  local play = by_id(con, sql)
  return function()
    count("updated", changed(play()))
  end
end

local function non_index_update(con, sql)
  local statement = con:prepare(sql)
  local c, id = statement:bind_create(CHAR, #C), statement:bind_create(INT)
  statement:bind_param(c, id)
  return function()
    c:set(random_c())
    id:set(random_id())
    statement:execute()
  end
end

local function delete(con, sql)
  local play = by_id(con, sql)
  return function(chosen)
    count("deleted", changed(play(chosen)))
  end
end

local function insert(con, sql)
  local statement = con:prepare(sql)
  local id, k = statement:bind_create(INT), statement:bind_create(INT)
  local c, pad = statement:bind_create(CHAR, #C), statement:bind_create(CHAR, #PAD)
  statement:bind_param(id, k, c, pad)
  return function(chosen)
    id:set(chosen)
    k:set(random_id())
    c:set(random_c())
    pad:set(random_pad())
    count("inserted", changed(statement:execute()))
  end
end

-- The same id comes back with a new k, so the table keeps its size.
local function delete_insert(con, delete_sql, insert_sql)
  local remove, add = delete(con, delete_sql), insert(con, insert_sql)
  return function()
    local id = random_id()
    remove(id)
    add(id)
  end
end

-- sysbench sends this one as text.
local function text_insert(con, sql, auto_sql)
  return function()
    local k, c, pad = random_id(), random_c(), random_pad()
    local statement = sysbench.opt.auto_inc and auto_sql:format(k, c, pad)
      or sql:format(rand.unique(), k, c, pad)
    count("inserted", changed(con:query(statement)))
  end
end

-- Kind of statement -> its builder and its SQL, in which %d stands for the table's number. An
-- option of the kind's name says how often an event plays it; a kind without one is played once.
local KINDS = {
  point_selects = {by_id, "SELECT c FROM sbtest%d WHERE id=?"},
  simple_ranges = {by_range, "SELECT c FROM sbtest%d WHERE id BETWEEN ? AND ?"},
  sum_ranges = {by_range, "SELECT SUM(k) FROM sbtest%d WHERE id BETWEEN ? AND ?"},
  order_ranges = {by_range, "SELECT c FROM sbtest%d WHERE id BETWEEN ? AND ? ORDER BY c"},
  distinct_ranges = {by_range,
    "SELECT DISTINCT c FROM sbtest%d WHERE id BETWEEN ? AND ? ORDER BY c"},
  index_updates = {index_update, "UPDATE sbtest%d SET k=k+1 WHERE id=?"},
  non_index_updates = {non_index_update, "UPDATE sbtest%d SET c=? WHERE id=?"},
  deletes = {delete, "DELETE FROM sbtest%d WHERE id=?"},
  delete_inserts = {delete_insert, "DELETE FROM sbtest%d WHERE id=?",
    "INSERT INTO sbtest%d (id, k, c, pad) VALUES (?, ?, ?, ?)"},
  inserts = {text_insert,
    "INSERT INTO sbtest%d (id, k, c, pad) VALUES (%%d, %%d, '%%s', '%%s')",
    "INSERT INTO sbtest%d (k, c, pad) VALUES (%%d, '%%s', '%%s')"},
}

local function build(con, kind, number)
  local sql = {}
  for i = 2, #KINDS[kind] do
    sql[i - 1] = KINDS[kind][i]:format(number)
  end
  return KINDS[kind][1](con, unpack(sql))
end

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
  local opt, k_sum = sysbench.opt, 0
  con:query("BEGIN")
  con:bulk_insert_init(string.format("INSERT INTO sbtest%d (%sk, c, pad) VALUES", number,
    opt.auto_inc and "" or "id, "))
  for id = 1, opt.table_size do
    local k = random_id()
    k_sum = k_sum + k
    con:bulk_insert_next(string.format("(%s%d,'%s','%s')", opt.auto_inc and "" or id .. ",", k,
      random_c(), random_pad()))
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

local function ledger(spec)
  local rows = {name = "rows = loaded + inserted - deleted", sql = total("COUNT(*)"),
    counters = {loaded = 1, inserted = 1, deleted = -1}}
  local sum = {name = "sum of k = loaded + updated", sql = total("SUM(k)"),
    counters = {k_loaded = 1, updated = 1}}
  return spec.sums_k and {rows, sum} or {rows}
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
    stream.pace = {kind = "uniform", rate_per_s = opt.rate}
  end
  local stop = opt.events > 0 and {kind = "count", events = opt.events}
    or {kind = "time", duration_s = opt.time}
  return {{name = "run", streams = {stream}, stop = stop, warmup_s = opt.warmup_time,
    stationary = not spec.drifts, primary = {primary()},
    expected_s = opt.warmup_time + (stop.duration_s or opt.events / 50000)}}
end

-- What one event plays: kinds of statements, each as often as its option says, on one random
-- table per kind, as in sysbench.
local function player(kinds, built)
  local times = {}
  for i, kind in ipairs(kinds) do
    times[i] = sysbench.opt[kind] or 1
  end
  return function()
    for i = 1, #kinds do
      local statement = built[#built == 1 and 1 or rand.uniform(1, #built)][kinds[i]]
      for _ = 1, times[i] do
        statement()
      end
    end
  end
end

-- A failed transaction is rolled back at once: some engines leave it open, with its locks.
local function in_transaction(con, body)
  local begin, commit = con:prepare("BEGIN"), con:prepare("COMMIT")
  local function attempt()
    begin:execute()
    body()
    commit:execute()
  end
  return function()
    local ok, failure = pcall(attempt)
    if not ok then
      forget_counts()
      pcall(con.query, con, "ROLLBACK")
      error(failure, 0)
    end
  end
end

local function connect(spec)
  local con, built = sysbench.sql.driver():connect(), {}
  for number = 1, sysbench.opt.tables do
    built[number] = {}
    for _, kind in ipairs(spec.kinds) do
      built[number][kind] = build(con, kind, number)
    end
  end
  local play = player(spec.kinds, built)
  return spec.transaction and not sysbench.opt.skip_trx and in_transaction(con, play) or play
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
--   sums_k       each event adds what it counts as `updated` to the sum of k
function oltp.workload(spec)
  declare_options(spec)
  local play

  function thread_init()
    play = connect(spec)
  end

  function event()
    play()
    if spec.writes then
      report_counts()
    end
  end

  thread_done = report_counts
  prepare, cleanup = load_tables, drop_tables
  dyno.phases = function() return phases(spec) end
  dyno.ledger = function() return ledger(spec) end
  dyno.size_bytes = function() return sysbench.opt.tables * sysbench.opt.table_size * ROW_BYTES end
end

return oltp
