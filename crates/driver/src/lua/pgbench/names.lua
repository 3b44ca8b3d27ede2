-- Which names of a pgbench file are variables: what it sets, its own ones, the user's options.
local raw, statements = ...

local OWN = { scale = true, client_id = true, random_seed = true, default_seed = true }

-- Names of variables: those that the file speaks of, and those that it sets.
local function names_in(list)
   local spoken, set, prefixes = {}, {}, {}
   for _, piece in ipairs(list) do
      if piece.sql then
         statements.names(piece.sql, spoken)
      elseif piece.name == "gset" or piece.name == "aset" then
         prefixes[#prefixes + 1] = piece.rest
      else
         statements.names({ piece.rest }, spoken)
         if piece.name == "set" then
            set[piece.rest:match("^[^%s]*")] = true
         end
      end
   end
   return spoken, set, prefixes
end

-- The file's variables that the user gave as options.
local function given_by_option(spoken, set)
   local given = {}
   for name in pairs(spoken) do
      if not set[name] and not OWN[name] and raw.is_free(name) then
         sysbench.cmdline.options[name] = { "The script's :" .. name, nil }
         given[name] = sysbench.opt[name] ~= nil or nil
      end
   end
   return given
end

-- A function that says whether a name is a variable's, and the names that are options.
return function(list)
   local spoken, set, prefixes = names_in(list)
   local given = given_by_option(spoken, set)
   return function(name)
      for _, prefix in ipairs(prefixes) do
         if name:sub(1, #prefix) == prefix then
            return true
         end
      end
      return set[name] or given[name] or OWN[name] or false
   end, given
end
