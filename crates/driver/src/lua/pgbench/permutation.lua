-- pgbench's permute(): its generator, its rounds, so that the same seed gives the same permutation.
local values = ...
local ffi, bit = require("ffi"), require("bit")

local int64, uint64 = ffi.typeof("int64_t"), ffi.typeof("uint64_t")

-- Vigna's SplitMix64, which seeds, and Blackman and Vigna's xoroshiro128**.
local function generator(seed)
   local state = uint64(seed)
   local function mixed()
      state = state + 0x9e3779b97f4a7c15ULL
      local z = bit.bxor(state, bit.rshift(state, 30)) * 0xbf58476d1ce4e5b9ULL
      z = bit.bxor(z, bit.rshift(z, 27)) * 0x94d049bb133111ebULL
      return bit.bxor(z, bit.rshift(z, 31))
   end
   local a, b = mixed(), mixed()
   return function()
      local sum, answer = bit.bxor(a, b), bit.rol(a * 5, 7) * 9
      a = bit.bxor(bit.rol(a, 24), sum, bit.lshift(sum, 16))
      b = bit.rol(sum, 37)
      return answer
   end
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

return permute
