-- The texts of sampled rows as they are written, and the ledger's entries for them.

local written = {}

local KEYS = 256 -- of a table, at most
local TABLES = 4 -- the first ones
local COLUMNS = {"c", "pad"}

local columns = {}

local function name_of(column, number)
  return ("%s of sbtest%d"):format(column, number)
end

-- The words by which an item says that it writes: the places of the key, and of each column's
-- value. Nothing for a table that is not sampled.
function written.writes(number, key, places)
  local list = {}
  for column, value in pairs(number <= TABLES and places or {}) do
    local name = name_of(column, number)
    columns[name] = columns[name] or dyno.written(name, math.ceil(sysbench.opt.table_size / KEYS))
    list[#list + 1] = {columns[name], key = key, value = value}
  end
  return list
end

-- `kinds`: a set of what is played. Of one that writes over a text, that it is there at the end.
function written.entries(kinds)
  local over = {c = kinds.non_index_updates or kinds.delete_inserts, pad = kinds.delete_inserts}
  local list = {}
  for number = 1, math.min(sysbench.opt.tables, TABLES) do
    for _, column in ipairs(COLUMNS) do
      if over[column] then
        list[#list + 1] = {name = name_of(column, number) .. " is what was written last",
          sql = ("SELECT id, %s FROM sbtest%d WHERE id IN (?)"):format(column, number),
          written = name_of(column, number)}
      end
    end
  end
  if kinds.delete_inserts then
    list[#list + 1] = {name = "k",
      unchecked = "rows come back with another k, and updates add to that meanwhile"}
  end
  return list
end

return written
