-- As in docs/guides/cause.md: rows looked up by a column that has an index, or none.
sysbench.cmdline.options = {indexed = {"Index the column", true}, time = {"Seconds", 0.2}}
function prepare()
  local con = sysbench.sql.driver():connect()
  con:query("CREATE TABLE item (id INT PRIMARY KEY, k INT NOT NULL, c VARCHAR(60) NOT NULL)")
  con:bulk_insert_init("INSERT INTO item (id, k, c) VALUES")
  for id = 1, 3000 do con:bulk_insert_next(("(%d, %d, 'text %d')"):format(id, id, id)) end
  con:bulk_insert_done()
  if sysbench.opt.indexed then con:query("CREATE INDEX item_k ON item (k)") end
end
function cleanup() sysbench.sql.driver():connect():query("DROP TABLE item") end
local look, cell
function thread_init()
  local con = sysbench.sql.driver():connect()
  look = con:prepare("SELECT c FROM item WHERE k = ?")
  cell = look:bind_create(sysbench.sql.type.INT)
  look:bind_param(cell)
end
function event()
  cell:set(sysbench.rand.uniform(1, 3000))
  look:execute()
end
