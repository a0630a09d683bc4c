-- ARGV: ttl, field, value, ...
if not gone() then return {moved, 'conflict'} end
redis.call('DEL', KEYS[2], KEYS[3], KEYS[4], KEYS[5])
redis.call('HSET', KEYS[1], unpack(ARGV, 2))
renew()
return {moved, 'ok'}
