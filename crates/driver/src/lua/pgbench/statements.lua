-- SQL commands of a pgbench file: their variables found, each a statement that the driver sends.
local raw, identity, values, user = ...

local statements = {}
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

-- Adds text to the last of several pieces.
local function join(pieces, text)
   pieces[#pieces] = pieces[#pieces] .. text
end

local function nothing() end

-- ---- simple: text, each variable that has a value spelled out wherever it stands, in quotes too -

function statements.simple(parts)
   local pieces, variables = { "" }, {}
   for _, part in ipairs(parts) do
      each_of(part, function(name)
         pieces[#pieces + 1], variables[#variables + 1] = "", raw.variable(name)
      end, function(text) join(pieces, text) end)
   end
   local number = raw.add_statement(pieces, variables)
   return { number = number, prepare = nothing, forget = nothing }
end

-- ---- extended and prepared: every `:name` is a parameter, NULL where the variable has no value --

local function refuse_quoted(text)
   each(text, function(name)
      values.fail(":%s stands in quotes, where the protocol %s has no parameters; the option "
         .. "protocol=simple spells it out", name, sysbench.opt.protocol)
   end, function() end)
end

local function with_marks(parts)
   local pieces, variables = { "" }, {}
   for _, part in ipairs(parts) do
      if part.lump then
         join(pieces, part.lump)
         if not (part.is_comment or part.is_text) then
            refuse_quoted(part.lump)
         end
      else
         each(part, function(name)
            pieces[#pieces + 1], variables[#variables + 1] = "", raw.variable(name)
         end, function(text)
            if text:find("?", 1, true) then
               values.fail("a ? outside quotes cannot stand in a prepared statement; "
                  .. "the option protocol=simple sends text")
            end
            join(pieces, text)
         end)
      end
   end
   if #variables > PARAMETERS_MAX then
      values.fail("statement has too many arguments, maximum is %d", PARAMETERS_MAX)
   end
   return pieces, variables
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
local function prepared_or_text(sql, parts, number)
   local con, why = user.con, "it is several statements"
   if not parts.is_compound then
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
         user.file, parts.line, why))
   end
   return con:unprepared(sql)
end

-- Made before its first execution. Whole numbers travel as such, all else as text.
local INTEGER = 1

local function with_parameters(parts, make)
   local pieces, variables = with_marks(parts)
   local sql, kinds, made = trimmed(table.concat(pieces, "?")), {}, nil
   for i in ipairs(variables) do
      kinds[i] = INTEGER
   end
   local statement = {}
   function statement.prepare()
      if made == nil then
         made = make(sql)
         raw.bind(made.number, kinds)
         raw.set_made(statement.number, made.number)
      end
   end
   -- Its connection is gone.
   function statement.forget()
      made = nil
      raw.set_made(statement.number)
   end
   statement.number = raw.add_statement(pieces, variables, user.add_call(statement.prepare))
   return statement
end

function statements.extended(parts)
   return with_parameters(parts, function(sql) return user.con:unnamed(sql) end)
end

local count = 0

function statements.prepared(parts)
   local number = count
   count = count + 1
   return with_parameters(parts, function(sql) return prepared_or_text(sql, parts, number) end)
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
         if not values.is_name(name) then
            raw.fail(('invalid variable name: "%s"'):format(name), "letters, digits and _")
         end
         sysbench.cmdline.options[option] = { "The variable " .. option, nil }
         given[name] = value
      end
   end
end

return statements
