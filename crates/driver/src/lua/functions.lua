-- A script's functions: what of it can be played, and the coroutine in which it is: events, errors
-- and restarts.
local raw, identity, counted, requests, loop = ...
local ffi = require("ffi")
local co_yield, WAITING = coroutine.yield, requests.WAITING
local cmdline = sysbench.cmdline

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

function raw.is_parallel(command)
   local parallel = cmdline.command_parallel(command)
   raw.let_go_of_prints(parallel)
   return parallel
end

-- Names of the commands: declared ones, and those that sysbench knows by their function.
function raw.commands()
   local found = {}
   local declared = cmdline.commands
   for name in pairs(type(declared) == "table" and declared or {}) do
      found[name] = true
   end
   for _, name in ipairs { "prepare", "cleanup", "help" } do
      found[name] = found[name] or type(_G[name]) == "function" or nil
   end
   found.run = type(_G.event) == "function" or raw.is_event(_G.event)
      or dyno.phases ~= nil or nil
   local list = {}
   for name in pairs(found) do
      list[#list + 1] = name
   end
   table.sort(list)
   return list
end

-- Functions and commands that a script has, for nearest names.
function raw.function_names()
   local found = raw.commands()
   for name, value in pairs(_G) do
      if (type(value) == "function" or raw.is_event(value)) and not raw.own_globals[name] then
         found[#found + 1] = name
      end
   end
   return found
end

-- Which of these functions are played in Lua.
function raw.list_in_lua(names)
   local list = {}
   for _, name in ipairs(names) do
      if not raw.is_event(_G[name]) then
         list[#list + 1] = name .. "()"
      end
   end
   return list
end

-- ---- what a script threw: where, in words, and whether its event shall begin anew -------------

local function is_restart(thrown)
   return type(thrown) == "table" and thrown.errcode == sysbench.error.RESTART_EVENT
end

local function locate(thrown)
   if not is_restart(thrown) then
      raw.locate()
   end
   return thrown
end

local function text_of(thrown)
   if type(thrown) == "table" then
      local text = thrown.sql_errmsg or thrown.message
      return text and tostring(text) or tostring(thrown)
   end
   return tostring(thrown)
end

-- ---- the coroutine ----------------------------------------------------------------------------

local transaction, known_transactions = 0, {}

function raw.kind(name)
   local known = known_transactions[name]
   if known == nil then
      known = raw.transaction(name)
      known_transactions[name] = known
   end
   return known
end

-- Names the current event's transaction type by its number; 0: it has none.
function raw.name_event(kind)
   transaction = kind > 0 and kind or transaction
end

-- A script's own loop (lua/symbols.lua). `playing`: its `thread_run` is under way; `take_kind`: the
-- transaction type of its event, which the next has not.
function loop.take_kind()
   local kind = transaction
   transaction = 0
   return kind
end

-- Names the current event's transaction type.
function dyno.transaction(name)
   transaction = raw.kind(name)
end

-- What `User::ended` in script/mod.rs reads: transaction type of a good event, or one of these.
local ENDED, FAILED = -1, -2
-- What the driver resumes with where it would not begin an event anew.
local GIVE_UP = true

-- By a function's number: it; the user's number, which commands, `init` and `done` are not told, as
-- in sysbench. By a command's function: its name. By a function: what sysbench calls it where it
-- fails.
local functions, tids, commands, called = {}, {}, {}, {}

function raw.has_own_loop() return false end

-- Keeps a function or a declared event to be played; returns its number, or nil: there is none.
function raw.slot(name, is_command)
   local body
   if is_command and name == "load" then
      body = raw.body
   elseif is_command and sysbench.cmdline.command_defined(name) then
      body = sysbench.cmdline.commands[name][1]
      commands[body], called[body] = name, "sysbench.cmdline.call_command"
   else
      body = _G[name]
   end
   if is_command and name == "help" and body == nil and next(cmdline.options) then
      body = raw.help_text
   end
   if type(body) ~= "function" and not raw.is_event(body) then
      return nil
   end
   local slot = #functions + 1
   functions[slot] = body
   if name ~= "load" then
      called[body] = called[body] or name == "event" and "thread_run" or name
   end
   if not is_command and name ~= "init" and name ~= "done" then
      tids[slot] = identity.number
   end
   return slot
end

local function fail(problem, body)
   counted.settle(false)
   raw.reset()
   raw.report(text_of(problem), is_restart(problem), called[body])
   return FAILED
end

-- Builds a declared event; false if that failed. Numbers of its program and of its transaction
-- type; none of a function.
function raw.declaration(slot)
   local body = functions[slot]
   if not raw.is_event(body) then
      return true
   end
   local ok, program, kind = xpcall(raw.declared_event, locate, body)
   if not ok then
      raw.report(text_of(program), false)
      return false
   end
   return true, program, kind
end

-- A script without phases is sysbench's: any true value ends it. With phases, `false` does.
local function is_last(returned)
   if dyno.phases ~= nil then
      return returned == false
   end
   return returned ~= nil and returned ~= false
end

local function begin_anew(problem)
   counted.settle(false)
   raw.reset()
   local hook = sysbench.hooks.before_restart_event
   if type(hook) ~= "function" then
      return true
   end
   return xpcall(hook, locate, problem)
end

-- `restarts`: it is an event, and may begin anew.
local function run_function(body, restarts, tid)
   transaction = 0
   local ok, returned = xpcall(body, locate, tid)
   while not ok do
      if not (restarts and is_restart(returned)) then
         return fail(returned, body)
      end
      local ready, problem = begin_anew(returned)
      if not ready then
         return fail(problem, body)
      end
      -- Last before the yield: a query of the hook's would overwrite what it waits for.
      raw.restarted()
      if co_yield(WAITING) == GIVE_UP then
         return fail(returned, body)
      end
      transaction = 0
      ok, returned = xpcall(body, locate, tid)
   end
   if counted.dirty then
      counted.settle(true)
   end
   if returned ~= nil then
      if restarts and is_last(returned) then
         return ENDED
      elseif returned == false and commands[body] then
         return fail(("the command %s returned false"):format(commands[body]), body)
      end
   end
   return transaction
end

-- ---- streaks: events that wait for nothing, played without a word to the driver ----------------

-- Between two small events a switch of coroutines would cost as much as they do. Of what a script
-- may declare itself nothing is taken: its `ffi.C.clock_gettime` stays free.
ffi.cdef [[
typedef struct { int64_t s, ns, transaction; } dyno_ended;
int dyno_clock_gettime(int clock, dyno_ended *now) __asm__("clock_gettime");
]]
-- `MOST`: their ends fit a piece that an allocator has at hand (lua/inserts.lua).
local MONOTONIC, MOST = 1, 40
local C, ended, ENDED_BYTES = ffi.C, ffi.new("dyno_ended[?]", MOST), ffi.sizeof("dyno_ended")
local under_way = requests.under_way

local function play(slot, is_event)
   local body = functions[slot]
   if not is_event then
      loop.playing = body == thread_run
   end
   under_way.waited = false
   return run_function(body, is_event, tids[slot])
end

-- Does a streak go on after its event number `at`, which gave `result`? If so it is noted when that
-- ended.
local function goes_on(result, last_ns, at)
   if last_ns == 0 or result < 0 or under_way.waited or at == MOST then
      return false
   end
   local it = ended[at]
   C.dyno_clock_gettime(MONOTONIC, it)
   it.transaction = result
   return tonumber(it.s) * 1e9 + tonumber(it.ns) <= last_ns
end

-- The coroutine: resumed with a function's number, whether it is an event, and `last_ns`. An event
-- that has not waited is followed by others, which begin until `last_ns` (0: none is); of the last
-- one the driver sees itself when it ended.
--
-- There is one loop, and it asks first whether the streak goes on. Recording a turn takes LuaJIT
-- longer than a streak may last, so of a streak's own loop it mostly recorded how that is left, and
-- compiled streaks turn by turn, in 80 to 180 pieces: a row of Debian's `bulk_insert.lua` took up
-- to twice the time. Asked after a query, the clock would be read by the interpreter, since what
-- follows a call of the driver's is not compiled.
raw.coroutine = coroutine.create(function(slot, is_event, last_ns)
   local result, count = play(slot, is_event), 0
   while true do
      if goes_on(result, last_ns, count) then
         count = count + 1
      else
         if count > 0 then
            raw.streak_ended(ffi.string(ended, count * ENDED_BYTES))
            count = 0
         end
         slot, is_event, last_ns = co_yield(result)
      end
      result = play(slot, is_event)
   end
end)

return { locate = locate, text_of = text_of }
