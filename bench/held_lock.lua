-- Three users: the first takes all rows (the table, the file) and sleeps, where `held` says so;
-- each other updates its own row, and rests, so that most of its time is one wait.
sysbench.cmdline.options = {held = {"What the first user holds", ""}}
local HOLD = {
  rows = {"BEGIN", "SELECT * FROM item FOR UPDATE", "COMMIT"},
  tables = {"SELECT 1", "LOCK TABLES item WRITE", "UNLOCK TABLES"},
  file = {"SELECT 1", "BEGIN IMMEDIATE", "COMMIT", sleep = 0.05, pause = 0.005},
}
local con
function prepare()
  local con = sysbench.sql.driver():connect()
  con:query("CREATE TABLE item (id INT PRIMARY KEY, k INT NOT NULL)")
  con:query("INSERT INTO item VALUES (0, 0), (1, 0), (2, 0)")
end
function cleanup() sysbench.sql.driver():connect():query("DROP TABLE item") end
function thread_init() con = sysbench.sql.driver():connect() end
function event()
  if sysbench.tid > 0 then
    con:query("UPDATE item SET k = k + 1 WHERE id = " .. sysbench.tid)
    dyno.rest(0.002)
    return
  end
  local hold = HOLD[sysbench.opt.held]
  if hold then con:query(hold[1]); con:query(hold[2]) end
  dyno.sleep(hold and hold.sleep or 0.2)
  if hold then con:query(hold[3]); dyno.sleep(hold.pause or 0) end
end
