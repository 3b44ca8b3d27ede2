-- TPC-H's refresh functions: a set of new orders with their lines, and the removal of as many old
-- ones. A set is a thousandth of all orders, as the specification's is. The new ones are copies of
-- the old ones of the same set under keys that dbgen leaves free; they stay.

local tables = require("_dbt3_tables")

local refresh = {SETS = 1000}

local ORDERS = 1500000 -- of a unit of scale

-- SQLite would let two users read before both want to write, and refuse one of them.
local BEGIN = dyno.engine == "sqlite" and "BEGIN IMMEDIATE" or "BEGIN"

local function count(verb, counts)
  for name, rows in pairs(counts) do
    dyno.count(verb .. name, rows)
  end
end

-- Loads the set in one transaction; how many rows of each table.
local function insert(con, set)
  local rows = {scale = sysbench.opt.scale, part = set, parts = refresh.SETS, refresh = true}
  local inserted = {}
  con:query(BEGIN)
  for _, name in ipairs{"orders", "lineitem"} do
    rows.table = name
    inserted[name] = tables:load(con, name, dyno.rows.tpch(rows))
  end
  con:query("COMMIT")
  return inserted
end

function refresh.insert(con, set)
  count("inserted_", insert(con, set))
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
  -- in one order: users who locked the tables in two would wait for each other
  for _, name in ipairs{"lineitem", "orders"} do
    local column = name == "orders" and "o_orderkey" or "l_orderkey"
    deleted[name] = con:query(("DELETE FROM %s WHERE %s BETWEEN %d AND %d AND %s %% 32 < 8"):format(
      name, column, first, last, column)).nrows
  end
  con:query("COMMIT")
  count("deleted_", deleted)
end

-- Loads a set and deletes the old one, in one event. What was loaded is committed by the time that
-- the deletion may begin anew (a deadlock): it is not loaded again, and still counted.
local loaded = {}
function refresh.exchange(con, set)
  loaded[set] = loaded[set] or insert(con, set)
  refresh.delete(con, set)
  count("inserted_", loaded[set])
end

return refresh
