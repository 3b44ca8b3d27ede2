-- A pgbench file as a program: the steps that the driver plays, one command's after another's.
local raw, values, statements, user, add_expression, shell = ...

-- ---- meta commands, but those that store a row: each adds its steps to what is built ----------

local meta = {}
local NESTING_MAX = 1000
local UNITS = { us = 1e-6, ms = 1e-3, s = 1 }

-- What pgbench notices only when it plays is for a client of its command line a step that fails.
local function refuse_played(self, message, ...)
   if user.client == nil then
      values.fail(message, ...)
   end
   self:begin()
   self:add { fail = message:format(...) }
end

local function check_name(self, name)
   if not values.is_name(name) then
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
   self:begin()
   self:add_expression(text)
   self:add { set = raw.variable(name) }
end

-- Where a condition is not met it goes on at `unless`, and behind \endif where a branch has ended:
-- both are known later.
local function add_condition(self, open, rest)
   self:begin()
   self:add_expression(rest)
   open.skip = self:add { unless = 0 }
end

meta["if"] = function(self, rest)
   if #self.ifs >= NESTING_MAX then
      values.fail("\\if is nested deeper than %d times", NESTING_MAX)
   end
   local open = { ends = {}, line = self.line }
   self.ifs[#self.ifs + 1] = open
   add_condition(self, open, rest)
end

local function refuse_arguments(rest)
   if rest ~= "" then
      values.fail("unexpected argument")
   end
end

-- The branch before it is over; returns what `\if` opened.
local function end_branch(self, name)
   local open = self.ifs[#self.ifs]
   if open == nil then
      values.fail("\\%s without matching \\if", name)
   elseif open.has_else then
      values.fail("\\%s after \\else", name)
   end
   open.ends[#open.ends + 1] = self:add { jump = 0 }
   open.skip.unless = #self.steps
   return open
end

function meta.elif(self, rest)
   add_condition(self, end_branch(self, "elif"), rest)
end

meta["else"] = function(self, rest)
   refuse_arguments(rest)
   end_branch(self, "else").has_else = true
end

function meta.endif(self, rest)
   refuse_arguments(rest)
   local open = table.remove(self.ifs)
   if open == nil then
      values.fail("\\endif without matching \\if")
   elseif not open.has_else then
      open.skip.unless = #self.steps
   end
   for _, step in ipairs(open.ends) do
      step.jump = #self.steps
   end
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
   self:begin()
   self:add(name and { sleep_variable = { raw.variable(name), factor } }
      or { sleep = math.max(0, tonumber(digits)) * factor })
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
   self:begin()
   self.pipeline = self:add({ start_pipeline = {} }).start_pipeline
end

local function in_pipeline(self, rest, step)
   refuse_arguments(rest)
   if not self.pipeline then
      return refuse_played(self, "not in pipeline mode")
   end
   self:begin()
   self:add(step)
end

function meta.syncpipeline(self, rest)
   in_pipeline(self, rest, "flush_pipeline")
end

function meta.endpipeline(self, rest)
   in_pipeline(self, rest, "end_pipeline")
   self.pipeline = nil
end

-- ---- programs -----------------------------------------------------------------------------------

function meta.shell(self, rest)
   self:call(shell.runner(rest))
end

function meta.setshell(self, rest)
   local name, text = rest:match("^(%S+)%s*(.*)$")
   local run = shell.runner(text or "", true)
   check_name(self, name)
   self:call(function() user.variables[name] = run() end)
end

-- ---- what is built ----------------------------------------------------------------------------

local commands = {}

local builder = {}
builder.__index = builder

function builder:add(step)
   self.steps[#self.steps + 1] = step
   return step
end

-- A command begins.
function builder:begin()
   self:add { begin = { line = self.line, number = self.command, name = self.name } }
end

function builder:add_expression(text)
   if text == "" then
      values.fail("syntax error: an expression is missing")
   end
   add_expression(text, self.steps)
end

-- A command that Lua plays.
function builder:call(body)
   user.in_lua[#user.in_lua + 1] = ("\\%s in line %d of %s"):format(self.name, self.line, user.file)
   self:begin()
   self:add { lua = user.add_call(body) }
end

-- ---- SQL ----------------------------------------------------------------------------------------

function builder:statement(parts)
   parts.line = self.line
   local statement = statements[sysbench.opt.protocol](parts)
   user.all_statements[#user.all_statements + 1] = statement
   if self.pipeline and not user.is_simple() then
      self.pipeline[#self.pipeline + 1] = statement.number
   else
      user.statements[#user.statements + 1] = statement
   end
   self:begin()
   return statement.number
end

-- \gset wants one row of the last result, \aset takes the last of each that has one.
local function stored(self, name, rest, line)
   local parts = self:taken(name, line)
   if self.pipeline then
      refuse_played(self, "\\%s is not allowed in pipeline mode", name)
   elseif rest:find("%s") then
      values.fail("too many arguments")
   end
   self:add { store = { self:statement(parts), rest, name == "aset" } }
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
      self:add { send = self:statement(parts) }
   end
end

function builder:read(piece)
   if piece.name ~= "gset" and piece.name ~= "aset" then
      self:flush()
      self.line, self.name, self.command = piece.line, piece.name or "SQL", self.command + 1
      self.own.commands[self.command] = (piece.text or ""):match("^[^\n]*")
   end
   self.piece = piece
   if piece.sql then
      self.waiting = piece.sql
   elseif piece.step then
      self:begin()
      self:add(piece.step)
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

-- Reads a script (lua/pgbench/scripts.lua); the number of its program, and whether it begins
-- transactions.
function commands.compile(script, begins)
   local pieces, file = script.pieces, script.file
   if #pieces == 0 then
      error(('empty command list for script "%s"'):format(file), 0)
   end
   script.commands = {}
   local self = setmetatable({ steps = {}, ifs = {}, line = 1, command = 0, own = script }, builder)
   local ok, problem = pcall(function()
      for _, piece in ipairs(pieces) do
         self:read(piece)
      end
      self:finish()
   end)
   if not ok then
      error(("%s:%d: %s"):format(file, self.line, with_command(problem, self.piece)), 0)
   end
   local first = user.commands
   user.commands = first + #script.commands
   return raw.add_program { steps = self.steps, number = script.number, weight = script.weight or 1,
      kind = script.kind or 0, begins = begins, first_command = first }
end

return commands
