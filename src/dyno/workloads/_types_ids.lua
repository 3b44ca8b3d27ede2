-- The keys of the workload types: the UUID of each row by its number, as it is written for each
-- type of column, and the SQL of each engine around it.

local bit = require("bit")

local ids = {}

-- ---- values -----------------------------------------------------------------------------------

-- SplitMix64 (Steele, Lea, Flood, 2014): the nth number of its sequence, found without the others.
-- What is drawn depends on the row alone, so that a lookup knows the id of any row.
local function hash(n)
  local z = n * 0x9e3779b97f4a7c15ULL
  z = bit.bxor(z, bit.rshift(z, 30)) * 0xbf58476d1ce4e5b9ULL
  z = bit.bxor(z, bit.rshift(z, 27)) * 0x94d049bb133111ebULL
  return bit.bxor(z, bit.rshift(z, 31))
end

local VERSION, VARIANT = 0xf000ULL, 0x3fffffffffffffffULL
local CLOCK_MS = 1577836800000ULL -- 2020-01-01; each row is a millisecond younger than the last

-- RFC 9562's version 4: all random.
local function random_high(n)
  return bit.bor(bit.band(hash(2ULL * n), bit.bnot(VERSION)), 0x4000ULL)
end

-- Its version 7: 48 bits of time, then random.
local function time_high(n)
  return bit.bor(bit.lshift(CLOCK_MS + n, 16), 0x7000ULL, bit.band(hash(2ULL * n), 0xfffULL))
end

local function digits(high, n)
  local low = bit.bor(bit.band(hash(2ULL * n + 1ULL), VARIANT), 0x8000000000000000ULL)
  return bit.tohex(high) .. bit.tohex(low)
end

local function hyphenated(text)
  return ("%s-%s-%s-%s-%s"):format(text:sub(1, 8), text:sub(9, 12), text:sub(13, 16),
    text:sub(17, 20), text:sub(21))
end

local HIGH = {random = random_high, time = time_high}
ids.orders = {"random", "time"}

-- ---- types ------------------------------------------------------------------------------------

-- What of a text makes the column's value, by engine; `?` elsewhere.
local UNHEX = {mysql = "UNHEX(?)", postgres = "decode(?, 'hex')", sqlite = "unhex(?)",
  duckdb = "unhex(?)"}
local BINARY = {mysql = "BINARY(16)", postgres = "BYTEA"}

local TYPES = {
  char32 = {column = function() return "CHAR(32)" end},
  char36 = {column = function() return "CHAR(36)" end, hyphens = true},
  binary16 = {column = function() return BINARY[dyno.engine] or "BLOB" end, value = UNHEX},
  uuid = {column = function() return "UUID" end, hyphens = true,
    value = {duckdb = "CAST(? AS UUID)"}, read = {duckdb = "CAST(id AS VARCHAR)"}},
}
ids.types = {"char32", "char36", "binary16", "uuid"}

function ids.column(type)
  return TYPES[type].column()
end

-- The place of an id in a statement.
function ids.place(type)
  return (TYPES[type].value or {})[dyno.engine] or "?"
end

-- The id as a statement reads it: DuckDB's session takes no UUID that is not cast.
function ids.read(type)
  return (TYPES[type].read or {})[dyno.engine] or "id"
end

-- Row -> what is bound in that place: a text of 32 digits, or of 36 with hyphens.
function ids.writer(type, order)
  local high, hyphens = HIGH[order], TYPES[type].hyphens
  return function(n)
    local text = digits(high(n), n)
    return hyphens and hyphenated(text) or text
  end
end

-- ---- what an engine lacks ---------------------------------------------------------------------

local function check_uuid(con)
  if dyno.engine == "sqlite" then
    error("types: SQLite has no type UUID; char32, char36 and binary16 are there", 0)
  elseif dyno.engine == "mysql" then
    local version = con:query_row("SELECT VERSION()")
    local major, minor = version:match("^(%d+)%.(%d+)")
    if not version:find("MariaDB") then
      error(("types: MySQL %s has no type UUID; MariaDB has one from 10.7 on"):format(version), 0)
    elseif major * 1000 + minor < 10007 then
      error(("types: MariaDB has a type UUID from 10.7 on, and this is %s"):format(version), 0)
    end
  end
end

local function check_binary(con)
  if dyno.engine == "sqlite" then
    local version = con:query_row("SELECT sqlite_version()")
    if not pcall(con.query, con, "SELECT unhex('00')") then
      error(("types: binary16 needs unhex(), which SQLite has from 3.41 on, and this is %s"):format(
        version), 0)
    end
  end
end

local CHECKS = {uuid = check_uuid, binary16 = check_binary}

-- Refuses a type that the engine has not.
function ids.check(con, type)
  if CHECKS[type] then
    CHECKS[type](con)
  end
end

return ids
