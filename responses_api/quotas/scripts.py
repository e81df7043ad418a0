"""The scripts that count, in Lua: each is one atomic step in Valkey.

What always holds: a counter that is counted (`counted` names its letter) is what the settled requests of its window
used, and what is reserved for those in `open`. A counter that is not counted means nothing, until it is made anew.
"""

import hashlib
from typing import Any, Final

from redis.exceptions import NoScriptError

_COMMON: Final = """
local function scopes_of(key, model) return {'|', key .. '|', '|' .. model, key .. '|' .. model} end
local function whole(number) return string.format('%.0f', number) end
local KIND = {r = 'minute:', t = 'minute:', d = 'day:', D = 'day:', m = 'month:', M = 'month:'}
local function home(prefix, letter, created, month)
  if letter == 'c' then return prefix .. 'running' end
  if KIND[letter] == 'minute:' then return prefix .. 'minute:' .. whole(created - created % 60) end
  if KIND[letter] == 'day:' then return prefix .. 'day:' .. whole(created - created % 86400) end
  return prefix .. 'month:' .. whole(month)
end
local function parsed(text)
  local created, month, tokens, nanos, key, model = string.match(text, '^(%d+) (%d+) (%d+) (%d+) (%S+) (.*)$')
  return {created = tonumber(created), month = tonumber(month), tokens = tonumber(tokens), nanos = tonumber(nanos),
          key = key, model = model}
end
local function amount(record, letter)
  if letter == 'D' or letter == 'M' then return record.nanos end
  if letter == 't' or letter == 'd' or letter == 'm' then return record.tokens end
  return 1
end
"""

_RESERVE: Final = """
local prefix, id, text = ARGV[1], ARGV[2], ARGV[3]
local seconds_of = {c = ARGV[4], r = ARGV[5], t = ARGV[5], d = ARGV[6], D = ARGV[6], m = ARGV[7], M = ARGV[7]}
if redis.call('EXISTS', KEYS[3]) == 1 then return {'wait'} end
if redis.call('HEXISTS', KEYS[2], id) == 1 then return {'held'} end
local mine = parsed(text)
local scopes = scopes_of(mine.key, mine.model)
local found = redis.call('HMGET', KEYS[1], unpack(scopes))
local letters = {}
for i, scope in ipairs(scopes) do letters[scope] = found[i] or '' end

local used, refused = {}, 0
local check = 0
for i = 8, #ARGV, 5 do
  local scope, letter, most, is_hard = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), ARGV[i + 3] == '1'
  if not string.find(letters[scope], letter, 1, true) then return {'count'} end
  check = check + 1
  local now = redis.call('HGET', home(prefix, letter, mine.created, mine.month), scope .. letter) or '0'
  used[check] = now
  if is_hard and refused == 0 and tonumber(now) + amount(mine, letter) > most then refused = check end
end
if refused > 0 then return {'refused', refused, unpack(used)} end

for scope, counted in pairs(letters) do
  for letter in string.gmatch(counted, '.') do
    local place = home(prefix, letter, mine.created, mine.month)
    redis.call('HINCRBY', place, scope .. letter, whole(amount(mine, letter)))
    redis.call('EXPIRE', place, seconds_of[letter])
  end
end
redis.call('HSET', KEYS[2], id, text)
redis.call('EXPIRE', KEYS[2], ARGV[4])
redis.call('EXPIRE', KEYS[1], ARGV[7])

local reached = {}
check = 0
for i = 8, #ARGV, 5 do
  check = check + 1
  if ARGV[i + 3] == '0' and tonumber(used[check]) >= tonumber(ARGV[i + 2]) then
    -- Told once a window; of the short ones once a day: nobody reads a letter a minute.
    local place = home(prefix, (ARGV[i + 1] == 'm' or ARGV[i + 1] == 'M') and 'm' or 'd', mine.created, mine.month)
    if redis.call('HSETNX', place, 'told ' .. ARGV[i + 4], '1') == 1 then
      redis.call('EXPIRE', place, ARGV[7])
      reached[#reached + 1] = check
    end
  end
end
return {'reserved', table.concat(reached, ' '), unpack(used)}
"""

_RAISE: Final = """
local prefix, id = ARGV[1], ARGV[2]
local more = {tokens = tonumber(ARGV[3]), nanos = tonumber(ARGV[4])}
if redis.call('EXISTS', KEYS[3]) == 1 then return 'wait' end
local held = redis.call('HGET', KEYS[2], id)
if not held then return 'gone' end
local mine = parsed(held)
local function by(letter) return (letter == 'c' or letter == 'r') and 0 or amount(more, letter) end
for i = 5, #ARGV, 3 do
  local scope, letter, most = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2])
  local now = redis.call('HGET', home(prefix, letter, mine.created, mine.month), scope .. letter)
  if now and by(letter) > 0 and tonumber(now) + by(letter) > most then return 'refused' end
end
local scopes = scopes_of(mine.key, mine.model)
local counted = redis.call('HMGET', KEYS[1], unpack(scopes))
for n, scope in ipairs(scopes) do
  for letter in string.gmatch(counted[n] or '', '.') do
    local place = home(prefix, letter, mine.created, mine.month)
    if by(letter) > 0 and redis.call('EXISTS', place) == 1 then
      redis.call('HINCRBY', place, scope .. letter, whole(by(letter)))
    end
  end
end
redis.call('HSET', KEYS[2], id, table.concat({whole(mine.created), whole(mine.month), whole(mine.tokens + more.tokens),
                                              whole(mine.nanos + more.nanos), mine.key, mine.model}, ' '))
return 'raised'
"""

_SETTLE: Final = """
local prefix = ARGV[1]
local is_locked = redis.call('EXISTS', KEYS[3]) == 1
local missing = 0
for i = 2, #ARGV, 6 do
  local id, is_used, tokens, nanos = ARGV[i], ARGV[i + 1] == '1', tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
  local held = redis.call('HGET', KEYS[2], id)
  if held then
    local mine = parsed(held)
    redis.call('HDEL', KEYS[2], id)
    if is_locked and is_used then
      redis.call('RPUSH', KEYS[4], table.concat({whole(mine.created), whole(mine.month), whole(tokens), whole(nanos),
                                                 mine.key, mine.model}, ' '))
    end
    local now = {tokens = tokens, nanos = nanos}
    local scopes = scopes_of(mine.key, mine.model)
    local counted = redis.call('HMGET', KEYS[1], unpack(scopes))
    for n, scope in ipairs(scopes) do
      for letter in string.gmatch(counted[n] or '', '.') do
        local change = amount(now, letter) - amount(mine, letter)
        if letter == 'c' or (letter == 'r' and not is_used) then change = -1 end
        local place = home(prefix, letter, mine.created, mine.month)
        -- A window that is over and forgotten must not come back with what was given back alone.
        if change ~= 0 and redis.call('EXISTS', place) == 1 then
          redis.call('HINCRBY', place, scope .. letter, whole(change))
        end
      end
    end
  elseif is_used then
    -- Valkey was lost, or there was no limit when it came: what is counted here does not know of it.
    missing = missing + 1
    redis.call('HDEL', KEYS[1], unpack(scopes_of(ARGV[i + 4], ARGV[i + 5])))
    if is_locked then redis.call('RPUSH', KEYS[4], '! ' .. ARGV[i + 4] .. ' ' .. ARGV[i + 5]) end
  end
end
return missing
"""

_BEGIN: Final = """
if not redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then return false end
redis.call('DEL', KEYS[3])
return redis.call('HKEYS', KEYS[1])
"""

# ARGV: token, prefix, how long running, minute, day and month are kept; how many scopes, each with its letters; how
# many windows, each with its kind and start; how many sums, each with its key, field and value; how many reservations
# that were lost, each with its id.
_FINISH: Final = """
if redis.call('GET', KEYS[3]) ~= ARGV[1] then return 0 end
local prefix = ARGV[2]
local seconds = {['running'] = ARGV[3], ['minute:'] = ARGV[4], ['day:'] = ARGV[5], ['month:'] = ARGV[6]}
local at = 7
local function take() at = at + 1; return ARGV[at - 1] end
local building, places, values = {}, {}, {}
for _ = 1, tonumber(take()) do local scope = take(); building[scope] = take() end
places[prefix .. 'running'] = 'running'
for _ = 1, tonumber(take()) do local kind = take(); places[prefix .. kind .. take()] = kind end
local function raise(place, field, by)
  if not places[place] then return end
  values[place] = values[place] or {}
  values[place][field] = (values[place][field] or 0) + by
end
for scope, letters in pairs(building) do
  for letter in string.gmatch(letters, '.') do
    for place, kind in pairs(places) do
      if (KIND[letter] or 'running') == kind then raise(place, scope .. letter, 0) end
    end
  end
end
for _ = 1, tonumber(take()) do local place, field = take(), take(); raise(place, field, tonumber(take())) end
for _ = 1, tonumber(take()) do local id = take(); redis.call('HSETNX', KEYS[2], id, take()) end

local function add(record, is_open)
  for _, scope in ipairs(scopes_of(record.key, record.model)) do
    for letter in string.gmatch(building[scope] or '', '.') do
      if is_open or letter ~= 'c' then
        raise(home(prefix, letter, record.created, record.month), scope .. letter, amount(record, letter))
      end
    end
  end
end
local during = redis.call('LRANGE', KEYS[4], 0, -1)
redis.call('DEL', KEYS[3], KEYS[4])
for _, text in ipairs(during) do
  local key, model = string.match(text, '^! (%S+) (.*)$')
  if key then
    for _, scope in ipairs(scopes_of(key, model)) do if building[scope] then return 0 end end
  else
    add(parsed(text), false)
  end
end
for _, text in ipairs(redis.call('HVALS', KEYS[2])) do add(parsed(text), true) end
for place, fields in pairs(values) do
  for field, value in pairs(fields) do redis.call('HSET', place, field, whole(value)) end
  redis.call('EXPIRE', place, seconds[places[place]])
end
for scope, letters in pairs(building) do
  local counted = redis.call('HGET', KEYS[1], scope) or ''
  for letter in string.gmatch(letters, '.') do
    if not string.find(counted, letter, 1, true) then counted = counted .. letter end
  end
  redis.call('HSET', KEYS[1], scope, counted)
end
redis.call('EXPIRE', KEYS[1], ARGV[6])
if redis.call('EXISTS', KEYS[2]) == 1 then redis.call('EXPIRE', KEYS[2], ARGV[3]) end
return 1
"""


class Script:
    """A script, called by its digest: its text travels once."""

    def __init__(self, text: str) -> None:
        self._text = _COMMON + text
        self.digest = hashlib.sha1(self._text.encode(), usedforsecurity=False).hexdigest()

    def run(self, client: Any, keys: list[str], arguments: list[Any]) -> Any:
        """Run it, from a thread."""
        try:
            return client.evalsha(self.digest, len(keys), *keys, *arguments)
        except NoScriptError:
            return client.eval(self._text, len(keys), *keys, *arguments)

    async def run_soon(self, client: Any, keys: list[str], arguments: list[Any]) -> Any:
        """As `run`, on the event loop."""
        try:
            return await client.evalsha(self.digest, len(keys), *keys, *arguments)
        except NoScriptError:
            return await client.eval(self._text, len(keys), *keys, *arguments)


RESERVE: Final = Script(_RESERVE)
"""Keys: counted, open, lock."""
RAISE: Final = Script(_RAISE)
"""Keys: counted, open, lock."""
SETTLE: Final = Script(_SETTLE)
"""Keys: counted, open, lock, during."""
BEGIN: Final = Script(_BEGIN)
"""Keys: open, lock, during."""
FINISH: Final = Script(_FINISH)
"""Keys: counted, open, lock, during."""
