//! Limits counted on a server that several nodes share.
//!
//! Each count is one script: the levels are brought up to the server's time, compared and written in one piece, so that nodes
//! together let through what one node would. This process counts beside it, each step as many times as there are nodes. While the
//! server is away that count decides, so that all nodes together still let through about what one would, and what was used
//! before is not free again. What is used then is owed, and booked when the server answers again.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use redis::Script;

use super::{Allowance, Counted, Limit, LimitReached, LocalRateLimits, ONE, RateLimits, Settings, Use, told};
use crate::model::{Caller, OrganisationId};
use crate::shared::{Away, Link};

/// Counts one against a limit per minute (GCRA, as in process). `0`, or microseconds until there is room.
static COUNT: LazyLock<Script> =
    LazyLock::new(|| Script::new(&format!("{GCRA} {NOW} return count(KEYS[1], tonumber(ARGV[1]), now)")));

const NOW: &str = "local time = redis.call('TIME') local now = time[1] * 1000000 + time[2]";

/// The theoretical time of arrival of the next step, in microseconds; a minute ahead of now is all there is.
const GCRA: &str = "
local function count(key, per_minute, now)
  local interval = 60000000 / per_minute
  local next = math.max(tonumber(redis.call('GET', key) or 0), now) + interval
  local wait = next - now - 60000000
  if wait > 0.5 then return math.ceil(wait) end
  redis.call('SET', key, string.format('%.1f', next), 'PX', math.ceil((next - now) / 1000))
  return 0
end";

/// Books what is owed, then sets aside what a call takes, of the organisation's account and the caller's calls: all or nothing.
static RESERVE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(&format!(
        "{GCRA} {NOW}
local calls_per_minute, tokens_per_minute, budget = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local most_tokens, most_cost, callers_per_minute = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local day = math.floor(time[1] / 86400)
local account = redis.call('HMGET', KEYS[1], 'calls', 'tokens', 'at', 'day', 'spent')
local minutes = math.max(now - (tonumber(account[3]) or now), 0) / 60000000
local function drained(level, per_minute)
  if per_minute == 0 then return 0 end
  return math.max((tonumber(level) or 0) - per_minute * minutes, 0)
end
local calls = math.max(drained(account[1], calls_per_minute) + ARGV[7], 0)
local tokens = math.max(drained(account[2], tokens_per_minute) + ARGV[8], 0)
local spent = 0
if tonumber(account[4]) == day then spent = tonumber(account[5]) or 0 end
spent = math.max(spent + ARGV[9], 0)
local function wait(level, needed, per_minute)
  local over = level + math.min(needed, per_minute) - per_minute
  if per_minute == 0 or over <= 0.000001 then return 0 end
  return math.ceil(over / per_minute * 60000000)
end
local limit, after = '', 0
if budget >= 0 and spent + most_cost > budget then
  limit, after = 'spend', (86400 - time[1] % 86400) * 1000000
end
if limit == '' then
  after = wait(calls, 1, calls_per_minute)
  if after > 0 then limit = 'calls' end
end
if limit == '' then
  after = wait(tokens, most_tokens, tokens_per_minute)
  if after > 0 then limit = 'tokens' end
end
if limit == '' and callers_per_minute > 0 then
  after = count(KEYS[2], callers_per_minute, now)
  if after > 0 then limit = 'caller_calls' end
end
if limit == '' then
  calls, tokens, spent = calls + 1, tokens + most_tokens, spent + most_cost
end
redis.call('HSET', KEYS[1], 'calls', string.format('%.6f', calls), 'tokens', string.format('%.3f', tokens),
  'at', string.format('%.0f', now), 'day', day, 'spent', string.format('%.0f', spent))
redis.call('EXPIRE', KEYS[1], 172800)
return {{limit, after}}"
    ))
});

/// Books a difference to what was set aside.
static SETTLE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
         redis.call('HINCRBYFLOAT', KEYS[1], 'tokens', ARGV[1])
         redis.call('HINCRBY', KEYS[1], 'spent', ARGV[2])
         return 1",
    )
});

/// Limits counted on a server, and beside it in this process.
pub struct SharedRateLimits {
    local: LocalRateLimits,
    pub(super) link: Link,
    settings: Settings,
    owed: Arc<Owed>,
}

/// The use of organisations while the server was away, and use that was not booked otherwise.
#[derive(Default)]
struct Owed(Mutex<HashMap<OrganisationId, Debt>>);

/// A difference that the server does not know of.
#[derive(Clone, Copy, Debug, Default)]
struct Debt {
    calls: i64,
    tokens: i64,
    cost_micros: i64,
}

impl Debt {
    /// Makes the difference for so many calls, which took more than was set aside, or less.
    fn of(calls: i64, spent: Use, reserved: Use) -> Self {
        let less = |a: u64, b: u64| i64::try_from(i128::from(a) - i128::from(b)).unwrap_or(i64::MAX);
        Self {
            calls,
            tokens: less(spent.tokens, reserved.tokens),
            cost_micros: less(spent.cost_micros, reserved.cost_micros),
        }
    }
}

impl Owed {
    fn lock(&self) -> MutexGuard<'_, HashMap<OrganisationId, Debt>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, organisation: &OrganisationId) -> Debt {
        self.lock().remove(organisation).unwrap_or_default()
    }

    fn add(&self, organisation: &OrganisationId, more: Debt) {
        let mut all = self.lock();
        let debt = all.entry(organisation.clone()).or_default();
        debt.calls = debt.calls.saturating_add(more.calls);
        debt.tokens = debt.tokens.saturating_add(more.tokens);
        debt.cost_micros = debt.cost_micros.saturating_add(more.cost_micros);
    }
}

impl SharedRateLimits {
    /// Limits on the server behind this link.
    pub fn new(settings: &Settings, link: Link) -> Self {
        Self {
            local: LocalRateLimits::new(settings),
            link,
            settings: settings.clone(),
            owed: Arc::default(),
        }
    }

    /// Returns the number that one step counts for here: every node takes its share of what goes on.
    fn nodes(&self) -> NonZeroU32 {
        NonZeroU32::new(self.link.nodes()).unwrap_or(ONE)
    }

    fn meter(&self, limit: Limit, caller: &Caller) -> String {
        let owner = caller.organisation.as_str().as_bytes();
        self.link.key(limit.as_str(), owner, caller.name.as_bytes())
    }

    fn ledger(&self, organisation: &OrganisationId) -> String {
        self.link.key("ledger", organisation.as_str().as_bytes(), b"")
    }

    /// Counts one of a caller's; `alone` is what this process makes of it.
    async fn count(&self, limit: Limit, caller: &Caller, per_minute: NonZeroU32, alone: Counted) -> Counted {
        let key = self.meter(limit, caller);
        let mut call = COUNT.key(key);
        match self.link.run::<u64>(call.arg(per_minute.get())).await {
            Ok(0) => Ok(()),
            Ok(wait) => Err(LimitReached {
                limit,
                retry_after: Duration::from_micros(wait),
            }),
            Err(Away) => alone,
        }
    }

    async fn reserve_there(
        &self,
        caller: &Caller,
        allowance: &Allowance,
        most: Use,
        debt: Debt,
    ) -> Result<Counted, Away> {
        let per_minute = |limit: Option<NonZeroU32>| limit.map_or(0, NonZeroU32::get);
        let mut call = RESERVE.key(self.ledger(&caller.organisation));
        call.key(self.meter(Limit::CallerCalls, caller))
            .arg(per_minute(allowance.calls_per_minute))
            .arg(allowance.tokens_per_minute.map_or(0, std::num::NonZeroU64::get))
            .arg(
                allowance
                    .spend_per_day_micros
                    .map_or(-1, |most| i64::try_from(most).unwrap_or(i64::MAX)),
            )
            .arg(most.tokens)
            .arg(most.cost_micros)
            .arg(per_minute(self.settings.judge_calls_per_minute))
            .arg(debt.calls)
            .arg(debt.tokens)
            .arg(debt.cost_micros);
        let (limit, after) = self.link.run::<(String, u64)>(&call).await?;
        let limit = match limit.as_str() {
            "" => return Ok(Ok(())),
            "spend" => Limit::Spend,
            "calls" => Limit::Calls,
            "tokens" => Limit::Tokens,
            _ => Limit::CallerCalls,
        };
        Ok(Err(LimitReached {
            limit,
            retry_after: Duration::from_micros(after),
        }))
    }
}

impl RateLimits for SharedRateLimits {
    fn request<'a>(&'a self, caller: &'a Caller) -> BoxFuture<'a, Counted> {
        Box::pin(async move {
            let Some(per_minute) = self.settings.requests_per_minute else {
                return Ok(());
            };
            let alone = self.local.count_requests(caller, self.nodes());
            told(self.count(Limit::Requests, caller, per_minute, alone).await)
        })
    }

    fn suspected<'a>(&'a self, caller: &'a Caller) -> BoxFuture<'a, Counted> {
        Box::pin(async move {
            let alone = self.local.count_suspected(caller, self.nodes());
            let per_minute = self.settings.suspected_per_minute;
            told(self.count(Limit::Suspected, caller, per_minute, alone).await)
        })
    }

    fn reserve<'a>(&'a self, caller: &'a Caller, allowance: &'a Allowance, most: Use) -> BoxFuture<'a, Counted> {
        Box::pin(async move {
            let organisation = &caller.organisation;
            let alone = self.local.set_aside(caller, allowance, most, self.nodes());
            let debt = self.owed.take(organisation);
            match self.reserve_there(caller, allowance, most, debt).await {
                Ok(counted) => counted,
                Err(Away) => {
                    self.owed.add(organisation, debt);
                    if alone.is_ok() {
                        self.owed.add(organisation, Debt::of(1, most, Use::default()));
                    }
                    alone
                }
            }
        })
    }

    fn settle(&self, organisation: &OrganisationId, reserved: Use, spent: Use) {
        self.local.ledger.settle(organisation, reserved, spent, self.nodes());
        let debt = Debt::of(0, spent, reserved);
        let (link, owed, organisation) = (self.link.clone(), Arc::clone(&self.owed), organisation.clone());
        let key = self.ledger(&organisation);
        self.link.spawn(async move {
            let mut call = SETTLE.key(key);
            if link
                .run::<u8>(call.arg(debt.tokens).arg(debt.cost_micros))
                .await
                .is_err()
            {
                owed.add(&organisation, debt);
            }
        });
    }

    fn queue(&self) -> Duration {
        self.settings.queue
    }
}
