-- ARGV: ttl, passage id, passage, ...
if gone() then return {moved, 'gone'} end
local highest = 0
for _, number in ipairs(redis.call('HVALS', KEYS[3])) do highest = math.max(highest, tonumber(number) or 0) end
local numbers = {}
for i = 2, #ARGV, 2 do
  local number = tonumber(redis.call('HGET', KEYS[3], ARGV[i]))
  if not number then
    highest = highest + 1
    number = highest
    redis.call('HSET', KEYS[3], ARGV[i], string.format('%d', number))
  end
  redis.call('HSETNX', KEYS[4], ARGV[i], ARGV[i + 1])
  numbers[#numbers + 1] = number
end
renew()
return {moved, 'ok', numbers}
