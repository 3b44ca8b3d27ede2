-- dyno.rand: sysbench.rand's functions, but each stands for a value that is drawn when its
-- statement is sent (lua/event.lua). To numbers a number may be added.
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
