-- Whether an answer is right: a summary of its rows beside the one that is known at this scale.
--
-- A summary is the number of rows and, for each column, a number: of texts a checksum, of numbers
-- their sum, each row weighted by its place, so that the order counts. Counts, keys and texts must
-- be the same; sums of money may differ by what a double rounds away (1e-7); averages and shares by
-- what an engine's decimals round away (1e-4; the specification allows 1 %, 2.1.3.5).

local answers = {}

local MONEY, ROUNDED = 1e-7, 1e-4
-- Columns of averages and shares, by query: MySQL gives them four digits more than their argument.
local AVERAGES = {
  [1] = {[7] = true, [8] = true, [9] = true},
  [8] = {[2] = true},
  [14] = {[1] = true},
}

local function checksum(text, seed)
  local sum = seed
  for at = 1, #text do
    sum = (sum * 31 + text:byte(at)) % 2147483647
  end
  return sum
end

-- Of CHAR(n), some engines give the blanks at the end, too.
local function plain(field)
  return field and (field:gsub(" +$", "")) or "NULL"
end

function answers.summary(result)
  local summary, kinds = {rows = result.nrows}, {}
  for row = 1, result.nrows do
    local fields = result:fetch_row()
    for column = 1, result.nfields do
      local text = plain(fields[column])
      local number = tonumber(text)
      kinds[column] = kinds[column] or (number and "number" or "text")
      local sum = summary[column] or 0
      if kinds[column] == "number" then
        summary[column] = sum + row * (number or 0 / 0)
      else
        summary[column] = checksum(text, sum)
      end
    end
  end
  return summary
end

local function is_near(query, column, found, known)
  local allowed = 0
  if known % 1 ~= 0 then
    allowed = (AVERAGES[query] or {})[column] and ROUNDED or MONEY
  end
  return math.abs(found - known) <= allowed * math.abs(known)
end

-- A line of _dbt3_known_answers.lua.
function answers.text(summary)
  local numbers = {}
  for column = 1, #summary do
    numbers[column] = (("%.6f"):format(summary[column]):gsub("%.?0+$", ""))
  end
  return ("{rows = %d, %s},"):format(summary.rows, table.concat(numbers, ", "))
end

-- What is wrong with a summary, or nil.
function answers.difference(query, found, known)
  if found.rows ~= known.rows then
    return ("%d rows, not %d"):format(found.rows, known.rows)
  end
  for column = 1, #known do
    if not (found[column] and is_near(query, column, found[column], known[column])) then
      return ("column %d sums up to %s, not %s"):format(column, found[column], known[column])
    end
  end
end

return answers
