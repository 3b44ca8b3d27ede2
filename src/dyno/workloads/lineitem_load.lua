-- Bulk load: rows of TPC-H's largest table, streamed by the engine's own bulk command (COPY,
-- LOAD DATA), or in the driver's process by a prepared INSERT (SQLite) or the appender (DuckDB).
-- title: bulk load of order lines

local bulk_load = require("_bulk_load")
local column_sums = require("_column_sums")

sysbench.cmdline.options = {
  scale = {"TPC-H's scale factor: 6,000,000 rows, 750 MB of text for each unit", 0.02, nil,
    function(_, text) return tonumber(text) > 0 end},
  parts = {"Loads that the table is made of; users take the next one as they get free", 8, nil,
    function(_, text) return tonumber(text) > 0 end},
  primary_key = {"Make the key (order, line) before the load", true},
}

local ORDERS = 1500000 -- of each unit of `scale`
local ROW_BYTES = 200  -- with its entry in the key, measured on PostgreSQL 18; InnoDB takes 162
local ROWS_PER_ORDER = 4

local COLUMNS = [[
  l_orderkey BIGINT NOT NULL,
  l_partkey BIGINT NOT NULL,
  l_suppkey BIGINT NOT NULL,
  l_linenumber INTEGER NOT NULL,
  l_quantity DECIMAL(15,2) NOT NULL,
  l_extendedprice DECIMAL(15,2) NOT NULL,
  l_discount DECIMAL(15,2) NOT NULL,
  l_tax DECIMAL(15,2) NOT NULL,
  l_returnflag CHAR(1) NOT NULL,
  l_linestatus CHAR(1) NOT NULL,
  l_shipdate DATE NOT NULL,
  l_commitdate DATE NOT NULL,
  l_receiptdate DATE NOT NULL,
  l_shipinstruct CHAR(25) NOT NULL,
  l_shipmode CHAR(10) NOT NULL,
  l_comment VARCHAR(44) NOT NULL]]

local con, part

function prepare()
  local key = sysbench.opt.primary_key and ", PRIMARY KEY (l_orderkey, l_linenumber)" or ""
  sysbench.sql.driver():connect():query("CREATE TABLE lineitem (" .. COLUMNS .. key .. ")")
end

function cleanup()
  sysbench.sql.driver():connect():query("DROP TABLE IF EXISTS lineitem")
end

function thread_init()
  con = sysbench.sql.driver():connect()
end

-- A part that failed is tried again when the event begins anew.
function load_part()
  local opt = sysbench.opt
  part = part or dyno.turn() + 1
  local rows = dyno.rows.lineitem{scale = opt.scale, part = part, parts = opt.parts}
  dyno.count("loaded", bulk_load(con, "lineitem", rows))
  part = nil
end

function dyno.phases()
  local opt = sysbench.opt
  local stream = {name = "load", run = "load_part", connections = opt.threads, role = "writer",
    unit = "order", units_per_event = math.floor(ORDERS * opt.scale / opt.parts)}
  return {{name = "load", streams = {stream}, stop = {kind = "count", events = opt.parts},
    primary = {{stream = "load", metric = "rate_per_s"}},
    expected_s = ORDERS * opt.scale / 100000}}
end

dyno.ledger = {{name = "rows = loaded", sql = "SELECT COUNT(*) FROM lineitem",
  counters = {loaded = 1}}, column_sums("lineitem", COLUMNS)}

function dyno.size_bytes()
  return ORDERS * ROWS_PER_ORDER * sysbench.opt.scale * ROW_BYTES
end
