-- The statement by which a ledger holds the columns of a loaded table against those of other
-- candidates: one row with a sum of each. Amounts are added up as cents, since an engine that keeps
-- them as floating-point numbers adds whole ones exactly; of a date the day is added up.

local DAY = "CAST(SUBSTR(CAST(%s AS CHAR(10)), 9, 2) AS DECIMAL(10,0))"
local SUMMED = {
  INTEGER = "%s", BIGINT = "%s", DECIMAL = "ROUND(100 * %s)", DATE = DAY,
  CHAR = "LENGTH(%s)", VARCHAR = "LENGTH(%s)", TEXT = "LENGTH(%s)",
}

-- `columns`: as in a CREATE TABLE, with nothing but names, types and NOT NULL.
local function sums(name, columns)
  local list = {}
  for column, type in columns:gsub("%b()", ""):gmatch("([%w_]+) (%u+)[^,]*") do
    local form = SUMMED[type] or error("no sum is known of the type " .. type)
    list[#list + 1] = "SUM(" .. form:format(column) .. ")"
    if type == "DATE" then
      list[#list + 1] = ("MIN(%s), MAX(%s)"):format(column, column)
    end
  end
  return ("SELECT %s FROM %s"):format(table.concat(list, ", "), name)
end

-- The ledger's entry for it.
return function(name, columns)
  return {name = name .. ": sums of all columns", sql = sums(name, columns), counters = {}}
end
