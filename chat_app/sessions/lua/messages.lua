-- ARGV: ttl, limit (at least 1)
local found = redis.call('LRANGE', KEYS[2], -tonumber(ARGV[2]), -1)
renew()
return {moved, 'ok', found}
