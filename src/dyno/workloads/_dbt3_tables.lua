-- TPC-H's eight tables: columns, keys and indexes. Types are the specification's; identifiers of
-- orders take 64 bits, so that every scale has room.

local tables = {}

-- In the order in which they are made.
tables.LIST = {
  {name = "region", columns = [[
    r_regionkey INTEGER NOT NULL, r_name CHAR(25) NOT NULL, r_comment VARCHAR(152) NOT NULL]],
    key = "r_regionkey", indexes = {}},
  {name = "nation", columns = [[
    n_nationkey INTEGER NOT NULL, n_name CHAR(25) NOT NULL, n_regionkey INTEGER NOT NULL,
    n_comment VARCHAR(152) NOT NULL]],
    key = "n_nationkey", indexes = {"n_regionkey"}},
  {name = "supplier", columns = [[
    s_suppkey INTEGER NOT NULL, s_name CHAR(25) NOT NULL, s_address VARCHAR(40) NOT NULL,
    s_nationkey INTEGER NOT NULL, s_phone CHAR(15) NOT NULL, s_acctbal DECIMAL(15,2) NOT NULL,
    s_comment VARCHAR(101) NOT NULL]],
    key = "s_suppkey", indexes = {"s_nationkey"}},
  {name = "customer", columns = [[
    c_custkey INTEGER NOT NULL, c_name VARCHAR(25) NOT NULL, c_address VARCHAR(40) NOT NULL,
    c_nationkey INTEGER NOT NULL, c_phone CHAR(15) NOT NULL, c_acctbal DECIMAL(15,2) NOT NULL,
    c_mktsegment CHAR(10) NOT NULL, c_comment VARCHAR(117) NOT NULL]],
    key = "c_custkey", indexes = {"c_nationkey"}},
  {name = "part", columns = [[
    p_partkey INTEGER NOT NULL, p_name VARCHAR(55) NOT NULL, p_mfgr CHAR(25) NOT NULL,
    p_brand CHAR(10) NOT NULL, p_type VARCHAR(25) NOT NULL, p_size INTEGER NOT NULL,
    p_container CHAR(10) NOT NULL, p_retailprice DECIMAL(15,2) NOT NULL,
    p_comment VARCHAR(23) NOT NULL]],
    key = "p_partkey", indexes = {}},
  {name = "partsupp", columns = [[
    ps_partkey INTEGER NOT NULL, ps_suppkey INTEGER NOT NULL, ps_availqty INTEGER NOT NULL,
    ps_supplycost DECIMAL(15,2) NOT NULL, ps_comment VARCHAR(199) NOT NULL]],
    key = "ps_partkey, ps_suppkey", indexes = {"ps_suppkey"}},
  {name = "orders", columns = [[
    o_orderkey BIGINT NOT NULL, o_custkey INTEGER NOT NULL, o_orderstatus CHAR(1) NOT NULL,
    o_totalprice DECIMAL(15,2) NOT NULL, o_orderdate DATE NOT NULL,
    o_orderpriority CHAR(15) NOT NULL, o_clerk CHAR(15) NOT NULL, o_shippriority INTEGER NOT NULL,
    o_comment VARCHAR(79) NOT NULL]],
    key = "o_orderkey", indexes = {"o_custkey", "o_orderdate"}},
  {name = "lineitem", columns = [[
    l_orderkey BIGINT NOT NULL, l_partkey INTEGER NOT NULL, l_suppkey INTEGER NOT NULL,
    l_linenumber INTEGER NOT NULL, l_quantity DECIMAL(15,2) NOT NULL,
    l_extendedprice DECIMAL(15,2) NOT NULL, l_discount DECIMAL(15,2) NOT NULL,
    l_tax DECIMAL(15,2) NOT NULL, l_returnflag CHAR(1) NOT NULL, l_linestatus CHAR(1) NOT NULL,
    l_shipdate DATE NOT NULL, l_commitdate DATE NOT NULL, l_receiptdate DATE NOT NULL,
    l_shipinstruct CHAR(25) NOT NULL, l_shipmode CHAR(10) NOT NULL,
    l_comment VARCHAR(44) NOT NULL]],
    key = "l_orderkey, l_linenumber",
    indexes = {"l_partkey, l_suppkey", "l_suppkey", "l_shipdate", "l_receiptdate"}},
}

-- Which tables of the eight names we made ourselves: nobody else's is ever dropped.
local OURS = "dyno_dbt3"

function tables.create(con)
  con:query("CREATE TABLE IF NOT EXISTS " .. OURS .. " (name VARCHAR(20) NOT NULL)")
  for _, it in ipairs(tables.LIST) do
    con:query(("CREATE TABLE %s (%s, PRIMARY KEY (%s))"):format(it.name, it.columns, it.key))
    con:query(("INSERT INTO %s VALUES ('%s')"):format(OURS, it.name))
  end
end

function tables.drop(con)
  con:query("CREATE TABLE IF NOT EXISTS " .. OURS .. " (name VARCHAR(20) NOT NULL)")
  local found = con:query("SELECT name FROM " .. OURS)
  for _ = 1, found.nrows do
    con:query("DROP TABLE IF EXISTS " .. found:fetch_row()[1])
  end
  con:query("DROP TABLE " .. OURS)
end

-- Every index that is made after the load: foreign keys, and dates that queries filter on.
function tables.indexes()
  local list = {}
  for _, it in ipairs(tables.LIST) do
    for _, columns in ipairs(it.indexes) do
      local name = "i_" .. columns:gsub(", ", "_")
      list[#list + 1] = ("CREATE INDEX %s ON %s (%s)"):format(name, it.name, columns)
    end
  end
  return list
end

local COMMAND = {
  mysql = "LOAD DATA LOCAL INFILE 'rows' INTO TABLE %s",
  pgsql = "COPY %s FROM STDIN",
}

-- Loads rows of a table by the engine's bulk command; how many.
function tables.load(con, rows)
  return con:load(COMMAND[dyno.dialect]:format(rows.table), dyno.rows.tpch(rows)).nrows
end

return tables
