-- A script's options: `sysbench.opt`, and the list of all.
local raw, seat, types, general = ...
local cmdline = sysbench.cmdline

local function underscored(name)
   return (name:gsub("-", "_"))
end

local function value_of(name, definition)
   local text = seat.options[name]
   local kind = types.type_of(definition)
   if text == nil then
      if kind == cmdline.ARG_LIST and type(definition[2]) == "string" then
         return types.parse[kind](definition[2])
      end
      return definition[2]
   end
   local read = types.parse[kind]
   if read == nil then
      raw.fail(("option %s of the script has an unknown type"):format(name), "")
   end
   local value, wanted = read(text)
   if value == nil then
      raw.fail(("option %s is not %s: %q"):format(name, wanted, text),
         ("its default is %q"):format(types.shown(definition[2])))
   end
   if type(definition[4]) == "function" and not definition[4](name, text) then
      raw.fail(("the script refuses this value of option %s: %q"):format(name, text),
         ("its default is %q"):format(types.shown(definition[2])))
   end
   return value
end

-- The script's own definitions by name with underscores.
local function declared()
   local found = {}
   if type(cmdline.options) ~= "table" then
      raw.fail("sysbench.cmdline.options is not a table", "")
   end
   for name, definition in pairs(cmdline.options) do
      if type(name) ~= "string" or type(definition) ~= "table" then
         raw.fail("an option of the script is not of the form name = {help, default}", "")
      end
      found[underscored(name)] = definition
   end
   return found
end

local function definition_of(name)
   return type(cmdline.options) == "table"
      and (cmdline.options[name] or cmdline.options[name:gsub("_", "-")]) or general[name]
end

-- May a name become an option?
function raw.is_free(name)
   return definition_of(name) == nil
end

-- An option is looked up when it is first read: scripts read options while they load, and add to
-- `sysbench.cmdline.options` after `require`.
sysbench.opt = setmetatable({}, {
   __index = function(opt, name)
      if type(name) ~= "string" then
         return nil
      elseif name:find("-", 1, true) then
         return opt[underscored(name)]
      end
      local definition = definition_of(name)
      if type(definition) ~= "table" then
         return nil
      end
      local value = value_of(name, definition)
      rawset(opt, name, value)
      return value
   end,
})
if seat.users then
   sysbench.opt.threads = seat.users
end

-- The value of a general option, whatever the script may do to `sysbench.opt`.
function raw.general(name)
   return value_of(name, definition_of(name))
end

-- Once the script is loaded: refuses unknown options, reads the rest, lists all.
function raw.settle_options()
   local own, all, names, list = declared(), {}, {}, {}
   for _, some in ipairs { general, own } do
      for name, definition in pairs(some) do
         names[#names + 1] = all[name] == nil and name or nil
         all[name] = definition
      end
   end
   for name in pairs(seat.options) do
      if all[name] == nil then
         raw.unknown("option", name, names)
      end
   end
   table.sort(names)
   for at, name in ipairs(names) do
      local definition, value = all[name], sysbench.opt[name]
      list[at] = { name = name, owner = own[name] and "script" or "general",
         help = tostring(definition[1] or ""), default = types.shown(definition[2]),
         value = types.shown(value) }
   end
   return list
end
