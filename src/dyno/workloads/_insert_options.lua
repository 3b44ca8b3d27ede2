-- The insert benchmark's options, and what they may be.

local words = require("_insert_words")

local function positive(_, text)
  return tonumber(text) > 0
end

local function rates(_, text)
  for _, word in ipairs(words(text)) do
    if not ((tonumber(word) or 0) > 0) then
      return false
    end
  end
  return true
end

local function kinds(_, text)
  for _, word in ipairs(words(text)) do
    if word ~= "range" and word ~= "point" then
      return false
    end
  end
  return true
end

return {
  clients = {"Writers, and in the query phases as many readers", 1, nil, positive},
  shared_table = {"All clients use one table, instead of one each", false},
  load_rows = {"Rows loaded in l.i0, all clients together", 50000, nil, positive},
  write_rows = {"Rows inserted in l.i1 (four fifths) and l.i2 (one fifth)", 10000},
  load_batch = {"Rows per insert in l.i0", 100, nil, positive},
  write_batch = {"Rows per insert in l.i1 and beside the queries", 50, nil, positive},
  small_batch = {"Rows per insert in l.i2", 5, nil, positive},
  delete_per_insert = {"Delete the oldest rows, as many as were inserted", true},
  query_rates = {"Rows inserted per second and client in each step of query phases",
    "100,500,1000", nil, rates},
  query_seconds = {"Length of each query phase", 0.5},
  queries = {"Query phases of each step: range, point", "range,point", nil, kinds},
  rows_per_query = {"Rows that a query fetches", 10},
  cashregisters = {"Distinct cash registers", 1000},
  products = {"Distinct products", 10000},
  customers = {"Distinct customers", 100000},
  max_price = {"Prices are below this", 500},
  data_length_min = {"Shortest data column", 10},
  data_length_max = {"Longest data column", 20},
  data_random_percent = {"Share of the data column that does not compress", 50},
  clock_rows_per_s = {"Rows per second of the virtual clock behind dateandtime", 1000},
}
