-- One statement as one event: a server's own load of a file that lies ready beside it.

sysbench.cmdline.options = {sql = {"The statement", "SELECT 1"}, events = {"How often", 1}}

function thread_init()
  con = sysbench.sql.driver():connect()
end

function event()
  con:query(sysbench.opt.sql)
end
