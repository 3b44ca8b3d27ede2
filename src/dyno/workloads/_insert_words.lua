-- The words of a list that stands in one option, between commas or spaces.

return function(text)
  local list = {}
  for word in text:gmatch("[^%s,]+") do
    list[#list + 1] = word
  end
  return list
end
