-- sysbench's C types and functions, as scripts use them by `ffi`. The types are declared, so that a
-- script's own `ffi.cdef` may speak of them; the functions are these: `ffi.C` is looked up here
-- before it is looked up in the driver's program.
local raw, requests, counted, C, loop = ...
local ffi = require("ffi")

ffi.cdef [[
typedef enum { SB_CNT_OTHER, SB_CNT_READ, SB_CNT_WRITE, SB_CNT_TRX, SB_CNT_ERROR, SB_CNT_RECONNECT,
   SB_CNT_MAX } sb_counter_type;
typedef enum { DB_ERROR_NONE, DB_ERROR_IGNORABLE, DB_ERROR_FATAL } sql_error_t;
typedef enum { SQL_TYPE_NONE, SQL_TYPE_TINYINT, SQL_TYPE_SMALLINT, SQL_TYPE_INT, SQL_TYPE_BIGINT,
   SQL_TYPE_FLOAT, SQL_TYPE_DOUBLE, SQL_TYPE_TIME, SQL_TYPE_DATE, SQL_TYPE_DATETIME,
   SQL_TYPE_TIMESTAMP, SQL_TYPE_CHAR, SQL_TYPE_VARCHAR } sql_bind_type_t;
typedef enum { SB_ARG_TYPE_NULL, SB_ARG_TYPE_BOOL, SB_ARG_TYPE_INT, SB_ARG_TYPE_SIZE,
   SB_ARG_TYPE_DOUBLE, SB_ARG_TYPE_STRING, SB_ARG_TYPE_LIST, SB_ARG_TYPE_FILE, SB_ARG_TYPE_MAX
   } sb_arg_type_t;
typedef struct sql_driver sql_driver;
typedef struct sql_connection sql_connection;
typedef struct sql_statement sql_statement;
typedef struct sql_result sql_result;
typedef struct sql_row sql_row;
typedef struct sql_value sql_value;
typedef struct sql_bind sql_bind;
typedef struct histogram sb_histogram_t;
]]

-- ---- a script's own loop ----------------------------------------------------------------------

-- As `ask` in script/api/pauses.rs reads them.
local MORE, START, STOP = 1, 2, 3

local function ask(name, what, kind)
   if not loop.playing then
      error(("ffi.C.%s is for a script's own thread_run: event() is begun and ended by the "
         .. "driver"):format(name), 3)
   end
   raw.ask(what, kind or 0)
   return requests.wait()
end

function C.sb_more_events()
   return ask("sb_more_events", MORE)
end

function C.sb_event_start()
   ask("sb_event_start", START)
end

function C.sb_event_stop()
   if counted.dirty then
      counted.settle(true)
   end
   ask("sb_event_stop", STOP, loop.playing and loop.take_kind())
end

-- The loop of a script that has none: sysbench's, for scripts that wrap it.
function thread_run(thread_id)
   while C.sb_more_events(thread_id) do
      C.sb_event_start(thread_id)
      local ok, problem = pcall(event, thread_id)
      while not ok do
         if type(problem) ~= "table" or problem.errcode ~= sysbench.error.RESTART_EVENT then
            error(problem, 0)
         end
         if sysbench.hooks.before_restart_event then
            sysbench.hooks.before_restart_event(problem)
         end
         ok, problem = pcall(event, thread_id)
      end
      if problem then
         return
      end
      C.sb_event_stop(thread_id)
   end
end

local default_loop = thread_run

-- Has the script a loop of its own? One with phases has streams instead.
function raw.has_own_loop()
   return dyno.phases == nil and type(thread_run) == "function" and thread_run ~= default_loop
end

-- ---- counters and random numbers --------------------------------------------------------------

function C.sb_counter_inc(_, kind)
   if not raw.count_event(tonumber(kind)) then
      error("ffi.C.sb_counter_inc counts no events (sb_event_stop does), and no type "
         .. tostring(kind), 2)
   end
end

for _, name in ipairs { "default", "uniform", "gaussian", "special", "pareto", "zipfian", "unique",
   "uniform_double", "uniform_uint64" } do
   C["sb_rand_" .. name] = sysbench.rand[name]
end

-- Fills memory from a template, as many bytes as that has.
function C.sb_rand_str(template, memory)
   local text = raw.rand_string(type(template) == "cdata" and ffi.string(template) or template)
   ffi.copy(memory, text, #text)
end

-- ---- all others -------------------------------------------------------------------------------

local real = ffi.C

-- sysbench's functions that are not here have their word in `sysbench.sql`, or none.
local function symbol(_, name)
   if name:find("^sb_") or name:find("^db_") or name:find("^log_") then
      local text = "ffi.C.%s is not known here: docs/guides/sysbench/ffi.md lists what is"
      error(text:format(name), 2)
   end
   return real[name]
end

ffi.C = setmetatable(C, {
   __index = symbol,
   __newindex = function(_, name, value) real[name] = value end,
})
