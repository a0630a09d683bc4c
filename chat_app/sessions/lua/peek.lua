-- KEYS: session, messages. ARGV: user. Changes nothing, not even when the conversation ends.
if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then return {'gone'} end
if redis.call('HGET', KEYS[1], 'user_id') ~= ARGV[1] then return {'gone'} end
local opening = redis.call('TYPE', KEYS[2]).ok == 'list' and redis.call('LINDEX', KEYS[2], 0)
return {'ok', redis.call('HGETALL', KEYS[1]), opening}
