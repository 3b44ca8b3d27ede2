-- Checks of a script's options, as the fourth value of an option wants them.
local checks = {}

-- A whole number above 0.
function checks.whole(_, text)
  return tonumber(text) > 0 and tonumber(text) % 1 == 0
end

-- One of these words.
function checks.one_of(words)
  return function(_, text)
    for _, word in ipairs(words) do
      if text == word then
        return true
      end
    end
    return false
  end
end

return checks
