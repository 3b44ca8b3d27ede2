-- Operators and functions of pgbench's expressions, as its documentation has them. Integers are
-- reckoned as doubles where the result is exact, as int64 where not, and refused on overflow.
local values = ...
local ffi, bit = require("ffi"), require("bit")

local NULL, short, fail = values.NULL, values.short, values.fail
local to_integer, to_double = values.to_integer, values.to_double
local type, fmod = type, math.fmod
local int64, uint64 = ffi.typeof("int64_t"), ffi.typeof("uint64_t")
local LEAST, MOST = values.LEAST, values.MOST
local EXACT = 2 ^ 53

local operators = {}

-- At 2^53 itself a result may be a rounded one.
local function is_exact(n)
   return n > -EXACT and n < EXACT
end

local function wide_add(a, b)
   a, b = int64(a), int64(b)
   if b > 0 and a > MOST - b or b < 0 and a < LEAST - b then
      fail("bigint add out of range")
   end
   return short(a + b)
end

local function wide_subtract(a, b)
   a, b = int64(a), int64(b)
   if b < 0 and a > MOST + b or b > 0 and a < LEAST + b then
      fail("bigint sub out of range")
   end
   return short(a - b)
end

local function wide_multiply(a, b)
   a, b = int64(a), int64(b)
   local product = a * b
   if a ~= 0 and (a == -1 and b == LEAST or b == -1 and a == LEAST or product / a ~= b) then
      fail("bigint mul out of range")
   end
   return short(product)
end

local function divide(a, b)
   if b == 0 then
      fail("division by zero")
   elseif type(a) == "number" and type(b) == "number" then
      return (a - fmod(a, b)) / b + 0
   end
   a, b = int64(a), int64(b)
   if b == -1 and a == LEAST then
      fail("bigint div out of range")
   end
   return short(a / b)
end

local function modulo(a, b)
   a, b = to_integer(a), to_integer(b)
   if b == 0 then
      fail("division by zero")
   elseif type(a) == "number" and type(b) == "number" then
      return fmod(a, b) + 0
   end
   a, b = int64(a), int64(b)
   return b == -1 and 0 or short(a % b)
end

-- An operator that is reckoned in doubles where one side is a double.
local function arithmetic(exact, wide, real)
   return function(a, b)
      if type(a) == "number" and type(b) == "number" then
         local result = exact(a, b)
         if result ~= nil and is_exact(result) then
            return result
         end
      elseif type(a) == "table" or type(b) == "table" then
         return real(to_double(a), to_double(b))
      end
      return wide(to_integer(a), to_integer(b))
   end
end

local function never() end

operators["+"] = arithmetic(function(a, b) return a + b end, wide_add,
   function(a, b) return { a + b } end)
operators["-"] = arithmetic(function(a, b) return a - b end, wide_subtract,
   function(a, b) return { a - b } end)
operators["*"] = arithmetic(function(a, b) return a * b + 0 end, wide_multiply,
   function(a, b) return { a * b } end)
operators["/"] = arithmetic(never, divide, function(a, b) return { a / b } end)
operators["%"] = modulo

-- Comparisons of two numbers alike; of an int64 with a plain number LuaJIT compares int64s.
local function comparison(holds)
   return function(a, b)
      if type(a) == "table" or type(b) == "table" then
         return holds(to_double(a), to_double(b))
      end
      return holds(to_integer(a), to_integer(b))
   end
end

operators["="] = comparison(function(a, b) return a == b end)
operators["<>"] = comparison(function(a, b) return a ~= b end)
operators["<"] = comparison(function(a, b) return a < b end)
operators["<="] = comparison(function(a, b) return a <= b end)
operators[">"] = comparison(function(a, b) return a > b end)
operators[">="] = comparison(function(a, b) return a >= b end)

local function bitwise(body)
   return function(a, b)
      return short(int64(body(int64(to_integer(a)), to_integer(b))))
   end
end

operators["&"] = bitwise(function(a, b) return bit.band(a, int64(b)) end)
operators["|"] = bitwise(function(a, b) return bit.bor(a, int64(b)) end)
operators["#"] = bitwise(function(a, b) return bit.bxor(a, int64(b)) end)
operators["<<"] = bitwise(function(a, b) return bit.lshift(a, tonumber(b)) end)
operators[">>"] = bitwise(function(a, b) return bit.arshift(a, tonumber(b)) end)

-- All of them answer NULL where an operand is NULL.
for name, body in pairs(operators) do
   operators[name] = function(a, b)
      if a == NULL or b == NULL then
         return NULL
      end
      return body(a, b)
   end
end

return operators
