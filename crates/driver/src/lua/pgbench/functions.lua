-- Functions of pgbench's expressions, but for those that draw random numbers: name -> {least and
-- most arguments, body}. The driver calls a body with values that are not NULL.
local values, operators, permute, texts = ...
local ffi, bit = require("ffi"), require("bit")

local to_integer, to_double = values.to_integer, values.to_double
local int64, uint64 = ffi.typeof("int64_t"), ffi.typeof("uint64_t")
local MANY = 16

local function real(body)
   return { 1, 1, function(x) return { body(to_double(x)) } end }
end

local function power(x, y)
   return { to_double(x) ^ to_double(y) }
end

-- Of several: a double if one of them is.
local function extreme(is_better)
   return function(...)
      local list, best, has_double = { ... }, nil, false
      for _, value in ipairs(list) do
         has_double = has_double or type(value) == "table"
      end
      for i, value in ipairs(list) do
         value = has_double and { to_double(value) } or to_integer(value)
         if i == 1 or operators[is_better](value, best) then
            best = value
         end
      end
      return best
   end
end

-- ---- hashes -------------------------------------------------------------------------------------

-- Fowler, Noll and Vo's hash 1a of the eight bytes, lowest first, begun from the seed.
local function fnv1a(value, seed)
   local hash = bit.bxor(0xcbf29ce484222325ULL, uint64(seed))
   local rest = uint64(value)
   for _ = 1, 8 do
      hash = bit.bxor(hash, bit.band(rest, 0xff)) * 0x100000001b3ULL
      rest = bit.rshift(rest, 8)
   end
   return values.short(int64(hash))
end

-- Appleby's MurmurHash2 (64A) of the eight bytes.
local function murmur2(value, seed)
   local m, r = 0xc6a4a7935bd1e995ULL, 47
   local k = uint64(value) * m
   k = bit.bxor(k, bit.rshift(k, r)) * m
   local hash = bit.bxor(bit.bxor(uint64(seed), m * 8), k) * m
   hash = bit.bxor(hash, bit.rshift(hash, r)) * m
   return values.short(int64(bit.bxor(hash, bit.rshift(hash, r))))
end

local function hash(body)
   return { 1, 2, function(value, seed)
      return body(int64(to_integer(value)), int64(to_integer(seed)))
   end, seeded = true }
end

return {
   abs = { 1, 1, function(x)
      if type(x) == "table" then
         return { math.abs(x[1]) }
      end
      return operators["<"](x, 0) and operators["-"](0, x) or to_integer(x)
   end },
   debug = { 1, 1, function(x)
      io.stderr:write(("debug: %s %s\n"):format(values.type_of(x), texts.text(x) or "null"))
      return x
   end },
   double = real(function(x) return x end),
   exp = real(math.exp),
   ln = real(math.log),
   sqrt = real(math.sqrt),
   pi = { 0, 0, function() return { math.pi } end },
   pow = { 2, 2, power },
   power = { 2, 2, power },
   int = { 1, 1, to_integer },
   mod = { 2, 2, operators["%"] },
   least = { 1, MANY, extreme("<") },
   greatest = { 1, MANY, extreme(">") },
   hash = hash(murmur2),
   hash_murmur2 = hash(murmur2),
   hash_fnv1a = hash(fnv1a),
   permute = { 2, 3, function(value, size, seed)
      size = int64(to_integer(size))
      if size <= int64(0) then
         values.fail("permute size parameter must be greater than zero")
      end
      return permute(int64(to_integer(value)), size, int64(to_integer(seed)))
   end, seeded = true },
}
