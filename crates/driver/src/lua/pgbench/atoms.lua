-- What pgbench's operators stand between: numbers, variables, calls, CASE, brackets and signs. Each
-- adds the steps that leave its value on the driver's stack.
local raw, values, functions, ARGUMENTS_MAX = ...

local fail = values.fail

local function add_integer(self, digits)
   if not raw.is_bigint(digits) then
      fail("bigint constant overflow: %s", (digits:gsub("^-", "")))
   end
   self:add { integer = digits }
end

local function add_arguments(self)
   local count = 0
   if not self:peek(")") then
      repeat
         self:expression()
         count = count + 1
      until not self:take(",")
   end
   self:expect(")")
   return count
end

local function call(self, name)
   local known = functions[name]
   if known == nil then
      fail("unexpected function name (%s)", name)
   end
   local count = add_arguments(self)
   if count > ARGUMENTS_MAX then
      local message = "too many function arguments, maximum is %d"
      return self:add { fail = message:format(ARGUMENTS_MAX) }
   elseif count < known[1] and known[2] == ARGUMENTS_MAX then
      fail("at least one argument expected (%s)", name)
   elseif count < known[1] or count > known[2] then
      fail("unexpected number of arguments (%s)", name)
   end
   if known.seeded and count < known[2] then
      self:add { variable = raw.variable("default_seed") }
      count = count + 1
   end
   self:add { call = { name, count } }
end

-- CASE WHEN condition THEN value … ELSE value END
local function case(self)
   local ends = {}
   while self:take("when") do
      self:expression()
      local skip = self:add { unless = 0 }
      self:expect("then")
      self:expression()
      ends[#ends + 1] = self:add { jump = 0 }
      skip.unless = #self.steps
   end
   if #ends == 0 then
      self:expect("when")
   end
   if self:take("else") then
      self:expression()
   else
      self:add "null"
   end
   self:expect("end")
   for _, step in ipairs(ends) do
      step.jump = #self.steps
   end
end

local CONSTANTS = { null = "null", ["true"] = { boolean = true }, ["false"] = { boolean = false } }

local function primary(self)
   local word = self.words[self.at]
   if word == nil then
      fail("syntax error: it ends too early")
   end
   self.at = self.at + 1
   if word.kind == "integer" then
      add_integer(self, word[1])
   elseif word.kind == "double" then
      self:add(word[1] < math.huge and { double = word[1] } or fail("double constant overflow"))
   elseif word.kind == "variable" then
      self:add { variable = raw.variable(word[1]) }
   elseif word[1] == "(" then
      self:expression()
      self:expect(")")
   elseif word[1] == "case" then
      case(self)
   elseif self:take("(") then
      call(self, word[1])
   else
      self:add(CONSTANTS[word[1]] or fail("syntax error at '%s'", word[1]))
   end
end

-- Signs bind closer than any operator; ~ is all ones without.
local function unary(self)
   local sign = self:take("-", "+", "~")
   if sign == nil then
      return primary(self)
   end
   local word = self.words[self.at]
   if sign == "-" and word and word.kind == "integer" then
      self.at = self.at + 1
      return add_integer(self, "-" .. word[1])
   elseif sign == "+" then
      return unary(self)
   end
   self:add { integer = sign == "-" and "0" or "-1" }
   unary(self)
   self:add { call = { sign == "-" and "-" or "#", 2 } }
end

return unary
