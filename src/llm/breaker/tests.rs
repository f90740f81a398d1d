use std::sync::LazyLock;

use super::*;

const FAULT: Signal = Signal::Fault("server_error");

struct Tested {
    state: State,
    settings: Settings,
    now: Instant,
}

fn opening_after(faults: usize) -> Tested {
    static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
    Tested {
        state: State::closed(),
        settings: Settings {
            faults,
            ..Settings::default()
        },
        now: *BEGUN,
    }
}

impl Tested {
    fn calls(&mut self, signal: Signal, count: usize) {
        for _ in 0..count {
            let admission = self.state.admit(self.now).expect("a call is let through");
            self.state.record(self.now, admission, signal, &self.settings);
        }
    }

    fn wait(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
    }

    fn shown(&self) -> BreakerState {
        self.state.shown(self.now)
    }
}

#[test]
fn it_opens_probes_and_closes() {
    let mut breaker = opening_after(3);
    breaker.calls(FAULT, 3);
    assert_eq!(breaker.shown(), BreakerState::Open);
    assert!(breaker.state.admit(breaker.now).is_none() && !breaker.state.would_admit(breaker.now));

    breaker.wait(1_000);
    assert!(breaker.state.would_admit(breaker.now));
    assert_eq!(breaker.state.admit(breaker.now), Some(Admission::Probe));
    assert_eq!(breaker.state.admit(breaker.now), None, "one call probes");
    assert!(!breaker.state.would_admit(breaker.now));
    breaker
        .state
        .record(breaker.now, Admission::Probe, FAULT, &breaker.settings);
    breaker.wait(1_500);
    assert_eq!(breaker.shown(), BreakerState::Open, "the second rest is twice as long");

    breaker.wait(500);
    breaker.calls(Signal::Works, 1);
    assert_eq!(breaker.shown(), BreakerState::Closed);
    breaker.calls(FAULT, 2);
    assert_eq!(breaker.shown(), BreakerState::Closed, "it starts anew");
}

#[test]
fn rests_end_however_often_probes_fail() {
    let mut breaker = opening_after(1);
    for _ in 0..80 {
        breaker.calls(FAULT, 1);
        assert_eq!(breaker.shown(), BreakerState::Open);
        breaker.wait(30_000);
    }
}

#[test]
fn a_few_faults_among_many_calls_do_not_open_it() {
    let mut breaker = opening_after(3);
    for _ in 0..200 {
        breaker.calls(FAULT, 1);
        breaker.calls(Signal::Works, 2);
    }
    assert_eq!(breaker.shown(), BreakerState::Closed);
}

#[test]
fn old_faults_are_forgotten() {
    let mut breaker = opening_after(3);
    for _ in 0..20 {
        breaker.calls(FAULT, 2);
        breaker.wait(31_000);
    }
    assert_eq!(breaker.shown(), BreakerState::Closed);
}

#[test]
fn what_says_nothing_changes_nothing() {
    let mut breaker = opening_after(2);
    breaker.calls(Signal::Nothing, 50);
    assert_eq!(breaker.shown(), BreakerState::Closed);
    breaker.calls(FAULT, 2);
    breaker.wait(1_000);
    breaker.calls(Signal::Nothing, 1);
    assert_eq!(
        breaker.state.admit(breaker.now),
        Some(Admission::Probe),
        "a probe that was given up is made by the next call"
    );
}

#[test]
fn late_calls_from_before_do_not_count() {
    let mut breaker = opening_after(1);
    breaker.calls(FAULT, 1);
    let late = breaker
        .state
        .record(breaker.now, Admission::Ordinary, Signal::Works, &breaker.settings);
    assert_eq!((late, breaker.shown()), (None, BreakerState::Open));
}

#[test]
fn a_call_that_is_given_up_gives_its_pass_back() {
    let settings = Settings {
        faults: 1,
        rest: Duration::ZERO,
        ..Settings::default()
    };
    let breaker = Breaker::new(&"e".into(), settings);
    breaker.admit().unwrap().record(FAULT);
    let probe = breaker.admit().unwrap();
    assert!(breaker.admit().is_none());
    drop(probe);
    breaker.admit().unwrap().record(Signal::Works);
    assert_eq!(breaker.state(), BreakerState::Closed);
}

#[test]
fn an_endpoint_that_fails_elsewhere_is_probed_by_one_call_and_left_alone_only_for_its_own_fault() {
    let mut breaker = opening_after(3);
    breaker.state = State::Doubted { probing: false };
    assert_eq!(breaker.state.admit(breaker.now), Some(Admission::Probe));
    assert_eq!(
        breaker.state.admit(breaker.now),
        Some(Admission::Behind),
        "no call is refused for a hint"
    );
    breaker
        .state
        .record(breaker.now, Admission::Behind, FAULT, &breaker.settings);
    assert_eq!(breaker.shown(), BreakerState::Doubted);
    breaker
        .state
        .record(breaker.now, Admission::Probe, Signal::Nothing, &breaker.settings);
    assert_eq!(
        breaker.state.admit(breaker.now),
        Some(Admission::Probe),
        "the next call probes"
    );
    breaker
        .state
        .record(breaker.now, Admission::Probe, Signal::Works, &breaker.settings);
    assert_eq!(breaker.shown(), BreakerState::Closed);

    breaker.state = State::Doubted { probing: true };
    breaker
        .state
        .record(breaker.now, Admission::Probe, FAULT, &breaker.settings);
    assert_eq!(breaker.shown(), BreakerState::Open);
    breaker.wait(1_000);
    assert_eq!(
        breaker.state.admit(breaker.now),
        Some(Admission::Probe),
        "it rests as after faults of its own"
    );
}
