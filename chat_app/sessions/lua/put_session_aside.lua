-- ARGV: ttl. The whole conversation goes with its record: nobody can be shown to own the rest of it.
if gone() then return {moved, 'ok'} end
local whole = moved + 1
for i = 1, 5 do
  if redis.call('EXISTS', KEYS[i]) == 1 then put_aside(i) end
end
return {whole, 'ok'}
