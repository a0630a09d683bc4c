-- ARGV: ttl, request id, state
if gone() then return {moved, 'gone'} end
redis.call('HSET', KEYS[5], ARGV[2], ARGV[3])
renew()
return {moved, 'ok'}
