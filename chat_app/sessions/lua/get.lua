-- ARGV: ttl, user. A record without an owner is returned, so that it is found to be unreadable.
if gone() then return {moved, 'gone'} end
local owner = redis.call('HGET', KEYS[1], 'user_id')
if owner and owner ~= ARGV[2] then return {moved, 'gone'} end
renew()
return {moved, 'ok', redis.call('HGETALL', KEYS[1])}
