-- sysbench's own API, as scripts for sysbench 1.0 know it: command line, options, random numbers,
-- hooks. Written against sysbench's documentation and the calls of scripts from the wild.
-- Arguments: `raw`, the driver's functions, and `seat`, who loads the script and for what.
local raw, seat = ...

-- LuaJIT opens its FFI library when it reads a 64-bit literal, so `require("ffi")` works after
-- this line. A script could do the same: LuaJIT has no sandbox, and sysbench promises none.
local two_to_the_32 = 4294967296ULL
ffi = require("ffi")

sysbench = { version = "1.0.20", tid = seat.number, sql = {}, hooks = {} }
thread_id = seat.number

sysbench.error = { NONE = 0, FATAL = 1, RESTART_EVENT = 2, CONTINUE_EVENT = 3 }

-- ---- command line -------------------------------------------------------------------------------

sysbench.cmdline = {
   command = seat.command,
   script_path = seat.path,
   argv = {},
   commands = {},
   options = {},
   PARALLEL_COMMAND = true,
   ARG_NULL = 0, ARG_BOOL = 1, ARG_INT = 2, ARG_SIZE = 3,
   ARG_DOUBLE = 4, ARG_STRING = 5, ARG_LIST = 6, ARG_FILE = 7, ARG_MAX = 8,
}
local cmdline = sysbench.cmdline

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

local function underscored(name)
   return (name:gsub("-", "_"))
end

local function value_of(name, definition)
   local text = seat.options[name]
   local kind = definition[3] or type_of_default[type(definition[2])]
   if text == nil then
      if kind == cmdline.ARG_LIST and type(definition[2]) == "string" then
         return parse[kind](definition[2])
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
   percentile = { "Percentile that a report hook reads as latency_pct", 95, cmdline.ARG_INT },
   db_driver = { "What the null engine calls itself towards the script", "pgsql" },
   db_ps_mode = { "Prepared statements: auto, or disable to send them as text", "auto" },
}

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
         return nil
      end
      local value = value_of(name, definition)
      rawset(opt, name, value)
      return value
   end,
})
if seat.users then
   sysbench.opt.threads = seat.users
end

-- The value of a general option, whatever the script may do to `sysbench.opt`.
function raw.general(name)
   return value_of(name, definition_of(name))
end

function raw.is_parallel(command)
   return cmdline.command_parallel(command)
end

local choices = {
   rand_type = { uniform = true, gaussian = true, special = true, pareto = true, zipfian = true },
   arrivals = { uniform = true, poisson = true, burst = true },
   db_ps_mode = { auto = true, disable = true },
}

for name, known in pairs(choices) do
   general[name][4] = function(_, text)
      if not known[text] then
         local names = {}
         for choice in pairs(known) do
            names[#names + 1] = choice
         end
         raw.unknown(("value of option %s"):format(name), text, names)
      end
      return true
   end
end

-- The least and the most that a general option may be. A state of its own for each user: more
-- than 65536 of them would fill the memory of any machine before the first event.
local ranges = { threads = { 1, 65536, "1 to 65536" } }
for _, name in ipairs({ "time", "events", "rate", "warmup_time" }) do
   ranges[name] = { 0, 2 ^ 53, "0 or more" }
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

-- Once the script is loaded: refuses unknown options, reads the rest, lists all.
function raw.settle_options()
   local list, known = {}, declared()
   local function add(name, definition, owner)
      local value = sysbench.opt[name]
      list[#list + 1] = { name = name, owner = owner, help = tostring(definition[1] or ""),
         default = shown(definition[2]), value = shown(value) }
   end
   local names = {}
   for name in pairs(known) do
      names[#names + 1] = name
   end
   for name in pairs(general) do
      if known[name] == nil then
         names[#names + 1] = name
      end
   end
   for name, text in pairs(seat.options) do
      if known[name] == nil and general[name] == nil then
         raw.unknown("option", name, names)
      end
   end
   table.sort(names)
   for _, name in ipairs(names) do
      add(name, known[name] or general[name], known[name] and "script" or "general")
   end
   return list
end

function cmdline.command_defined(name)
   local entry = type(cmdline.commands) == "table" and cmdline.commands[name]
   return type(entry) == "table" and entry[1] ~= nil
end

function cmdline.command_parallel(name)
   return cmdline.command_defined(name) and cmdline.commands[name][2] == cmdline.PARALLEL_COMMAND
end

function cmdline.call_command(name)
   if not cmdline.command_defined(name) then
      return false
   end
   return cmdline.commands[name][1]() ~= false
end

-- ---- random numbers -----------------------------------------------------------------------------

sysbench.rand = {
   default = raw.rand_default,
   uniform = raw.rand_uniform,
   gaussian = raw.rand_gaussian,
   special = raw.rand_special,
   pareto = raw.rand_pareto,
   zipfian = raw.rand_zipfian,
   unique = raw.rand_unique,
   string = raw.rand_string,
   varstring = raw.rand_varstring,
   uniform_double = raw.rand_uniform_double,
}

function sysbench.rand.uniform_uint64()
   return ffi.cast("uint64_t", raw.rand_uint32()) * two_to_the_32 + raw.rand_uint32()
end

sb_rand = sysbench.rand.default
sb_rand_uniform = sysbench.rand.uniform
sb_rand_gaussian = sysbench.rand.gaussian
sb_rand_special = sysbench.rand.special
sb_rand_pareto = sysbench.rand.pareto
sb_rand_zipfian = sysbench.rand.zipfian
sb_rand_uniq = sysbench.rand.unique
sb_rand_str = sysbench.rand.string

-- ---- what a script may not do to the driver -----------------------------------------------------

-- stdout carries the driver's events.
function print(...)
   local texts = {}
   for i = 1, select("#", ...) do
      texts[i] = tostring((select(i, ...)))
   end
   io.stderr:write(table.concat(texts, "\t"), "\n")
end
io.stdout = io.stderr
io.output(io.stderr)

function os.exit(code)
   error(("the script called os.exit(%s)"):format(tostring(code)), 2)
end

debug = debug or { traceback = raw.traceback }

-- Rows cost time and garbage, and most scripts of a benchmark read none: they are kept once a text
-- of the script speaks of them, or may load a text that is not seen here.
local READERS = { "fetch_row", "loadstring", "loadfile", "dofile", "%f[%w_]load%s*%(" }

local function chunk(text, name)
   for _, word in ipairs(READERS) do
      if text:find(word) then
         raw.keep_rows()
      end
   end
   local body, problem = loadstring(text:gsub("^#[^\n]*", "", 1), name)
   return body or error(problem, 0)
end

-- Runs the script. A first line that begins with `#` is for the shell.
function raw.run_script(text, name)
   raw.own_globals = {}
   for global in pairs(_G) do
      raw.own_globals[global] = true
   end
   chunk(text, name)()
end

-- `require` looks into the script's folder first; a chunk is named by its file only, because
-- LuaJIT cuts longer names in its messages.
table.insert(package.loaders, 2, function(module)
   local file = module:gsub("%.", "/") .. ".lua"
   local handle = io.open(seat.folder .. "/" .. file, "rb")
   if handle == nil then
      raw.keep_rows()
      return "\n\tno file '" .. seat.folder .. "/" .. file .. "'"
   end
   local text = handle:read("*a")
   handle:close()
   return chunk(text, "@" .. file)
end)

-- ---- reports ------------------------------------------------------------------------------------

-- What a report hook may call with its `stat`. The interval's numbers become rates per second.
local function rates(stat)
   local function per_s(n)
      return stat.time_interval > 0 and n / stat.time_interval or 0
   end
   return { events = per_s(stat.events), queries = per_s(stat.reads + stat.writes + stat.other),
      reads = per_s(stat.reads), writes = per_s(stat.writes), other = per_s(stat.other),
      errors = per_s(stat.errors), reconnects = per_s(stat.reconnects),
      latency_ms = stat.latency_pct * 1000 }
end

-- One line to be read by people.
function sysbench.report_default(stat)
   local it = rates(stat)
   local form = "%.0f s, %d threads: %.2f events/s, %.2f queries/s, %.2f errors/s, latency %.2f ms"
   print(form:format(stat.time_total, stat.threads_running, it.events, it.queries, it.errors,
      it.latency_ms))
end

-- Seconds, threads, then per second: events, queries, reads, writes, other; latency in ms; errors
-- and reconnects per second. The columns are sysbench's.
function sysbench.report_csv(stat)
   local it = rates(stat)
   local cells = { ("%.0f"):format(stat.time_total), ("%d"):format(stat.threads_running) }
   for _, name in ipairs { "events", "queries", "reads", "writes", "other", "latency_ms", "errors",
      "reconnects" } do
      cells[#cells + 1] = ("%.2f"):format(it[name])
   end
   print(table.concat(cells, ","))
end

-- One JSON object a line, with sysbench's keys; sysbench wraps them in one list.
function sysbench.report_json(stat)
   local it = rates(stat)
   local function pair(key, number)
      return ('"%s": %.2f'):format(key, number)
   end
   local qps = { pair("total", it.queries), pair("reads", it.reads), pair("writes", it.writes),
      pair("other", it.other) }
   print("{" .. table.concat({
      ('"time": %.0f'):format(stat.time_total), ('"threads": %d'):format(stat.threads_running),
      pair("tps", it.events), '"qps": {' .. table.concat(qps, ", ") .. "}",
      pair("latency", it.latency_ms), pair("errors", it.errors), pair("reconnects", it.reconnects),
   }, ", ") .. "}")
end
