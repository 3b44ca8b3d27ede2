-- SQL commands of a pgbench file: their variables found, each a function that plays it once.
local raw, values, texts, user = ...

local statements = {}
local type = sysbench.sql.type
local NAME = "^:([%a_\128-\255][%w_\128-\255]*)"

-- Calls back for every `:name` in a text, and for what stands between.
local function each(text, on_name, on_text)
   local from, at = 1, text:find(":", 1, true)
   while at do
      local name = text:match(NAME, at)
      if name then
         on_text(text:sub(from, at - 1))
         on_name(name)
         at, from = at + #name + 1, at + #name + 1
      else
         at = text:find("[^:]", at) or #text + 1
      end
      at = text:find(":", at, true)
   end
   on_text(text:sub(from))
end

-- Names of variables that a statement speaks of.
function statements.names(parts, found)
   for _, part in ipairs(parts) do
      each(part.lump or part, function(name) found[name] = true end, function() end)
   end
end

local function trimmed(text)
   return text:match("^%s*(.-)%s*$")
end

-- Sent as text, each variable spelled out wherever it stands, in quotes too.
function statements.simple(parts, is_known)
   local template, names = {}, {}
   for _, part in ipairs(parts) do
      each(part.lump or part, function(name)
         template[#template + 1] = is_known(name) and "" or ":" .. name
         names[#template] = is_known(name) and name or nil
      end, function(text) template[#template + 1] = text end)
   end
   local sql = next(names) == nil and trimmed(table.concat(template))
   local statement = {}
   function statement.prepare() end
   function statement.execute()
      if sql then
         return user.con:query(sql)
      end
      for at, name in pairs(names) do
         local value = user.variables[name]
         template[at] = value == nil and ":" .. name or texts.text(value) or "NULL"
      end
      return user.con:query(trimmed(table.concat(template)))
   end
   return statement
end

local function with_marks(parts, is_known)
   local sql, names = {}, {}
   for _, part in ipairs(parts) do
      if part.lump then
         sql[#sql + 1] = part.lump
      else
         each(part, function(name)
            sql[#sql + 1] = is_known(name) and "?" or ":" .. name
            names[#names + 1] = is_known(name) and name or nil
         end, function(text)
            if text:find("?", 1, true) then
               values.fail("a ? outside quotes cannot stand in a prepared statement; "
                  .. "the option protocol=simple sends text")
            end
            sql[#sql + 1] = text
         end)
      end
   end
   return trimmed(table.concat(sql)), names
end

local function cells_of(prepared, kinds)
   local cells = {}
   for i, kind in ipairs(kinds) do
      cells[i] = prepared:bind_create(kind)
   end
   prepared:bind_param(unpack(cells))
   return cells
end

-- Prepared before its first execution. Whole numbers travel as such until a parameter turns out to
-- be something else; then that one travels as text.
function statements.prepared(parts, is_known)
   local sql, names = with_marks(parts, is_known)
   local prepared, cells, kinds = nil, nil, {}
   for i in ipairs(names) do
      kinds[i] = type.BIGINT
   end
   local function fill(i, value)
      if value ~= nil and _G.type(value) ~= "number" or kinds[i] == type.VARCHAR then
         value = value ~= nil and texts.text(value) or nil
         if kinds[i] ~= type.VARCHAR then
            kinds[i] = type.VARCHAR
            return true
         end
      end
      cells[i].value = value
      return false
   end
   local statement = {}
   function statement.prepare()
      if prepared == nil then
         prepared = user.con:prepare(sql)
         cells = cells_of(prepared, kinds)
      end
   end
   function statement.execute()
      statement.prepare()
      local at, count = 1, #names
      while at <= count do
         if fill(at, user.variables[names[at]]) then
            cells, at = cells_of(prepared, kinds), 0
         end
         at = at + 1
      end
      return prepared:execute()
   end
   return statement
end

-- ---- which names of a file are variables: what it sets, its own ones, the user's options ------

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
function statements.known_names(list)
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

return statements
