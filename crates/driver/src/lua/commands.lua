-- What of a script can be played: its commands, and its functions by name.
local raw = ...
local cmdline = sysbench.cmdline

function cmdline.command_defined(name)
   local entry = type(cmdline.commands) == "table" and cmdline.commands[name]
   return type(entry) == "table" and entry[1] ~= nil
end

function cmdline.command_parallel(name)
   return cmdline.command_defined(name) and cmdline.commands[name][2] == cmdline.PARALLEL_COMMAND
end

function cmdline.call_command(name)
   if not cmdline.command_defined(name) then
      return false
   end
   return cmdline.commands[name][1]() ~= false
end

function raw.is_parallel(command)
   return cmdline.command_parallel(command)
end

-- Names of the commands: declared ones, and those that sysbench knows by their function.
function raw.commands()
   local found = {}
   local declared = cmdline.commands
   for name in pairs(type(declared) == "table" and declared or {}) do
      found[name] = true
   end
   for _, name in ipairs { "prepare", "cleanup" } do
      found[name] = found[name] or type(_G[name]) == "function" or nil
   end
   found.run = type(_G.event) == "function" or raw.is_event(_G.event)
      or dyno.phases ~= nil or nil
   local list = {}
   for name in pairs(found) do
      list[#list + 1] = name
   end
   table.sort(list)
   return list
end

-- Functions and commands that a script has, for nearest names.
function raw.function_names()
   local found = raw.commands()
   for name, value in pairs(_G) do
      if (type(value) == "function" or raw.is_event(value)) and not raw.own_globals[name] then
         found[#found + 1] = name
      end
   end
   return found
end
