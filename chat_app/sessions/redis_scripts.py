"""The Lua scripts that Redis runs for the session store; each is atomic.

All take the same keys, so that a conversation is in one hash slot and its keys expire together:
1 session (hash), 2 messages (list), 3 numbers (hash: passage id -> number), 4 passages (hash: passage id -> JSON),
5 streaming states and kept responses (hash: request id, or ``response:`` and the turn id -> JSON), 6-10 the same for
unreadable records that were moved aside.

``ARGV[1]`` is the time to live in seconds. Each returns ``{records moved aside, status, ...}``; the status is ``ok``,
``gone`` (no such conversation, or another user's) or ``conflict``.

``PRELUDE`` precedes each of them. ``PEEK`` and ``REMEMBER`` go without. They serve the index of a user's conversations,
a sorted set of session ids by the time of their last use. A conversation in it may have expired.
"""

from typing import Final

PARTS: Final = ("session", "messages", "numbers", "passages", "streaming")


def session_key(session_id: str, part: str) -> str:
    """Return the key of ``part``; the braces keep all parts of a conversation in one hash slot."""
    return f"asclepius:{{{session_id}}}:{part}"


PRELUDE: Final = """
local ttl = ARGV[1]
local moved = 0
local function put_aside(i)
  redis.call('RENAME', KEYS[i], KEYS[i + 5])
  redis.call('EXPIRE', KEYS[i + 5], ttl)
  moved = moved + 1
end
local kinds = {'hash', 'list', 'hash', 'hash', 'hash'}
for i = 1, 5 do
  local kind = redis.call('TYPE', KEYS[i]).ok
  if kind ~= 'none' and kind ~= kinds[i] then put_aside(i) end
end
local function gone() return redis.call('EXISTS', KEYS[1]) == 0 end
local function renew()
  for i = 1, 5 do redis.call('EXPIRE', KEYS[i], ttl) end
end
"""

CREATE: Final = """
if not gone() then return {moved, 'conflict'} end
redis.call('DEL', KEYS[2], KEYS[3], KEYS[4], KEYS[5])
redis.call('HSET', KEYS[1], unpack(ARGV, 2))
renew()
return {moved, 'ok'}
"""
"""ARGV: ttl, field, value, ..."""

GET: Final = """
if gone() then return {moved, 'gone'} end
local owner = redis.call('HGET', KEYS[1], 'user_id')
if owner and owner ~= ARGV[2] then return {moved, 'gone'} end
renew()
return {moved, 'ok', redis.call('HGETALL', KEYS[1])}
"""
"""ARGV: ttl, user. A record without an owner is returned, so that it is found to be unreadable."""

UPDATE: Final = """
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
"""
"""ARGV: ttl, user, whether a last response is expected (1 or 0), which one, field, value, ..."""

APPEND: Final = """
if gone() then return {moved, 'gone'} end
for i = 4, #ARGV do redis.call('RPUSH', KEYS[2], ARGV[i]) end
redis.call('LTRIM', KEYS[2], -tonumber(ARGV[3]), -1)
local count = (tonumber(redis.call('HGET', KEYS[1], 'message_count')) or 0) + #ARGV - 3
redis.call('HSET', KEYS[1], 'message_count', string.format('%d', count), 'last_active_at', ARGV[2])
renew()
return {moved, 'ok'}
"""
"""ARGV: ttl, now, how many messages to keep, message, ..."""

MESSAGES: Final = """
local found = redis.call('LRANGE', KEYS[2], -tonumber(ARGV[2]), -1)
renew()
return {moved, 'ok', found}
"""
"""ARGV: ttl, limit (at least 1)"""

ADD_RETRIEVED: Final = """
if gone() then return {moved, 'gone'} end
local highest = 0
for _, number in ipairs(redis.call('HVALS', KEYS[3])) do highest = math.max(highest, tonumber(number) or 0) end
local numbers = {}
for i = 2, #ARGV, 2 do
  local number = tonumber(redis.call('HGET', KEYS[3], ARGV[i]))
  if not number then
    highest = highest + 1
    number = highest
    redis.call('HSET', KEYS[3], ARGV[i], string.format('%d', number))
  end
  redis.call('HSETNX', KEYS[4], ARGV[i], ARGV[i + 1])
  numbers[#numbers + 1] = number
end
renew()
return {moved, 'ok', numbers}
"""
"""ARGV: ttl, passage id, passage, ..."""

RETRIEVED: Final = """
renew()
return {moved, 'ok', redis.call('HGETALL', KEYS[3]), redis.call('HGETALL', KEYS[4])}
"""
"""ARGV: ttl"""

SET_STREAMING: Final = """
if gone() then return {moved, 'gone'} end
redis.call('HSET', KEYS[5], ARGV[2], ARGV[3])
renew()
return {moved, 'ok'}
"""
"""ARGV: ttl, request id, state"""

GET_STREAMING: Final = """
return {moved, 'ok', redis.call('HGET', KEYS[5], ARGV[2])}
"""
"""ARGV: ttl, request id"""

DELETE: Final = """
if redis.call('HGET', KEYS[1], 'user_id') ~= ARGV[2] then return {moved, 'gone'} end
redis.call('DEL', unpack(KEYS))
return {moved, 'ok'}
"""
"""ARGV: ttl, user"""

PUT_SESSION_ASIDE: Final = """
if gone() then return {moved, 'ok'} end
local whole = moved + 1
for i = 1, 5 do
  if redis.call('EXISTS', KEYS[i]) == 1 then put_aside(i) end
end
return {whole, 'ok'}
"""
"""ARGV: ttl. The whole conversation goes with its record: nobody can be shown to own the rest of it."""

PUT_ENTRY_ASIDE: Final = """
local i = tonumber(ARGV[2])
local removed = 0
if i == 2 then
  removed = redis.call('LREM', KEYS[i], 1, ARGV[4])
elseif redis.call('HGET', KEYS[i], ARGV[3]) == ARGV[4] then
  removed = redis.call('HDEL', KEYS[i], ARGV[3])
end
if removed > 0 then
  if redis.call('TYPE', KEYS[i + 5]).ok ~= 'list' then redis.call('DEL', KEYS[i + 5]) end
  redis.call('RPUSH', KEYS[i + 5], ARGV[4])
  redis.call('EXPIRE', KEYS[i + 5], ttl)
end
return {moved + removed, 'ok'}
"""
"""ARGV: ttl, index of the key, hash field (empty for a list), value as it was read"""

PEEK: Final = """
if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then return {'gone'} end
if redis.call('HGET', KEYS[1], 'user_id') ~= ARGV[1] then return {'gone'} end
local opening = redis.call('TYPE', KEYS[2]).ok == 'list' and redis.call('LINDEX', KEYS[2], 0)
return {'ok', redis.call('HGETALL', KEYS[1]), opening}
"""
"""KEYS: session, messages. ARGV: user. Changes nothing, not even when the conversation ends."""

REMEMBER: Final = """
if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('TYPE', KEYS[1]).ok ~= 'zset' then redis.call('DEL', KEYS[1]) end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', tonumber(ARGV[2]) - tonumber(ARGV[1]))
redis.call('EXPIRE', KEYS[1], ARGV[1])
return 1
"""
"""KEYS: a user's index. ARGV: seconds for which an entry is kept, now, session id."""
