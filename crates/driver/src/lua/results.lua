-- Result sets. A request answers a number (rows changed; below 0: columns and rows that nobody will
-- read) or a string (packed rows).
local ffi = require("ffi")
local setmetatable, type, floor = setmetatable, type, math.floor

-- Packed rows: columns, rows, the end of each field (all uint32), then the fields' bytes. The
-- string is the result set's own, so its rows outlive the next query, and nothing is unpacked
-- before somebody reads.
local HEADER = 8
local NULL = 0xffffffff
local words = ffi.typeof("const uint32_t *")

local result = {}
local lazy = {
   nfields = function(self) return ffi.cast(words, self[1])[0] end,
   nrows = function(self) return ffi.cast(words, self[1])[1] end,
}
local result_mt = {
   __index = function(self, key)
      return result[key] or (lazy[key] and lazy[key](self))
   end,
   __tostring = function() return "<sql_result>" end,
}

-- The next row as an array of strings, nil for NULL; nil after the last.
function result:fetch_row()
   local packed = self[1]
   if packed == nil then
      if self.nfields > 0 and self.nrows > 0 then
         error("these rows were not kept, because no text of the script says fetch_row", 2)
      end
      return nil
   end
   local head = ffi.cast(words, packed)
   local columns, at = head[0], self.at or 0
   if at >= columns * head[1] then
      return nil
   end
   local base = HEADER + 4 * columns * head[1]
   local start, row = self.start or 0, {}
   for column = 1, columns do
      local stop = head[2 + at]
      if stop ~= NULL then
         row[column] = packed:sub(base + start + 1, base + stop)
         start = stop
      end
      at = at + 1
   end
   self.at, self.start = at, start
   return row
end

function result:free()
   return true
end

local TWO_TO_THE_32 = 2 ^ 32

-- Answers without rows differ in few numbers only, so one object serves all that are alike.
local without_rows = setmetatable({}, {
   __index = function(known, reply)
      local rs = { nrows = reply, nfields = 0 }
      if reply < 0 then
         local counts = -reply - 1
         rs.nrows, rs.nfields = counts % TWO_TO_THE_32, floor(counts / TWO_TO_THE_32)
      end
      setmetatable(rs, result_mt)
      if rs.nrows < 1000 then
         known[reply] = rs
      end
      return rs
   end,
})

-- The result set of a request's answer.
return function(reply)
   if type(reply) == "number" then
      return without_rows[reply]
   end
   return setmetatable({ reply }, result_mt)
end
