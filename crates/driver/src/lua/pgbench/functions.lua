-- Functions of pgbench's expressions: name -> how many arguments it takes, at least and at most.
-- `seeded`: the last argument is the run's seed where none is given. The driver calls them.
local MANY = 16 -- of all that a function may be given, as in pgbench

local functions = {
   pi = { 0, 0 },
   least = { 1, MANY }, greatest = { 1, MANY },
   hash = { 1, 2, seeded = true },
   hash_murmur2 = { 1, 2, seeded = true },
   hash_fnv1a = { 1, 2, seeded = true },
   permute = { 2, 3, seeded = true },
}
for _, name in ipairs { "abs", "debug", "double", "exp", "int", "ln", "sqrt" } do
   functions[name] = { 1, 1 }
end
for _, name in ipairs { "mod", "pow", "power", "random" } do
   functions[name] = { 2, 2 }
end
for _, name in ipairs { "random_exponential", "random_gaussian", "random_zipfian" } do
   functions[name] = { 3, 3 }
end

return functions, MANY
