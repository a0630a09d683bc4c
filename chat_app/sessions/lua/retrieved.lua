-- ARGV: ttl
renew()
return {moved, 'ok', redis.call('HGETALL', KEYS[3]), redis.call('HGETALL', KEYS[4])}
