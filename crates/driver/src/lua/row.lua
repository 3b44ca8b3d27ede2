-- dyno.row: a table's row as data; `connection:insert` has the driver make as many as are wanted.
local raw, finish, connection, is_random = ...

local row = {}

-- A row of random values (`dyno.rand`), one for each column.
function dyno.row(columns)
   local drawn = {}
   for at, column in ipairs(columns) do
      if not is_random(column) then
         error(("column %d of a row is not one of dyno.rand"):format(at), 2)
      end
      drawn[at] = { draw = column.draw, plus = column.plus }
   end
   return setmetatable({ number = raw.row(drawn) }, row)
end

-- Sends `head` and `count` rows, each drawn anew, as one statement. `given`: literals of columns
-- in front of the drawn ones, alike in all these rows.
function connection:insert(head, count, columns, given)
   if getmetatable(columns) ~= row then
      error("insert needs a row as dyno.row makes it", 2)
   end
   return finish(self, raw.insert(self.number, head, count, columns.number, given or ""), head)
end
