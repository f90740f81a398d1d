//! The scripts that the server runs in one piece.

use std::sync::LazyLock;

use redis::Script;

/// Reads the values under a session's and an agent's keys at one moment. A value is left out if its tag is known.
pub(super) static RECALL: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local time = redis.call('TIME')
         local now = time[1] * 1000 + math.floor(time[2] / 1000)
         local function read(key, known)
           local tag = redis.call('HGET', key, 't') or ''
           if tag == known then return tag, '' end
           return tag, redis.call('HGET', key, 'v') or ''
         end
         local dead = redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
         redis.call('ZREMRANGEBYSCORE', KEYS[5], '-inf', now)
         if dead > 0 then
           redis.call('HSET', KEYS[1], 'lost', 1)
           if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
         end
         local tag, value = read(KEYS[1], ARGV[1])
         local agent_tag, agent = read(KEYS[4], ARGV[2])
         local waiting = redis.call('ZRANGE', KEYS[2], 0, -1)
         for _, marker in ipairs(redis.call('ZRANGE', KEYS[5], 0, -1)) do waiting[#waiting + 1] = marker end
         return {tag, value, redis.call('HEXISTS', KEYS[1], 'lost'), redis.call('EXISTS', KEYS[3]), agent_tag, agent, waiting}",
    )
});

/// Writes a value over the one of the expected tag. Answers the tag that is there then, and its value if that is another one. Tags that were written
/// already are not written again.
pub(super) static WRITE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local tag = redis.call('HGET', KEYS[1], 't') or ''
         local tags = redis.call('HGET', KEYS[1], 'h') or ''
         if string.find(tags, ARGV[2], 1, true) then return {'done', tag, redis.call('HGET', KEYS[1], 'v')} end
         if tag ~= ARGV[1] then return {'newer', tag, redis.call('HGET', KEYS[1], 'v') or ''} end
         redis.call('HSET', KEYS[1], 't', ARGV[2], 'v', ARGV[3], 'h', string.sub(tags .. ARGV[2], -512))
         redis.call('PEXPIRE', KEYS[1], ARGV[4])
         if ARGV[5] == '1' then redis.call('HSET', KEYS[1], 'lost', 1) end
         if KEYS[2] then redis.call('SET', KEYS[2], 1, 'PX', ARGV[4] * 2) end
         return {'written', ARGV[2], ''}",
    )
});

/// Records that an update has begun.
pub(super) static BEGIN: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local time = redis.call('TIME')
         local over = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2]
         for _, key in ipairs(KEYS) do
           redis.call('ZADD', key, over, ARGV[1])
           redis.call('PEXPIRE', key, ARGV[3])
         end
         return 1",
    )
});

/// Records that an update has ended.
pub(super) static END: LazyLock<Script> =
    LazyLock::new(|| Script::new("for _, key in ipairs(KEYS) do redis.call('ZREM', key, ARGV[1]) end return 1"));
