-- The insert benchmark: load in key order, index, insert and delete with the indexes in place,
-- then query beside paced inserts. After Mark Callaghan's iibench; docs/guides/workloads/insert.md
-- lists what differs from it and why.

local sql = require("_insert_sql")
local client = require("_insert_client")
local queries = require("_insert_queries")
local phases = require("_insert_phases")

sysbench.cmdline.options = require("_insert_options")

local ROW_BYTES = 160 -- with its three index entries, measured on SQLite

local function table_names()
  local names = {}
  for i = 1, sysbench.opt.shared_table and 1 or sysbench.opt.clients do
    names[i] = "pi" .. i
  end
  return names
end

local function send(con, statements)
  for _, statement in ipairs(statements) do
    con:query(statement)
  end
end

function load_rows()
  client.insert(sysbench.opt.load_batch)
  client.report_counts()
end

local indexed = 0

-- One user, one table per event: a few rows, then the indexes.
function index_table()
  indexed = indexed + 1
  client.table = table_names()[indexed]
  client.insert(phases.INDEX_ROWS)
  send(client.con, sql.create_indexes(client.table))
  client.report_counts()
end

function write_rows()
  client.write(sysbench.opt.write_batch)
end

function write_few_rows()
  client.write(sysbench.opt.small_batch)
end

query_range, query_point = queries.range, queries.point

function thread_init(tid)
  local names = table_names()
  client.open(names[tid % #names + 1])
  math.randomseed(sysbench.rand.uniform(1, 2 ^ 31 - 1)) -- the queries' keys
  pcall(queries.prepare)
end

function thread_done()
  client.report_counts()
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

function dyno.phases()
  return phases.all(#table_names())
end

-- Enough for a hundred events of each phase, and for no more than that.
function dyno.brief()
  local opt = sysbench.opt
  local rows = math.max(opt.load_batch, opt.write_batch * 1.25, opt.small_batch * 5)
  local each = tostring(100 * opt.clients * rows)
  return {load_rows = each, write_rows = each, query_seconds = "0.1"}
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
