-- Tables that a workload makes for itself under names that others may use, too: each is noted in a
-- table of the workload's own, and only those that are noted there are ever dropped.

local bulk_load = require("_bulk_load")
local column_sums = require("_column_sums")

local owned = {}
owned.__index = owned

-- `LIST`: name, columns, key and indexes of each table, in the order in which they are made.
local function new(note, list)
  return setmetatable({NOTE = note, LIST = list}, owned)
end

local function begin_notes(self, con)
  con:query("CREATE TABLE IF NOT EXISTS " .. self.NOTE .. " (name VARCHAR(20) NOT NULL)")
end

-- Makes all tables, with their keys unless `keyless`; `ending`: what follows each definition.
function owned:create(con, keyless, ending)
  begin_notes(self, con)
  for _, it in ipairs(self.LIST) do
    local key = keyless and "" or (", PRIMARY KEY (%s)"):format(it.key)
    con:query(("CREATE TABLE %s (%s%s)%s"):format(it.name, it.columns, key, ending or ""))
    con:query(("INSERT INTO %s VALUES ('%s')"):format(self.NOTE, it.name))
  end
end

function owned:drop(con)
  begin_notes(self, con)
  local found = con:query("SELECT name FROM " .. self.NOTE)
  for _ = 1, found.nrows do
    con:query("DROP TABLE IF EXISTS " .. found:fetch_row()[1])
  end
  con:query("DROP TABLE " .. self.NOTE)
end

-- The statements that make every index.
function owned:indexes()
  local list = {}
  for _, it in ipairs(self.LIST) do
    for _, columns in ipairs(it.indexes) do
      local name = "i_" .. columns:gsub(", ", "_")
      list[#list + 1] = ("CREATE INDEX %s ON %s (%s)"):format(name, it.name, columns)
    end
  end
  return list
end

-- Loads rows (`dyno.rows`) into a table by the engine's bulk command; how many.
function owned:load(con, name, rows)
  return bulk_load(con, name, rows)
end

-- Of each table the sums of its columns, to be held against other candidates'.
function owned:column_sums()
  local entries = {}
  for at, it in ipairs(self.LIST) do
    entries[at] = column_sums(it.name, it.columns)
  end
  return entries
end

-- Rows of each table = loaded + inserted - deleted, by the script's counters; and its columns.
function owned:ledger()
  local entries = self:column_sums()
  for _, it in ipairs(self.LIST) do
    entries[#entries + 1] = {name = it.name .. ": rows = loaded + inserted - deleted",
      sql = "SELECT COUNT(*) FROM " .. it.name,
      counters = {["loaded_" .. it.name] = 1, ["inserted_" .. it.name] = 1,
        ["deleted_" .. it.name] = -1}}
  end
  return entries
end

return new
