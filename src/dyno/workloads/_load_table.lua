-- The table of bulk loads: lineorder's columns and a text, and the four indexes of the article.

local owned = require("_owned_tables")

local NAME = "lineorder_load"

local COLUMNS = [[
  lo_orderkey BIGINT NOT NULL, lo_linenumber INTEGER NOT NULL, lo_custkey INTEGER NOT NULL,
  lo_partkey INTEGER NOT NULL, lo_suppkey INTEGER NOT NULL, lo_orderdate INTEGER NOT NULL,
  lo_orderpriority VARCHAR(15), lo_shippriority CHAR(1), lo_quantity INTEGER,
  lo_extendedprice INTEGER, lo_ordtotalprice INTEGER, lo_discount INTEGER, lo_revenue INTEGER,
  lo_supplycost INTEGER, lo_tax INTEGER, lo_commitdate INTEGER NOT NULL, lo_shipmode VARCHAR(10),
  extra_data TEXT]]

local INDEXES = {"lo_custkey", "lo_orderdate", "lo_suppkey", "lo_partkey"}

local tables = owned("dyno_load", {{name = NAME, columns = COLUMNS, indexes = INDEXES}})

-- MySQL's family builds several indexes in one pass over the table, so it is asked for all at once.
local function index_statements()
  if dyno.engine ~= "mysql" then
    return tables:indexes()
  end
  local list = {}
  for at, column in ipairs(INDEXES) do
    list[at] = ("ADD INDEX i_%s (%s)"):format(column, column)
  end
  return {("ALTER TABLE %s %s"):format(NAME, table.concat(list, ", "))}
end

-- The storage engine of new tables in MySQL's family; elsewhere nil.
local function storage_engine(con)
  return dyno.engine == "mysql" and con:query_row("SELECT @@default_storage_engine") or nil
end

-- Refuses what the storage engine cannot do, before anything is made.
local function check(con, has_indexes, kilobytes)
  local storage = storage_engine(con)
  if has_indexes and storage == "ARCHIVE" then
    error("load: Archive has no secondary indexes; set indexes=none", 0)
  end
  if kilobytes > 0 and storage ~= "InnoDB" and dyno.engine ~= "null" then
    error(("load: key_block_size is InnoDB's, and tables here are %s's"):format(
      storage or dyno.engine), 0)
  end
end

return {tables = tables, NAME = NAME, check = check, index_statements = index_statements}
