-- All that a script finds when it begins, put together from the other texts here.
-- `raw`: the driver's functions, and those that it calls; `identity`: who loads the script and for
-- what; `part`: runs one of the texts.
local raw, identity, part = ...

-- Garbage is collected when memory has grown by half of what is alive; LuaJIT by itself waits until
-- it has doubled, and a state's texts leave the processor's cache.
collectgarbage("setpause", 150)

part("sysbench", raw, identity)
local options = part("options", raw, identity, function()
   return part("sysbench_options", raw, identity)
end)
local counted = part("dyno", raw, identity)
local is_random, is_choice = part("random", raw)

local requests = part("requests", raw, identity)
local loop = { playing = false }
local thrown = part("functions", raw, identity, counted, requests, loop)

local connection = part("connections", raw, identity, requests)
part("inserts", raw, requests.finish, connection, is_random)
part("statements", raw, requests, connection)
part("event", raw, requests.wait, requests.raise, is_random, is_choice)
part("known_scripts", raw, identity, requests.raise)

-- Every user is a state of its own, so what few scripts speak of is there for these alone.
raw.brought_by({ "ffi", "thread_run", "execute" }, function()
   part("symbols", raw, requests, counted, part("pauses", raw, requests.pause), loop)
end)
-- Makes the tables by the option `setup`.
function raw.run_setup()
   part("setup", raw, identity, requests)()
end
-- For pgbench's scripts, which Lua reads and the driver plays.
raw.wait, raw.raise = requests.wait, requests.raise
-- For pgbench's words, which are in no text that is looked at here.
function raw.bring_pauses()
   part("pauses", raw, requests.pause)
end
raw.brought_by({ "%f[%w_]db_", "DB_ERROR", "%f[%w_]test%f[^%w_]", "sysbench%.db",
   "mysql_table_engine", "myisam_max_rows" }, function() part("legacy", raw, identity) end)
raw.brought_by({ "dyno%.recording" }, function() part("recording", raw, identity, part) end)
raw.brought_by({ "hooks", "report_" }, function() part("reports", raw, thrown) end)
raw.brought_by({ "print_test_options" }, function() part("help", raw, identity, options) end)
raw.brought_by({ "histogram" }, function() part("histogram") end)
if #identity.argv > 0 then
   part("fatal", raw, identity)
end
if identity.command == "help" then
   part("help", raw, identity, options)
end
-- A script without hooks has no reports of its own (lua/reports.lua).
function raw.reports() return false end
function raw.report_to() end

-- Of sysbench's own modules the one that scripts build on, where sysbench is not installed.
raw.stand_ins = { oltp_common = function() part("oltp_common") end }
