-- dyno.count: the script's own counters.
local raw = ...

local index, names, pending, total = {}, {}, {}, {}

-- `dirty`: the event under way has counted something.
local counted = { dirty = false }

-- Adds `n` (1 where absent) to a counter of the script's; kept only if the event ends well.
function dyno.count(name, n)
   local at = index[name]
   if at == nil then
      at = #names + 1
      index[name], names[at], pending[at], total[at] = at, name, 0, 0
   end
   n = tonumber(n or 1)
   if not (n >= 0 and n % 1 == 0) then
      error(("counter %s cannot grow by %s: a whole number is needed"):format(name, n), 2)
   end
   pending[at] = pending[at] + n
   counted.dirty = true
end

-- Keeps what the event counted, or forgets it.
function counted.settle(keep)
   for at = 1, #names do
      if keep then
         total[at] = total[at] + pending[at]
      end
      pending[at] = 0
   end
   counted.dirty = false
end

function raw.counters()
   local counters = {}
   for at, name in ipairs(names) do
      counters[name] = total[at]
   end
   return counters
end

return counted
