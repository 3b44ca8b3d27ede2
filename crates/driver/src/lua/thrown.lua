-- What a script threw: where, in words, and whether its event shall begin anew.
local raw = ...

local function is_restart(thrown)
   return type(thrown) == "table" and thrown.errcode == sysbench.error.RESTART_EVENT
end

local function locate(thrown)
   if not is_restart(thrown) then
      raw.locate()
   end
   return thrown
end

local function text_of(thrown)
   if type(thrown) == "table" then
      local text = thrown.sql_errmsg or thrown.message
      return text and tostring(text) or tostring(thrown)
   end
   return tostring(thrown)
end

return { is_restart = is_restart, locate = locate, text_of = text_of }
