-- The insert benchmark: load in key order, index, insert and delete with the indexes in place,
-- then query beside paced inserts. After Mark Callaghan's iibench; docs/workloads/insert.md lists
-- what differs from it and why.

sysbench.cmdline.options = {
  clients = {"Writers, and in the query phases as many readers", 1},
  shared_table = {"All clients use one table, instead of one each", false},
  load_rows = {"Rows loaded in l.i0, all clients together", 20000},
  write_rows = {"Rows inserted in l.i1 (four fifths) and l.i2 (one fifth)", 10000},
  load_batch = {"Rows per insert in l.i0", 100},
  write_batch = {"Rows per insert in l.i1 and beside the queries", 50},
  small_batch = {"Rows per insert in l.i2", 5},
  delete_per_insert = {"Delete the oldest rows, as many as were inserted", true},
  query_rates = {"Rows inserted per second and client in each step of query phases",
    "100,500,1000"},
  query_seconds = {"Length of each query phase", 0.5},
  queries = {"Query phases of each step: range, point", "range,point"},
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

local INDEXES = {
  {name = "marketsegment", columns = "productid, customerid, price"},
  {name = "registersegment", columns = "cashregisterid, customerid, price"},
  {name = "pdc", columns = "price, dateandtime, customerid"},
}

-- The original's three range queries: index, first column, comparison (register's is strict).
local RANGES = {
  {name = "market", index = INDEXES[1], column = "productid", above = ">=", domain = "products"},
  {name = "register", index = INDEXES[2], column = "cashregisterid", above = ">",
    domain = "cashregisters"},
  {name = "pdc", index = INDEXES[3], column = "price", above = ">=", domain = "max_price"},
}

local INDEX_ROWS = 100       -- rows that l.x inserts before it creates the indexes
local RESYNC_EVENTS = 1000   -- events between two looks at the oldest and newest row
local EPOCH_S = 1262304000   -- the virtual clock starts at 2010-01-01 00:00:00 UTC
local POOL_BYTES = 65536     -- random text that the data columns are cut from
local ROW_BYTES = 160        -- with its three index entries, measured on SQLite
local MARGIN_PERCENT = 5     -- of the three primary metrics

local KEY = {
  sqlite = "integer primary key",
  mysql = "bigint not null auto_increment primary key",
  pgsql = "bigserial primary key",
}
local DATE = {sqlite = "datetime", mysql = "datetime", pgsql = "timestamp without time zone"}

-- An engine without SQL of its own here takes what sysbench's scripts would send it.
local function dialect()
  return KEY[dyno.engine] and dyno.engine or KEY[dyno.dialect] and dyno.dialect or "pgsql"
end

local function tables()
  return sysbench.opt.shared_table and 1 or sysbench.opt.clients
end

local function table_name(number)
  return "pi" .. number
end

local function index_name(name, index)
  return name .. "_" .. index.name
end

-- MySQL is told which index to use, as in the original; the others' planners find it.
local function hint(name, index)
  return dialect() == "mysql" and " force index (" .. index_name(name, index) .. ")" or ""
end

local function create_table(con, name)
  con:query(string.format([[create table %s (
    transactionid %s,
    dateandtime %s,
    cashregisterid int not null,
    customerid int not null,
    productid int not null,
    price int not null,
    data varchar(4000))]], name, KEY[dialect()], DATE[dialect()]))
  if dialect() == "pgsql" then
    con:query("alter sequence " .. name .. "_transactionid_seq cache 1000")
  end
end

local function create_indexes(con, name)
  local parts = {}
  for i, index in ipairs(INDEXES) do
    local form = dialect() == "mysql" and "add index %s (%s)" or "create index %s on %s (%s)"
    local target = dialect() == "mysql" and {index.columns} or {name, index.columns}
    parts[i] = string.format(form, index_name(name, index), unpack(target))
  end
  if dialect() == "mysql" then -- one pass over the table, as the original does on InnoDB
    parts = {"alter table " .. name .. " " .. table.concat(parts, ", ")}
  end
  for _, statement in ipairs(parts) do
    con:query(statement)
  end
end

-- One user's connection and table, where the table's oldest and newest rows are, and what is not
-- yet reported.
local client = {inserted = 0, deleted = 0, events = 0}

local function number(con, sql)
  local text = con:query_row(sql)
  return tonumber(text)
end

local function resync()
  local select = "select %s(transactionid) from " .. client.table
  client.first = number(client.con, select:format("min")) or 1
  client.last = number(client.con, select:format("max")) or 0
end

-- Counts outlive a failed event: each statement commits by itself, so an insert stays done when
-- the delete after it fails.
local function report_counts()
  dyno.count("inserted", client.inserted)
  dyno.count("deleted", client.deleted)
  client.inserted, client.deleted = 0, 0
end

local buffer = require("string.buffer").new()

-- LuaJIT compiles math.random but not calls into the driver: a third of the time per row. It is
-- seeded from the plan in thread_init, so rows still repeat.
local uniform = math.random

local function row_shape()
  local opt = sysbench.opt
  return {
    cashregisters = opt.cashregisters - 1,
    customers = opt.customers - 1,
    products = opt.products - 1,
    max_price = opt.max_price - 1,
    shortest = opt.data_length_min,
    longest = opt.data_length_max,
    random_share = opt.data_random_percent / 100,
    pool = sysbench.rand.string(string.rep("@", POOL_BYTES)),
    filler = string.rep("a", opt.data_length_max),
  }
end

local function put_row(shape, lead)
  local length = uniform(shape.shortest, shape.longest)
  local random = math.floor(length * shape.random_share)
  local at = uniform(1, POOL_BYTES - random)
  buffer:put(lead, uniform(0, shape.cashregisters), ",", uniform(0, shape.customers), ",",
    uniform(0, shape.products), ",", uniform(0, shape.max_price), ",'",
    shape.filler:sub(1, length - random), shape.pool:sub(at, at + random - 1), "'")
end

local function insert_rows(batch)
  local now_s = EPOCH_S + math.floor(client.last / sysbench.opt.clock_rows_per_s)
  local date = os.date("!('%Y-%m-%d %H:%M:%S',", now_s)
  buffer:reset():put("insert into ", client.table,
    " (dateandtime,cashregisterid,customerid,productid,price,data) values ")
  put_row(client.shape, date)
  for _ = 2, batch do
    put_row(client.shape, ")," .. date)
  end
  client.con:query(buffer:put(")"):tostring())
  client.last = client.last + batch
  client.inserted = client.inserted + batch
end

-- The subselect is the original's form for PostgreSQL; SQLite knows DELETE … LIMIT only in builds
-- with an extra flag. `first` moves with the deletes, so that no search begins among dead rows.
local function delete_rows(batch)
  local from = " from " .. client.table
  local oldest = string.format(" where transactionid >= %d order by transactionid asc limit %d",
    client.first, batch)
  local form = dialect() == "mysql" and "delete" .. from .. oldest
    or "delete" .. from .. " where transactionid in (select transactionid" .. from .. oldest .. ")"
  local answer = client.con:query(form)
  client.deleted = client.deleted + tonumber(answer and answer.nrows or 0)
  client.first = client.first + batch
end

local function write(batch)
  client.events = client.events + 1
  if client.events % RESYNC_EVENTS == 0 then
    resync()
  end
  insert_rows(batch)
  if sysbench.opt.delete_per_insert then
    delete_rows(batch)
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
  client.table = table_name(client.indexed)
  insert_rows(INDEX_ROWS)
  create_indexes(client.con, client.table)
  report_counts()
end

function write_rows()
  write(sysbench.opt.write_batch)
end

function write_few_rows()
  write(sysbench.opt.small_batch)
end

-- The three range queries in turn, each from a random place on.
function query_range()
  client.events = client.events + 1
  local range = client.ranges[client.events % #RANGES + 1]
  dyno.transaction(range.name)
  range.from:set(uniform(0, range.most))
  range.statement:execute()
end

-- Rows by random keys that were there a short while ago.
function query_point()
  client.events = client.events + 1
  if client.events % RESYNC_EVENTS == 0 then
    resync()
  end
  local last = math.max(client.first, client.last) -- an empty table has no last row
  for _, key in ipairs(client.keys) do
    key:set(uniform(client.first, last))
  end
  client.point:execute()
end

local function range_sql(name, range)
  return string.format("select %s from %s%s where %s %s ? order by %s limit %d",
    range.index.columns, name, hint(name, range.index), range.column, range.above,
    range.index.columns, sysbench.opt.rows_per_query)
end

local function point_sql(name)
  local marks = string.rep("?", sysbench.opt.rows_per_query, ",")
  return "select transactionid, productid, data from " .. name ..
    " where transactionid in (" .. marks .. ")"
end

local function prepare_queries()
  local con, int = client.con, sysbench.sql.type.INT
  client.ranges, client.keys = {}, {}
  for i, range in ipairs(RANGES) do
    local statement = con:prepare(range_sql(client.table, range))
    local from = statement:bind_create(int)
    statement:bind_param(from)
    local most = sysbench.opt[range.domain] - 1
    client.ranges[i] = {name = range.name, statement = statement, from = from, most = most}
  end
  client.point = con:prepare(point_sql(client.table))
  for i = 1, sysbench.opt.rows_per_query do
    client.keys[i] = client.point:bind_create(int)
  end
  client.point:bind_param(unpack(client.keys))
end

function thread_init(tid)
  math.randomseed(sysbench.rand.uniform(1, 2 ^ 31 - 1))
  client.con = sysbench.sql.driver():connect()
  client.table = table_name(tid % tables() + 1)
  client.shape = row_shape()
  resync()
  prepare_queries()
end

function thread_done()
  report_counts()
  client.con:disconnect()
end

local function words(text)
  local list = {}
  for word in text:gmatch("[^%s,]+") do
    list[#list + 1] = word
  end
  return list
end

local function insert_stream(run, batch)
  return {name = "insert", run = run, connections = sysbench.opt.clients, role = "writer",
    unit = "row", units_per_event = batch}
end

local function verdict(stream)
  return {{stream = stream, metric = "rate_per_s", margin_percent = MARGIN_PERCENT}}
end

-- `rows_per_s` is a laptop's guess, for the forecast before a run.
local function write_phase(name, stream, rows, rows_per_s)
  return {name = name, streams = {stream}, expected_s = rows / rows_per_s,
    stop = {kind = "count", events = math.ceil(rows / stream.units_per_event)}}
end

local function index_phase()
  local rows = sysbench.opt.load_rows / tables() + INDEX_ROWS
  local stream = {name = "index", run = "index_table", connections = 1, role = "writer",
    unit = "row", units_per_event = math.floor(rows)}
  return {name = "l.x", streams = {stream}, expected_s = rows * tables() / 300000,
    stop = {kind = "count", events = tables()}}
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

local function count_rows(hint_form)
  local counts = {}
  for i = 1, tables() do
    local name = table_name(i)
    counts[i] = "(select count(*) from " .. name .. hint_form:format(name) .. ")"
  end
  return "select " .. table.concat(counts, " + ")
end

-- Where the engine can be told which index to read, each index is counted too.
function dyno.ledger()
  local counters = {inserted = 1, deleted = -1}
  local entries = {{name = "rows = inserted - deleted", sql = count_rows(""), counters = counters}}
  local form = ({sqlite = " indexed by %s", mysql = " force index (%s)"})[dialect()]
  for _, index in ipairs(form and INDEXES or {}) do
    entries[#entries + 1] = {name = index.name .. " entries = inserted - deleted",
      sql = count_rows(form:format(index_name("%s", index))), counters = counters}
  end
  return entries
end

function dyno.size_bytes()
  local opt = sysbench.opt
  local kept = opt.delete_per_insert and 0 or opt.write_rows
  return (opt.load_rows + kept) * ROW_BYTES
end

function prepare()
  local con = sysbench.sql.driver():connect()
  for i = 1, tables() do
    create_table(con, table_name(i))
  end
end

function cleanup()
  local con = sysbench.sql.driver():connect()
  for i = 1, tables() do
    con:query("drop table if exists " .. table_name(i))
  end
end
