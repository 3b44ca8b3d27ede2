-- sysbench's tables: made, loaded and dropped.

local dialect = require("_dialect")
local statements = require("_oltp_statements")

local tables = {}

local ROW_BYTES = 230 -- with its entry in the index, measured on SQLite

local ID = {
  sqlite = "INTEGER NOT NULL PRIMARY KEY",
  mysql = "INTEGER NOT NULL AUTO_INCREMENT PRIMARY KEY",
  pgsql = "SERIAL PRIMARY KEY",
}

local function create_table(con, number)
  con:query(string.format([[CREATE TABLE sbtest%d (
    id %s,
    k INTEGER DEFAULT 0 NOT NULL,
    c CHAR(120) DEFAULT '' NOT NULL,
    pad CHAR(60) DEFAULT '' NOT NULL)]], number, ID[dialect(ID)]))
end

local function load_table(con, number)
  local opt, rand, k_sum = sysbench.opt, sysbench.rand, 0
  con:query("BEGIN")
  con:bulk_insert_init(string.format("INSERT INTO sbtest%d (%sk, c, pad) VALUES", number,
    opt.auto_inc and "" or "id, "))
  for id = 1, opt.table_size do
    local k = rand.default(1, opt.table_size)
    k_sum = k_sum + k
    con:bulk_insert_next(string.format("(%s%d,'%s','%s')", opt.auto_inc and "" or id .. ",", k,
      rand.string(statements.C), rand.string(statements.PAD)))
  end
  con:bulk_insert_done()
  con:query("COMMIT")
  dyno.count("loaded", opt.table_size)
  dyno.count("k_loaded", k_sum)
end

function tables.make()
  local con = sysbench.sql.driver():connect()
  for number = 1, sysbench.opt.tables do
    create_table(con, number)
    load_table(con, number)
    if sysbench.opt.create_secondary then
      con:query(string.format("CREATE INDEX k_%d ON sbtest%d(k)", number, number))
    end
  end
end

function tables.drop()
  local con = sysbench.sql.driver():connect()
  for number = 1, sysbench.opt.tables do
    con:query("DROP TABLE IF EXISTS sbtest" .. number)
  end
end

-- The statement that answers one number over all tables, of all rows or those that `where` says.
function tables.total(expression, where)
  local parts = {}
  for number = 1, sysbench.opt.tables do
    parts[number] = ("(SELECT %s FROM sbtest%d%s)"):format(expression, number, where or "")
  end
  return "SELECT " .. table.concat(parts, " + ")
end

-- Entries of a ledger: rows, and those of them whose texts are as long as they are written.
local ROWS = {loaded = 1, inserted = 1, deleted = -1}

function tables.rows()
  return {name = "rows = loaded + inserted - deleted", sql = tables.total("COUNT(*)"),
    counters = ROWS}
end

function tables.whole_texts()
  local whole = " WHERE LENGTH(c) = %d AND LENGTH(pad) = %d"
  return {name = "rows with whole texts = rows", counters = ROWS,
    sql = tables.total("COUNT(*)", whole:format(#statements.C, #statements.PAD))}
end

-- About how large they will be.
function tables.size_bytes()
  return sysbench.opt.tables * sysbench.opt.table_size * ROW_BYTES
end

return tables
