-- A stored function that sleeps so many seconds, or does nothing.
sysbench.cmdline.options = {sleep = {"Seconds that the function sleeps", 0}}
local con
function prepare()
  local con = sysbench.sql.driver():connect()
  con:query("DROP FUNCTION IF EXISTS rest")
  con:query("CREATE FUNCTION rest(s DOUBLE) RETURNS INT NOT DETERMINISTIC NO SQL RETURN SLEEP(s)")
end
function cleanup() sysbench.sql.driver():connect():query("DROP FUNCTION IF EXISTS rest") end
function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query(("SELECT rest(%g)"):format(sysbench.opt.sleep)) end
