-- The insert benchmark: load in key order, index, insert and delete with the indexes in place,
-- then query beside paced inserts. After Mark Callaghan's iibench; docs/workloads/insert.md lists
-- what differs from it and why.

local sql = require("_insert_sql")
local rows = require("_insert_rows")

local function positive(_, text)
  return tonumber(text) > 0
end

local function words(text)
  local list = {}
  for word in text:gmatch("[^%s,]+") do
    list[#list + 1] = word
  end
  return list
end

local function rates(_, text)
  for _, word in ipairs(words(text)) do
    if not ((tonumber(word) or 0) > 0) then
      return false
    end
  end
  return true
end

local function kinds(_, text)
  for _, word in ipairs(words(text)) do
    if word ~= "range" and word ~= "point" then
      return false
    end
  end
  return true
end

sysbench.cmdline.options = {
  clients = {"Writers, and in the query phases as many readers", 1, nil, positive},
  shared_table = {"All clients use one table, instead of one each", false},
  load_rows = {"Rows loaded in l.i0, all clients together", 50000, nil, positive},
  write_rows = {"Rows inserted in l.i1 (four fifths) and l.i2 (one fifth)", 10000},
  load_batch = {"Rows per insert in l.i0", 100, nil, positive},
  write_batch = {"Rows per insert in l.i1 and beside the queries", 50, nil, positive},
  small_batch = {"Rows per insert in l.i2", 5, nil, positive},
  delete_per_insert = {"Delete the oldest rows, as many as were inserted", true},
  query_rates = {"Rows inserted per second and client in each step of query phases",
    "100,500,1000", nil, rates},
  query_seconds = {"Length of each query phase", 0.5},
  queries = {"Query phases of each step: range, point", "range,point", nil, kinds},
  rows_per_query = {"Rows that a query fetches", 10},
  cashregisters = {"Distinct cash registers", 1000},
  products = {"Distinct products", 10000},
  customers = {"Distinct customers", 100000},
  max_price = {"Prices are below this", 500},
  data_length_min = {"Shortest data column", 10},
  data_length_max = {"Longest data column", 20},
  data_random_percent = {"Share of the data column that does not compress", 50},
  clock_rows_per_s = {"Rows per second of the virtual clock behind dateandtime", 1000},
}

local INDEX_ROWS = 100     -- rows that l.x inserts before it creates the indexes
local RESYNC_EVENTS = 1000 -- events between two looks at the oldest and newest row
local ROW_BYTES = 160      -- with its three index entries, measured on SQLite
local MARGIN_PERCENT = 5   -- of the three primary metrics

local function table_names()
  local names = {}
  for i = 1, sysbench.opt.shared_table and 1 or sysbench.opt.clients do
    names[i] = "pi" .. i
  end
  return names
end

-- One user's connection and table, where the table's oldest and newest rows are, and what is not
-- yet reported.
local client = {inserted = 0, deleted = 0, events = 0}

local function send(con, statements)
  for _, statement in ipairs(statements) do
    con:query(statement)
  end
end

local function end_of_keys(which)
  local key = client.con:query_row(sql.end_of_keys(client.table, which))
  return tonumber(key)
end

local function resync()
  client.first = end_of_keys("min") or 1
  client.last = end_of_keys("max") or 0
end

-- Every so often, since rows come and go at both ends. By then no key is far off, and the looks are
-- too rare to be seen in the 99th percentile.
local function count_event()
  client.events = client.events + 1
  if client.events % RESYNC_EVENTS == 0 then
    resync()
  end
end

-- Counts outlive a failed event: each statement commits by itself, so an insert stays done when
-- the delete after it fails.
local function report_counts()
  dyno.count("inserted", client.inserted)
  dyno.count("deleted", client.deleted)
  client.inserted, client.deleted = 0, 0
end

local function insert_rows(count)
  client.con:insert(sql.insert_into(client.table), count, client.rows, rows.date(client.last))
  client.last = client.last + count
  client.inserted = client.inserted + count
end

local function delete_rows(count)
  local answer = client.con:query(sql.delete(client.table, client.first, count))
  client.deleted = client.deleted + answer.nrows
  client.first = client.first + count
end

local function write(count)
  count_event()
  insert_rows(count)
  if sysbench.opt.delete_per_insert then
    delete_rows(count)
  end
  report_counts()
end

function load_rows()
  insert_rows(sysbench.opt.load_batch)
  report_counts()
end

-- One user, one table per event: a few rows, then the indexes.
function index_table()
  client.indexed = (client.indexed or 0) + 1
  client.table = table_names()[client.indexed]
  insert_rows(INDEX_ROWS)
  send(client.con, sql.create_indexes(client.table))
  report_counts()
end

function write_rows()
  write(sysbench.opt.write_batch)
end

function write_few_rows()
  write(sysbench.opt.small_batch)
end

-- Once; where a hint names an index (MySQL), not before l.x has made it.
local function prepare_queries()
  if client.ranges then
    return
  end
  local con, opt, int = client.con, sysbench.opt, sysbench.sql.type.INT
  local ranges, keys = {}, {}
  for i, range in ipairs(sql.RANGES) do
    local statement = con:prepare(sql.range(client.table, range, opt.rows_per_query))
    local from = statement:bind_create(int)
    statement:bind_param(from)
    local most = opt[range.domain] - 1
    ranges[i] = {name = range.name, statement = statement, from = from, most = most}
  end
  client.point = con:prepare(sql.point(client.table, opt.rows_per_query))
  for i = 1, opt.rows_per_query do
    keys[i] = client.point:bind_create(int)
  end
  client.point:bind_param(unpack(keys))
  client.ranges, client.keys = ranges, keys
end

-- The three range queries in turn, each from a random place on.
function query_range()
  prepare_queries()
  client.events = client.events + 1
  local range = client.ranges[client.events % #client.ranges + 1]
  dyno.transaction(range.name)
  range.from:set(math.random(0, range.most))
  range.statement:execute()
end

-- Rows by random keys that were there a short while ago.
function query_point()
  prepare_queries()
  count_event()
  local last = math.max(client.first, client.last) -- an empty table has no last row
  for _, key in ipairs(client.keys) do
    key:set(math.random(client.first, last))
  end
  client.point:execute()
end

function thread_init(tid)
  local names = table_names()
  client.con = sysbench.sql.driver():connect()
  client.table = names[tid % #names + 1]
  client.rows = rows.drawn()
  math.randomseed(sysbench.rand.uniform(1, 2 ^ 31 - 1)) -- the queries' keys
  resync()
  pcall(prepare_queries)
end

function thread_done()
  report_counts()
  client.con:disconnect()
end

function prepare()
  local con = sysbench.sql.driver():connect()
  for _, name in ipairs(table_names()) do
    send(con, sql.create_table(name))
  end
end

function cleanup()
  local con = sysbench.sql.driver():connect()
  for _, name in ipairs(table_names()) do
    con:query("drop table if exists " .. name)
  end
end

local function insert_stream(run, batch)
  return {name = "insert", run = run, connections = sysbench.opt.clients, role = "writer",
    unit = "row", units_per_event = batch}
end

local function verdict(stream)
  return {{stream = stream, metric = "rate_per_s", margin_percent = MARGIN_PERCENT}}
end

-- `rows_per_s` is a laptop's guess, for the forecast before a run.
local function write_phase(name, stream, count, rows_per_s)
  return {name = name, streams = {stream}, expected_s = count / rows_per_s,
    stop = {kind = "count", events = math.ceil(count / stream.units_per_event)}}
end

local function index_phase()
  local tables = #table_names()
  local count = math.floor(sysbench.opt.load_rows / tables) + INDEX_ROWS
  local stream = {name = "index", run = "index_table", connections = 1, role = "writer",
    unit = "row", units_per_event = count}
  return {name = "l.x", streams = {stream}, expected_s = count * tables / 300000,
    stop = {kind = "count", events = tables}}
end

local function query_phase(kind, rows_per_s)
  local opt = sysbench.opt
  local queries = {name = "query", run = "query_" .. kind, connections = opt.clients,
    unit = "query"}
  local inserts = insert_stream("write_rows", opt.write_batch)
  inserts.pace = {kind = opt.arrivals, rate_per_s = rows_per_s * opt.clients / opt.write_batch}
  return {name = "q" .. kind:sub(1, 1) .. rows_per_s, streams = {queries, inserts},
    stop = {kind = "time", duration_s = opt.query_seconds}, stationary = true,
    expected_s = opt.query_seconds}
end

function dyno.phases()
  local opt = sysbench.opt
  local first = math.floor(opt.write_rows * 4 / 5)
  local phases = {
    write_phase("l.i0", insert_stream("load_rows", opt.load_batch), opt.load_rows, 200000),
    index_phase(),
    write_phase("l.i1", insert_stream("write_rows", opt.write_batch), first, 50000),
    write_phase("l.i2", insert_stream("write_few_rows", opt.small_batch),
      opt.write_rows - first, 10000),
  }
  phases[1].primary, phases[3].primary = verdict("insert"), verdict("insert")
  for _, rate in ipairs(words(opt.query_rates)) do
    for _, kind in ipairs(words(opt.queries)) do
      phases[#phases + 1] = query_phase(kind, tonumber(rate))
    end
  end
  if phases[5] then
    phases[5].settle, phases[5].primary = true, verdict("query")
  end
  return phases
end

-- Where the engine can be told which index to read, each index is counted too.
function dyno.ledger()
  local names, counters = table_names(), {inserted = 1, deleted = -1}
  local entries = {
    {name = "rows = inserted - deleted", sql = sql.count(names), counters = counters},
    {name = "valid rows = inserted - deleted", sql = sql.count_valid(names, sysbench.opt),
      counters = counters},
  }
  for _, index in ipairs(sql.INDEXES) do
    local name, count = index.name .. " entries = inserted - deleted", sql.count(names, index)
    if count then
      entries[#entries + 1] = {name = name, sql = count, counters = counters}
    end
  end
  return entries
end

function dyno.size_bytes()
  local opt = sysbench.opt
  local kept = opt.delete_per_insert and 0 or opt.write_rows
  return (opt.load_rows + kept) * ROW_BYTES
end
