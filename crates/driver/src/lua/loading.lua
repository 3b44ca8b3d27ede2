-- How the texts of a script are loaded.
local raw, seat = ...

-- Rows cost time and garbage, and most scripts of a benchmark read none: they are kept once a text
-- of the script speaks of them, or may load a text that is not seen here.
local READERS = { "fetch_row", "loadstring", "loadfile", "dofile", "%f[%w_]load%s*%(" }

local function chunk(text, name)
   for _, word in ipairs(READERS) do
      if text:find(word) then
         raw.keep_rows()
      end
   end
   local body, problem = loadstring(text:gsub("^#[^\n]*", "", 1), name)
   return body or error(problem, 0)
end

-- Runs the script. A first line that begins with `#` is for the shell.
function raw.run_script(text, name)
   raw.own_globals = {}
   for global in pairs(_G) do
      raw.own_globals[global] = true
   end
   chunk(text, name)()
end

-- `require` looks into the script's folder first; a chunk is named by its file only, because
-- LuaJIT cuts longer names in its messages.
table.insert(package.loaders, 2, function(module)
   local file = module:gsub("%.", "/") .. ".lua"
   local handle = io.open(seat.folder .. "/" .. file, "rb")
   if handle == nil then
      raw.keep_rows()
      return "\n\tno file '" .. seat.folder .. "/" .. file .. "'"
   end
   local text = handle:read("*a")
   handle:close()
   return chunk(text, "@" .. file)
end)
