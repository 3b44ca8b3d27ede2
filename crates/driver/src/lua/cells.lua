-- Bind cells: values that every later `execute` of the statements bound to them sends.
local raw = ...
local ffi = require("ffi")
local setmetatable, type, floor, ceil = setmetatable, type, math.floor, math.ceil

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

-- Fills a text cell from a template: `#` is a digit, `@` a letter from a to z.
function param:set_rand_str(template)
   if self.kind ~= TEXT then
      error("set_rand_str needs a CHAR or VARCHAR cell", 2)
   end
   self:set(raw.rand_string(template))
end

-- `statement:bind_create`: a cell of a type; `max_len` cuts texts.
return function(_, btype, max_len)
   local kind = kind_of_type[btype]
   if kind == nil then
      error("unsupported type of a bind cell: " .. tostring(btype), 2)
   end
   return setmetatable({ type = btype, kind = kind, max_len = max_len }, param)
end
