-- Keying and think times (clauses 5.2.5.2 to 5.2.5.4), as a share of the standard's. A user keys in
-- what a transaction asks for before it begins, and thinks about its answer after its end. The
-- thinking about one and the keying in of the next follow each other, so they are one rest.

local pauses = {}

local KEYING_S = {new_order = 18, payment = 3, order_status = 2, delivery = 2, stock_level = 2}
local THINKING_S = {new_order = 12, payment = 12, order_status = 10, delivery = 5, stock_level = 5}
-- A think time is drawn from an exponential distribution, and cut at so many times its mean.
local LONGEST = 10

-- An average one of keying and thinking: the mix's, for forecasts.
pauses.MEAN_S = 0.45 * 30 + 0.43 * 15 + 0.04 * (12 + 7 + 7)

-- Seconds of thinking about a transaction, and of keying in the next one.
function pauses.between(kind, next_kind)
  local times = math.min(-math.log(1 - sysbench.rand.uniform_double()), LONGEST)
  return sysbench.opt.pauses * (times * THINKING_S[kind] + KEYING_S[next_kind])
end

-- Seconds before a user's first transaction: a random part of what it would rest between two, so
-- that users do not all begin at once.
function pauses.before(kind, first_kind)
  return sysbench.rand.uniform_double() * pauses.between(kind, first_kind)
end

return pauses
