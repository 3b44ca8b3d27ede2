-- Bulk inserts: rows joined to statements of at most so many bytes, as sysbench does.
local raw, finish, connection = ...
local buffer = require("string.buffer")

local STATEMENT_BYTES = 512 * 1024

-- Rows wait here for so many bytes, so that few of them cross over to the driver (script/bulk.rs).
local PIECE_BYTES = 8 * 1024

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
