-- Decision support, derived from TPC-H: eight tables, 22 queries one after the other (power), by
-- several users at once (throughput), and two functions that refresh the data. The answers are
-- checked where they are known. docs/guides/workloads/dbt3.md lists what differs from TPC-H.

local tables = require("_dbt3_tables")
local queries = require("_dbt3_queries")
local parameters = require("_dbt3_parameters")
local known_answers = require("_dbt3_known_answers")
local refresh = require("_dbt3_refresh")
local suite = require("_query_suite")

sysbench.cmdline.options = suite.options{
  scale = {"TPC-H's scale factor, 0.01 or more: 6,000,000 lines, 1 GB of text for each unit", 0.01,
    nil, function(_, text) return tonumber(text) >= 0.01 end},
  indexes = {"Make indexes on foreign keys and dates after the load", true},
  refresh = {"Insert and delete a thousandth of all orders, before and after the power test and "
    .. "once for each stream", true},
}

local BYTES = 1600000000 -- of a unit of scale, guessed: text, indexes, overhead

local function text_of(number, values)
  return (queries[number]:gsub("%$(%w+)", values))
end

local dbt3 = {
  name = "dbt3",
  names = {},
  -- The specification's order of the power test (appendix A, stream 0).
  order = {14, 2, 9, 20, 6, 17, 18, 8, 21, 13, 3, 22, 16, 4, 11, 15, 1, 10, 19, 5, 7, 12},
  known = known_answers,
  -- As the specification calls them.
  titles = {
    "pricing summary report", "minimum cost supplier", "shipping priority",
    "order priority checking", "local supplier volume", "forecasting revenue change",
    "volume shipping", "national market share", "product type profit", "returned item reporting",
    "important stock identification", "shipping modes and priority", "customer distribution",
    "promotion effect", "top supplier", "parts and suppliers", "small-quantity orders",
    "large volume customer", "discounted revenue", "potential part promotion",
    "suppliers who kept orders waiting", "global sales opportunity",
  },
  -- Columns of averages and shares, by query: MySQL gives them four digits more than what they
  -- are made of.
  averages = {
    [1] = {[7] = true, [8] = true, [9] = true},
    [8] = {[2] = true},
    [14] = {[1] = true},
  },
}

for number = 1, #queries do
  dbt3.names[number] = ("%02d"):format(number)
end

function dbt3.text(number)
  return text_of(number, parameters.validation(number))
end

function dbt3.drawn(number)
  return text_of(number, parameters.drawn(number))
end

if sysbench.opt.refresh then
  dbt3.extra_name = "refresh"
  function dbt3.extra(con, stream)
    refresh.exchange(con, stream + 1) -- the first set was the power test's
  end
end

suite.define(dbt3)

function prepare()
  local con = sysbench.sql.driver():connect()
  tables:create(con)
  for _, it in ipairs(tables.LIST) do
    local rows = dyno.rows.tpch{table = it.name, scale = sysbench.opt.scale}
    dyno.count("loaded_" .. it.name, tables:load(con, it.name, rows))
  end
  for _, index in ipairs(sysbench.opt.indexes and tables:indexes() or {}) do
    con:query(index)
  end
end

function cleanup()
  tables:drop(sysbench.sql.driver():connect())
end

function insert_orders()
  refresh.insert(suite.connection(), 1)
end

function delete_orders()
  refresh.delete(suite.connection(), 1)
end

local function refresh_phase(name, title, run)
  if not sysbench.opt.refresh then
    return nil
  end
  local it = suite.phase(name, title, run, 1)
  it.streams[1].unit, it.streams[1].role = "refresh", "writer"
  return it
end

function dyno.phases()
  return suite.phases(dbt3, refresh_phase("rf1", "insert new orders", "insert_orders"),
    refresh_phase("rf2", "delete old orders", "delete_orders"))
end

function dyno.ledger()
  return tables:ledger()
end

function dyno.plans()
  return suite.plans(dbt3)
end

function dyno.size_bytes()
  return BYTES * sysbench.opt.scale
end
