-- ARGV: ttl, user
if redis.call('HGET', KEYS[1], 'user_id') ~= ARGV[2] then return {moved, 'gone'} end
redis.call('DEL', unpack(KEYS))
return {moved, 'ok'}
