-- What the 22 queries are asked for: the specification's values for validation, or values drawn
-- anew by its rules (TPC-H 2.4.1.3 to 2.4.22.3), from the run's seed.

local parameters = {}

local NATIONS = {
  AFRICA = {"ALGERIA", "ETHIOPIA", "KENYA", "MOROCCO", "MOZAMBIQUE"},
  AMERICA = {"ARGENTINA", "BRAZIL", "CANADA", "PERU", "UNITED STATES"},
  ASIA = {"CHINA", "INDIA", "INDONESIA", "JAPAN", "VIETNAM"},
  EUROPE = {"FRANCE", "GERMANY", "ROMANIA", "RUSSIA", "UNITED KINGDOM"},
  ["MIDDLE EAST"] = {"EGYPT", "IRAN", "IRAQ", "JORDAN", "SAUDI ARABIA"},
}
local REGIONS = {"AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"}
local SEGMENTS = {"AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"}
local MODES = {"AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"}
local TYPES = {
  {"ECONOMY", "LARGE", "MEDIUM", "PROMO", "SMALL", "STANDARD"},
  {"ANODIZED", "BRUSHED", "BURNISHED", "PLATED", "POLISHED"},
  {"BRASS", "COPPER", "NICKEL", "STEEL", "TIN"},
}
local CONTAINERS = {
  {"JUMBO", "LG", "MED", "SM", "WRAP"},
  {"BAG", "BOX", "CAN", "CASE", "DRUM", "JAR", "PACK", "PKG"},
}
local WORDS = {
  {"express", "pending", "special", "unusual"},
  {"accounts", "deposits", "packages", "requests"},
}
local COLORS = {}
for color in ([[almond antique aquamarine azure beige bisque black blanched blue blush brown
burlywood burnished chartreuse chiffon chocolate coral cornflower cornsilk cream cyan dark deep dim
dodger drab firebrick floral forest frosted gainsboro ghost goldenrod green grey honeydew hot indian
ivory khaki lace lavender lawn lemon light lime linen magenta maroon medium metallic midnight mint
misty moccasin navajo navy olive orange orchid pale papaya peach peru pink plum powder puff purple
red rose rosy royal saddle salmon sandy seashell sienna sky slate smoke snow spring steel tan
thistle tomato turquoise violet wheat white yellow]]):gmatch("%a+") do
  COLORS[#COLORS + 1] = color
end

local uniform = sysbench.rand.uniform

local function one_of(list)
  return list[tonumber(uniform(1, #list))]
end

-- So many different ones of a list.
local function several(list, count)
  local left, taken = {unpack(list)}, {}
  for at = 1, count do
    taken[at] = table.remove(left, tonumber(uniform(1, #left)))
  end
  return taken
end

local function numbers(first, last)
  local list = {}
  for number = first, last do
    list[#list + 1] = number
  end
  return list
end

local function nation()
  local region = one_of(REGIONS)
  return one_of(NATIONS[region]), region
end

local function brand()
  return ("Brand#%d%d"):format(uniform(1, 5), uniform(1, 5))
end

-- The first of a month of a year, and the first of the month so many months later.
local function span(year, month, months)
  local last = month - 1 + months
  return {date = ("%d-%02d-01"):format(year, month),
    ["end"] = ("%d-%02d-01"):format(year + math.floor(last / 12), last % 12 + 1)}
end

-- A month drawn from the first so many of the years from 1993 (or another) on.
local function drawn_span(months, first_year, choices)
  local at = tonumber(uniform(0, choices - 1))
  return span(first_year + math.floor(at / 12), at % 12 + 1, months)
end

local function with(values, more)
  for name, value in pairs(more) do
    values[name] = value
  end
  return values
end

-- A day before 1998-12-01, so many days (60 to 120).
local function days_before_december(days)
  return os.date("!%Y-%m-%d", 912470400 - days * 86400)
end

local function discounts(hundredths)
  return {least = ("%.2f"):format((hundredths - 1) / 100),
    most = ("%.2f"):format((hundredths + 1) / 100)}
end

local function codes(list)
  return {codes = "'" .. table.concat(list, "', '") .. "'"}
end

local function fraction()
  return ("%.12f"):format(0.0001 / sysbench.opt.scale)
end

local VALIDATION = {
  function() return {date = days_before_december(90)} end,
  function() return {size = 15, type = "BRASS", region = "EUROPE"} end,
  function() return {segment = "BUILDING", date = "1995-03-15"} end,
  function() return span(1993, 7, 3) end,
  function() return with(span(1994, 1, 12), {region = "ASIA"}) end,
  function() return with(with(span(1994, 1, 12), discounts(6)), {quantity = 24}) end,
  function() return {nation1 = "FRANCE", nation2 = "GERMANY"} end,
  function() return {nation = "BRAZIL", region = "AMERICA", type = "ECONOMY ANODIZED STEEL"} end,
  function() return {color = "green"} end,
  function() return span(1993, 10, 3) end,
  function() return {nation = "GERMANY", fraction = fraction()} end,
  function() return with(span(1994, 1, 12), {mode1 = "MAIL", mode2 = "SHIP"}) end,
  function() return {word1 = "special", word2 = "requests"} end,
  function() return span(1995, 9, 1) end,
  function() return span(1996, 1, 3) end,
  function()
    return {brand = "Brand#45", type = "MEDIUM POLISHED", sizes = "49, 14, 23, 45, 19, 3, 36, 9"}
  end,
  function() return {brand = "Brand#23", container = "MED BOX"} end,
  function() return {quantity = 300} end,
  function()
    return {brand1 = "Brand#12", brand2 = "Brand#23", brand3 = "Brand#34", quantity1 = 1,
      quantity2 = 10, quantity3 = 20}
  end,
  function() return with(span(1994, 1, 12), {color = "forest", nation = "CANADA"}) end,
  function() return {nation = "SAUDI ARABIA"} end,
  function() return codes({13, 31, 23, 29, 30, 18, 17}) end,
}

local DRAWN = {
  function() return {date = days_before_december(tonumber(uniform(60, 120)))} end,
  function()
    return {size = tonumber(uniform(1, 50)), type = one_of(TYPES[3]), region = one_of(REGIONS)}
  end,
  function()
    return {segment = one_of(SEGMENTS), date = ("1995-03-%02d"):format(uniform(1, 31))}
  end,
  function() return drawn_span(3, 1993, 58) end,
  function()
    return with(span(tonumber(uniform(1993, 1997)), 1, 12), {region = one_of(REGIONS)})
  end,
  function()
    local values = with(span(tonumber(uniform(1993, 1997)), 1, 12),
      discounts(tonumber(uniform(2, 9))))
    return with(values, {quantity = tonumber(uniform(24, 25))})
  end,
  function()
    local first, second = nation(), nation()
    while second == first do
      second = nation()
    end
    return {nation1 = first, nation2 = second}
  end,
  function()
    local its_nation, region = nation()
    local words = {one_of(TYPES[1]), one_of(TYPES[2]), one_of(TYPES[3])}
    return {nation = its_nation, region = region, type = table.concat(words, " ")}
  end,
  function() return {color = one_of(COLORS)} end,
  function()
    local at = tonumber(uniform(1, 24)) -- February 1993 to January 1995
    return span(1993 + math.floor(at / 12), at % 12 + 1, 3)
  end,
  function() return {nation = (nation()), fraction = fraction()} end,
  function()
    local modes = several(MODES, 2)
    return with(span(tonumber(uniform(1993, 1997)), 1, 12), {mode1 = modes[1], mode2 = modes[2]})
  end,
  function() return {word1 = one_of(WORDS[1]), word2 = one_of(WORDS[2])} end,
  function() return drawn_span(1, 1993, 60) end,
  function() return drawn_span(3, 1993, 58) end,
  function()
    return {brand = brand(), type = one_of(TYPES[1]) .. " " .. one_of(TYPES[2]),
      sizes = table.concat(several(numbers(1, 50), 8), ", ")}
  end,
  function()
    return {brand = brand(), container = one_of(CONTAINERS[1]) .. " " .. one_of(CONTAINERS[2])}
  end,
  function() return {quantity = tonumber(uniform(312, 315))} end,
  function()
    return {brand1 = brand(), brand2 = brand(), brand3 = brand(),
      quantity1 = tonumber(uniform(1, 10)), quantity2 = tonumber(uniform(10, 20)),
      quantity3 = tonumber(uniform(20, 30))}
  end,
  function()
    return with(span(tonumber(uniform(1993, 1997)), 1, 12),
      {color = one_of(COLORS), nation = (nation())})
  end,
  function() return {nation = (nation())} end,
  function() return codes(several(numbers(10, 34), 7)) end,
}

-- Values for a query, by its number.
function parameters.validation(number)
  return VALIDATION[number]()
end

function parameters.drawn(number)
  return DRAWN[number]()
end

return parameters
