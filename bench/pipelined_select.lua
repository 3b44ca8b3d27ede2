-- Point selects in batches: `batch` requests leave together, with one Sync, and are awaited as one.

sysbench.cmdline.options = {
  table_size = {"Rows of the table", 10000},
  batch = {"Requests in a batch", 64},
  rand_type = {"Distribution of ids, uniform only", "uniform"},
}

local con, statement, id

function thread_init()
  math.randomseed(sysbench.rand.uniform(1, 2 ^ 31 - 1))
  con = sysbench.sql.driver():connect()
  statement = con:prepare("SELECT c FROM sbtest1 WHERE id=?")
  id = statement:bind_create(sysbench.sql.type.INT)
  statement:bind_param(id)
end

function event()
  con:pipeline_begin()
  for _ = 1, sysbench.opt.batch do
    id:set(math.random(1, sysbench.opt.table_size))
    statement:execute()
  end
  con:pipeline_sync()
end
