-- Whether an answer is right: a summary of its rows beside the one that is known at this scale.
--
-- A summary is the number of rows and, for each column, a number: of texts a checksum, of numbers
-- their sum, each row weighted by its place, so that the order counts. Counts, keys and texts must
-- be the same; sums of money may differ by what a double rounds away (1e-7); averages and shares by
-- what an engine's decimals round away (1e-4; the specification allows 1 %, 2.1.3.5).

local answers = {}

local MONEY, ROUNDED = 1e-7, 1e-4

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

local function is_near(found, known, is_average)
  local allowed = 0
  if known % 1 ~= 0 then
    allowed = is_average and ROUNDED or MONEY
  end
  return math.abs(found - known) <= allowed * math.abs(known)
end

-- A line of known answers.
function answers.text(summary)
  local words = {"rows = " .. summary.rows}
  for column = 1, #summary do
    words[column + 1] = (("%.6f"):format(summary[column]):gsub("%.?0+$", ""))
  end
  return "{" .. table.concat(words, ", ") .. "},"
end

-- What is wrong with a summary, or nil; `averages`: the columns that hold some.
function answers.difference(found, known, averages)
  if found.rows ~= known.rows then
    return ("%d rows, not %d"):format(found.rows, known.rows)
  end
  for column = 1, #known do
    local is_average = (averages or {})[column]
    if not (found[column] and is_near(found[column], known[column], is_average)) then
      return ("column %d sums up to %s, not %s"):format(column, found[column], known[column])
    end
  end
end

-- Writes a query's summary to a file, the first one to a new file: Lua that assigns the list of all
-- under `title`.
function answers.write(path, title, number, summary)
  local file, problem = io.open(path, number == 1 and "w" or "a")
  if not file then
    error("answers: " .. problem, 0)
  end
  if number == 1 then
    file:write(("title = %q\n"):format(title))
  end
  file:write(("known[%d] = %s\n"):format(number, (answers.text(summary):gsub(",$", ""))))
  file:close()
end

-- The known answers of such a file, by their title.
function answers.read(path)
  local chunk, problem = loadfile(path)
  if not chunk then
    error("answers: " .. problem, 0)
  end
  local said = {known = {}}
  local is_read, cause = pcall(setfenv(chunk, said))
  if not (is_read and said.title) then
    error(("answers: %s is not a file that check=print wrote%s"):format(
      path, is_read and "" or ": " .. cause), 0)
  end
  return {[said.title] = said.known}
end

return answers
