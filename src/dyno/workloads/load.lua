-- Bulk load: rows of the star schema benchmark's lineorder, each with a text of ten random words or
-- of a phrase said over and over, into a table without indexes, with four, or with four that are
-- built afterwards; then what table and indexes take on the disk. docs/guides/workloads/load.md.

local it = require("_load_table")
local count_sizes = require("_table_sizes")

local checks = require("_option_checks")
local one_of, positive = checks.one_of, checks.whole

sysbench.cmdline.options = {
  rows = {"Rows; a multiple of `parts`", 100000, nil, positive},
  text = {"words: ten random words in each row; phrase: ten words said five times over", "words",
    nil, one_of({"words", "phrase"})},
  indexes = {"none; before: four, made before the load; after: four, built after it in a phase of "
    .. "their own", "none", nil, one_of({"none", "before", "after"})},
  parts = {"Loads that the table is made of, each a command and a transaction; users take the next "
    .. "one as they get free", 10, nil, positive},
  key_block_size = {"KB of a page of a compressed InnoDB table; 0: not compressed", 0, nil,
    one_of({"0", "1", "2", "4", "8", "16"})},
}

local opt = sysbench.opt
local WORDS = 10
local TIMES = opt.text == "phrase" and 5 or 1
-- What InnoDB's files take of 200,000 rows; PostgreSQL's a little less. An index is a guess.
local ROW_BYTES = opt.text == "phrase" and 720 or 280
local INDEX_BYTES = opt.indexes == "none" and 0 or 4 * 25
-- Fewer than the lines of any unit of the scale, so that there are enough.
local ROWS_PER_SCALE = 5900000

if opt.rows % opt.parts ~= 0 then
  error(("rows: %d rows cannot be loaded in %d parts of one length"):format(
    opt.rows, opt.parts), 0)
end

local con, part

function prepare()
  local con = sysbench.sql.driver():connect()
  it.check(con, opt.indexes ~= "none", opt.key_block_size)
  local compressed = (" ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=%d"):format(opt.key_block_size)
  it.tables:create(con, true, opt.key_block_size > 0 and compressed or "")
  for _, statement in ipairs(opt.indexes == "before" and it.index_statements() or {}) do
    con:query(statement)
  end
end

function cleanup()
  it.tables:drop(sysbench.sql.driver():connect())
end

function thread_init()
  con = sysbench.sql.driver():connect()
end

-- A part that failed is tried again when the event begins anew.
function load_part()
  part = part or dyno.turn()
  local rows = opt.rows / opt.parts
  local made = dyno.rows.lineorder{scale = math.ceil(opt.rows / ROWS_PER_SCALE),
    first = part * rows, rows = rows, words = WORDS, times = TIMES}
  dyno.count("loaded", it.tables:load(con, it.NAME, made))
  part = nil
end

function build_indexes()
  for _, statement in ipairs(it.index_statements()) do
    con:query(statement)
  end
end

function weigh_table()
  count_sizes(con, it.NAME)
end

local function phase(name, title, run, more)
  local stream = {name = name, run = run, connections = 1}
  local made = {name = name, title = title, streams = {stream}, stop = {kind = "count", events = 1}}
  for key, value in pairs(more) do
    made[key] = value
  end
  return made
end

function dyno.phases()
  local expected_s = opt.rows / 50000
  local list = {phase("load", "bulk load", "load_part", {
    stop = {kind = "count", events = opt.parts},
    primary = {{stream = "load", metric = "rate_per_s"}}, expected_s = expected_s})}
  local stream = list[1].streams[1]
  stream.connections, stream.role = opt.threads, "writer"
  stream.unit, stream.units_per_event = "row", opt.rows / opt.parts
  if opt.indexes == "after" then
    list[2] = phase("index", "build the indexes", "build_indexes", {expected_s = expected_s,
      primary = {{stream = "index", metric = "latency_ns_mean"}}})
  end
  list[#list + 1] = phase("size", "size on disk", "weigh_table", {settle = true})
  return list
end

function dyno.ledger()
  return {{name = "rows = loaded", sql = "SELECT COUNT(*) FROM " .. it.NAME,
    counters = {loaded = 1}}, unpack(it.tables:column_sums())}
end

function dyno.size_bytes()
  return opt.rows * (ROW_BYTES + INDEX_BYTES)
end
