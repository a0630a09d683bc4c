-- KEYS: a user's index. ARGV: seconds for which an entry is kept, now, session id.
if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('TYPE', KEYS[1]).ok ~= 'zset' then redis.call('DEL', KEYS[1]) end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', tonumber(ARGV[2]) - tonumber(ARGV[1]))
redis.call('EXPIRE', KEYS[1], ARGV[1])
return 1
