-- dyno.*: what sysbench lacks.
local raw, seat = ...

dyno = { engine = seat.engine, dialect = seat.dialect or sysbench.opt.db_driver }

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
