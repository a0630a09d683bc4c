-- ARGV: ttl, index of the key, hash field (empty for a list), value as it was read
local i = tonumber(ARGV[2])
local removed = 0
if i == 2 then
  removed = redis.call('LREM', KEYS[i], 1, ARGV[4])
elseif redis.call('HGET', KEYS[i], ARGV[3]) == ARGV[4] then
  removed = redis.call('HDEL', KEYS[i], ARGV[3])
end
if removed > 0 then
  if redis.call('TYPE', KEYS[i + 5]).ok ~= 'list' then redis.call('DEL', KEYS[i + 5]) end
  redis.call('RPUSH', KEYS[i + 5], ARGV[4])
  redis.call('EXPIRE', KEYS[i + 5], ttl)
end
return {moved + removed, 'ok'}
