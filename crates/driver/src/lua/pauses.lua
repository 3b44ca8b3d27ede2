-- What would stop all users of a thread gives way to them: sleeping, and waiting for programs.
local raw, pause = ...
local ffi = require("ffi")

-- Rests for so long. Where nobody else could play (while a script loads), the thread rests too.
local function rest(seconds)
   if not pause(seconds) then
      raw.nap(seconds)
   end
end

-- A program is asked whether it has ended as often as its age allows: a short one is not kept
-- waiting, a long one costs nothing.
local SHORTEST_S, LONGEST_S = 0.0005, 0.05

local function wait_for(child)
   local pause = SHORTEST_S
   while true do
      local status, said = raw.ended(child)
      if status ~= nil then
         return status, said
      end
      rest(pause)
      pause = math.min(pause * 1.25, LONGEST_S)
   end
end

-- Runs a command in a shell. Its status is that of C's `system`: 256 times its exit code.
function os.execute(command)
   if command == nil then
      return 1
   end
   return (wait_for(raw.spawn(command, false)))
end

-- What a command prints.
function raw.output_of(command)
   local _, said = wait_for(raw.spawn(command, true))
   return said
end

-- ---- the C library's own ----------------------------------------------------------------------

local C = {}

function C.usleep(microseconds)
   rest(tonumber(microseconds) / 1e6)
   return 0
end

function C.sleep(seconds)
   rest(tonumber(seconds))
   return 0
end

-- A structure, a pointer to one, or an array of one, as LuaJIT passes them.
local function first(structures)
   local is_array, structure = pcall(function() return structures[0] end)
   return is_array and structure or structures
end

function C.nanosleep(wanted)
   local time = first(wanted)
   rest(tonumber(time.tv_sec) + tonumber(time.tv_nsec) / 1e9)
   return 0
end

-- Without files, `poll` is a sleep; with some it stops the thread, as it says.
local real = ffi.C

function C.poll(files, count, milliseconds)
   if tonumber(count) == 0 and milliseconds >= 0 then
      rest(milliseconds / 1000)
      return 0
   end
   return real.poll(files, count, milliseconds)
end

return C
