-- A script's options as sysbench's help shows them: for help, and scripts that print them.
local raw, identity, options = ...
local cmdline = sysbench.cmdline

-- How the value of an option is shown, by its type.
local shape = {
   [cmdline.ARG_BOOL] = "[=on|off]", [cmdline.ARG_INT] = "=N", [cmdline.ARG_SIZE] = "=SIZE",
   [cmdline.ARG_DOUBLE] = "=N", [cmdline.ARG_STRING] = "=STRING",
   [cmdline.ARG_LIST] = "=[LIST,...]", [cmdline.ARG_FILE] = "=FILENAME",
}

-- Prints the script's own options: name, meaning, default.
function cmdline.print_test_options()
   local names, shapes, width = {}, {}, 0
   for name, definition in pairs(cmdline.options) do
      names[#names + 1] = name
      shapes[name] = name .. (shape[options.type_of(definition)] or "")
      width = math.max(width, #shapes[name])
   end
   table.sort(names)
   for _, name in ipairs(names) do
      local definition = cmdline.options[name]
      local default = definition[2] ~= nil and (" [%s]"):format(options.shown(definition[2])) or ""
      print(("  --%-" .. width .. "s %s%s"):format(shapes[name], definition[1] or "", default))
   end
   print()
end

-- What `help` is for a script that has options, and no such function.
function raw.help_text()
   print(("%s options:"):format(identity.path:match("[^/]*$")))
   cmdline.print_test_options()
end
