-- Marks in an SQL file's comments: `-- weight: 3`, and how the values of a parameter are drawn:
--
--   -- :id = 1..100000              a whole number; behind it uniform, zipf, normal, exponential
--   -- :pad = 8..20 letters         a text
--   -- :state = 'new', 'paid'       one of these
--   -- :id, :name = SELECT id, name FROM t     a row of the answer, read before measuring
--   -- :other = :id + 1             an expression of pgbench's
local raw, user, values = ...

local marks = {}
local ROWS_MAX = 100000 -- each user keeps them

local function fail(message, ...)
   error(message:format(...), 0)
end

-- ---- values ---------------------------------------------------------------------------------

-- Distributions by name: the function of pgbench's, and its parameter where none is given.
local SHAPES = {
   uniform = { "random" },
   zipf = { "random_zipfian", "1.1" }, zipfian = { "random_zipfian", "1.1" },
   normal = { "random_gaussian", "4.0" }, gaussian = { "random_gaussian", "4.0" },
   exponential = { "random_exponential", "4.0" },
}

local function set(name, expression)
   return { name = "set", rest = name .. " " .. expression, speaks = expression }
end

-- `1..100 zipf 1.2`
local function of_range(names, low, high, words)
   local shape, parameter = words:match("^(%a*)%s*([%d.]*)$")
   if shape == "letters" and parameter == "" then
      local least, most = tonumber(low), tonumber(high)
      if not (least and most and 0 <= least and least <= most) then
         fail("texts have a least and a greatest number of letters, such as 8..20 letters")
      end
      return { step = { letters = { raw.variable(names[1]), least, most } } }
   end
   local known = SHAPES[shape == "" and "uniform" or shape or ""]
   if known == nil or parameter ~= "" and known[2] == nil then
      fail("unknown distribution '%s'; there are uniform, zipf, normal and exponential, each but "
         .. "the first with a parameter if you like, and letters", words)
   end
   local more = known[2] and ", " .. (parameter ~= "" and parameter or known[2]) or ""
   return set(names[1], ("%s(%s, %s%s)"):format(known[1], low, high, more))
end

-- One of several rows, which the driver has; `fill`: the function that reads those of a query.
local function of_rows(names, fill)
   local places = {}
   for at, name in ipairs(names) do
      places[at] = raw.variable(name)
   end
   local number = raw.add_rows(places, fill)
   return { rows = number, step = { row = number } }
end

-- `'new', 'paid', 3`; nil where it is no such list.
local function of_list(names, text)
   local cells, at = {}, 1
   while true do
      local start, stop, quoted = text:find("^%s*'([^']*)'%s*", at)
      while quoted and text:find("^'", stop + 1) do -- a doubled quote
         local _, more_stop, more = text:find("^'([^']*)'%s*", stop + 1)
         if more == nil then
            return nil
         end
         quoted, stop = quoted .. "'" .. more, more_stop
      end
      local number
      if not start then
         start, stop, number = text:find("^%s*(%-?%d+%.?%d*)%s*", at)
      end
      if not start then
         return nil
      end
      cells[#cells + 1] = { quoted or number, quoted ~= nil }
      if stop == #text then
         local drawn = of_rows(names)
         for _, cell in ipairs(cells) do
            raw.add_cell(drawn.rows, cell[1], cell[2])
         end
         return drawn
      elseif text:sub(stop + 1, stop + 1) ~= "," then
         return nil
      end
      at = stop + 2
   end
end

-- Reads the rows that a parameter's query answers, in an order that all candidates share.
local function fill(parameter)
   user.line = parameter.line
   raw.keep_next()
   local answer = user.con:query(parameter.query)
   if dyno.engine == "null" then
      answer = { nrows = 1, nfields = #parameter.names,
         fetch_row = function() return { "1", "1", "1", "1" } end }
   elseif answer.nrows == 0 then
      fail("the query for :%s answers no row", parameter.names[1])
   elseif answer.nrows > ROWS_MAX then
      fail("the query for :%s answers %d rows, and %d can be drawn from; a LIMIT or a WHERE "
         .. "makes them fewer", parameter.names[1], answer.nrows, ROWS_MAX)
   elseif answer.nfields ~= #parameter.names then
      fail("the query for :%s answers %d columns for %d names", parameter.names[1],
         answer.nfields, #parameter.names)
   end
   local rows, keys = {}, {}
   for at = 1, answer.nrows do
      local row = answer:fetch_row()
      local key = {}
      for column in ipairs(parameter.names) do
         key[column] = row[column] or ""
      end
      rows[at], keys[row] = row, table.concat(key, "\0")
   end
   table.sort(rows, function(a, b) return keys[a] < keys[b] end)
   for _, row in ipairs(rows) do
      for column in ipairs(parameter.names) do
         raw.add_cell(parameter.rows, row[column], false)
      end
   end
   parameter.is_filled, user.line = true, nil
end

local function names_of(text)
   local names = {}
   for word in text:gmatch("[^,]+") do
      local name = word:match("^%s*:(.-)%s*$")
      if name == nil or not values.is_name(name) then
         fail("'%s' is no name of a parameter; :name is", word:match("^%s*(.-)%s*$"))
      end
      names[#names + 1] = name
   end
   return names
end

-- A parameter: `names`, and a piece of a script that draws its value, with what that speaks of.
function marks.parameter(text)
   local left, right = text:match("^(.-)%s*=%s*(.-)%s*$")
   local names = names_of(left)
   local low, high, words = right:match("^(%S-)%s*%.%.%s*(%S+)%s*(.-)$")
   local drawn
   if right:lower():find("^select%s") or right:lower():find("^with%s") then
      drawn = of_rows(names, user.add_call(function() drawn:fill() end))
      drawn.query, drawn.fill = right:gsub(";$", ""), fill
   elseif #names > 1 then
      fail("several names are drawn together from a query only: %s = SELECT …", left)
   elseif low and low ~= "" then
      drawn = of_range(names, low, high, words)
   elseif right == "" then
      fail("nothing stands behind the = of :%s", names[1])
   else
      drawn = of_list(names, right) or set(names[1], right)
   end
   drawn.names = names
   return drawn
end

-- ---- words ----------------------------------------------------------------------------------

local function count(text, word)
   local number = text:match("^%d+$") and tonumber(text)
   if not number or number > 2 ^ 31 - 1 then
      fail("%s is a whole number from 0 on, not '%s'", word, text)
   end
   return number
end

local function nothing(text, word)
   if text ~= "" then
      fail("nothing stands behind %s:, it begins a part of the file", word)
   end
   return true
end

-- What each word's value may be.
local WORDS = {
   weight = count, times = count, setup = nothing, run = nothing,
   name = function(text)
      return text ~= "" and text or fail("a name stands behind name:")
   end,
}

-- A word and its value, of `weight: 3`.
function marks.word(text)
   local word, value = text:match("^([%a_]+):%s*(.-)%s*$")
   local read = WORDS[word]
   if read == nil then
      fail("unknown mark '%s'; there are name, run, setup, times, weight and :parameter = …, and a "
         .. "comment for people has no colon behind its first word", word)
   end
   return word, read(value, word)
end

return marks
