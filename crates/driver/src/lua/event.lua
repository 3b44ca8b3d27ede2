-- dyno.event: an event as data, which the driver plays without a step of Lua.
local raw, wait, raise, is_random, is_choice = ...

local steps = {}
steps.__index = steps

function steps:add(step)
   self.list[#self.list + 1] = step
   return step
end

-- The register of a random value. What an item has drawn is known by `drawn`.
function steps:register(draw, drawn)
   if drawn[draw] == nil then
      drawn[draw] = self.registers
      self.registers = self.registers + 1
      self:add { draw = { register = drawn[draw], draw = draw } }
   end
   return drawn[draw]
end

function steps:counter(name)
   for at, known in ipairs(self.counters) do
      if known == name then
         return at - 1
      end
   end
   self.counters[#self.counters + 1] = name
   return #self.counters - 1
end

-- What a statement counts may hang on what it sends, so nothing is drawn here.
function steps:counts(counts, drawn)
   local list = {}
   for name, each in pairs(counts or {}) do
      local register = is_random(each) and drawn[each.draw] or nil
      if register == nil and type(each) ~= "number" then
         error("a counter of a declared statement grows by a number or by what it sends", 0)
      end
      list[#list + 1] = { counter = self:counter(name), register = register,
         plus = register and each.plus or each }
   end
   return list
end

-- `writes`: names of `dyno.written` with the places of a key and of its value.
local function list_writes(item)
   local list = {}
   for _, each in ipairs(item.writes or {}) do
      list[#list + 1] = { column = each[1].column, key = each.key - 1, value = each.value - 1 }
   end
   return list
end

function steps:send(item, drawn)
   local values, filled, statement = {}, {}, item[1]
   for at = 2, #item do
      local value = item[at]
      if is_random(value) then
         filled[#filled + 1] = { at = at - 2, register = self:register(value.draw, drawn),
            plus = value.plus }
         value = 0 -- until it is drawn
      elseif type(value) ~= "number" and type(value) ~= "string" then
         error(("a declared statement cannot send a %s"):format(type(value)), 0)
      end
      values[at - 1] = value
   end
   self.statements[statement.number] = statement
   self:add { send = { statement = statement.number, values = values, drawn = filled,
      counts = self:counts(item.counts, drawn), changes = item.changes,
      writes = list_writes(item) } }
end

function steps:choose(items)
   local targets, ends = {}, {}
   self:add { choose = { targets = targets } }
   for i, item in ipairs(items) do
      targets[i] = #self.list
      self:item(item, {})
      ends[i] = self:add({ jump = {} }).jump
   end
   for _, jump in ipairs(ends) do
      jump.to = #self.list
   end
end

function steps:once(item, drawn)
   if is_choice(item) then
      self:choose(item)
   elseif raw.is_statement(item[1]) then
      self:send(item, drawn)
   else
      for _, part in ipairs(item) do
         self:item(part, drawn)
      end
   end
end

function steps:item(item, drawn)
   if type(item) ~= "table" or #item == 0 then
      error("an item of a declared event is a statement with its values, or a list of items", 0)
   elseif item.times == nil then
      self:once(item, drawn)
   elseif item.times >= 1 then
      local from = #self.list
      self:once(item, {})
      self:add { ["repeat"] = { from = from, times = item.times, played = 0 } }
   end
end

local event = {}

function raw.is_event(value)
   return type(value) == "table" and getmetatable(value) == event
end

-- Declares an event by a function that returns it as data, and that each user calls once: after
-- `thread_init`, or when the event is first called. It is a list of items, played in order. An item
-- is a prepared statement with its values, or a list of items. A random value is drawn anew each
-- time that its item of the list is played, and is the same wherever it stands in that.
-- docs/guides/lua/events.md lists the further words: times, counts, changes, writes, atomic,
-- transaction.
function dyno.event(declare)
   return setmetatable({ declare = declare }, event)
end

local function build(it)
   local items = it.declare()
   if type(items) ~= "table" then
      error("a declared event is a list of items, not a " .. type(items), 0)
   end
   local built = setmetatable({ list = {}, registers = 0, counters = {}, statements = {} }, steps)
   for _, item in ipairs(items) do
      built:item(item, {})
   end
   it.statements = built.statements
   it.kind = items.transaction and raw.kind(items.transaction) or 0
   it.program = raw.declare { steps = built.list, counters = built.counters,
      atomic = items.atomic or false }
end

function raw.declared_event(it)
   if it.program == nil then
      build(it)
   end
   return it.program, it.kind
end

-- Called as a function, it is a part of the event under way.
function event.__call(it)
   local reply = raw.run_declared((raw.declared_event(it)))
   while reply == false do
      reply = wait()
   end
   if reply == true then
      local statement = it.statements[raw.failed_statement()]
      local throw = it.raise or raise
      throw(statement.connection, statement)
   end
   raw.name_event(it.kind)
end
