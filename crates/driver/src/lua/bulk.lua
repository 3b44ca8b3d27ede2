-- connection:bulk_insert_*: rows joined to statements.
local connection = ...
local buffer = require("string.buffer")

-- The most bytes of a statement, as in sysbench. A row is copied into a buffer at once: ten
-- thousands of strings kept alive until the statement is made cost more than all else of an event.
local BULK_BYTES = 512 * 1024

function connection:bulk_insert_init(query)
   self.bulk = { head = query, text = buffer.new():put(query), comma = "" }
   return true
end

local function flush(con)
   local bulk = con.bulk
   if bulk.comma ~= "" then
      local query = bulk.text:tostring()
      bulk.text:reset():put(bulk.head)
      bulk.comma = ""
      con:query(query)
   end
end

function connection:bulk_insert_next(row)
   local bulk = self.bulk
   if bulk == nil then
      error("bulk_insert_next without bulk_insert_init", 2)
   end
   if #bulk.text + #row + 1 > BULK_BYTES then
      flush(self)
   end
   bulk.text:put(bulk.comma, row)
   bulk.comma = ","
   return true
end

function connection:bulk_insert_done()
   if self.bulk ~= nil then
      flush(self)
      self.bulk = nil
   end
   return true
end
