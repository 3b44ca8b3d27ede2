-- A script's options: the general ones, how their text is read, `sysbench.opt`, the list of all.
local raw, identity, sysbench_options = ...
local cmdline = sysbench.cmdline

-- ---- the options that every script has, sysbench's and Dyno's, and what they may be -----------

local general = {
   threads = { "Users, each with a state and a connection of its own", 1, cmdline.ARG_INT },
   time = { "Seconds to measure; 0: no limit", 10 },
   events = { "Events to play in all; 0: no limit", 0, cmdline.ARG_INT },
   rate = { "Events per second of all users together; 0: each follows the last at once", 0 },
   arrivals = { "How events at a rate are spaced: uniform, poisson or burst", "uniform" },
   warmup_time = { "Seconds to play before measuring", 0 },
   rand_type = { "Default distribution of random numbers: uniform, gaussian, special, pareto "
      .. "or zipfian", "special" },
   rand_seed = { "Seed of random numbers; 0: the plan's", 0, cmdline.ARG_INT },
   rand_spec_iter = { "Numbers averaged for one of the gaussian and special distributions", 12,
      cmdline.ARG_INT },
   rand_spec_pct = { "Percent of the range that holds the special values", 1, cmdline.ARG_INT },
   rand_spec_res = { "Percent of numbers that are special values", 75, cmdline.ARG_INT },
   rand_pareto_h = { "Shape h of the Pareto distribution", 0.2 },
   rand_zipfian_exp = { "Exponent of the Zipfian distribution", 0.8 },
   memory_bytes = { "Bytes that the driver may hold: half of it in answers, half in Lua states",
      2 ^ 30, cmdline.ARG_SIZE },
   script_timeout = { "Seconds that a script may run without waiting for an answer; 0: "
      .. "no limit", 60 },
   mysql_ignore_errors = { "MySQL's error numbers after which an event restarts, or all",
      "1213,1020,1205", cmdline.ARG_LIST },
   report_interval = { "Seconds between two calls of report_intermediate; 0: each second", 0,
      cmdline.ARG_INT },
   percentile = { "Percentile that a report hook reads as latency_pct", 95, cmdline.ARG_INT },
   db_driver = { "sysbench's driver: mysql or pgsql; engines have their own, null takes "
      .. "this one", identity.dialect or "pgsql" },
   db_ps_mode = { "Prepared statements: auto, or disable to send them as text", "auto" },
}

local choices = {
   rand_type = { "uniform", "gaussian", "special", "pareto", "zipfian" },
   arrivals = { "uniform", "poisson", "burst" },
   db_ps_mode = { "auto", "disable" },
}

for name, known in pairs(choices) do
   general[name][4] = function(_, text)
      for _, choice in ipairs(known) do
         if text == choice then
            return true
         end
      end
      raw.unknown(("value of option %s"):format(name), text, known)
   end
end

-- The least and the most that a general option may be. A state of its own for each user: more
-- than 65536 of them would fill the memory of any machine before the first event.
local ranges = { threads = { 1, 65536, "1 to 65536" } }
for _, name in ipairs({ "time", "events", "rate", "warmup_time", "report_interval",
   "script_timeout" }) do
   ranges[name] = { 0, 2 ^ 53, "0 or more" }
end

-- A script asks which driver it is to choose between dialects: a wrong answer sends wrong SQL.
general.db_driver[4] = function(_, text)
   if identity.dialect and text ~= identity.dialect then
      raw.fail(("option db_driver is %s, but the engine speaks %s"):format(text, identity.dialect),
         "the candidate decides which driver it is: leave the option out")
   end
   return true
end

for name, range in pairs(ranges) do
   general[name][4] = function(_, text)
      local number = tonumber(text)
      if not (number and number >= range[1] and number <= range[2]) then
         raw.fail(("option %s is out of range: %s"):format(name, text), range[3])
      end
      return true
   end
end

-- ---- options as text: read by the option's type, and written ----------------------------------

local type_of_default = {
   boolean = cmdline.ARG_BOOL, number = cmdline.ARG_DOUBLE,
   string = cmdline.ARG_STRING, table = cmdline.ARG_LIST, ["nil"] = cmdline.ARG_STRING,
}

local truth = {
   ["on"] = true, ["true"] = true, ["yes"] = true, ["1"] = true, [""] = true,
   ["off"] = false, ["false"] = false, ["no"] = false, ["0"] = false,
}

local size_suffix = { K = 2 ^ 10, M = 2 ^ 20, G = 2 ^ 30, T = 2 ^ 40 }

local function plain_number(text)
   return text:match("^%s*[-+.%d]") and tonumber(text) or nil
end

local parse = {
   [cmdline.ARG_BOOL] = function(text)
      return truth[text:lower()], "on or off"
   end,
   [cmdline.ARG_INT] = function(text)
      local n = plain_number(text)
      return n and n % 1 == 0 and n or nil, "a whole number"
   end,
   [cmdline.ARG_SIZE] = function(text)
      local digits, suffix = text:match("^(%d+)([KMGTkmgt]?)$")
      local factor = suffix ~= "" and suffix and size_suffix[suffix:upper()] or 1
      return digits and tonumber(digits) * factor, "a size such as 512K or 16M"
   end,
   [cmdline.ARG_DOUBLE] = function(text)
      local n = plain_number(text)
      return n == n and n or nil, "a number"
   end,
   [cmdline.ARG_STRING] = function(text) return text end,
   [cmdline.ARG_LIST] = function(text)
      local items = {}
      for item in text:gmatch("[^,]+") do
         items[#items + 1] = item:match("^%s*(.-)%s*$")
      end
      return items
   end,
}
parse[cmdline.ARG_FILE] = parse[cmdline.ARG_STRING]

-- Text of a value as a user would write it.
local function shown(value)
   if value == nil then
      return ""
   elseif type(value) == "boolean" then
      return value and "on" or "off"
   elseif type(value) == "table" then
      return table.concat(value, ",")
   end
   return type(value) == "number" and raw.number_text(value) or tostring(value)
end

-- The type that a script gave its option, or that its default has.
local function type_of(definition)
   return definition[3] or type_of_default[type(definition[2])]
end

-- ---- the script's options ---------------------------------------------------------------------

local function underscored(name)
   return (name:gsub("-", "_"))
end

-- sysbench's own older names.
local same_as = {
   num_threads = "threads", max_requests = "events", max_time = "time", tx_rate = "rate",
}

for older, name in pairs(same_as) do
   local given = identity.options[older]
   if given ~= nil and identity.options[name] ~= nil and identity.options[name] ~= given then
      raw.fail(("options %s and %s are one, and given twice"):format(older, name), "leave one out")
   end
   identity.options[name], identity.options[older] = given or identity.options[name], nil
end

-- What an option without a default is where nobody gives it: as sysbench's C library reads nothing.
-- A variable of pgbench's is none.
local empty = {
   [cmdline.ARG_BOOL] = function() return true end,
   [cmdline.ARG_INT] = function() return 0 end,
   [cmdline.ARG_SIZE] = function() return 0 end,
   [cmdline.ARG_DOUBLE] = function() return 0 end,
   [cmdline.ARG_STRING] = function() return "" end,
   [cmdline.ARG_LIST] = function() return {} end,
}

local function value_of(name, definition)
   local text = identity.options[name]
   local kind = type_of(definition)
   if text == nil then
      if type(definition[2]) == "string" and parse[kind] then
         return (parse[kind](definition[2]))
      elseif definition[2] == nil and empty[kind] and raw.is_in_texts("") then
         return empty[kind]()
      end
      return definition[2]
   end
   local read = parse[kind]
   if read == nil then
      raw.fail(("option %s of the script has an unknown type"):format(name), "")
   end
   local value, wanted = read(text)
   if value == nil then
      raw.fail(("option %s is not %s: %q"):format(name, wanted, text),
         ("its default is %q"):format(shown(definition[2])))
   end
   if type(definition[4]) == "function" and not definition[4](name, text) then
      raw.fail(("the script refuses this value of option %s: %q"):format(name, text),
         ("its default is %q"):format(shown(definition[2])))
   end
   return value
end

-- The script's own definitions by name with underscores.
local function declared()
   local found = {}
   if type(cmdline.options) ~= "table" then
      raw.fail("sysbench.cmdline.options is not a table", "")
   end
   for name, definition in pairs(cmdline.options) do
      if type(name) ~= "string" or type(definition) ~= "table" then
         raw.fail("an option of the script is not of the form name = {help, default}", "")
      end
      found[underscored(name)] = definition
   end
   return found
end

local function definition_of(name)
   return type(cmdline.options) == "table"
      and (cmdline.options[name] or cmdline.options[name:gsub("_", "-")]) or general[name]
end

-- Did the user set an option?
function raw.is_given(name)
   return identity.options[name] ~= nil
end

-- May a name become an option?
function raw.is_free(name)
   return definition_of(name) == nil
end

-- An option is looked up when it is first read: scripts read options while they load, and add to
-- `sysbench.cmdline.options` after `require`.
sysbench.opt = setmetatable({}, {
   __index = function(opt, name)
      if type(name) ~= "string" then
         return nil
      elseif name:find("-", 1, true) then
         return opt[underscored(name)]
      end
      local definition = definition_of(name)
      if type(definition) ~= "table" then
         local same = same_as[name]
         return same and opt[same] or (sysbench_options().fixed(name))
      end
      local value = value_of(name, definition)
      rawset(opt, name, value)
      return value
   end,
})
if identity.users then
   sysbench.opt.threads = identity.users
end

-- The value of a general option, whatever the script may do to `sysbench.opt`.
function raw.general(name)
   return value_of(name, definition_of(name))
end

function cmdline.read_cmdline_options()
   error("sysbench.cmdline.read_cmdline_options: options are read once the script is loaded", 2)
end

-- Words of the names in lua/sysbench_options.lua, which is not loaded for a script without them.
local RARE = { "mysql_", "pgsql_", "forced_shutdown", "thread_stack_size", "report_checkpoints",
   "verbosity", "debug", "validate", "histogram", "config_file", "luajit_cmd" }

-- A script that declares no options finds those that it speaks of as globals, but where a function
-- has the name, or one of LuaJIT's libraries.
local function export(names)
   for _, name in ipairs(names) do
      local kind = type(rawget(_G, name))
      local is_taken = kind == "function" or kind == "table" and raw.own_globals[name]
      if not is_taken and (raw.is_given(name) or raw.is_in_texts(name)) then
         _G[name] = sysbench.opt[name]
      end
   end
end

-- Once the script is loaded: refuses unknown options, reads the rest, lists all.
function raw.settle_options()
   local own, all, names, list = declared(), {}, {}, {}
   for _, some in ipairs { general, own } do
      for name, definition in pairs(some) do
         names[#names + 1] = all[name] == nil and name or nil
         all[name] = definition
      end
   end
   local is_legacy = next(own) == nil
   for name in pairs(identity.options) do
      if all[name] == nil then
         sysbench_options().refuse(name)
         if not (is_legacy and (#identity.argv > 0 or raw.is_in_texts(name))) then
            raw.unknown("option", name, names)
         end
         -- As in sysbench, a script that declares no options is handed what was given, as text.
         own[name] = { "", nil, cmdline.ARG_STRING }
         all[name], names[#names + 1], cmdline.options[name] = own[name], name, own[name]
      end
   end
   table.sort(names)
   for at, name in ipairs(names) do
      local definition, value = all[name], sysbench.opt[name]
      list[at] = { name = name, owner = own[name] and "script" or "general",
         help = tostring(definition[1] or ""), default = shown(definition[2]),
         value = shown(value) }
   end
   if is_legacy and dyno.phases == nil and raw.is_in_texts("") then
      export(names)
      for older in pairs(same_as) do
         export({ older })
      end
      for _, word in ipairs(RARE) do
         if raw.is_in_texts(word) then
            export(sysbench_options().names())
            break
         end
      end
   end
   raw.declare_known(raw.texts)
   return list
end

return { shown = shown, type_of = type_of }
