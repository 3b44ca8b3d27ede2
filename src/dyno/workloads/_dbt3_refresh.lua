-- TPC-H's refresh functions: a set of new orders with their lines, and the removal of as many old
-- ones. A set is a thousandth of all orders, as the specification's is. The new ones are copies of
-- the old ones of the same set under keys that dbgen leaves free; they stay.

local tables = require("_dbt3_tables")

local refresh = {SETS = 1000}

local ORDERS = 1500000 -- of a unit of scale

-- SQLite would let two users read before both want to write, and refuse one of them.
local BEGIN = dyno.engine == "sqlite" and "BEGIN IMMEDIATE" or "BEGIN"

-- Loads the set in one transaction.
function refresh.insert(con, set)
  local rows = {scale = sysbench.opt.scale, part = set, parts = refresh.SETS, refresh = true}
  local inserted = {}
  con:query(BEGIN)
  for _, name in ipairs{"orders", "lineitem"} do
    rows.table = name
    inserted[name] = tables:load(con, name, dyno.rows.tpch(rows))
  end
  con:query("COMMIT")
  for name, count in pairs(inserted) do
    dyno.count("inserted_" .. name, count)
  end
end

-- dbgen uses the first eight of every 32 keys.
local function key(order)
  return math.floor(order / 8) * 32 + order % 8
end

-- Deletes the orders that were loaded as this part of the table, in one transaction.
function refresh.delete(con, set)
  local each = math.floor(math.floor(ORDERS * sysbench.opt.scale) / refresh.SETS)
  local first, last = key((set - 1) * each + 1), key(set * each)
  local deleted = {}
  con:query(BEGIN)
  for name, column in pairs{lineitem = "l_orderkey", orders = "o_orderkey"} do
    deleted[name] = con:query(("DELETE FROM %s WHERE %s BETWEEN %d AND %d AND %s %% 32 < 8"):format(
      name, column, first, last, column)).nrows
  end
  con:query("COMMIT")
  for name, count in pairs(deleted) do
    dyno.count("deleted_" .. name, count)
  end
end

return refresh
