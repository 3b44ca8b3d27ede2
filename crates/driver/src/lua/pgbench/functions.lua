-- Functions of pgbench's expressions: name -> {least and most arguments, body}. The driver calls a
-- body with values that are not NULL.
local values, texts, operators = ...
local ffi, bit = require("ffi"), require("bit")
local int64, uint64 = ffi.typeof("int64_t"), ffi.typeof("uint64_t")

local to_integer, to_double, fail = values.to_integer, values.to_double, values.fail

-- ---- permute(): pgbench's generator and rounds, so that a seed gives the same permutation ----

-- Vigna's SplitMix64, which seeds, and Blackman and Vigna's xoroshiro128**.
local function generator(seed)
   local state = uint64(seed)
   local function mixed()
      state = state + 0x9e3779b97f4a7c15ULL
      local z = bit.bxor(state, bit.rshift(state, 30)) * 0xbf58476d1ce4e5b9ULL
      z = bit.bxor(z, bit.rshift(z, 27)) * 0x94d049bb133111ebULL
      return bit.bxor(z, bit.rshift(z, 31))
   end
   local words = ffi.new("uint64_t[2]", mixed(), mixed())
   return function()
      local a = words[0]
      local sum, answer = bit.bxor(a, words[1]), bit.rol(a * 5, 7) * 9
      words[0] = bit.bxor(bit.rol(a, 24), sum, bit.lshift(sum, 16))
      words[1] = bit.rol(sum, 37)
      return answer
   end, words
end

local function leftmost_one(n)
   local at = 0
   while n > 1ULL do
      n, at = bit.rshift(n, 1), at + 1
   end
   return at
end

-- A number up to `most`: as many bits as that has, drawn until they fit.
local function drawn(draw, most)
   local shift = 63 - leftmost_one(most)
   local number
   repeat
      number = bit.rshift(draw(), shift)
   until number <= most
   return number
end

local function rotated(v, mask, bits)
   return bit.bor(bit.band(bit.lshift(v, 1), mask), bit.rshift(v, bits - 1))
end

-- Where `value` comes to stand when 0 … size-1 are shuffled: six rounds, each an odd multiple, a
-- mask and a rotation of the lower and of the upper power of two, then an offset.
local function permute(value, size, seed)
   if size < int64(2) then
      return 0
   end
   local draw, v = generator(seed), uint64(value) % uint64(size)
   size = uint64(size)
   local bits = leftmost_one(size)
   local mask = bit.lshift(1ULL, bits) - 1
   local function stirred(half)
      local odd, other = bit.bor(bit.band(draw(), mask), 1ULL), bit.band(draw(), mask)
      if half > mask then
         return half
      end
      return rotated(bit.band(bit.bxor(half * odd, other), mask), mask, bits)
   end
   for _ = 1, 6 do
      v = stirred(v)
      v = size - 1 - stirred(size - 1 - v)
      v = (v + drawn(draw, size - 1)) % size
   end
   return values.short(int64(v))
end

-- ---- functions that draw nothing --------------------------------------------------------------

local MANY = 16 -- of all that a function may be given, as in pgbench

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

local functions = {
   abs = { 1, 1, function(x)
      if type(x) == "table" then
         return { math.abs(x[1]) }
      end
      return operators["<"](x, 0) and operators["-"](0, x) or to_integer(x)
   end },
   debug = { 1, 1, function(x, place)
      local text = x ~= values.NULL and " " .. texts.text(x) or ""
      io.stderr:write(("debug(%s): %s%s\n"):format(place, values.type_of(x), text))
      return x
   end, tells = true },
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

-- ---- random numbers ---------------------------------------------------------------------------

-- Drawn by LuaJIT's own generator: it compiles those, and no calls into the driver. They are seeded
-- from the run's seed before the first event. A client of `dyno pgbench` draws pgbench's numbers.

local random, floor, exp, log = math.random, math.floor, math.exp, math.log
local WIDEST = 2 ^ 51
local stream

-- pgbench gives each client the seed that it draws next, and the run's hashes the one after all
-- clients'. Returns that, and the words that are the stream's state.
local function client_stream(seed, number, clients)
   local draw, own, words = generator(int64(seed)), nil, nil
   for client = 0, clients - 1 do
      local its = draw()
      if client == number then
         own, words = generator(its)
      end
   end
   stream = own
   return values.short(int64(draw())), words
end

-- In [0, 1), of 52 bits.
local function fraction()
   return stream and tonumber(bit.rshift(stream(), 12)) * 2 ^ -52 or random()
end

-- How far a draw is shifted for so many bits, by the range that it is to fit.
local shifts = setmetatable({}, { __index = function(known, range)
   known[range] = 63 - leftmost_one(uint64(range))
   return known[range]
end })

local function of_stream(low, range)
   if range == 0 then
      return low
   end
   local shift, offset = shifts[range], nil
   repeat
      offset = tonumber(bit.rshift(stream(), shift))
   until offset <= range
   return low + offset
end

local function word()
   return uint64(random(0, 2 ^ 32 - 1))
end

local function wide(low, high)
   local range, drawn = uint64(int64(high) - int64(low)), nil
   local mask = range
   for _, shift in ipairs { 1, 2, 4, 8, 16, 32 } do
      mask = bit.bor(mask, bit.rshift(mask, shift))
   end
   repeat
      drawn = bit.band(bit.lshift(word(), 32) + word(), mask)
   until drawn <= range
   return values.short(int64(low) + int64(drawn))
end

-- The bounds as integers, and how many numbers lie between them.
local function bounds(low, high)
   low, high = to_integer(low), to_integer(high)
   if low > high then
      fail("empty range given to random")
   end
   if type(low) == "number" and type(high) == "number" then
      return low, high, high - low + 1
   end
   local count = int64(high) - int64(low)
   if count < int64(0) or count == values.MOST then
      fail("random range is too large")
   end
   return low, high, tonumber(count) + 1
end

local function uniform(low, high)
   if type(low) == "number" and type(high) == "number" and low <= high
      and high - low < WIDEST then
      return stream and of_stream(low, high - low) or random(low, high)
   end
   low, high = bounds(low, high)
   if stream then
      local range = uint64(int64(high) - int64(low))
      return values.short(int64(low) + int64(range == 0ULL and range or drawn(stream, range)))
   end
   return wide(low, high)
end

-- So many above the lowest.
local function placed(low, offset)
   if type(low) == "number" and offset + low < 2 ^ 53 then
      return low + offset
   end
   return values.short(int64(low) + int64(offset))
end

local function exponential(low, high, parameter)
   local count
   low, high, count = bounds(low, high)
   local cut = exp(-parameter)
   return placed(low, floor(count * (-log(cut + (1 - cut) * (1 - fraction())) / parameter)))
end

-- Box and Muller's normal numbers, drawn until one lies within the parameter.
local function gaussian(low, high, parameter)
   local count, deviation
   low, high, count = bounds(low, high)
   repeat
      deviation = math.sqrt(-2 * log(1 - fraction())) * math.sin(2 * math.pi * (1 - fraction()))
   until deviation >= -parameter and deviation < parameter
   return placed(low, floor(count * ((deviation + parameter) / (parameter * 2))))
end

-- Devroye's rejection (Non-Uniform Random Variate Generation, 1986, page 550).
local function zipfian(low, high, s)
   local count
   low, high, count = bounds(low, high)
   if count <= 1 then
      return low
   end
   local b, x, t = 2 ^ (s - 1), nil, nil
   repeat
      x = floor((stream and fraction() or 1 - random()) ^ (-1 / (s - 1)))
      t = (1 + 1 / x) ^ (s - 1)
   until fraction() * x * (t - 1) / (b - 1) <= t / b and x <= count
   return placed(low, x - 1)
end

local function shaped(body, is_shape, message)
   return { 3, 3, function(low, high, parameter)
      parameter = to_double(parameter)
      if not is_shape(parameter) then
         fail(message, parameter)
      end
      return body(low, high, parameter)
   end }
end

functions.random = { 2, 2, uniform }
functions.random_exponential = shaped(exponential, function(x) return x > 0 end,
      "exponential parameter must be greater than zero (not %f)")
functions.random_gaussian = shaped(gaussian, function(x) return x >= 2 end,
      "gaussian parameter must be at least 2.000000 (not %f)")
functions.random_zipfian = shaped(zipfian, function(x) return x >= 1.001 and x <= 1000 end,
      "zipfian parameter must be in range [1.001, 1000] (not %f)")

-- A whole 64-bit number that a seed stands for.
local function seed_from(seed)
   return values.short(int64(generator(int64(seed))()))
end

return functions, MANY, seed_from, client_stream
