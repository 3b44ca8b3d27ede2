-- Stands in for sysbench's `oltp_common` where sysbench is not installed: the options, commands and
-- functions that scripts built on it know. Ours, written to what such scripts call.
local OPTIONS = {
   auto_inc = { "Let the server number the rows", true },
   create_secondary = { "Index the column k once the rows are there", true },
   delete_inserts = { "Deletes, each followed by an insert of the same id, per event", 1 },
   distinct_ranges = { "DISTINCT range queries per event", 1 },
   index_updates = { "Updates of the indexed column per event", 1 },
   mysql_storage_engine = { "MySQL's storage engine", "innodb" },
   non_index_updates = { "Updates of an unindexed column per event", 1 },
   order_ranges = { "ORDER BY range queries per event", 1 },
   pgsql_variant = { "redshift, or none", nil, sysbench.cmdline.ARG_STRING },
   point_selects = { "Point selects per event", 10 },
   range_selects = { "Play range queries", true },
   range_size = { "Rows in a range query", 100 },
   secondary = { "An index in place of the primary key", false },
   simple_ranges = { "Simple range queries per event", 1 },
   skip_trx = { "Leave out BEGIN and COMMIT", false },
   sum_ranges = { "SUM() range queries per event", 1 },
   table_size = { "Rows per table", 10000 },
   tables = { "Number of tables", 1 },
}
sysbench.cmdline.options = OPTIONS

local groups = { "###########-###########", "-###########-###########" }
local C = groups[1] .. groups[2]:rep(4)
local PAD = groups[1] .. groups[2] .. "-###########"

function get_c_value()
   return sysbench.rand.string(C)
end

function get_pad_value()
   return sysbench.rand.string(PAD)
end

local function get_table_num()
   return sysbench.rand.uniform(1, sysbench.opt.tables)
end

local function get_id()
   return sysbench.rand.default(1, sysbench.opt.table_size)
end

-- ---- tables -----------------------------------------------------------------------------------

local function is_redshift(drv)
   return drv:name() == "pgsql" and sysbench.opt.pgsql_variant == "redshift"
end

local function id_column(drv)
   local opt = sysbench.opt
   if drv:name() == "mysql" then
      return opt.auto_inc and "INTEGER NOT NULL AUTO_INCREMENT" or "INTEGER NOT NULL"
   elseif drv:name() ~= "pgsql" then
      error("Unsupported database driver:" .. drv:name())
   elseif not opt.auto_inc or opt.pgsql_variant == "redshift" then
      return opt.auto_inc and "INTEGER IDENTITY(1,1)" or "INTEGER NOT NULL"
   end
   return "SERIAL"
end

function create_table(drv, con, table_num)
   local opt = sysbench.opt
   local key = opt.secondary and ("KEY xid_%d (id)"):format(table_num) or "PRIMARY KEY (id)"
   local engine = drv:name() == "mysql" and "ENGINE = " .. opt.mysql_storage_engine or ""
   print(("Creating table 'sbtest%d'..."):format(table_num))
   con:query(([[CREATE TABLE sbtest%d(id %s, k INTEGER DEFAULT '0' NOT NULL,
      c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, %s) %s]]):format(table_num,
      id_column(drv), key, engine))
   if opt.table_size > 0 then
      print(("Inserting %d records into 'sbtest%d'"):format(opt.table_size, table_num))
   end
   con:bulk_insert_init(("INSERT INTO sbtest%d(%sk, c, pad) VALUES"):format(table_num,
      opt.auto_inc and "" or "id, "))
   for id = 1, opt.table_size do
      con:bulk_insert_next(("(%s%d, '%s', '%s')"):format(opt.auto_inc and "" or id .. ", ",
         sysbench.rand.default(1, opt.table_size), get_c_value(), get_pad_value()))
   end
   con:bulk_insert_done()
   if opt.create_secondary and not is_redshift(drv) then
      print(("Creating a secondary index on 'sbtest%d'..."):format(table_num))
      con:query(("CREATE INDEX k_%d ON sbtest%d(k)"):format(table_num, table_num))
   end
end

-- Calls a function for the tables that are this thread's.
local function for_own_tables(work)
   local drv = sysbench.sql.driver()
   local con = drv:connect()
   for table_num = sysbench.tid % sysbench.opt.threads + 1, sysbench.opt.tables,
      sysbench.opt.threads do
      work(drv, con, table_num)
   end
end

function cmd_prepare()
   for_own_tables(create_table)
end

function cmd_prewarm()
   for_own_tables(function(drv, con, table_num)
      if drv:name() ~= "mysql" then
         error("prewarm is currently MySQL only")
      end
      local name = "sbtest" .. table_num
      print("Prewarming table " .. name)
      con:query("ANALYZE TABLE " .. name)
      local part = ("FROM (SELECT * FROM %s %%s LIMIT %d) t"):format(name, sysbench.opt.table_size)
      con:query("SELECT AVG(id) " .. part:format("FORCE KEY (PRIMARY)"))
      con:query("SELECT COUNT(*) " .. part:format("WHERE k LIKE '%0%'"))
   end)
end

local PARALLEL = sysbench.cmdline.PARALLEL_COMMAND
sysbench.cmdline.commands = {
   prepare = { cmd_prepare, PARALLEL },
   prewarm = { cmd_prewarm, PARALLEL },
}

function cleanup()
   local connection = sysbench.sql.driver():connect()
   for table_num = 1, sysbench.opt.tables do
      print(("Dropping table 'sbtest%d'..."):format(table_num))
      connection:query("DROP TABLE IF EXISTS sbtest" .. table_num)
   end
end

-- ---- statements: `stmt` and `param` hold those of each table, by the statement's name -----------

local INT = sysbench.sql.type.INT
local RANGE = "WHERE id BETWEEN ? AND ?"
local STATEMENTS = {
   point_selects = { "SELECT c FROM sbtest%u WHERE id=?", "id" },
   simple_ranges = { "SELECT c FROM sbtest%u " .. RANGE, "id", "id" },
   sum_ranges = { "SELECT SUM(k) FROM sbtest%u " .. RANGE, "id", "id" },
   order_ranges = { "SELECT c FROM sbtest%u " .. RANGE .. " ORDER BY c", "id", "id" },
   distinct_ranges = { "SELECT DISTINCT c FROM sbtest%u " .. RANGE .. " ORDER BY c", "id", "id" },
   index_updates = { "UPDATE sbtest%u SET k=k+1 WHERE id=?", "id" },
   non_index_updates = { "UPDATE sbtest%u SET c=? WHERE id=?", 120, "id" },
   deletes = { "DELETE FROM sbtest%u WHERE id=?", "id" },
   inserts = { "INSERT INTO sbtest%u (id, k, c, pad) VALUES (?, ?, ?, ?)", "id", "id", 120, 60 },
}

function prepare_for_each_table(name)
   for table_num = 1, sysbench.opt.tables do
      local made = con:prepare(STATEMENTS[name][1]:format(table_num))
      local cells = {}
      for at = 2, #STATEMENTS[name] do
         local size = STATEMENTS[name][at]
         cells[at - 1] = size == "id" and made:bind_create(INT)
            or made:bind_create(sysbench.sql.type.CHAR, size)
      end
      made:bind_param(unpack(cells))
      stmt[table_num][name], param[table_num][name] = made, cells
   end
end

for name in pairs(STATEMENTS) do
   _G["prepare_" .. name] = function() prepare_for_each_table(name) end
end
prepare_deletes, prepare_inserts = nil, nil

function prepare_delete_inserts()
   prepare_for_each_table("deletes")
   prepare_for_each_table("inserts")
end

function prepare_begin()
   stmt.begin = con:prepare("BEGIN")
end

function prepare_commit()
   stmt.commit = con:prepare("COMMIT")
end

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   stmt, param = {}, {}
   for table_num = 1, sysbench.opt.tables do
      stmt[table_num], param[table_num] = {}, {}
   end
   prepare_statements()
end

function close_statements()
   for table_num = 1, sysbench.opt.tables do
      for _, made in pairs(stmt[table_num]) do
         made:close()
      end
   end
   for _, name in ipairs { "begin", "commit" } do
      if stmt[name] ~= nil then
         stmt[name]:close()
      end
   end
end

function thread_done()
   close_statements()
   con:disconnect()
end

-- ---- what an event plays ----------------------------------------------------------------------

function begin()
   stmt.begin:execute()
end

function commit()
   stmt.commit:execute()
end

function execute_point_selects()
   local table_num = get_table_num()
   for _ = 1, sysbench.opt.point_selects do
      param[table_num].point_selects[1]:set(get_id())
      stmt[table_num].point_selects:execute()
   end
end

for _, name in ipairs { "simple_ranges", "sum_ranges", "order_ranges", "distinct_ranges" } do
   _G["execute_" .. name] = function()
      local table_num = get_table_num()
      for _ = 1, sysbench.opt[name] do
         local first = get_id()
         param[table_num][name][1]:set(first)
         param[table_num][name][2]:set(first + sysbench.opt.range_size - 1)
         stmt[table_num][name]:execute()
      end
   end
end

function execute_index_updates()
   local table_num = get_table_num()
   for _ = 1, sysbench.opt.index_updates do
      param[table_num].index_updates[1]:set(get_id())
      stmt[table_num].index_updates:execute()
   end
end

function execute_non_index_updates()
   local table_num = get_table_num()
   for _ = 1, sysbench.opt.non_index_updates do
      param[table_num].non_index_updates[1]:set_rand_str(C)
      param[table_num].non_index_updates[2]:set(get_id())
      stmt[table_num].non_index_updates:execute()
   end
end

function execute_delete_inserts()
   local table_num = get_table_num()
   for _ = 1, sysbench.opt.delete_inserts do
      local id = get_id()
      local inserts = param[table_num].inserts
      param[table_num].deletes[1]:set(id)
      inserts[1]:set(id)
      inserts[2]:set(get_id())
      inserts[3]:set_rand_str(C)
      inserts[4]:set_rand_str(PAD)
      stmt[table_num].deletes:execute()
      stmt[table_num].inserts:execute()
   end
end

-- Statements that the server has forgotten are prepared anew before their event is.
function sysbench.hooks.before_restart_event(problem)
   local GONE = { [2013] = true, [2055] = true, [2006] = true, [2011] = true }
   if GONE[problem.sql_errno] then
      close_statements()
      prepare_statements()
   end
end
