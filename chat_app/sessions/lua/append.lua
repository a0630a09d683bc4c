-- ARGV: ttl, now, how many messages to keep, message, ...
if gone() then return {moved, 'gone'} end
for i = 4, #ARGV do redis.call('RPUSH', KEYS[2], ARGV[i]) end
redis.call('LTRIM', KEYS[2], -tonumber(ARGV[3]), -1)
local count = (tonumber(redis.call('HGET', KEYS[1], 'message_count')) or 0) + #ARGV - 3
redis.call('HSET', KEYS[1], 'message_count', string.format('%d', count), 'last_active_at', ARGV[2])
renew()
return {moved, 'ok'}
