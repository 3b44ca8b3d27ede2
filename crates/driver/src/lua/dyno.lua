-- dyno.*: what sysbench lacks; the script's own counters (`dyno.count`).
local raw, identity = ...

dyno = { engine = identity.engine, dialect = identity.dialect or sysbench.opt.db_driver }

-- A number from 0 on that no other user of the stream is given in this phase.
dyno.turn = raw.turn

-- dyno.rows.KIND{…}: which rows `connection:load` shall make.
dyno.rows = setmetatable({}, {
   __index = function(_, kind)
      return function(rows)
         local wanted = { kind = kind }
         for key, value in pairs(rows or {}) do
            wanted[key] = value
         end
         return wanted
      end
   end,
})

-- Values that a script may give as such or as a function.
function raw.declared(name)
   local value = dyno[name]
   if type(value) == "function" then
      return value()
   end
   return value
end

-- ---- values written ----------------------------------------------------------------------------

local written = {}
written.__index = written

-- Samples what is written under the keys 1, 1 + every, 1 + 2 * every, … (256 at most), so that a
-- ledger's entry of that name can hold what the engine holds against what was written last.
function dyno.written(name, every)
   if not (every >= 1 and every % 1 == 0) then
      error(("keys of %s cannot be sampled by %s: a whole number is needed"):format(name, every), 2)
   end
   return setmetatable({ column = raw.written_column(name, every), every = every }, written)
end

-- To be called before the value is sent, and before the transaction begins in which it is; kept if
-- the event ends well.
function written:note(key, value)
   if (key - 1) % self.every == 0 then
      raw.write(self.column, key, value)
   end
end

-- ---- counters ---------------------------------------------------------------------------------

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
