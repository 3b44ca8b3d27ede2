-- Our tpcc.lua under sysbench 1.0.20 itself, which draws and sends the same statements as text: the
-- words that sysbench lacks count nothing here. The tables must be there; LUA_PATH names the folder
-- of our workloads.

dyno = {engine = "a server", transaction = function() end, count = function() end}

-- sysbench hands out no result of what is no query, so it cannot tell how many rows were changed.
local WITHOUT_RESULT = {
  ["dist).nrows"] = "dist) and 1",
  ["send.delete_new_order(w, d, order).nrows == 0"] = "not send.delete_new_order(w, d, order)",
}

package.preload["_tpcc_transactions"] = function()
  local file = assert(io.open(package.searchpath("_tpcc_transactions", package.path)))
  local text = file:read("*a")
  file:close()
  for told, untold in pairs(WITHOUT_RESULT) do
    local at, last = text:find(told, 1, true)
    text = text:sub(1, assert(at, told) - 1) .. untold .. text:sub(last + 1)
  end
  return assert(loadstring(text))()
end

require("tpcc")

local options = sysbench.cmdline.options
options.time, options.warmup_time = nil, nil -- sysbench has its own
for _, option in pairs(options) do
  option[4] = nil -- the driver's check of a value
end

-- sysbench 1.0.20 writes a double behind its cell: over other memory, and never the value.
local function set(cell, value)
  cell.is_null[0] = false
  if type(value) == "string" then
    ffi.copy(cell.buffer, value) -- with its end, which sysbench looks for
    cell.data_len[0] = #value
  else
    cell.buffer[0] = value
  end
end

local open = thread_init

function thread_init()
  local statement = sysbench.sql.driver():connect():prepare("SELECT 1")
  getmetatable(statement:bind_create(sysbench.sql.type.DOUBLE)).set = set
  open()
end
