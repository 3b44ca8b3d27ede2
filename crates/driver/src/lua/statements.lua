-- Prepared statements, and the cells whose values every later `execute` of them sends.
local raw, requests, connection = ...
local ffi = require("ffi")
local setmetatable, type, unpack = setmetatable, type, unpack
local floor, ceil = math.floor, math.ceil

-- ---- bind cells -------------------------------------------------------------------------------

local param = {}
param.__index = param
param.__tostring = function() return "<sql_param>" end

local t = sysbench.sql.type
local INTEGER, REAL, TEXT = 1, 2, 3
local kind_of_type = {
   [t.TINYINT] = INTEGER, [t.SMALLINT] = INTEGER, [t.INT] = INTEGER, [t.BIGINT] = INTEGER,
   [t.FLOAT] = REAL, [t.DOUBLE] = REAL,
   [t.TIME] = TEXT, [t.DATE] = TEXT, [t.DATETIME] = TEXT, [t.TIMESTAMP] = TEXT,
   [t.CHAR] = TEXT, [t.VARCHAR] = TEXT,
}

-- A double holds whole numbers up to here; beyond, digits travel as text.
local EXACT = 2 ^ 53

local function integer(value)
   if type(value) == "cdata" then
      local n = tonumber(value)
      if n > -EXACT and n < EXACT then
         return n
      end
      return (tostring(ffi.cast("int64_t", value)):gsub("LL$", ""))
   end
   local n = tonumber(value)
   if n == nil or n ~= n then
      error(("a number was expected, got %s %s"):format(type(value), tostring(value)), 3)
   end
   return n >= 0 and floor(n) or ceil(n)
end

-- Puts a value into the cell; it is sent by every later `execute` of the statements bound to it.
-- Whole-number cells take doubles (cut to whole) and int64 cdata; nil is NULL.
function param:set(value)
   local kind = self.kind
   if value == nil then
      self.value = nil
   elseif kind == INTEGER then
      if type(value) == "number" and value % 1 == 0 then
         self.value = value
      else
         self.value = integer(value)
      end
   elseif kind == REAL then
      self.value = tonumber(value)
   else
      value = tostring(value)
      self.value = self.max_len and #value > self.max_len and value:sub(1, self.max_len) or value
   end
end

-- Fills a text cell from a template: `#` is a digit, `@` a letter from a to z. The text is drawn
-- into the driver's memory, where the cell's number stands for it: Lua would hash it, keep it and
-- collect it. `max_len` cuts texts of Lua's own only, and so do cells beyond a number.
function param:set_rand_str(template)
   if self.kind ~= TEXT then
      error("set_rand_str needs a CHAR or VARCHAR cell", 2)
   end
   if self.template ~= template then
      self.template, self.number = template, raw.text_cell(template, self.number)
   end
   if self.number == nil or self.max_len and #template > self.max_len then
      return self:set(raw.rand_string(template))
   end
   raw.draw_text(self.number)
   self.value = self.number
end

-- `statement:bind_create`: a cell of a type; `max_len` cuts texts.
local function bind_create(_, btype, max_len)
   local kind = kind_of_type[btype]
   if kind == nil then
      error("unsupported type of a bind cell: " .. tostring(btype), 2)
   end
   return setmetatable({ type = btype, kind = kind, max_len = max_len }, param)
end

-- ---- statements -------------------------------------------------------------------------------

local opt = sysbench.opt
local finish, raise = requests.finish, requests.raise

local CLOSED = 2 ^ 31
local statement = { bind_create = bind_create }
statement.__index = statement
statement.__tostring = function() return "<sql_statement>" end

-- `asked`: what its driver is asked when it is executed, as lua/fatal.lua names it.
local function new_statement(con, query, number, asked)
   return setmetatable({ connection = con, params = {}, count = 0, query = query, number = number,
      asked = asked }, statement)
end

function connection:prepare(query)
   if opt.db_ps_mode == "disable" then
      return self:unprepared(query)
   end
   local number = raw.prepare(self.number, query)
   if number == true then
      raise(self, query, "prepare")
   end
   return new_statement(self, query, number, "execute")
end

-- A statement that is sent as text each time: every `?` becomes its value's literal.
function connection:unprepared(query)
   return new_statement(self, query, raw.text(self.number, query), "query")
end

-- A statement that is parsed with its values each time, under no name.
function connection:unnamed(query)
   return new_statement(self, query, raw.unnamed(self.number, query), "execute")
end

function raw.is_statement(value)
   return type(value) == "table" and getmetatable(value) == statement
end

function statement:bind_param(...)
   self.count = select("#", ...)
   self.params, self.values = { ... }, {}
   local kinds = {}
   for i, cell in ipairs(self.params) do
      kinds[i] = cell.kind
   end
   raw.bind(self.number, kinds)
   return true
end

local execute0, execute1, execute2 = raw.execute0, raw.execute1, raw.execute2
local execute4, execute_many = raw.execute4, raw.execute_many

-- Reads the bound cells and sends them with the statement. Returns a result set.
function statement:execute()
   local count, p, number, reply = self.count, self.params, self.number
   if count == 1 then
      reply = execute1(number, p[1].value)
   elseif count == 2 then
      reply = execute2(number, p[1].value, p[2].value)
   elseif count == 0 then
      reply = execute0(number)
   elseif count == 4 then
      reply = execute4(number, p[1].value, p[2].value, p[3].value, p[4].value)
   else
      local values = self.values
      for i = 1, count do
         values[i] = p[i].value
      end
      reply = execute_many(number, unpack(values, 1, count))
   end
   return finish(self.connection, reply, self)
end

-- The next result of its last execution, as `next_result` of a connection.
function statement:next_result()
   return self.connection:next_result()
end

-- Frees it; executed later, it is refused.
function statement:close()
   if self.number ~= CLOSED then
      raw.close(self.number)
      self.number = CLOSED
   end
   return true
end
