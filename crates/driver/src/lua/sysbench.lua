-- The tables of sysbench's own API, as scripts for sysbench 1.0 know it; the other texts here fill
-- them. Written against sysbench's documentation and the calls of scripts from the wild. And how a
-- script's texts are loaded, and what it may not do to the driver.
local raw, identity = ...

-- LuaJIT opens its FFI library when it reads a 64-bit literal such as this, and `require("ffi")`
-- works then. A script could do the same: LuaJIT has no sandbox, and sysbench promises none.
local _ = 0ULL
ffi = require("ffi")

thread_id = identity.number

sysbench = {
   version = "1.0.20",
   version_string = "sysbench 1.0.20",
   tid = identity.number,
   hooks = {},
   error = { NONE = 0, FATAL = 1, RESTART_EVENT = 2, CONTINUE_EVENT = 3 },
}

sysbench.cmdline = {
   command = identity.command ~= "load" and identity.command or nil,
   script_path = identity.path,
   argv = identity.argv,
   commands = {},
   options = {},
   PARALLEL_COMMAND = true,
   ARG_NULL = 0, ARG_BOOL = 1, ARG_INT = 2, ARG_SIZE = 3,
   ARG_DOUBLE = 4, ARG_STRING = 5, ARG_LIST = 6, ARG_FILE = 7, ARG_MAX = 8,
}

if #identity.argv > 0 then
   identity.argv[0] = "sysbench"
end

sysbench.sql = {
   error = { NONE = 0, IGNORABLE = 1, FATAL = 2 },
   type = {
      NONE = 0, TINYINT = 1, SMALLINT = 2, INT = 3, BIGINT = 4, FLOAT = 5, DOUBLE = 6,
      TIME = 7, DATE = 8, DATETIME = 9, TIMESTAMP = 10, CHAR = 11, VARCHAR = 12,
   },
}

-- ---- what a script may not do to the driver ---------------------------------------------------

-- What is printed while the driver looks whether a command is for all users: sysbench's main state
-- loads a script once, and plays such a command itself if it is not.
local held = identity.is_main and identity.command ~= "run" and {} or nil

function raw.let_go_of_prints(shown)
   local texts = held or {}
   held = nil
   io.stderr:write(shown and table.concat(texts) or "")
end

-- stdout carries the driver's events.
function print(...)
   local texts = {}
   for i = 1, select("#", ...) do
      texts[i] = tostring((select(i, ...)))
   end
   local line = table.concat(texts, "\t") .. "\n"
   if held then
      held[#held + 1] = line
   else
      io.stderr:write(line)
   end
end
io.stdout = io.stderr
io.output(io.stderr)

function os.exit(code)
   error(("the script called os.exit(%s)"):format(tostring(code)), 2)
end

debug = debug or { traceback = raw.traceback }

-- ---- how the texts of a script are loaded -----------------------------------------------------

local load_text, load_pieces, load_file = loadstring, load, loadfile

-- What is loaded once a text speaks of one of its words. Rows cost time and garbage, and most
-- scripts of a benchmark read none: they are kept once a text of the script speaks of them. Room
-- for transaction types, too, is made where they are spoken of: before the measured time.
local parts, texts = {
   { words = { "fetch_row" }, load = raw.keep_rows },
   { words = { "dyno%.transaction" }, load = raw.expect_types },
}, {}

function raw.brought_by(words, load)
   parts[#parts + 1] = { words = words, load = load }
end

local function speaks_of(text, words)
   for _, word in ipairs(words) do
      if text:find(word) then
         return true
      end
   end
   return false
end

-- Loads what a text speaks of; the globals that come with it are ours, and not the script's.
function raw.bring(text)
   for at = #parts, 1, -1 do
      if speaks_of(text, parts[at].words) then
         local load, before = table.remove(parts, at).load, {}
         for global in pairs(_G) do
            before[global] = true
         end
         load()
         for global in pairs(_G) do
            raw.own_globals[global] = raw.own_globals[global] or not before[global]
         end
      end
   end
end

-- Does a text of the script speak of something?
function raw.is_in_texts(name)
   for _, text in ipairs(texts) do
      if text:find(name, 1, true) then
         return true
      end
   end
   return false
end

raw.texts = texts

local function see(text)
   texts[#texts + 1] = text
   raw.bring(text)
end

local function chunk(text, name)
   see(text)
   local body, problem = load_text(text:gsub("^#[^\n]*", "", 1), name)
   return body or error(problem, 0)
end

-- Lua's own words that load a text, which is seen before it runs. What a script makes itself, maybe
-- one in each event, is not kept.
function loadstring(text, ...)
   local body, problem = load_text(text, ...)
   if body then
      raw.bring(text)
   end
   return body, problem
end

function load(given, ...)
   if type(given) ~= "function" then
      return loadstring(given, ...)
   end
   local pieces = {}
   local body, problem = load_pieces(function()
      local piece = given()
      pieces[#pieces + 1] = piece
      return piece
   end, ...)
   if body then
      raw.bring(table.concat(pieces))
   end
   return body, problem
end

function loadfile(path, ...)
   local body, problem = load_file(path, ...)
   local handle = body and path and io.open(path, "rb")
   if handle then
      see(handle:read("*a"))
      handle:close()
   end
   return body, problem
end

function dofile(path)
   local body, problem = loadfile(path)
   return (body or error(problem, 0))()
end

-- Runs the script. A first line that begins with `#` is for the shell. Where loading is the command
-- itself, the text is played as one, and may wait for answers.
function raw.run_script(text, name)
   raw.own_globals = {}
   for global in pairs(_G) do
      raw.own_globals[global] = true
   end
   local body = chunk(text, name)
   if identity.command == "load" then
      raw.body = body
   else
      body()
   end
end

-- Where sysbench finds the modules of its scripts, in its order, and between its first and its last
-- the script's own folder. `src/dyno/workloads/__init__.py` knows them, too.
local FOLDERS = { ".", identity.folder, "/usr/local/share/sysbench", "/usr/share/sysbench" }
-- A name that begins with `_` belongs to the script beside it, as those of our own workloads do.
local OWN_FOLDERS = { identity.folder, ".", unpack(FOLDERS, 3) }

-- A chunk is named by its file only, because LuaJIT cuts longer names in its messages.
table.insert(package.loaders, 2, function(module)
   local file, missing = module:gsub("%.", "/") .. ".lua", {}
   for at, folder in ipairs(module:sub(1, 1) == "_" and OWN_FOLDERS or FOLDERS) do
      local path = folder .. "/" .. file
      local handle = io.open(path, "rb")
      if handle ~= nil then
         local text = handle:read("*a")
         handle:close()
         return chunk(text, "@" .. file)
      end
      missing[at] = "\n\tno file '" .. path .. "'"
   end
   raw.keep_rows()
   return raw.stand_ins[module] or table.concat(missing)
end)
