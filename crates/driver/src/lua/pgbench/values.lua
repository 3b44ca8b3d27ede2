-- Values of pgbench's expression language, their conversions, and what texts mean as values.
--
--   integer   a Lua number below 2^53, which LuaJIT is fast with; beyond, an int64 cdata
--   double    a table of one number: rare in scripts, so it may cost an allocation
--   boolean   a Lua boolean
--   NULL      values.NULL
--   text      a Lua string, of a column or an option: read as one of the above where it is used
local ffi = require("ffi")

local values = {}

-- A value of a type that nothing else here has.
function values.NULL() end

local NULL = values.NULL
local type, floor, ceil, abs, huge = type, math.floor, math.ceil, math.abs, math.huge
local int64, uint64 = ffi.typeof("int64_t"), ffi.typeof("uint64_t")
local EXACT = 2 ^ 53
local LEAST, MOST = int64(-2) ^ 63, int64(2) ^ 62 - 1 + int64(2) ^ 62

local function fail(message, ...)
   error(message:format(...), 0)
end

-- The shortest form of an int64.
local function short(n)
   if n > -EXACT and n < EXACT then
      return tonumber(n)
   end
   return n
end

function values.double(x)
   return { x }
end

local NAMES = { number = "int", cdata = "int", table = "double", boolean = "boolean",
   ["function"] = "null" }

-- What pgbench calls the value's type.
function values.type_of(value)
   return NAMES[type(value)]
end

-- Rounded to the nearest, halves to the even one.
local function rounded(x)
   local low = floor(x)
   local rest = x - low
   if rest > 0.5 or rest == 0.5 and low % 2 == 1 then
      return low + 1
   end
   return low
end

local function to_integer(value)
   local kind = type(value)
   if kind == "number" or kind == "cdata" then
      return value
   elseif kind == "table" then
      local x = rounded(value[1])
      if not (x >= -2 ^ 63 and x < 2 ^ 63) then
         fail("double to int overflow for %f", value[1])
      end
      return abs(x) < EXACT and x + 0 or int64(x)
   end
   return fail("cannot coerce %s to int", values.type_of(value))
end
values.to_integer = to_integer

local function to_double(value)
   local kind = type(value)
   if kind == "number" then
      return value
   elseif kind == "cdata" then
      return tonumber(value)
   elseif kind == "table" then
      return value[1]
   end
   return fail("cannot coerce %s to double", values.type_of(value))
end
values.to_double = to_double

local function to_boolean(value)
   if type(value) == "boolean" then
      return value
   end
   return fail("cannot coerce %s to boolean", values.type_of(value))
end
values.to_boolean = to_boolean

-- Is a condition met? NULL and zero are not true.
function values.is_true(value)
   local kind = type(value)
   if kind == "number" then
      return value ~= 0
   elseif kind == "boolean" then
      return value
   elseif kind == "table" then
      return value[1] ~= 0
   end
   return value ~= NULL
end

values.short, values.fail = short, fail
values.LEAST, values.MOST = LEAST, MOST

-- ---- texts: what a variable's text means, and a value as SQL reads it -------------------------

local texts = {}

-- Digits as an integer; nil where they do not fit. `negative`: of a number below zero.
function texts.integer(digits, negative)
   if #digits <= 15 then
      return (negative and -1 or 1) * tonumber(digits) + 0
   end
   local n = uint64(0)
   for digit in digits:gmatch("%d") do
      local more = n * 10 + tonumber(digit)
      if n > 922337203685477580ULL or more > (negative and 2ULL ^ 63 or 2ULL ^ 63 - 1) then
         return nil
      end
      n = more
   end
   return short(negative and -int64(n) or int64(n))
end

-- Texts that mean true or false: any beginning of some, the whole of others.
local function truth_of(text)
   text = text:lower()
   local function begins(word)
      return text ~= "" and word:sub(1, #text) == text
   end
   if begins("true") or begins("yes") or text == "on" then
      return true
   elseif begins("false") or begins("no") or text == "off" or text == "of" then
      return false
   end
   return nil
end

-- A text as pgbench reads the value of a variable.
local function read(text, name)
   if text:lower() == "null" then
      return NULL
   end
   local sign, digits = text:match("^%s*([-+]?)(%d+)%s*$")
   if digits then
      return texts.integer(digits, sign == "-")
         or fail('value "%s" is out of range for type bigint', text)
   end
   local truth = truth_of(text)
   if truth ~= nil then
      return truth
   end
   local x = text:match("^%s*[-+.%d]") and tonumber(text)
   if not x then
      fail('malformed variable "%s" value: "%s"', name, text)
   end
   return { x }
end

-- May a variable be called so?
function texts.is_name(name)
   return name:find("^[%a_\128-\255][%w_\128-\255]*$") ~= nil
end

-- The value of a variable, ready to reckon with.
function texts.read(value, name)
   if type(value) == "string" then
      return read(value, name)
   end
   return value
end

-- PostgreSQL spells what is no number in words of its own.
local function real(x)
   if x ~= x then
      return "NaN"
   elseif math.abs(x) == math.huge then
      return x > 0 and "Infinity" or "-Infinity"
   end
   return ("%.15g"):format(x)
end

-- As a text that SQL reads.
function texts.text(value)
   local kind = type(value)
   if kind == "string" then
      return value
   elseif kind == "number" then
      return ("%.0f"):format(value)
   elseif kind == "table" then
      return real(value[1])
   elseif kind == "cdata" then
      return (tostring(value):gsub("LL$", ""))
   elseif kind == "boolean" then
      return tostring(value)
   end
   return "NULL"
end

-- A column's or an option's text as a variable holds it.
function texts.plain(text)
   if #text <= 15 and (text == "0" or text:find("^-?[1-9]%d*$")) then
      return tonumber(text)
   end
   return text
end

return values, texts
