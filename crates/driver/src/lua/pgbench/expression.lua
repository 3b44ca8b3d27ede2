-- pgbench's expressions: text in, a Lua function out that answers the value. Precedence and
-- functions are those of its documentation (\set).
local values, operators, unary = ...
local NULL, fail = values.NULL, values.fail

-- ---- words: numbers, :variables, names and symbols --------------------------------------------

local SYMBOLS = { "<<", ">>", "<=", ">=", "<>", "!=", "=", "<", ">", "|", "#", "&", "~", "+", "-",
   "*", "/", "%", "(", ")", "," }

local function number_at(text, at)
   local digits = text:match("^%d+", at) or ""
   local rest = text:match("^%.%d*", at + #digits) or ""
   if digits == "" and not rest:find("%d") then
      return nil
   end
   local power = text:match("^[eE][-+]?%d+", at + #digits + #rest) or ""
   if rest == "" and power == "" then
      return { kind = "integer", digits }, #digits
   end
   local whole = digits .. rest .. power
   return { kind = "double", tonumber(whole) }, #whole
end

local function word_at(text, at)
   local name = text:match("^:([%w_\128-\255]+)", at)
   if name then
      return { kind = "variable", name }, #name + 1
   end
   local word = text:match("^[%a_][%w_]*", at)
   if word then
      return { kind = "word", word:lower() }, #word
   end
   for _, symbol in ipairs(SYMBOLS) do
      if text:sub(at, at + #symbol - 1) == symbol then
         return { kind = "symbol", symbol == "!=" and "<>" or symbol }, #symbol
      end
   end
   return nil
end

local function words_of(text)
   local words, at = {}, text:find("%S") or #text + 1
   while at <= #text do
      local word, length = number_at(text, at)
      if not word then
         word, length = word_at(text, at)
      end
      if not word then
         fail("unexpected character (%s)", text:sub(at, at))
      end
      words[#words + 1] = word
      at = text:find("%S", at + length) or #text + 1
   end
   return words
end

-- ---- operators, by how closely they bind ------------------------------------------------------

local parser = {}
parser.__index = parser

function parser:peek(...)
   local word = self.words[self.at]
   if word and (word.kind == "word" or word.kind == "symbol") then
      for i = 1, select("#", ...) do
         if word[1] == select(i, ...) then
            return word[1]
         end
      end
   end
   return nil
end

function parser:take(...)
   local found = self:peek(...)
   if found then
      self.at = self.at + 1
   end
   return found
end

function parser:expect(wanted)
   if not self:take(wanted) then
      local found = self.words[self.at]
      fail("syntax error: '%s' expected, found '%s'", wanted,
         found and found[1] or "its end")
   end
end

local function binary(operator, left, right)
   return function()
      return operator(left(), right())
   end
end

-- A level of operators that bind alike, from the left.
local function level(below, ...)
   local names = { ... }
   return function(self)
      local left = self[below](self)
      local name = self:take(unpack(names))
      while name do
         left = binary(operators[name], left, self[below](self))
         name = self:take(unpack(names))
      end
      return left
   end
end

-- NULL stands for unknown, as in SQL; the right side is reckoned only where it matters.
local function logical(decides, left, right)
   return function()
      local a = left()
      if a ~= NULL and values.to_boolean(a) == decides then
         return decides
      end
      local b = right()
      if b ~= NULL and values.to_boolean(b) == decides then
         return decides
      end
      if a == NULL or b == NULL then
         return NULL
      end
      return not decides
   end
end

function parser:disjunction()
   local left = self:conjunction()
   while self:take("or") do
      left = logical(true, left, self:conjunction())
   end
   return left
end

function parser:conjunction()
   local left = self:negation()
   while self:take("and") do
      left = logical(false, left, self:negation())
   end
   return left
end

function parser:negation()
   if not self:take("not") then
      return self:test()
   end
   local operand = self:negation()
   return function()
      local value = operand()
      if value == NULL then
         return NULL
      end
      return not values.to_boolean(value)
   end
end

local TESTED = { null = NULL, ["true"] = true, ["false"] = false }

local function is(operand, wanted, expected)
   return function()
      return (operand() == wanted) == expected
   end
end

function parser:test()
   local left = self:comparison()
   local name = self:take("is", "isnull", "notnull")
   while name do
      if name == "is" then
         local expected = not self:take("not")
         local wanted = self:take("null", "true", "false") or self:expect("null")
         left = is(left, TESTED[wanted], expected)
      else
         left = is(left, NULL, name == "isnull")
      end
      name = self:take("is", "isnull", "notnull")
   end
   return left
end

parser.comparison = level("bits", "<", ">", "=", "<=", ">=", "<>")
parser.bits = level("sum", "|", "#", "&", "<<", ">>")
parser.sum = level("product", "+", "-")
parser.product = level("unary", "*", "/", "%")
parser.unary, parser.expression = unary, parser.disjunction

-- What is read and reckoned by functions that call each other needs room on Lua's stack.
local WORDS_MAX, NESTING_MAX = 4000, 100
local DEEPER = { ["("] = 1, case = 1, [")"] = -1, ["end"] = -1 }

local function check_depth(words)
   if #words > WORDS_MAX then
      fail("an expression has more than %d words", WORDS_MAX)
   end
   local depth = 0
   for _, word in ipairs(words) do
      depth = depth + (DEEPER[word[1]] or 0)
      if depth > NESTING_MAX then
         fail("an expression is nested deeper than %d times", NESTING_MAX)
      end
   end
end

-- The function that an expression's text stands for; it reads `variables` when it is called.
-- `place`: which script's which command it belongs to, for debug().
return function(text, variables, place)
   local words = words_of(text)
   check_depth(words)
   local self = setmetatable(
      { words = words, at = 1, variables = variables, place = place }, parser)
   local expression = self:expression()
   local rest = self.words[self.at]
   if rest then
      fail("syntax error at '%s'", rest[1])
   end
   return expression
end
