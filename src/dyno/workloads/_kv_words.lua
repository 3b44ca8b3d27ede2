-- The words of the workload kv: its mixes, and the SQL of each kind of request.

local words = {}

-- YCSB's core workloads, in per cent (its wiki, "Core Workloads"). `modify` reads a row and writes
-- it anew; d reads the newest rows the most.
local YCSB = {
  a = {read = 50, update = 50},
  b = {read = 95, update = 5},
  c = {read = 100},
  d = {read = 95, insert = 5, latest = true},
  e = {scan = 95, insert = 5},
  f = {read = 50, modify = 50},
}
local KINDS = {"read", "update", "insert", "delete", "scan", "modify"}
local NEEDS_ANSWER = {scan = "takes one range", modify = "writes what it has read"}

function words.is_positive(_, text)
  return tonumber(text) > 0
end

-- `read=90,update=10` as shares by kind; nil where it is none.
local function read_shares(text)
  local shares, known = {}, {}
  for _, kind in ipairs(KINDS) do known[kind] = true end
  for part in (text .. ","):gmatch("([^,]*),") do
    local kind, share = part:match("^%s*(%a+)=(%d+)%s*$")
    if not known[kind] or shares[kind] then return nil end
    shares[kind] = tonumber(share)
  end
  return shares
end

local function shares_of(text)
  return YCSB[text:lower()] or read_shares(text)
end

function words.is_mix(_, text)
  local total = 0
  for _, kind in ipairs(KINDS) do
    total = total + ((shares_of(text) or {})[kind] or 0)
  end
  return total > 0
end

-- The mix that the options ask for: kinds in order with the upper ends of their shares, and what
-- follows from them.
function words.read_mix(opt)
  local shares, total = shares_of(opt.mix), 0
  local mix = {latest = shares.latest, kinds = {}, ends = {}}
  for _, kind in ipairs(KINDS) do
    if (shares[kind] or 0) > 0 then
      if NEEDS_ANSWER[kind] and opt.batch * opt.in_flight > 1 then
        error(kind .. " " .. NEEDS_ANSWER[kind] .. ": batch and in_flight have to be 1")
      end
      total = total + shares[kind]
      table.insert(mix.kinds, kind)
      table.insert(mix.ends, total)
    end
  end
  mix.total, mix.many = total, #mix.kinds > 1
  mix.deletes = (shares.delete or 0) > 0
  mix.drifts = mix.deletes or (shares.insert or 0) > 0
  mix.updates = (shares.update or 0) + (shares.modify or 0) > 0
  mix.writes = mix.drifts or mix.updates
  return mix
end

function words.draw(mix)
  if not mix.many then return mix.kinds[1] end
  local at = sysbench.rand.uniform(1, mix.total)
  for i, last in ipairs(mix.ends) do
    if at <= last then return mix.kinds[i] end
  end
end

-- The kinds of statements that a mix sends.
function words.kinds_sent(mix)
  local sent, seen = {}, {}
  for _, kind in ipairs(mix.kinds) do
    for _, each in ipairs(kind == "modify" and {"read", "update"} or {kind}) do
      if not seen[each] then table.insert(sent, each) end
      seen[each] = true
    end
  end
  return sent
end

local function list(count, one)
  return string.rep(one .. ", ", count - 1) .. one
end

local function by_key(count)
  return count == 1 and "k = ?" or "k IN (" .. list(count, "?") .. ")"
end

-- Kind -> SQL for so many keys.
words.sql = {
  read = function(count) return "SELECT k, v FROM kv WHERE " .. by_key(count) end,
  update = function(count) return "UPDATE kv SET v = ? WHERE " .. by_key(count) end,
  insert = function(count) return "INSERT INTO kv (k, v) VALUES " .. list(count, "(?, ?)") end,
  delete = function(count) return "DELETE FROM kv WHERE " .. by_key(count) end,
  scan = function() return "SELECT k, v FROM kv WHERE k >= ? ORDER BY k LIMIT ?" end,
}

-- Kind -> how many keys, values and limits it sends.
words.counts = {
  read = function(count) return {keys = count, values = 0, limits = 0} end,
  update = function(count) return {keys = count, values = 1, limits = 0} end,
  insert = function(count) return {keys = count, values = count, limits = 0} end,
  delete = function(count) return {keys = count, values = 0, limits = 0} end,
  scan = function() return {keys = 1, values = 0, limits = 1} end,
}

-- The cells of a statement in the order of its parameters.
function words.in_order(kind, made)
  local cells = {}
  if kind == "update" then cells[1] = made.values[1] end
  for i, key in ipairs(made.keys) do
    table.insert(cells, key)
    if kind == "insert" then table.insert(cells, made.values[i]) end
  end
  if kind == "scan" then cells[2] = made.limits[1] end
  return cells
end

return words
