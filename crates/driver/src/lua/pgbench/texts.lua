-- Texts and pgbench's values: what a variable's text means, and a value as SQL reads it.
local values = ...
local ffi = require("ffi")

local NULL, short, fail = values.NULL, values.short, values.fail
local int64, uint64 = ffi.typeof("int64_t"), ffi.typeof("uint64_t")
local type = type
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
local function read(text)
   if text:lower() == "null" then
      return NULL
   end
   local sign, digits = text:match("^%s*([-+]?)(%d+)%s*$")
   if digits then
      return texts.integer(digits, sign == "-") or fail("value out of range: %s", text)
   end
   local truth = truth_of(text)
   if truth ~= nil then
      return truth
   end
   local x = text:match("^%s*[-+.%d]") and tonumber(text)
   if not x then
      fail("not a number: '%s'", text)
   end
   return { x }
end

-- The value of a variable, ready to reckon with.
function texts.read(value)
   if type(value) == "string" then
      return read(value)
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

-- As a text that SQL reads; nil for NULL.
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
   return nil
end

-- A column's or an option's text as a variable holds it; nil is NULL.
function texts.plain(text)
   if text == nil then
      return NULL
   elseif #text <= 15 and (text == "0" or text:find("^-?[1-9]%d*$")) then
      return tonumber(text)
   end
   return text
end

return texts
