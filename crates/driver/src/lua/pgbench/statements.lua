-- SQL commands of a pgbench file: their variables found, each a function that plays it once.
local raw, identity, values, texts, user = ...

local statements = {}
local type = sysbench.sql.type
local NAME = "^:([%a_\128-\255][%w_\128-\255]*)"
local PARAMETERS_MAX = 255 -- pgbench's

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

-- The same for a part of a statement; quoted text may be text alone.
local function each_of(part, on_name, on_text)
   if part.is_text then
      return on_text(part.lump)
   end
   each(part.lump or part, on_name, on_text)
end

-- Names of variables that a statement speaks of.
function statements.names(parts, found)
   for _, part in ipairs(parts) do
      each_of(part, function(name) found[name] = true end, function() end)
   end
end

local function trimmed(text)
   return text:match("^%s*(.-)%s*$")
end

-- ---- simple: text, each variable that has a value spelled out wherever it stands, in quotes too -

local function send(sql)
   if user.client then
      user.client.sending(sql)
   end
   return user.con:query(sql)
end

-- Texts with more variables are put together by Lua.
local SPELLED_MAX = 4

-- Sends a text whose variables the driver spells out, so that Lua neither makes, hashes nor
-- collects it. `whole` makes it all the same, for an error's words.
local function speller(pieces, names, whole)
   local variables, number, values = user.variables, raw.pieces(pieces), {}
   local count = #names
   local sent = setmetatable({}, { __index = function(_, key)
      return key == "query" and whole() or nil
   end })
   return function()
      for i = 1, count do
         local value = variables[names[i]]
         if value == nil then
            value = ":" .. names[i]
         elseif _G.type(value) ~= "number" then
            value = texts.text(value)
         end
         values[i] = value
      end
      return user.con:spelled(number, sent, values)
   end
end

function statements.simple(parts)
   local template, pieces, slots, names = {}, { "" }, {}, {}
   for _, part in ipairs(parts) do
      each_of(part, function(name)
         template[#template + 1], pieces[#pieces + 1] = ":" .. name, ""
         slots[#slots + 1], names[#names + 1] = #template, name
      end, function(text)
         template[#template + 1], pieces[#pieces] = text, pieces[#pieces] .. text
      end)
   end
   local function whole()
      for i = 1, #slots do
         local value = user.variables[names[i]]
         template[slots[i]] = value == nil and ":" .. names[i] or texts.text(value)
      end
      return trimmed(table.concat(template))
   end
   local sql, spell = #slots == 0 and whole(), nil
   local statement = {}
   function statement.prepare() end
   function statement.forget() end
   function statement.execute()
      if sql then
         return send(sql)
      elseif #slots > SPELLED_MAX or user.client and sysbench.opt.debugging then
         return send(whole())
      end
      spell = spell or speller(pieces, names, whole)
      return spell()
   end
   return statement
end

-- ---- extended and prepared: every `:name` is a parameter, NULL where the variable has no value --

local function refuse_quoted(text)
   each(text, function(name)
      values.fail(":%s stands in quotes, where the protocol %s has no parameters; the option "
         .. "protocol=simple spells it out", name, sysbench.opt.protocol)
   end, function() end)
end

local function with_marks(parts)
   local sql, names = {}, {}
   for _, part in ipairs(parts) do
      if part.lump then
         sql[#sql + 1] = part.lump
         if not (part.is_comment or part.is_text) then
            refuse_quoted(part.lump)
         end
      else
         each(part, function(name)
            sql[#sql + 1], names[#names + 1] = "?", name
         end, function(text)
            if text:find("?", 1, true) then
               values.fail("a ? outside quotes cannot stand in a prepared statement; "
                  .. "the option protocol=simple sends text")
            end
            sql[#sql + 1] = text
         end)
      end
   end
   if #names > PARAMETERS_MAX then
      values.fail("statement has too many arguments, maximum is %d", PARAMETERS_MAX)
   end
   return trimmed(table.concat(sql)), names
end

-- MySQL's error of a statement that its protocol of prepared statements does not know.
local UNPREPARABLE = 1295

-- pgbench tells what the server would not prepare, and goes on to execute it: what ends its client
-- is that there is no such statement.
local function execute_all_the_same(number)
   user.client.tell("error: %s\n", user.con.sql_report)
   user.con:query(('EXECUTE "P_%d"'):format(number))
end

-- Prepares, or falls back to text where that cannot be; the first time that is said. Of several
-- statements in one no engine prepares more than the first. `number`: pgbench's, of the statement.
local function prepared_or_text(sql, is_compound, number)
   local con, why = user.con, "it is several statements"
   if not is_compound then
      local ok, made = pcall(con.prepare, con, sql)
      if ok then
         return made
      elseif con.sql_errno ~= UNPREPARABLE then
         if user.client then
            execute_all_the_same(number)
         end
         error(made, 0)
      end
      why = con.sql_errmsg
   end
   if identity.number == 0 and not user.said_unprepared then
      user.said_unprepared = true
      io.stderr:write(("%s:%d: sent as text, since it cannot be prepared: %s\n"):format(
         user.file, user.line, why))
   end
   return con:unprepared(sql)
end

local function cells_of(prepared, kinds)
   local cells = {}
   for i, kind in ipairs(kinds) do
      cells[i] = prepared:bind_create(kind)
   end
   prepared:bind_param(unpack(cells))
   return cells
end

-- Made before its first execution. Whole numbers travel as such until a parameter turns out to be
-- something else; then that one travels as text.
local function with_parameters(parts, make)
   local sql, names = with_marks(parts)
   local made, cells, kinds = nil, nil, {}
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
      if made == nil then
         made = make(sql, parts.is_compound)
         cells = cells_of(made, kinds)
      end
   end
   -- Its connection is gone.
   function statement.forget()
      made = nil
   end
   function statement.execute()
      statement.prepare()
      local at, count = 1, #names
      while at <= count do
         if fill(at, user.variables[names[at]]) then
            cells, at = cells_of(made, kinds), 0
         end
         at = at + 1
      end
      if user.client then
         user.client.sending(sql)
      end
      return made:execute()
   end
   return statement
end

function statements.extended(parts)
   return with_parameters(parts, function(sql) return user.con:unnamed(sql) end)
end

local count = 0

function statements.prepared(parts)
   local number = count
   count = count + 1
   return with_parameters(parts, function(sql, is_compound)
      return prepared_or_text(sql, is_compound, number)
   end)
end

-- ---- which names of a file the user gives as options ------------------------------------------

-- Names that the file speaks of, and those that it sets.
local function names_in(list)
   local spoken, set = {}, {}
   for _, piece in ipairs(list) do
      if piece.sql then
         statements.names(piece.sql, spoken)
      else
         statements.names({ piece.rest }, spoken)
         if piece.name == "set" or piece.name == "setshell" then
            set[piece.rest:match("^[^%s]*")] = true
         end
      end
   end
   return spoken, set
end

-- The names that the file speaks of and does not set become options; adds those that were given.
function statements.add_given(list, own, given)
   local spoken, set = names_in(list)
   for name in pairs(spoken) do
      if not set[name] and not own[name] and raw.is_free(name) then
         sysbench.cmdline.options[name] = { "The script's :" .. name, nil }
         given[name] = sysbench.opt[name]
      end
   end
end

-- `:name=value` is a variable whether the file speaks of it or not (pgbench's -D).
function statements.add_defined(given)
   for option, value in pairs(identity.options) do
      local name = option:match("^:(.*)$")
      if name then
         if not texts.is_name(name) then
            raw.fail(('invalid variable name: "%s"'):format(name), "letters, digits and _")
         end
         sysbench.cmdline.options[option] = { "The variable " .. option, nil }
         given[name] = value
      end
   end
end

return statements
