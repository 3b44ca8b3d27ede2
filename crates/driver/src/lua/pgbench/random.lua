-- pgbench's random numbers, drawn by LuaJIT's own generator: it compiles those, and no calls into
-- the driver. They are seeded from the run's seed before the first event.
local values = ...
local ffi, bit = require("ffi"), require("bit")

local to_integer, to_double, fail = values.to_integer, values.to_double, values.fail
local random, floor, exp, log = math.random, math.floor, math.exp, math.log
local int64, uint64 = ffi.typeof("int64_t"), ffi.typeof("uint64_t")
local WIDEST = 2 ^ 51

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
      return random(low, high)
   end
   low, high = bounds(low, high)
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
   return placed(low, floor(count * -log(cut + (1 - cut) * (1 - random())) / parameter))
end

-- Box and Muller's normal numbers, drawn until one lies within the parameter.
local function gaussian(low, high, parameter)
   local count, deviation
   low, high, count = bounds(low, high)
   repeat
      deviation = math.sqrt(-2 * log(1 - random())) * math.sin(2 * math.pi * random())
   until deviation >= -parameter and deviation < parameter
   return placed(low, floor(count * (deviation + parameter) / (2 * parameter)))
end

-- Devroye's rejection (Non-Uniform Random Variate Generation, 1986, page 550).
local function zipfian(low, high, s)
   local count
   low, high, count = bounds(low, high)
   local b, x, t = 2 ^ (s - 1), nil, nil
   repeat
      x = floor((1 - random()) ^ (-1 / (s - 1)))
      t = (1 + 1 / x) ^ (s - 1)
   until random() * x * (t - 1) / (b - 1) <= t / b and x <= count
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

return {
   random = { 2, 2, uniform },
   random_exponential = shaped(exponential, function(x) return x > 0 end,
      "exponential parameter must be greater than zero (not %f)"),
   random_gaussian = shaped(gaussian, function(x) return x >= 2 end,
      "gaussian parameter must be at least 2.000000 (not %f)"),
   random_zipfian = shaped(zipfian, function(x) return x >= 1.001 and x <= 1000 end,
      "zipfian parameter must be in range [1.001, 1000] (not %f)"),
}
