-- Point selects that each connection counts for itself, in a variable, and reports when it is done.

sysbench.cmdline.options = {
  table_size = {"Rows of the table", 10000},
  rand_type = {"Distribution of ids, uniform only", "uniform"},
}

local con, statement, id
local played = 0

function thread_init()
  math.randomseed(sysbench.rand.uniform(1, 2 ^ 31 - 1))
  con = sysbench.sql.driver():connect()
  statement = con:prepare("SELECT c FROM sbtest1 WHERE id=?")
  id = statement:bind_create(sysbench.sql.type.INT)
  statement:bind_param(id)
end

function event()
  id:set(math.random(1, sysbench.opt.table_size))
  statement:execute()
  played = played + 1
end

function thread_done()
  dyno.count("connection " .. sysbench.tid, played)
  con:disconnect()
end
