-- What pgbench's operators stand between: numbers, variables, calls, CASE, brackets and signs.
local values, operators, functions, texts, ARGUMENTS_MAX = ...

local NULL, fail = values.NULL, values.fail

local function constant(value) return function() return value end end

local function integer(digits, negative)
   local value = texts.integer(digits, negative)
   return value and constant(value) or fail("bigint constant overflow: %s", digits)
end

local function variable(variables, name)
   return function()
      local value = variables[name]
      if type(value) == "number" then
         return value
      elseif value == nil then
         fail('undefined variable "%s"', name)
      end
      return texts.read(value, name)
   end
end

local function arguments_of(self)
   local list = {}
   if not self:peek(")") then
      repeat
         list[#list + 1] = self:expression()
      until not self:take(",")
   end
   self:expect(")")
   return list
end

-- A call: NULL where an argument is; a function that tells takes that, and its `place`, too.
local function applied(body, arguments, place)
   local count, first, second = #arguments, arguments[1], arguments[2]
   if place then
      return function() return body(first(), place) end
   end
   if count == 2 then
      return function()
         local a, b = first(), second()
         if a == NULL or b == NULL then
            return NULL
         end
         return body(a, b)
      end
   end
   return function()
      local given = {}
      for i = 1, count do
         given[i] = arguments[i]()
         if given[i] == NULL then
            return NULL
         end
      end
      return body(unpack(given, 1, count))
   end
end

local function call(self, name)
   local known = functions[name]
   if known == nil then
      fail("unexpected function name (%s)", name)
   end
   local arguments = arguments_of(self)
   if #arguments > ARGUMENTS_MAX then
      return function() fail("too many function arguments, maximum is %d", ARGUMENTS_MAX) end
   elseif #arguments < known[1] and known[2] == ARGUMENTS_MAX then
      fail("at least one argument expected (%s)", name)
   elseif #arguments < known[1] or #arguments > known[2] then
      fail("unexpected number of arguments (%s)", name)
   end
   if known.seeded and #arguments < known[2] then
      arguments[#arguments + 1] = variable(self.variables, "default_seed")
   end
   return applied(known[3], arguments, known.tells and self.place)
end

-- CASE WHEN condition THEN value … ELSE value END
local function case(self)
   local conditions, answers, otherwise = {}, {}, constant(NULL)
   while self:take("when") do
      conditions[#conditions + 1] = self:expression()
      self:expect("then")
      answers[#answers + 1] = self:expression()
   end
   if #conditions == 0 then
      self:expect("when")
   end
   if self:take("else") then
      otherwise = self:expression()
   end
   self:expect("end")
   return function()
      for i, condition in ipairs(conditions) do
         if values.is_true(condition()) then
            return answers[i]()
         end
      end
      return otherwise()
   end
end

local CONSTANTS = { null = constant(NULL), ["true"] = constant(true), ["false"] = constant(false) }

local function primary(self)
   local word = self.words[self.at]
   if word == nil then
      fail("syntax error: it ends too early")
   end
   self.at = self.at + 1
   if word.kind == "integer" then
      return integer(word[1], false)
   elseif word.kind == "double" then
      return word[1] < math.huge and constant(values.double(word[1]))
         or fail("double constant overflow")
   elseif word.kind == "variable" then
      return variable(self.variables, word[1])
   elseif word[1] == "(" then
      local inner = self:expression()
      self:expect(")")
      return inner
   elseif word[1] == "case" then
      return case(self)
   elseif self:take("(") then
      return call(self, word[1])
   end
   return CONSTANTS[word[1]] or fail("syntax error at '%s'", word[1])
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
      return integer(word[1], true)
   end
   local operand = unary(self)
   if sign == "+" then
      return operand
   end
   local operator, left = operators[sign == "-" and "-" or "#"], sign == "-" and 0 or -1
   return function()
      return operator(left, operand())
   end
end

return unary
