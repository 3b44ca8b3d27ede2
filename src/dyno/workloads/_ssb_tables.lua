-- The star schema benchmark's five tables: columns, keys and indexes. Types are the paper's
-- (O'Neil, O'Neil, Chen: Star Schema Benchmark, revision 3, 2009); the keys of orders take 64 bits,
-- which they need from scale 358 on. A flag is a digit.

local LIST = {
  {name = "part", columns = [[
    p_partkey INTEGER NOT NULL, p_name VARCHAR(22) NOT NULL, p_mfgr CHAR(6) NOT NULL,
    p_category CHAR(7) NOT NULL, p_brand1 VARCHAR(9) NOT NULL, p_color VARCHAR(11) NOT NULL,
    p_type VARCHAR(25) NOT NULL, p_size INTEGER NOT NULL, p_container VARCHAR(10) NOT NULL]],
    key = "p_partkey", indexes = {}},
  {name = "supplier", columns = [[
    s_suppkey INTEGER NOT NULL, s_name CHAR(25) NOT NULL, s_address VARCHAR(25) NOT NULL,
    s_city CHAR(10) NOT NULL, s_nation VARCHAR(15) NOT NULL, s_region VARCHAR(12) NOT NULL,
    s_phone CHAR(15) NOT NULL]],
    key = "s_suppkey", indexes = {}},
  {name = "customer", columns = [[
    c_custkey INTEGER NOT NULL, c_name VARCHAR(25) NOT NULL, c_address VARCHAR(25) NOT NULL,
    c_city CHAR(10) NOT NULL, c_nation VARCHAR(15) NOT NULL, c_region VARCHAR(12) NOT NULL,
    c_phone CHAR(15) NOT NULL, c_mktsegment VARCHAR(10) NOT NULL]],
    key = "c_custkey", indexes = {}},
  {name = "date", columns = [[
    d_datekey INTEGER NOT NULL, d_date VARCHAR(18) NOT NULL, d_dayofweek VARCHAR(9) NOT NULL,
    d_month VARCHAR(9) NOT NULL, d_year INTEGER NOT NULL, d_yearmonthnum INTEGER NOT NULL,
    d_yearmonth CHAR(7) NOT NULL, d_daynuminweek INTEGER NOT NULL,
    d_daynuminmonth INTEGER NOT NULL, d_daynuminyear INTEGER NOT NULL,
    d_monthnuminyear INTEGER NOT NULL, d_weeknuminyear INTEGER NOT NULL,
    d_sellingseason VARCHAR(12) NOT NULL, d_lastdayinweekfl INTEGER NOT NULL,
    d_lastdayinmonthfl INTEGER NOT NULL, d_holidayfl INTEGER NOT NULL,
    d_weekdayfl INTEGER NOT NULL]],
    key = "d_datekey", indexes = {}},
  {name = "lineorder", columns = [[
    lo_orderkey BIGINT NOT NULL, lo_linenumber INTEGER NOT NULL, lo_custkey INTEGER NOT NULL,
    lo_partkey INTEGER NOT NULL, lo_suppkey INTEGER NOT NULL, lo_orderdate INTEGER NOT NULL,
    lo_orderpriority VARCHAR(15) NOT NULL, lo_shippriority CHAR(1) NOT NULL,
    lo_quantity INTEGER NOT NULL, lo_extendedprice INTEGER NOT NULL,
    lo_ordtotalprice INTEGER NOT NULL, lo_discount INTEGER NOT NULL, lo_revenue INTEGER NOT NULL,
    lo_supplycost INTEGER NOT NULL, lo_tax INTEGER NOT NULL, lo_commitdate INTEGER NOT NULL,
    lo_shipmode VARCHAR(10) NOT NULL]],
    key = "lo_orderkey, lo_linenumber",
    indexes = {"lo_custkey", "lo_partkey", "lo_suppkey", "lo_orderdate"}},
}

return require("_owned_tables")("dyno_ssb", LIST)
