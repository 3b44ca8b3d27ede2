-- The nine tables, their indexes and foreign keys, in the engine's dialect.

local dialect = require("_dialect")

local schema = {}

-- What a line that is not delivered has for a date where it must have one.
local OLD_DATE = "1970-01-02 00:00:00"

local DATE = {sqlite = "DATETIME", duckdb = "TIMESTAMP", mysql = "DATETIME",
  pgsql = "TIMESTAMP"}

-- Of the delivery date: how it is declared, what a line is loaded with that is not delivered (nil
-- for NULL), and how a line says so.
local IS_OLD = "ol_delivery_d = '" .. OLD_DATE .. "'"
local DATES = {
  null = {declared = "", undelivered = "ol_delivery_d IS NULL"},
  default = {declared = " DEFAULT '" .. OLD_DATE .. "' NOT NULL", loaded = OLD_DATE,
    undelivered = IS_OLD},
  not_null = {declared = " NOT NULL", loaded = OLD_DATE, undelivered = IS_OLD},
}

function schema.dates()
  return DATES[sysbench.opt.dates]
end

-- Each table: its columns, its primary key, and what its columns refer to.
local TABLES = {
  {"warehouse", [[w_id INTEGER NOT NULL, w_name VARCHAR(10), w_street_1 VARCHAR(20),
    w_street_2 VARCHAR(20), w_city VARCHAR(20), w_state CHAR(2), w_zip CHAR(9),
    w_tax DECIMAL(4,4), w_ytd DECIMAL(12,2)]], "w_id"},
  {"district", [[d_id INTEGER NOT NULL, d_w_id INTEGER NOT NULL, d_name VARCHAR(10),
    d_street_1 VARCHAR(20), d_street_2 VARCHAR(20), d_city VARCHAR(20), d_state CHAR(2),
    d_zip CHAR(9), d_tax DECIMAL(4,4), d_ytd DECIMAL(12,2), d_next_o_id INTEGER]],
    "d_w_id, d_id", {{"d_w_id", "warehouse (w_id)"}}},
  {"customer", [[c_id INTEGER NOT NULL, c_d_id INTEGER NOT NULL, c_w_id INTEGER NOT NULL,
    c_first VARCHAR(16), c_middle CHAR(2), c_last VARCHAR(16), c_street_1 VARCHAR(20),
    c_street_2 VARCHAR(20), c_city VARCHAR(20), c_state CHAR(2), c_zip CHAR(9), c_phone CHAR(16),
    c_since %DATE, c_credit CHAR(2), c_credit_lim DECIMAL(12,2), c_discount DECIMAL(4,4),
    c_balance DECIMAL(12,2), c_ytd_payment DECIMAL(12,2), c_payment_cnt INTEGER,
    c_delivery_cnt INTEGER, c_data VARCHAR(500)]],
    "c_w_id, c_d_id, c_id", {{"c_w_id, c_d_id", "district (d_w_id, d_id)"}}},
  {"history", [[h_c_id INTEGER, h_c_d_id INTEGER, h_c_w_id INTEGER, h_d_id INTEGER,
    h_w_id INTEGER, h_date %DATE, h_amount DECIMAL(6,2), h_data VARCHAR(24)]], nil,
    {{"h_c_w_id, h_c_d_id, h_c_id", "customer (c_w_id, c_d_id, c_id)"},
    {"h_w_id, h_d_id", "district (d_w_id, d_id)"}}},
  {"item", [[i_id INTEGER NOT NULL, i_im_id INTEGER, i_name VARCHAR(24), i_price DECIMAL(5,2),
    i_data VARCHAR(50)]], "i_id"},
  {"stock", [[s_i_id INTEGER NOT NULL, s_w_id INTEGER NOT NULL, s_quantity INTEGER,
    s_dist_01 CHAR(24), s_dist_02 CHAR(24), s_dist_03 CHAR(24), s_dist_04 CHAR(24),
    s_dist_05 CHAR(24), s_dist_06 CHAR(24), s_dist_07 CHAR(24), s_dist_08 CHAR(24),
    s_dist_09 CHAR(24), s_dist_10 CHAR(24), s_ytd INTEGER, s_order_cnt INTEGER,
    s_remote_cnt INTEGER, s_data VARCHAR(50)]], "s_w_id, s_i_id",
    {{"s_w_id", "warehouse (w_id)"}, {"s_i_id", "item (i_id)"}}},
  {"orders", [[o_id INTEGER NOT NULL, o_d_id INTEGER NOT NULL, o_w_id INTEGER NOT NULL,
    o_c_id INTEGER, o_entry_d %DATE, o_carrier_id INTEGER, o_ol_cnt INTEGER,
    o_all_local INTEGER]], "o_w_id, o_d_id, o_id",
    {{"o_w_id, o_d_id, o_c_id", "customer (c_w_id, c_d_id, c_id)"}}},
  {"new_orders", [[no_o_id INTEGER NOT NULL, no_d_id INTEGER NOT NULL,
    no_w_id INTEGER NOT NULL]], "no_w_id, no_d_id, no_o_id",
    {{"no_w_id, no_d_id, no_o_id", "orders (o_w_id, o_d_id, o_id)"}}},
  {"order_line", [[ol_o_id INTEGER NOT NULL, ol_d_id INTEGER NOT NULL, ol_w_id INTEGER NOT NULL,
    ol_number INTEGER NOT NULL, ol_i_id INTEGER, ol_supply_w_id INTEGER,
    ol_delivery_d %DATE%DECLARED, ol_quantity INTEGER, ol_amount DECIMAL(6,2),
    ol_dist_info CHAR(24)]], "ol_w_id, ol_d_id, ol_o_id, ol_number",
    {{"ol_w_id, ol_d_id, ol_o_id", "orders (o_w_id, o_d_id, o_id)"},
    {"ol_supply_w_id, ol_i_id", "stock (s_w_id, s_i_id)"}}},
}

-- SQLite looks at foreign keys only where a connection asks it to.
function schema.set_up_connection(con)
  if dyno.engine == "sqlite" and sysbench.opt.foreign_keys then
    con:query("PRAGMA foreign_keys = ON")
  end
end

function schema.create_tables(con)
  local words = {DATE = DATE[dialect(DATE)], DECLARED = schema.dates().declared}
  for _, declared in ipairs(TABLES) do
    local name, columns, key, references = unpack(declared, 1, 4)
    local parts = {(columns:gsub("%%(%u+)", words))}
    if key then
      parts[#parts + 1] = "PRIMARY KEY (" .. key .. ")"
    end
    for _, each in ipairs(sysbench.opt.foreign_keys and references or {}) do
      parts[#parts + 1] = string.format("FOREIGN KEY (%s) REFERENCES %s", unpack(each))
    end
    con:query(string.format("CREATE TABLE %s (%s)", name, table.concat(parts, ", ")))
  end
end

-- After the load: by name, and a customer's last order.
function schema.create_indexes(con)
  con:query("CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first)")
  con:query("CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)")
end

function schema.drop_tables(con)
  for at = #TABLES, 1, -1 do
    con:query("DROP TABLE IF EXISTS " .. TABLES[at][1])
  end
end

return schema
