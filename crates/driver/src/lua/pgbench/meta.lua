-- pgbench's meta commands, but those that store a row: each adds its step to what is built.
local values, user = ...

local meta = {}
local UNITS = { us = 1e-6, ms = 1e-3, s = 1 }

function meta.set(self, rest)
   local name, text = rest:match("^([%a_\128-\255][%w_\128-\255]*)%s*(.*)$")
   if name == nil then
      values.fail("\\set needs the name of a variable and an expression")
   end
   local expression, variables = self:expression(text), user.variables
   self:step(function() variables[name] = expression() end)
end

meta["if"] = function(self, rest)
   local branches = { { self:expression(rest), {} } }
   self.ifs[#self.ifs + 1] = { outer = self.block, branches = branches, line = self.line }
   local conditions = {}
   self:step(function()
      for i = 1, #branches do
         if values.is_true(branches[i][1]()) then
            conditions[i] = conditions[i] or user.sequence(branches[i][2])
            return conditions[i]()
         end
      end
   end)
   self.block = branches[1][2]
end

local function branch(self, name, condition, is_last)
   local open = self.ifs[#self.ifs]
   if open == nil then
      values.fail("\\%s without \\if", name)
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

meta["else"] = function(self)
   branch(self, "else", function() return true end, true)
end

function meta.endif(self)
   local open = table.remove(self.ifs)
   if open == nil then
      values.fail("\\endif without \\if")
   end
   self.block = open.outer
end

function meta.sleep(self, rest)
   local number, unit = rest:match("^(:?[%w_]+)%s*(%a*)$")
   local factor = UNITS[unit == "" and "s" or unit]
   if number == nil or factor == nil or not (tonumber(number) or number:sub(1, 1) == ":") then
      values.fail("\\sleep needs a number or :variable, then us, ms or s: '%s'", rest)
   end
   local duration = self:expression(number)
   self:step(function() dyno.sleep(values.to_double(duration()) * factor) end)
end

function meta.startpipeline(self)
   if user.is_simple() then
      values.fail("\\startpipeline needs protocol=prepared")
   elseif self.pipeline then
      values.fail("\\startpipeline within a pipeline")
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

local function synced(self, name, goes_on)
   if not self.pipeline then
      values.fail("\\%s without \\startpipeline", name)
   end
   self:step(function()
      user.con:pipeline_sync()
      if goes_on then
         user.con:pipeline_begin()
      end
   end)
end

function meta.syncpipeline(self)
   synced(self, "syncpipeline", true)
end

function meta.endpipeline(self)
   synced(self, "endpipeline", false)
   self.pipeline = nil
end

for _, name in ipairs { "shell", "setshell" } do
   meta[name] = function()
      values.fail("\\%s starts programs, which is not offered", name)
   end
end

return meta
