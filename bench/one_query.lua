-- One text query per event: the least that an event with a round trip can be.

function thread_init()
  con = sysbench.sql.driver():connect()
end

function event()
  con:query("SELECT 1")
end
