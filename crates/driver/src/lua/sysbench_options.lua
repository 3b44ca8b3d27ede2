-- sysbench's general options beside those of lua/options.lua: how a server is reached, which the
-- candidate says; and those that Dyno answers in another way. Loaded when one is asked for.
local raw, identity = ...

local sysbench_options = {}

-- How the server is reached: a script may read it, nobody may set it. A password it never learns.
local login = identity.login or {}
local is_mysql = identity.dialect == "mysql"

local function told(value, is_of_driver)
   return is_of_driver and value or ""
end

local reached = {}
for prefix, is_own in pairs { mysql = is_mysql, pgsql = identity.dialect == "pgsql" } do
   reached[prefix .. "_host"] = told(login.host, is_own)
   reached[prefix .. "_port"] = is_own and login.port or 0
   reached[prefix .. "_user"] = told(login.user, is_own)
   reached[prefix .. "_db"] = told(login.database, is_own)
   reached[prefix .. "_password"] = ""
end
reached.mysql_socket = told(login.socket, is_mysql)
reached.mysql_ssl = "off"
reached.mysql_ssl_cipher = ""
reached.mysql_compression = "off"

-- What Dyno has in another place: the value that scripts read, and where to look.
local elsewhere = {
   forced_shutdown = { "off", "answers that do not come are cut off ten seconds after the end" },
   thread_stack_size = { "64K", "the system's default is used" },
   report_checkpoints = { "", "`dyno play` shows each second; dyno.phases has stretches" },
   histogram = { "off", "the histogram of all latencies is in the record of each trial" },
   verbosity = { 3, "`dyno play` shows what a script prints" },
   debug = { false, "the driver's log is in the run's folder" },
   validate = { false, "dyno.ledger checks what was written" },
   db_debug = { "off", "the driver's log is in the run's folder" },
   mysql_debug = { "off", "the server's log is in the run's folder" },
   mysql_dry_run = { "off", "the engine `null` answers without a server" },
   config_file = { "", "an experiment's TOML file holds options" },
   luajit_cmd = { "", "the script calls `jit` itself" },
}

-- The value of an option that nobody may set, and why, if it is one.
function sysbench_options.fixed(name)
   if reached[name] ~= nil then
      return reached[name], "the candidate decides how its server is reached"
   elseif elsewhere[name] ~= nil then
      return elsewhere[name][1], elsewhere[name][2]
   end
end

-- Refuses one that somebody set all the same.
function sysbench_options.refuse(name)
   local _, why = sysbench_options.fixed(name)
   if why ~= nil then
      raw.fail(("option %s of sysbench's cannot be set here"):format(name), why)
   end
end

-- All their names, for scripts that expect them as globals.
function sysbench_options.names()
   local names = {}
   for _, some in ipairs { reached, elsewhere } do
      for name in pairs(some) do
         names[#names + 1] = name
      end
   end
   return names
end

return sysbench_options
