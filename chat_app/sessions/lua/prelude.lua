local ttl = ARGV[1]
local moved = 0
local function put_aside(i)
  redis.call('RENAME', KEYS[i], KEYS[i + 5])
  redis.call('EXPIRE', KEYS[i + 5], ttl)
  moved = moved + 1
end
local kinds = {'hash', 'list', 'hash', 'hash', 'hash'}
for i = 1, 5 do
  local kind = redis.call('TYPE', KEYS[i]).ok
  if kind ~= 'none' and kind ~= kinds[i] then put_aside(i) end
end
local function gone() return redis.call('EXISTS', KEYS[1]) == 0 end
local function renew()
  for i = 1, 5 do redis.call('EXPIRE', KEYS[i], ttl) end
end
