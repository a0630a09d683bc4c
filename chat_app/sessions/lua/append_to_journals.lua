-- Appends to several journals. Refuses what a process that seemed dead writes after its turn was taken over.
local lengths, at = {}, 2
for turn = 1, #KEYS, 2 do
    local writer, last = redis.call('GET', KEYS[turn + 1]), at + ARGV[at]
    if writer and writer ~= ARGV[1] then
        lengths[#lengths + 1] = -1
    else
        lengths[#lengths + 1] = redis.pcall('RPUSHX', KEYS[turn], unpack(ARGV, at + 1, last))
    end
    at = last + 1
end
return lengths
