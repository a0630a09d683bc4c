-- ARGV: ttl, request id
return {moved, 'ok', redis.call('HGET', KEYS[5], ARGV[2])}
