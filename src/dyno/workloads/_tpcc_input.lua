-- What a transaction is asked for, drawn before it begins (clauses 2.4.1 to 2.8.1), and which
-- transaction is next: 45 % New-Order, 43 % Payment, 4 % of each of the others.

local random = require("_tpcc_random")

local input = {}

local uniform, percent = random.uniform, random.percent

local function warehouse()
  return uniform(1, sysbench.opt.warehouses)
end

-- Another warehouse, or the only one.
local function other_warehouse(home)
  local count = sysbench.opt.warehouses
  if count == 1 then
    return home
  end
  local other = uniform(1, count - 1)
  return other < home and other or other + 1
end

local function at_home(kind)
  return {kind = kind, w = warehouse(), d = uniform(1, 10)}
end

-- Six in ten by last name, the others by number.
local function choose_customer(drawn)
  if percent(60) then
    drawn.last = random.last_name()
  else
    drawn.c = random.customer()
  end
end

local function new_order()
  local drawn = at_home("new_order")
  drawn.c = random.customer()
  local lines, all_local = {}, 1
  for number = 1, uniform(5, 15) do
    local supply = percent(1) and other_warehouse(drawn.w) or drawn.w
    if supply ~= drawn.w then
      all_local = 0
    end
    lines[number] = {item = random.item(), supply = supply, quantity = uniform(1, 10)}
  end
  drawn.lines, drawn.all_local = lines, all_local
  if percent(1) then -- the user mistyped the last one
    lines[#lines].item = sysbench.opt.items + 1
    drawn.is_invalid = true
  end
  return drawn
end

local function payment()
  local drawn = at_home("payment")
  drawn.c_w, drawn.c_d = drawn.w, drawn.d
  if percent(15) and sysbench.opt.warehouses > 1 then
    drawn.c_w, drawn.c_d = other_warehouse(drawn.w), uniform(1, 10)
  end
  choose_customer(drawn)
  drawn.cents = uniform(100, 500000)
  return drawn
end

local function order_status()
  local drawn = at_home("order_status")
  choose_customer(drawn)
  return drawn
end

local function delivery()
  return {kind = "delivery", w = warehouse(), carrier = uniform(1, 10)}
end

local function stock_level()
  local drawn = at_home("stock_level")
  drawn.threshold = uniform(10, 20)
  return drawn
end

function input.draw()
  local card = uniform(1, 100)
  if card <= 45 then
    return new_order()
  elseif card <= 88 then
    return payment()
  elseif card <= 92 then
    return order_status()
  elseif card <= 96 then
    return delivery()
  end
  return stock_level()
end

return input
