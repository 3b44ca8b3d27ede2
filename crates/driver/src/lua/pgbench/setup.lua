-- The user's own SQL file that makes the tables, and files in pieces with their errors' places.
local raw, seat, pieces = ...

local function read(path)
   local file, problem = io.open(path:sub(1, 1) == "/" and path or seat.folder .. "/" .. path, "rb")
   if file == nil then
      raw.fail("cannot read the setup file: " .. problem, "")
   end
   local text = file:read("*a")
   file:close()
   return text
end

local function pieces_of(text, file)
   local ok, found = pcall(pieces.of, text, dyno.dialect == "mysql")
   if not ok then
      local at, problem = found.at, found[1]
      error(("%s:%d: %s"):format(file, pieces.line_of(text, at), problem), 0)
   end
   return found
end

local function sql_of(parts)
   local sql = {}
   for i, part in ipairs(parts) do
      sql[i] = part.lump or part
   end
   return table.concat(sql)
end

local function play_setup(con)
   local path = sysbench.opt.setup
   for _, piece in ipairs(pieces_of(read(path), path)) do
      if not piece.sql then
         error(("%s:%d: a setup file holds SQL only"):format(path, piece.line), 0)
      end
      con:query(sql_of(piece.sql))
   end
end

return play_setup, pieces_of
