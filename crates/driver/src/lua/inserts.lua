-- Rows of inserts: sysbench's bulk inserts, and rows that the driver draws itself (`dyno.row`).
local raw, finish, connection, is_random = ...
local buffer = require("string.buffer")

-- ---- bulk inserts: rows joined to statements of at most so many bytes, as in sysbench ---------

local STATEMENT_BYTES = 512 * 1024
-- Rows are handed on in pieces that an allocator has at hand: larger ones have it tidy up.
local PIECE_BYTES = 800

function connection:bulk_insert_init(query)
   raw.bulk_begin(self.number, query)
   self.bulk = { head = query, bytes = #query, piece = buffer.new(), comma = "" }
   return true
end

local function flush(con)
   local bulk = con.bulk
   if bulk.comma ~= "" then
      raw.bulk_rows(con.number, bulk.piece:get())
      bulk.bytes, bulk.comma = #bulk.head, ""
      finish(con, raw.bulk_send(con.number), bulk.head)
   end
end

function connection:bulk_insert_next(row)
   local bulk = self.bulk
   if bulk == nil then
      error("bulk_insert_next without bulk_insert_init", 2)
   end
   if bulk.bytes + #row + 1 > STATEMENT_BYTES then
      flush(self)
   end
   local piece = bulk.piece:put(bulk.comma, row)
   bulk.bytes, bulk.comma = bulk.bytes + #bulk.comma + #row, ","
   if #piece > PIECE_BYTES then
      raw.bulk_rows(self.number, piece:get())
   end
   return true
end

function connection:bulk_insert_done()
   if self.bulk ~= nil then
      flush(self)
      self.bulk = nil
   end
   return true
end

-- ---- dyno.row: a table's row as data ----------------------------------------------------------

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
