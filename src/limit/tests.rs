use std::sync::{Arc, Mutex};
use std::time::Instant;

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

#[test]
fn each_caller_of_each_organisation_has_an_allowance_of_its_own_and_calls_are_counted_apart() {
    let limits = LocalRateLimits::new(&Settings {
        requests_per_minute: NonZeroU32::new(2),
        judge_calls_per_minute: NonZeroU32::new(1),
        ..Settings::default()
    });
    let (ann, bob, eve) = (caller("acme", "ann"), caller("acme", "bob"), caller("evil", "ann"));
    assert!(limits.request(&ann).is_ok() && limits.request(&ann).is_ok());
    let refused = limits.request(&ann).unwrap_err();
    assert!(refused.retry_after > Duration::ZERO && refused.retry_after <= Duration::from_secs(60));
    assert!(limits.request(&bob).is_ok() && limits.request(&eve).is_ok());
    let call = |caller| limits.reserve(caller, &Allowance::default(), Use::default());
    assert!(call(&ann).is_ok());
    assert_eq!(call(&ann).unwrap_err().limit, Limit::CallerCalls);
}

#[test]
fn without_settings_nothing_is_limited() {
    let limits = LocalRateLimits::new(&Settings::default());
    assert!((0..10_000).all(|_| limits.request(&caller("a", "b")).is_ok()));
    let most = taking(u64::MAX, u64::MAX);
    assert!((0..10_000).all(|_| limits.reserve(&caller("a", "b"), &Allowance::default(), most).is_ok()));
}

#[test]
fn an_organisation_s_calls_and_tokens_drain_within_the_minute_whoever_of_it_calls() {
    let clock = StoppedClock::at(0);
    let limits = clock.limits();
    let may = allowance(3, 1_000, None);
    let call = |name: &str, tokens| limits.reserve(&caller("acme", name), &may, taking(tokens, 0));
    assert!(call("ann", 300).is_ok() && call("bob", 300).is_ok());
    // Room for 400 tokens is left: 500 wait until 100 have drained, six seconds.
    let refused = call("ann", 500).unwrap_err();
    assert_eq!(refused.limit, Limit::Tokens);
    assert!((refused.retry_after.as_secs_f64() - 6.0).abs() < 0.1, "{refused:?}");
    assert!(limits.reserve(&caller("other", "ann"), &may, taking(500, 0)).is_ok());
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
    assert!(limits.reserve(&ann, &may, most).is_ok());
    assert!(limits.reserve(&ann, &may, most).is_err());
    limits.settle(&ann.organisation, most, taking(50, 40));
    assert!(limits.reserve(&ann, &may, most).is_ok());
    // More than was set aside counts as well.
    limits.settle(&ann.organisation, most, taking(950, 960));
    assert_eq!(
        limits.reserve(&ann, &may, taking(1, 1)).unwrap_err().limit,
        Limit::Spend
    );
}

#[test]
fn a_call_that_takes_more_than_a_minute_s_tokens_goes_alone() {
    let clock = StoppedClock::at(0);
    let limits = clock.limits();
    let (ann, may) = (caller("acme", "ann"), allowance(100, 1_000, None));
    assert!(limits.reserve(&ann, &may, taking(3_000, 0)).is_ok());
    // The debt takes three minutes to drain.
    let refused = limits.reserve(&ann, &may, taking(1_000, 0)).unwrap_err();
    assert!((refused.retry_after.as_secs_f64() - 180.0).abs() < 0.1, "{refused:?}");
}

#[test]
fn money_comes_back_with_the_next_day_and_not_before() {
    let clock = StoppedClock::at(86_400 * 20_000 + 86_000);
    let ledger = clock.ledger(10);
    let (acme, may) = (OrganisationId::new("acme"), allowance(0, 0, Some(100)));
    assert!(ledger.reserve(&acme, &may, taking(1, 100)).is_ok());
    let refused = ledger.reserve(&acme, &may, taking(1, 1)).unwrap_err();
    assert_eq!(
        (refused.limit, refused.retry_after),
        (Limit::Spend, Duration::from_secs(400))
    );
    // A step that costs nothing is no matter of money.
    assert!(ledger.reserve(&acme, &may, taking(1, 0)).is_ok());
    clock.advance(Duration::from_secs(400));
    assert!(ledger.reserve(&acme, &may, taking(1, 100)).is_ok());
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
        match ledger.reserve(&organisation, &may, taking(1, 1)) {
            Ok(()) => ledger.settle(&organisation, taking(1, 1), taking(1, 0)),
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
    assert!(ledger.reserve(&OrganisationId::new("late"), &may, taking(1, 1)).is_ok());
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
            if ledger.reserve(&acme, &may, taking(0, reserved)).is_ok() {
                ledger.settle(&acme, taking(0, reserved), taking(0, taken));
                spent += taken;
            }
            prop_assert!(spent <= budget);
        }
    }
}
