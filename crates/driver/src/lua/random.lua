-- Random values: sysbench.rand draws at once from the driver's reproducible streams; dyno.rand has
-- the same functions, but each stands for a value that is drawn when its statement is sent
-- (lua/event.lua).
local raw = ...

sysbench.rand = {
   default = raw.rand_default,
   uniform = raw.rand_uniform,
   gaussian = raw.rand_gaussian,
   special = raw.rand_special,
   pareto = raw.rand_pareto,
   zipfian = raw.rand_zipfian,
   unique = raw.rand_unique,
   string = raw.rand_string,
   varstring = raw.rand_varstring,
   uniform_double = raw.rand_uniform_double,
}

function sysbench.rand.uniform_uint64()
   return ffi.cast("uint64_t", raw.rand_uint32()) * 4294967296ULL + raw.rand_uint32()
end

sb_rand = sysbench.rand.default
sb_rand_uniform = sysbench.rand.uniform
sb_rand_gaussian = sysbench.rand.gaussian
sb_rand_special = sysbench.rand.special
sb_rand_pareto = sysbench.rand.pareto
sb_rand_zipfian = sysbench.rand.zipfian
sb_rand_str = sysbench.rand.string

-- From a to b: each user of the stream has its share of this range, and no number of it twice
-- before it has had all.
function sb_rand_uniq(a, b)
   if a == nil and b == nil then
      return raw.rand_unique()
   end
   return raw.rand_unique_in(a or 0, b or 4294967295)
end

function sb_rnd()
   return raw.rand_uint32()
end

-- ---- dyno.rand: to its numbers a number may be added ------------------------------------------

dyno.rand = {}

local number, text = {}, {}

function number.__add(a, b)
   if type(a) == "number" then
      a, b = b, a
   end
   if type(b) ~= "number" then
      error("only a number can be added to a random number", 2)
   end
   return setmetatable({ draw = a.draw, plus = a.plus + b }, number)
end

function number.__sub(a, b)
   if type(b) ~= "number" then
      error("only a number can be taken from a random number", 2)
   end
   return a + -b
end

local function drawing(name, kind)
   dyno.rand[name] = function(...)
      return setmetatable({ draw = { [name] = { ... } }, plus = 0 }, kind)
   end
end

for _, name in ipairs { "default", "uniform", "gaussian", "special", "pareto", "zipfian",
   "unique", "uniform_double" } do
   drawing(name, number)
end
drawing("varstring", text)

-- Not one of sysbench.rand: `least` to `most` letters, `percent` of them random, the rest alike.
drawing("compressible", text)

function dyno.rand.string(template)
   return setmetatable({ draw = { string = template }, plus = 0 }, text)
end

local choice = {}

-- One of several items of an event, drawn at random, all alike.
function dyno.one_of(items)
   return #items == 1 and items[1] or setmetatable(items, choice)
end

local function is_random(value)
   local kind = type(value) == "table" and getmetatable(value)
   return kind == number or kind == text
end

local function is_choice(item)
   return getmetatable(item) == choice
end

return is_random, is_choice
