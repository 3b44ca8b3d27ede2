-- Waiting for an answer, or for a time, while the thread's other users play.
local raw = ...

local co_yield, co_resume, co_create = coroutine.yield, coroutine.resume, coroutine.create

-- What is yielded while a request is under way. A script's own coroutines pass it on to the
-- driver's, so that a query may stand in an iterator made by `coroutine.wrap`.
local WAITING = {}

local function passed_on(co, ok, first, ...)
   if ok and first == WAITING then
      return passed_on(co, co_resume(co, co_yield(WAITING)))
   end
   return ok, first, ...
end

function coroutine.resume(co, ...)
   return passed_on(co, co_resume(co, ...))
end

local function or_throw(ok, ...)
   if not ok then
      error((...), 0)
   end
   return ...
end

function coroutine.wrap(body)
   local co = co_create(body)
   return function(...)
      return or_throw(passed_on(co, co_resume(co, ...)))
   end
end

-- Returns the answer as the driver brings it: going to fetch it would cost another crossing.
local function wait()
   local ok, reply = pcall(co_yield, WAITING)
   if not ok then
      raw.drain()
      error("a query cannot wait for its answer while the script loads, or inside table.sort, "
         .. "a gsub callback or require", 5)
   end
   return reply
end

-- Lets the other users of the thread play for so long.
function dyno.sleep(seconds)
   raw.sleep(seconds)
   if not pcall(co_yield, WAITING) then
      error("a script cannot sleep while it loads, or inside table.sort, a gsub callback or "
         .. "require", 2)
   end
end

return WAITING, wait
