-- dyno.*: what sysbench lacks, and the coroutine in which all of a script runs.
local raw, seat = ...

local co_yield, co_resume, co_create = coroutine.yield, coroutine.resume, coroutine.create

dyno = { engine = seat.engine, dialect = seat.dialect or sysbench.opt.db_driver }

-- A number from 0 on that no other user of the stream is given in this phase.
dyno.turn = raw.turn

-- dyno.rows.KIND{…}: which rows `connection:load` shall make.
dyno.rows = setmetatable({}, {
   __index = function(_, kind)
      return function(rows)
         local wanted = { kind = kind }
         for key, value in pairs(rows or {}) do
            wanted[key] = value
         end
         return wanted
      end
   end,
})

-- ---- waiting for an answer ----------------------------------------------------------------------

-- What is yielded while a request is under way. A script's own coroutines pass it on to the
-- driver's, so that a query may stand in an iterator made by `coroutine.wrap`.
local WAITING = {}

local function passed_on(co, ok, first, ...)
   if ok and first == WAITING then
      return passed_on(co, co_resume(co, co_yield(WAITING)))
   end
   return ok, first, ...
end

function coroutine.resume(co, ...)
   return passed_on(co, co_resume(co, ...))
end

local function or_throw(ok, ...)
   if not ok then
      error((...), 0)
   end
   return ...
end

function coroutine.wrap(body)
   local co = co_create(body)
   return function(...)
      return or_throw(passed_on(co, co_resume(co, ...)))
   end
end

-- Returns the answer as the driver brings it: going to fetch it would cost another crossing.
local function wait()
   local ok, reply = pcall(co_yield, WAITING)
   if not ok then
      raw.drain()
      error("a query cannot wait for its answer while the script loads, or inside table.sort, "
         .. "a gsub callback or require", 5)
   end
   return reply
end

-- Lets the other users of the thread play for so long.
function dyno.sleep(seconds)
   raw.sleep(seconds)
   if not pcall(co_yield, WAITING) then
      error("a script cannot sleep while it loads, or inside table.sort, a gsub callback or "
         .. "require", 2)
   end
end

-- ---- counters and transaction types -------------------------------------------------------------

local index, names, pending, total, dirty = {}, {}, {}, {}, false

-- Adds `n` (1 where absent) to a counter of the script's; kept only if the event ends well.
function dyno.count(name, n)
   local at = index[name]
   if at == nil then
      at = #names + 1
      index[name], names[at], pending[at], total[at] = at, name, 0, 0
   end
   n = tonumber(n or 1)
   if not (n >= 0 and n % 1 == 0) then
      error(("counter %s cannot grow by %s: a whole number is needed"):format(name, n), 2)
   end
   pending[at] = pending[at] + n
   dirty = true
end

local function settle_counters(keep)
   for at = 1, #names do
      if keep then
         total[at] = total[at] + pending[at]
      end
      pending[at] = 0
   end
   dirty = false
end

function raw.counters()
   local counters = {}
   for at, name in ipairs(names) do
      counters[name] = total[at]
   end
   return counters
end

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

-- Names the current event's transaction type.
function dyno.transaction(name)
   transaction = raw.kind(name)
end

-- ---- the driver's coroutine ---------------------------------------------------------------------

-- What `Coroutine` in script/coroutine.rs reads: transaction type of a good event, or one of these.
local ENDED, FAILED = -1, -2
-- What the driver resumes with where it would not begin an event anew.
local GIVE_UP = true

local functions = {}
local tid = seat.number

-- Keeps a function or a declared event to be played; returns its number, or nil: there is none.
function raw.slot(name, is_command)
   local body
   if is_command and sysbench.cmdline.command_defined(name) then
      body = sysbench.cmdline.commands[name][1]
   else
      body = _G[name]
   end
   if type(body) ~= "function" and not raw.is_event(body) then
      return nil
   end
   functions[#functions + 1] = body
   return #functions
end


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

local function fail(thrown)
   settle_counters(false)
   raw.reset()
   raw.report(text_of(thrown), is_restart(thrown))
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

local function begin_anew(thrown)
   settle_counters(false)
   raw.reset()
   local hook = sysbench.hooks.before_restart_event
   if type(hook) ~= "function" then
      return true
   end
   return xpcall(hook, locate, thrown)
end

local function play(body, restarts)
   transaction = 0
   local ok, returned = xpcall(body, locate, tid)
   while not ok do
      if not (restarts and is_restart(returned)) then
         return fail(returned)
      end
      local ready, thrown = begin_anew(returned)
      if not ready then
         return fail(thrown)
      end
      -- Last before the yield: a query of the hook's would overwrite what it waits for.
      raw.restarted()
      if co_yield(WAITING) == GIVE_UP then
         return fail(returned)
      end
      transaction = 0
      ok, returned = xpcall(body, locate, tid)
   end
   if dirty then
      settle_counters(true)
   end
   if returned ~= nil and restarts and is_last(returned) then
      return ENDED
   end
   return transaction
end

-- The coroutine: resumed with a function's number and whether it is an event.
raw.coroutine = co_create(function(slot, is_event)
   while true do
      slot, is_event = co_yield(play(functions[slot], is_event))
   end
end)

-- ---- report hooks -------------------------------------------------------------------------------

local function is_hooked(name)
   return type(sysbench.hooks[name]) == "function"
end

function raw.reports()
   return is_hooked("report_intermediate") or is_hooked("report_cumulative")
end

-- Calls a report hook, where the script set it; false if it failed.
function raw.report_to(name, stat)
   if not is_hooked(name) then
      return true
   end
   local ok, thrown = xpcall(sysbench.hooks[name], locate, stat)
   if not ok then
      raw.report(text_of(thrown), false)
   end
   return ok
end

-- ---- declarations -------------------------------------------------------------------------------

-- Values that a script may give as such or as a function.
function raw.declared(name)
   local value = dyno[name]
   if type(value) == "function" then
      return value()
   end
   return value
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

-- Names of the commands: declared ones, and those that sysbench knows by their function.
function raw.commands()
   local found = {}
   local declared = sysbench.cmdline.commands
   for name in pairs(type(declared) == "table" and declared or {}) do
      found[name] = true
   end
   for _, name in ipairs { "prepare", "cleanup" } do
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

return wait
