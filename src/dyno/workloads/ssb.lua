-- The star schema benchmark: one large table of orders' lines, four tables around it, and 13
-- queries, one after the other or by several users at once. The rows are those of ssb-dbgen; the
-- answers are checked where they are known. docs/guides/workloads/ssb.md says what differs and why.

local tables = require("_ssb_tables")
local queries = require("_ssb_queries")
local known_answers = require("_ssb_known_answers")
local suite = require("_query_suite")

-- Below 1, or a whole number: ssb-dbgen knows no others.
local function is_scale(_, text)
  local scale = tonumber(text)
  return scale >= 0.01 and scale <= 1000 and (scale < 1 or scale % 1 == 0)
end

sysbench.cmdline.options = suite.options{
  scale = {"The scale factor, 0.01 to 1 or a whole number up to 1000: 6,000,000 lines of orders, "
    .. "0.6 GB of text for each unit", 0.01, nil, is_scale},
  keys = {"Make primary keys before the load", true},
  indexes = {"Make indexes on the large table's foreign keys after the load", true},
}

local BYTES = 1600000000 -- of a unit of scale, with keys and indexes

local ssb = {name = "ssb", names = queries.NAMES, order = {}, known = known_answers}

for number = 1, #queries do
  ssb.order[number] = number
end

function ssb.text(number)
  return queries[number]
end

suite.define(ssb)

function prepare()
  local con = sysbench.sql.driver():connect()
  local opt = sysbench.opt
  tables:create(con, not opt.keys)
  for _, it in ipairs(tables.LIST) do
    local rows = dyno.rows.ssb{table = it.name, scale = opt.scale}
    dyno.count("loaded_" .. it.name, tables:load(con, it.name, rows))
  end
  for _, index in ipairs(opt.indexes and tables:indexes() or {}) do
    con:query(index)
  end
end

function cleanup()
  tables:drop(sysbench.sql.driver():connect())
end

function dyno.phases()
  return suite.phases(ssb)
end

function dyno.ledger()
  return tables:ledger()
end

function dyno.plans()
  return suite.plans(ssb)
end

function dyno.size_bytes()
  return BYTES * sysbench.opt.scale
end
