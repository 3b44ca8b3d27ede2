-- A pgbench file as functions: each command a step, \if and its kin a tree of them.
local raw, values, texts, statements, user, compile_expression, shell = ...

-- ---- meta commands, but those that store a row: each adds its step to what is built -----------

local meta = {}
local NESTING_MAX = 1000 -- each \if takes a frame of Lua's stack while it is played
local UNITS = { us = 1e-6, ms = 1e-3, s = 1 }

-- What pgbench notices only when it plays is for a client of its command line a step that fails.
local function refuse_played(self, message, ...)
   if user.client == nil then
      values.fail(message, ...)
   end
   local said = message:format(...)
   self:step(function() values.fail("%s", said) end)
end

local function check_name(self, name)
   if not texts.is_name(name) then
      refuse_played(self, 'invalid variable name: "%s"', name)
   end
   return name
end

function meta.set(self, rest)
   local name, text = rest:match("^(%S+)%s*(.*)$")
   if name == nil then
      values.fail("missing argument")
   end
   check_name(self, name)
   local expression, variables = self:expression(text), user.variables
   self:step(function() variables[name] = expression() end)
end

meta["if"] = function(self, rest)
   if #self.ifs >= NESTING_MAX then
      values.fail("\\if is nested deeper than %d times", NESTING_MAX)
   end
   local branches = { { self:expression(rest), {} } }
   self.ifs[#self.ifs + 1] = { outer = self.block, branches = branches, line = self.line }
   local conditions = {}
   local chosen
   self:step(function()
      chosen = nil
      for i = 1, #branches do
         if values.is_true(branches[i][1]()) then
            conditions[i] = conditions[i] or user.sequence(branches[i][2])
            chosen = conditions[i]
            return
         end
      end
   end)
   self.block[#self.block + 1] = function()
      local branch = chosen
      return branch and branch()
   end
   self.block = branches[1][2]
end

local function refuse_arguments(rest)
   if rest ~= "" then
      values.fail("unexpected argument")
   end
end

local function branch(self, name, condition, is_last)
   local open = self.ifs[#self.ifs]
   if open == nil then
      values.fail("\\%s without matching \\if", name)
   elseif open.has_else then
      values.fail("\\%s after \\else", name)
   end
   open.has_else = is_last
   self.block = {}
   open.branches[#open.branches + 1] = { condition, self.block }
end

function meta.elif(self, rest)
   branch(self, "elif", self:expression(rest), false)
end

meta["else"] = function(self, rest)
   refuse_arguments(rest)
   branch(self, "else", function() return true end, true)
end

function meta.endif(self, rest)
   refuse_arguments(rest)
   local open = table.remove(self.ifs)
   if open == nil then
      values.fail("\\endif without matching \\if")
   end
   self.block = open.outer
end

-- Whole seconds, or whole numbers of another unit; of a variable's value the digits it begins with.
function meta.sleep(self, rest)
   local number, unit, more = rest:match("^(%S+)%s*(%S*)%s*(.*)$")
   if number == nil then
      values.fail("missing argument")
   elseif more ~= "" then
      values.fail("too many arguments")
   end
   local name = number:match("^:(.*)$")
   local digits, joined = number:match("^([-+]?%d+)(.*)$")
   unit = unit == "" and joined or unit
   local factor = UNITS[unit and unit ~= "" and unit:lower() or "s"]
   if not name and (not digits or joined ~= "" and joined ~= unit) then
      values.fail("invalid sleep time, must be an integer (%s)", number)
   elseif factor == nil then
      values.fail("unrecognized time unit, must be us, ms or s (%s)", unit)
   end
   self:step(function()
      local text = digits
      if name then
         local value = user.variables[name]
         if value == nil then
            values.fail('sleep: undefined variable "%s"', name)
         end
         text = texts.text(value):match("^%s*([-+]?%d+)")
         if text == nil then
            values.fail('invalid sleep time "%s" for variable "%s"', texts.text(value), name)
         end
      end
      dyno.sleep(math.max(0, tonumber(text)) * factor)
   end)
end

-- ---- pipelines ----------------------------------------------------------------------------------

function meta.startpipeline(self, rest)
   refuse_arguments(rest)
   if user.is_simple() then
      refuse_played(self, "cannot use pipeline mode with the simple query protocol; "
         .. "the option protocol=prepared or extended allows it")
   elseif self.pipeline then
      refuse_played(self, "already in pipeline mode")
   end
   local pipeline = {}
   self.pipeline = pipeline
   self:step(function()
      for i = 1, #pipeline do
         pipeline[i].prepare()
      end
      user.con:pipeline_begin()
   end)
end

local function in_pipeline(self, rest, body)
   refuse_arguments(rest)
   if not self.pipeline then
      return refuse_played(self, "not in pipeline mode")
   end
   self:step(body)
end

function meta.syncpipeline(self, rest)
   in_pipeline(self, rest, function() user.con:pipeline_flush() end)
end

function meta.endpipeline(self, rest)
   in_pipeline(self, rest, function() user.con:pipeline_sync() end)
   self.pipeline = nil
end

-- ---- programs -----------------------------------------------------------------------------------

function meta.shell(self, rest)
   self:step(shell.runner(rest))
end

function meta.setshell(self, rest)
   local name, text = rest:match("^(%S+)%s*(.*)$")
   local run = shell.runner(text or "", true)
   check_name(self, name)
   self:step(function() user.variables[name] = run() end)
end

-- ---- what is built ----------------------------------------------------------------------------

local commands = {}

local builder = {}
builder.__index = builder

function builder:step(body)
   local line = self.line
   local block = self.block
   if user.client then
      body = user.client.step(self.own, self.command - 1, self.name, body)
   end
   block[#block + 1] = function()
      user.line = line
      return body()
   end
end

-- The function of an expression's text.
function builder:expression(text)
   if text == "" then
      values.fail("syntax error: an expression is missing")
   end
   return compile_expression(text, user.variables,
      ("script=%d,command=%d"):format(self.script, self.command))
end

function user.sequence(block)
   local count = #block
   return function()
      for i = 1, count do
         block[i]()
      end
   end
end

-- ---- SQL ----------------------------------------------------------------------------------------

function builder:statement(parts)
   local statement = statements[sysbench.opt.protocol](parts)
   local pipeline = self.pipeline or user.statements
   pipeline[#pipeline + 1] = statement
   user.all_statements[#user.all_statements + 1] = statement
   return statement
end

local function store(names, row, prefix)
   for i, name in ipairs(names) do
      name = prefix .. name
      if not texts.is_name(name) then
         values.fail('error storing into variable %s: invalid variable name: "%s"', name, name)
      end
      user.variables[name] = texts.plain(row[i])
   end
end

-- \gset wants one row of the last result, \aset takes the last of each that has one.
local function stored(self, name, rest, line)
   local parts, of_all = self:taken(name, line), name == "aset"
   if self.pipeline then
      refuse_played(self, "\\%s is not allowed in pipeline mode", name)
   elseif rest:find("%s") then
      values.fail("too many arguments")
   end
   local statement = self:statement(parts)
   self:step(function()
      raw.keep_next()
      statement.execute()
      local count = raw.rows_brought()
      if not of_all and count ~= 1 then
         values.fail("expected one row, got %d", count)
      end
      local names, row = raw.last_rows(user.con.number, of_all)
      store(names, row, rest)
   end)
end

for _, name in ipairs { "gset", "aset" } do
   meta[name] = function(self, rest, line) stored(self, name, rest, line) end
end

-- The SQL before the command.
function builder:taken(name, line)
   local parts = self.waiting
   if parts == nil then
      self.line = line
      values.fail("\\%s must follow an SQL command", name)
   end
   self.waiting = nil
   return parts
end

-- ---- the file -----------------------------------------------------------------------------------

-- SQL waits for the piece after it, which may want its row.
function builder:flush()
   local parts = self.waiting
   if parts then
      self.waiting = nil
      local statement = self:statement(parts)
      self:step(statement.execute)
   end
end

function builder:add(piece)
   if piece.name ~= "gset" and piece.name ~= "aset" then
      self:flush()
      self.line, self.name, self.command = piece.line, piece.name or "SQL", self.command + 1
      self.own.commands[self.command] = (piece.text or ""):match("^[^\n]*")
   end
   self.piece = piece
   if piece.sql then
      self.waiting = piece.sql
   elseif piece.play then
      self:step(piece.play)
   elseif meta[piece.name] then
      meta[piece.name](self, piece.rest, piece.line)
   else
      values.fail("invalid command \\%s", piece.name)
   end
end

function builder:finish()
   self:flush()
   local open = self.ifs[#self.ifs]
   if open then
      self.line = open.line
      values.fail("\\if without matching \\endif")
   elseif self.pipeline then
      refuse_played(self, "end of script reached with pipeline open: \\endpipeline is missing")
   end
end

-- What is wrong with a command, in which it is, and where on its line where that is known.
local function with_command(problem, piece)
   if piece == nil or piece.name == nil then
      return problem
   end
   local what, rest = problem:match("^(syntax error)(.*)$")
   problem = ('%s in command "%s"%s'):format(what or problem, piece.name, rest or "")
   if user.client == nil or rest == nil then
      return user.client and ("%s\n%s"):format(problem, piece.text) or problem
   end
   return ("%s\n%s\n%s^ error found here"):format(problem, piece.text, (" "):rep(#piece.text))
end

-- The function that plays a script (lua/pgbench/scripts.lua) once.
function commands.compile(script)
   local pieces, file = script.pieces, script.file
   if #pieces == 0 then
      error(('empty command list for script "%s"'):format(file), 0)
   end
   script.commands = {}
   local self = setmetatable({ block = {}, ifs = {}, line = 1, command = 0, own = script,
      script = script.number }, builder)
   local whole = self.block
   local ok, problem = pcall(function()
      for _, piece in ipairs(pieces) do
         self:add(piece)
      end
      self:finish()
   end)
   if not ok then
      error(("%s:%d: %s"):format(file, self.line, with_command(problem, self.piece)), 0)
   end
   return user.sequence(whole)
end

return commands
