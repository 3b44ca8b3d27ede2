-- Values of pgbench's expression language, and its operators on them.
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
return values
