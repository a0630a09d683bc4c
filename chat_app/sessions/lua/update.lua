-- ARGV: ttl, user, whether a last response is expected (1 or 0), which one, field, value, ...
if redis.call('HGET', KEYS[1], 'user_id') ~= ARGV[2] then return {moved, 'gone'} end
local last = redis.call('HGET', KEYS[1], 'last_response_id')
local expected = ARGV[3] == '1' and ARGV[4]
if last ~= expected then return {moved, 'conflict'} end
local count = tonumber(redis.call('HGET', KEYS[1], 'message_count')) or 0
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], unpack(ARGV, 5))
redis.call('HSET', KEYS[1], 'message_count', string.format('%d', count))
renew()
return {moved, 'ok', count}
