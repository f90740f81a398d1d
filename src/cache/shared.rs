//! Answers on a server that several nodes share, and the lease by which one of them asks.
//!
//! A node that finds no answer takes a lease on the question, renews it as long as it asks, and gives the answer to all. Others
//! look again until there is an answer, or the lease has ended because the call failed or its node died; then one of them asks.

use std::sync::LazyLock;
use std::time::Duration;

use redis::Script;

use super::{Fingerprint, Keep, Served, Settings};
use crate::model::OrganisationId;
use crate::shared::{Away, Link};

/// The time that a question is left to a node that has stopped asking.
const LEASE: Duration = Duration::from_secs(2);
/// The interval at which a lease is renewed.
const RENEWAL: Duration = Duration::from_millis(500);
/// The interval of looks for another node's answer.
const LOOK: Duration = Duration::from_millis(10);
/// The number of looks at most: longer than any call of a judge takes as configured by default.
const MAX_LOOKS: u32 = 6_000;

/// Returns the answer, if there is one, with the milliseconds that it has left; or the lease; or that another node has it.
static CLAIM: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local answer = redis.call('GET', KEYS[1])
         if answer then return {'stored', answer, redis.call('PTTL', KEYS[1])} end
         if redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then return {'leased', '', 0} end
         return {'asked', '', 0}",
    )
});

static RENEW: LazyLock<Script> = LazyLock::new(|| {
    Script::new("if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 1")
});

/// Stores the answer, if there is one, and ends the lease.
static END: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if ARGV[2] ~= '' then redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
         if redis.call('GET', KEYS[2]) == ARGV[1] then redis.call('DEL', KEYS[2]) end
         return 1",
    )
});

/// Answers on a server.
pub(super) struct SharedAnswers {
    link: Link,
    settings: Settings,
}

/// A question under its two names, and the caller that asks here.
struct Question {
    answer: String,
    lease: String,
    holder: String,
}

enum Claim<V> {
    Stored(V, Duration),
    Leased,
    AskedElsewhere,
}

impl SharedAnswers {
    pub(super) fn new(link: Link, settings: Settings) -> Self {
        Self { link, settings }
    }

    /// Returns the answer that another node stored or is given while this one waits; else what `ask` gives, stored for all.
    pub(super) async fn get_or_ask<V: Keep, E>(
        &self,
        organisation: &OrganisationId,
        key: Fingerprint,
        ask: impl Future<Output = Result<V, E>>,
    ) -> Result<(V, Served), E> {
        let name = |kind: &str| self.link.key(kind, organisation.as_str().as_bytes(), key.as_bytes());
        let question = Question {
            answer: name("answer"),
            lease: name("asking"),
            holder: uuid::Uuid::new_v4().simple().to_string(),
        };
        for looked in 0..MAX_LOOKS {
            match self.claim(&question).await {
                Ok(Claim::Stored(answer, age)) => {
                    let served = match looked {
                        0 => Served::Stored { age },
                        _ => Served::Coalesced,
                    };
                    return Ok((answer, served));
                }
                Ok(Claim::Leased) => return self.ask(&question, ask).await.map(|answer| (answer, Served::Fresh)),
                Ok(Claim::AskedElsewhere) => tokio::time::sleep(LOOK).await,
                Err(Away) => break,
            }
        }
        ask.await.map(|answer| (answer, Served::Fresh))
    }

    async fn claim<V: Keep>(&self, question: &Question) -> Result<Claim<V>, Away> {
        let mut call = CLAIM.key(&question.answer);
        call.key(&question.lease).arg(&question.holder).arg(millis(LEASE));
        let (found, answer, left) = self.link.run::<(String, Vec<u8>, u64)>(&call).await?;
        match found.as_str() {
            "stored" => {
                let answer = self.link.unseal(&question.answer, &answer);
                // Another version's answer is none; nor is it replaced.
                let answer = answer.and_then(|answer| V::from_bytes(&answer)).ok_or(Away)?;
                let lives = self.settings.time_to_live_of(answer.decision());
                Ok(Claim::Stored(answer, lives.saturating_sub(Duration::from_millis(left))))
            }
            "leased" => Ok(Claim::Leased),
            _ => Ok(Claim::AskedElsewhere),
        }
    }

    /// Asks under a lease.
    async fn ask<V: Keep, E>(&self, question: &Question, ask: impl Future<Output = Result<V, E>>) -> Result<V, E> {
        let mut ask = std::pin::pin!(ask);
        let answer = loop {
            match tokio::time::timeout(RENEWAL, ask.as_mut()).await {
                Ok(answer) => break answer,
                Err(_) => {
                    let mut call = RENEW.key(&question.lease);
                    // Without the lease another node may ask too: that costs a call, and nothing else.
                    let _ = self.link.run::<u8>(call.arg(&question.holder).arg(millis(LEASE))).await;
                }
            }
        };
        let written = answer.as_ref().ok().and_then(|answer| {
            let lives = self.settings.time_to_live_of(answer.decision());
            Some((self.link.seal(&question.answer, &answer.to_bytes()?)?, lives))
        });
        let (value, lives) = written.unwrap_or_default();
        let mut call = END.key(&question.answer);
        call.key(&question.lease)
            .arg(&question.holder)
            .arg(value)
            .arg(millis(lives).max(1));
        // If the server is away, the others ask for themselves.
        let _ = self.link.run::<u8>(&call).await;
        answer
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
