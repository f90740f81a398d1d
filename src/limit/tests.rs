use std::sync::{Arc, Mutex};
use std::time::Instant;

use futures_util::FutureExt;
use proptest::prelude::*;

use super::ledger::{Clock, Moment};
use super::*;

/// A clock that stands still until it is set forward.
#[derive(Clone)]
struct StoppedClock(Arc<Mutex<Moment>>);

impl StoppedClock {
    fn at(second: u64) -> Self {
        Self(Arc::new(Mutex::new(Moment {
            instant: Instant::now(),
            second,
        })))
    }

    fn advance(&self, time: Duration) {
        let mut moment = self.0.lock().unwrap();
        moment.instant += time;
        moment.second += time.as_secs();
    }

    fn as_clock(&self) -> Clock {
        let moment = Arc::clone(&self.0);
        Arc::new(move || *moment.lock().unwrap())
    }

    fn ledger(&self, most: usize) -> Ledger {
        Ledger::with_clock(most, self.as_clock())
    }

    fn limits(&self) -> LocalRateLimits {
        LocalRateLimits::with_ledger(&Settings::default(), self.ledger(100))
    }
}

fn caller(organisation: &str, name: &str) -> Caller {
    Caller {
        organisation: OrganisationId::new(organisation),
        name: name.to_owned(),
    }
}

fn allowance(calls: u32, tokens: u64, spend: Option<u64>) -> Allowance {
    Allowance {
        calls_per_minute: NonZeroU32::new(calls),
        tokens_per_minute: NonZeroU64::new(tokens),
        spend_per_day_micros: spend,
    }
}

fn taking(tokens: u64, cost_micros: u64) -> Use {
    Use { tokens, cost_micros }
}

/// What is known without waiting.
trait AtOnce {
    fn at_once(self) -> Counted;
}

impl AtOnce for BoxFuture<'_, Counted> {
    fn at_once(self) -> Counted {
        self.now_or_never().expect("counted in this process")
    }
}

/// Both engines; without a server the one of this process alone.
async fn engines(settings: &Settings) -> Vec<Arc<dyn RateLimits>> {
    let mut engines: Vec<Arc<dyn RateLimits>> = vec![Arc::new(LocalRateLimits::new(settings))];
    if let Some(link) = crate::shared::testing::link().await {
        engines.push(Arc::new(SharedRateLimits::new(settings, link)));
    }
    engines
}

#[tokio::test(flavor = "multi_thread")]
async fn every_engine_counts_callers_apart_and_calls_apart_from_steps() {
    let settings = Settings {
        requests_per_minute: NonZeroU32::new(2),
        judge_calls_per_minute: NonZeroU32::new(1),
        suspected_per_minute: NonZeroU32::new(1).unwrap(),
        ..Settings::default()
    };
    for limits in engines(&settings).await {
        let (ann, bob, eve) = (caller("acme", "ann"), caller("acme", "bob"), caller("evil", "ann"));
        assert!(limits.request(&ann).await.is_ok() && limits.request(&ann).await.is_ok());
        let refused = limits.request(&ann).await.unwrap_err();
        assert_eq!(refused.limit, Limit::Requests);
        assert!(refused.retry_after > Duration::from_secs(15) && refused.retry_after <= Duration::from_secs(30));
        assert!(limits.request(&bob).await.is_ok() && limits.request(&eve).await.is_ok());
        assert!(limits.suspected(&ann).await.is_ok() && limits.suspected(&ann).await.is_err());
        let all = Allowance::default();
        assert!(limits.reserve(&ann, &all, Use::default()).await.is_ok());
        let refused = limits.reserve(&ann, &all, Use::default()).await.unwrap_err();
        assert_eq!(refused.limit, Limit::CallerCalls);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_engine_sets_aside_and_corrects_what_an_organisation_may_use() {
    for limits in engines(&Settings::default()).await {
        let (ann, may) = (caller("acme", "ann"), allowance(100, 1_000, Some(1_000)));
        let most = taking(900, 900);
        assert!(limits.reserve(&ann, &may, most).await.is_ok());
        assert_eq!(limits.reserve(&ann, &may, most).await.unwrap_err().limit, Limit::Spend);
        let refused = limits.reserve(&ann, &may, taking(900, 0)).await.unwrap_err();
        assert_eq!(refused.limit, Limit::Tokens);
        assert!(refused.retry_after > Duration::from_secs(35) && refused.retry_after <= Duration::from_secs(48));
        assert!(limits.reserve(&caller("other", "ann"), &may, most).await.is_ok());
        limits.settle(&ann.organisation, most, taking(0, 40));
        // Elsewhere it is booked behind the caller's back.
        let mut booked = limits.reserve(&ann, &may, most).await;
        for _ in 0..200 {
            if booked.is_ok() {
                break;
            }
            tokio::task::yield_now().await;
            booked = limits.reserve(&ann, &may, most).await;
        }
        assert_eq!(booked, Ok(()));
        let three = allowance(3, 0, None);
        let bob = caller("third", "bob");
        for _ in 0..3 {
            assert!(limits.reserve(&bob, &three, Use::default()).await.is_ok());
        }
        assert_eq!(
            limits.reserve(&bob, &three, Use::default()).await.unwrap_err().limit,
            Limit::Calls
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_together_let_through_what_one_would_also_while_the_server_is_away() {
    let settings = Settings {
        requests_per_minute: NonZeroU32::new(100),
        ..Settings::default()
    };
    let Some(links) = crate::shared::testing::links::<4>().await else {
        return;
    };
    let nodes = links.map(|link| SharedRateLimits::new(&settings, link));
    let (ann, bob) = (caller("acme", "ann"), caller("acme", "bob"));
    let begun = Instant::now();
    // What drains while the test runs comes to it.
    let with_time = |most: f64| most + begun.elapsed().as_secs_f64() * 100.0 / 60.0;
    let mut let_through = 0;
    for n in 0..400 {
        let_through += u32::from(nodes[n % nodes.len()].request(&ann).await.is_ok());
    }
    assert!(
        (100.0..=with_time(101.0)).contains(&f64::from(let_through)),
        "{let_through}"
    );
    let mut alone = 0;
    for (n, node) in nodes.iter().enumerate() {
        node.link.break_for_test();
        for _ in 0..60 {
            alone += u32::from(node.request(&bob).await.is_ok());
        }
        // What was used up before stays used up.
        let more = (0..60)
            .filter(|_| node.request(&ann).now_or_never() == Some(Ok(())))
            .count();
        assert!(more as f64 <= with_time(1.0), "node {n}: {more}");
    }
    assert!((90.0..=with_time(110.0)).contains(&f64::from(alone)), "{alone}");
}

#[test]
fn each_caller_of_each_organisation_has_an_allowance_of_its_own_and_calls_are_counted_apart() {
    let limits = LocalRateLimits::new(&Settings {
        requests_per_minute: NonZeroU32::new(2),
        judge_calls_per_minute: NonZeroU32::new(1),
        ..Settings::default()
    });
    let (ann, bob, eve) = (caller("acme", "ann"), caller("acme", "bob"), caller("evil", "ann"));
    assert!(limits.request(&ann).at_once().is_ok() && limits.request(&ann).at_once().is_ok());
    let refused = limits.request(&ann).at_once().unwrap_err();
    assert!(refused.retry_after > Duration::ZERO && refused.retry_after <= Duration::from_secs(60));
    assert!(limits.request(&bob).at_once().is_ok() && limits.request(&eve).at_once().is_ok());
    let call = |caller| limits.reserve(caller, &Allowance::default(), Use::default()).at_once();
    assert!(call(&ann).is_ok());
    assert_eq!(call(&ann).unwrap_err().limit, Limit::CallerCalls);
}

#[test]
fn without_settings_nothing_is_limited() {
    let limits = LocalRateLimits::new(&Settings::default());
    assert!((0..10_000).all(|_| limits.request(&caller("a", "b")).at_once().is_ok()));
    let most = taking(u64::MAX, u64::MAX);
    assert!((0..10_000).all(|_| {
        limits
            .reserve(&caller("a", "b"), &Allowance::default(), most)
            .at_once()
            .is_ok()
    }));
}

#[test]
fn an_organisation_s_calls_and_tokens_drain_within_the_minute_whoever_of_it_calls() {
    let clock = StoppedClock::at(0);
    let limits = clock.limits();
    let may = allowance(3, 1_000, None);
    let call = |name: &str, tokens| limits.reserve(&caller("acme", name), &may, taking(tokens, 0)).at_once();
    assert!(call("ann", 300).is_ok() && call("bob", 300).is_ok());
    // Room for 400 tokens is left: 500 wait until 100 have drained, six seconds.
    let refused = call("ann", 500).unwrap_err();
    assert_eq!(refused.limit, Limit::Tokens);
    assert!((refused.retry_after.as_secs_f64() - 6.0).abs() < 0.1, "{refused:?}");
    assert!(
        limits
            .reserve(&caller("other", "ann"), &may, taking(500, 0))
            .at_once()
            .is_ok()
    );
    clock.advance(refused.retry_after);
    assert!(call("ann", 500).is_ok());
    clock.advance(Duration::from_secs(1));
    assert_eq!(call("ann", 0).unwrap_err().limit, Limit::Calls);
    clock.advance(Duration::from_secs(60));
    assert!(call("ann", 0).is_ok());
}

#[test]
fn what_was_set_aside_is_corrected_by_what_was_spent() {
    let clock = StoppedClock::at(0);
    let limits = clock.limits();
    let (ann, may) = (caller("acme", "ann"), allowance(100, 1_000, Some(1_000)));
    let most = taking(900, 900);
    assert!(limits.reserve(&ann, &may, most).at_once().is_ok());
    assert!(limits.reserve(&ann, &may, most).at_once().is_err());
    limits.settle(&ann.organisation, most, taking(50, 40));
    assert!(limits.reserve(&ann, &may, most).at_once().is_ok());
    // More than was set aside counts as well.
    limits.settle(&ann.organisation, most, taking(950, 960));
    assert_eq!(
        limits.reserve(&ann, &may, taking(1, 1)).at_once().unwrap_err().limit,
        Limit::Spend
    );
}

#[test]
fn a_call_that_takes_more_than_a_minute_s_tokens_goes_alone() {
    let clock = StoppedClock::at(0);
    let limits = clock.limits();
    let (ann, may) = (caller("acme", "ann"), allowance(100, 1_000, None));
    assert!(limits.reserve(&ann, &may, taking(3_000, 0)).at_once().is_ok());
    // The debt takes three minutes to drain.
    let refused = limits.reserve(&ann, &may, taking(1_000, 0)).at_once().unwrap_err();
    assert!((refused.retry_after.as_secs_f64() - 180.0).abs() < 0.1, "{refused:?}");
}

#[test]
fn money_comes_back_with_the_next_day_and_not_before() {
    let clock = StoppedClock::at(86_400 * 20_000 + 86_000);
    let ledger = clock.ledger(10);
    let (acme, may) = (OrganisationId::new("acme"), allowance(0, 0, Some(100)));
    assert!(ledger.reserve(&acme, &may, taking(1, 100), ONE).is_ok());
    let refused = ledger.reserve(&acme, &may, taking(1, 1), ONE).unwrap_err();
    assert_eq!(
        (refused.limit, refused.retry_after),
        (Limit::Spend, Duration::from_secs(400))
    );
    // A step that costs nothing is no matter of money.
    assert!(ledger.reserve(&acme, &may, taking(1, 0), ONE).is_ok());
    clock.advance(Duration::from_secs(400));
    assert!(ledger.reserve(&acme, &may, taking(1, 100), ONE).is_ok());
}

#[test]
fn ten_thousand_organisations_take_no_more_room_than_was_configured() {
    let most = 1_000;
    let clock = StoppedClock::at(86_400);
    let ledger = clock.ledger(most);
    let may = allowance(1, 0, Some(1_000));
    let mut refused = 0;
    for n in 0..10_000 {
        let organisation = OrganisationId::new(format!("org-{n}"));
        match ledger.reserve(&organisation, &may, taking(1, 1), ONE) {
            Ok(()) => ledger.settle(&organisation, taking(1, 1), taking(1, 0), ONE),
            Err(reached) => {
                assert_eq!(reached.limit, Limit::Accounts);
                refused += 1;
            }
        }
        assert!(ledger.len() <= most);
    }
    assert_eq!(refused, 9_000);
    // Accounts that spent nothing and had a minute's rest make room.
    clock.advance(Duration::from_secs(61));
    assert!(
        ledger
            .reserve(&OrganisationId::new("late"), &may, taking(1, 1), ONE)
            .is_ok()
    );
    assert_eq!(ledger.len(), 1);
}

proptest! {
    #[test]
    fn a_day_s_money_is_never_exceeded_by_what_is_reserved(costs in proptest::collection::vec((0u64..200, 0u64..200), 1..60), budget in 0u64..2_000) {
        let ledger = StoppedClock::at(0).ledger(10);
        let (acme, may) = (OrganisationId::new("acme"), allowance(0, 0, Some(budget)));
        let mut spent = 0;
        for (reserved, taken) in costs {
            let taken = taken.min(reserved);
            if ledger.reserve(&acme, &may, taking(0, reserved), ONE).is_ok() {
                ledger.settle(&acme, taking(0, reserved), taking(0, taken), ONE);
                spent += taken;
            }
            prop_assert!(spent <= budget);
        }
    }
}
