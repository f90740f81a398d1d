use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

#[derive(Debug, PartialEq)]
struct Answer(usize);

impl Keep for Answer {
    fn weight(&self) -> u32 {
        8
    }

    fn decision(&self) -> Decision {
        if self.0 >= DENIED {
            Decision::Deny
        } else {
            Decision::Allow
        }
    }

    fn to_bytes(&self) -> Option<Vec<u8>> {
        Some(self.0.to_le_bytes().to_vec())
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(|bytes| Self(usize::from_le_bytes(bytes)))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_ask_once_for_equal_steps_and_keep_the_answer_for_all() {
    let Some(links) = crate::shared::testing::links::<4>().await else {
        return;
    };
    let settings = Settings::default();
    let nodes = links.map(|link| AnswerCache::<Answer>::shared(&settings, link));
    let asked = Arc::new(AtomicUsize::new(0));
    let gate = Arc::new(tokio::sync::Notify::new());
    let ask = |number: usize| {
        let (asked, gate) = (Arc::clone(&asked), Arc::clone(&gate));
        async move {
            asked.fetch_add(1, Ordering::SeqCst);
            gate.notified().await;
            Ok::<_, &str>(Answer(number))
        }
    };
    let acme = OrganisationId::new("acme");
    let all = nodes[..3]
        .iter()
        .enumerate()
        .map(|(n, node)| node.get_or_ask(&acme, key(1), ask(n)));
    let all = futures_util::future::join_all(all);
    let open = async {
        while asked.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        gate.notify_one();
    };
    let (answers, ()) = tokio::join!(all, open);
    let answers: Vec<_> = answers.into_iter().map(|answer| answer.unwrap().0.0).collect();
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    // Another organisation's equal step is asked for itself, and no node keeps a failure.
    gate.notify_one();
    let other = nodes[3].get_or_ask(&OrganisationId::new("other"), key(1), ask(9)).await;
    assert_eq!((other.unwrap().0.0, asked.load(Ordering::SeqCst)), (9, 2));
    let failing = async { Err::<Answer, &str>("down") };
    assert!(nodes[0].get_or_ask(&acme, key(2), failing).await.is_err());
    let answered = nodes[1]
        .get_or_ask(&acme, key(2), async { Ok::<_, &str>(Answer(5)) })
        .await;
    assert_eq!(answered.unwrap().1, Served::Fresh);
}

/// Answers from this number on are denials.
const DENIED: usize = 1_000_000;

fn org(name: &str) -> OrganisationId {
    OrganisationId::new(name)
}

fn key(n: usize) -> Fingerprint {
    let organisation = crate::model::OrganisationId::new(format!("org-{n}"));
    let scope = Scope {
        organisation: &organisation,
        policy_version: "",
        prompt_version: "",
        judge: "",
    };
    Fingerprint::of(
        &scope,
        &crate::model::testing::step(),
        &[],
        None,
        crate::model::History::NONE,
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_equal_look_ups_at_once_ask_once() {
    let cache = AnswerCache::<Answer>::new(&Settings::default());
    let asked = Arc::new(AtomicUsize::new(0));
    let gate = Arc::new(tokio::sync::Notify::new());
    let lookups: Vec<_> = (0..100)
        .map(|_| {
            let (cache, asked, gate) = (cache.clone(), Arc::clone(&asked), Arc::clone(&gate));
            tokio::spawn(async move {
                cache
                    .get_or_ask::<(), _>(&org("o"), key(1), async move {
                        gate.notified().await;
                        Ok(Answer(asked.fetch_add(1, Ordering::SeqCst)))
                    })
                    .await
                    .unwrap()
            })
        })
        .collect();
    tokio::task::yield_now().await;
    gate.notify_one();
    let mut fresh = 0;
    for lookup in lookups {
        let (answer, served) = lookup.await.unwrap();
        assert_eq!(*answer, Answer(0));
        fresh += usize::from(served == Served::Fresh);
    }
    assert_eq!((asked.load(Ordering::SeqCst), fresh), (1, 1));
}

#[tokio::test]
async fn who_waited_for_a_failing_call_is_told_that_it_was_another_s() {
    let cache = AnswerCache::<Answer>::new(&Settings::default());
    let gate = Arc::new(tokio::sync::Notify::new());
    let lookup = |cache: AnswerCache<Answer>, gate: Arc<tokio::sync::Notify>| {
        tokio::spawn(async move {
            cache
                .get_or_ask(&org("o"), key(1), async move {
                    gate.notified().await;
                    Err::<Answer, _>("too late")
                })
                .await
        })
    };
    let lookups: Vec<_> = (0..2).map(|_| lookup(cache.clone(), Arc::clone(&gate))).collect();
    tokio::task::yield_now().await;
    gate.notify_one();
    let (mut own, mut others) = (0, 0);
    for lookup in lookups {
        match lookup.await.unwrap() {
            Err(Unanswered::Failed(_)) => own += 1,
            Err(Unanswered::OthersFailed(_)) => others += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((own, others), (1, 1));
}

#[tokio::test]
async fn failures_are_told_and_not_stored() {
    let cache = AnswerCache::<Answer>::new(&Settings::default());
    let failed = cache
        .get_or_ask(&org("o"), key(1), async { Err::<Answer, _>("down") })
        .await;
    assert!(matches!(failed, Err(Unanswered::Failed(why)) if *why == "down"));
    let (answer, served) = cache
        .get_or_ask::<(), _>(&org("o"), key(1), async { Ok(Answer(7)) })
        .await
        .unwrap();
    assert_eq!((answer.0, served), (7, Served::Fresh));
    let (answer, served) = cache
        .get_or_ask(&org("o"), key(1), async { Err::<Answer, _>("never asked") })
        .await
        .unwrap();
    assert!(answer.0 == 7 && matches!(served, Served::Stored { .. }));
}

#[tokio::test]
async fn a_caller_who_hangs_up_takes_nobody_s_answer_along() {
    let cache = AnswerCache::<Answer>::new(&Settings::default());
    let asked = Arc::new(AtomicUsize::new(0));
    let (started, gate) = (
        Arc::new(tokio::sync::Notify::new()),
        Arc::new(tokio::sync::Notify::new()),
    );
    let leader = tokio::spawn({
        let (cache, asked, started, gate) = (cache.clone(), asked.clone(), started.clone(), gate.clone());
        async move {
            let ask = async move {
                asked.fetch_add(1, Ordering::SeqCst);
                started.notify_one();
                gate.notified().await;
                Ok::<_, ()>(Answer(1))
            };
            cache.get_or_ask(&org("o"), key(1), ask).await
        }
    });
    started.notified().await;
    leader.abort();
    let _ = leader.await;
    let follower = tokio::spawn({
        let (cache, asked) = (cache.clone(), asked.clone());
        async move {
            let ask = async move {
                asked.fetch_add(1, Ordering::SeqCst);
                Ok::<_, ()>(Answer(2))
            };
            cache.get_or_ask(&org("o"), key(1), ask).await
        }
    });
    tokio::task::yield_now().await;
    gate.notify_one();
    assert_eq!(follower.await.unwrap().unwrap().0.0, 1);
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_panic_is_an_answer_to_nobody() {
    let cache = AnswerCache::<Answer>::new(&Settings::default());
    let died = cache
        .get_or_ask::<(), _>(&org("o"), key(1), async { panic!("bug") })
        .await;
    assert!(matches!(died, Err(Unanswered::Died)));
    assert!(
        cache
            .get_or_ask::<(), _>(&org("o"), key(1), async { Ok(Answer(1)) })
            .await
            .is_ok()
    );
}

/// Asks for an answer of this number.
async fn get(cache: &AnswerCache<Answer>, organisation: &str, key: Fingerprint, answer: usize) -> (usize, Served) {
    let ask = async move { Ok::<_, ()>(Answer(answer)) };
    let (answer, served) = cache.get_or_ask(&org(organisation), key, ask).await.unwrap();
    (answer.0, served)
}

#[tokio::test]
async fn an_answer_is_served_with_its_age_and_not_after_its_time() {
    let settings = Settings {
        time_to_live: Duration::from_secs(60),
        deny_time_to_live: Duration::from_secs(300),
        ..Settings::default()
    };
    let now = Arc::new(std::sync::Mutex::new(Instant::now()));
    let clock = Arc::clone(&now);
    let cache = AnswerCache::<Answer>::with(&settings, None, Arc::new(move || *clock.lock().unwrap()));
    let advance = |seconds| *now.lock().unwrap() += Duration::from_secs(seconds);
    assert_eq!(get(&cache, "o", key(1), 1).await, (1, Served::Fresh));
    assert_eq!(get(&cache, "o", key(2), DENIED).await, (DENIED, Served::Fresh));
    advance(59);
    let age = Duration::from_secs(59);
    assert_eq!(get(&cache, "o", key(1), 2).await, (1, Served::Stored { age }));
    advance(1);
    assert_eq!(get(&cache, "o", key(1), 3).await, (3, Served::Fresh));
    let age = Duration::from_secs(60);
    assert_eq!(get(&cache, "o", key(2), 4).await, (DENIED, Served::Stored { age }));
    advance(240);
    assert_eq!(get(&cache, "o", key(2), 5).await, (5, Served::Fresh));
}

#[tokio::test]
async fn no_organisation_drives_out_the_entries_of_another() {
    let entry = u64::from(8 + ENTRY_OVERHEAD);
    let cache = AnswerCache::<Answer>::new(&Settings {
        max_bytes: 100 * entry,
        organisation_share: 0.2,
        ..Settings::default()
    });
    for n in 0..10 {
        get(&cache, "quiet", key(n), n).await;
    }
    for n in 100..1_100 {
        get(&cache, "loud", key(n), n).await;
        cache.shared.entries.run_pending_tasks().await;
    }
    assert!(cache.shared.shares.bytes(&org("loud")) <= 20 * entry);
    for n in 0..10 {
        let (answer, served) = get(&cache, "quiet", key(n), 999).await;
        assert!(answer == n && matches!(served, Served::Stored { .. }), "{n}: {answer}");
    }
    // Its own newest are still there, its oldest are not.
    assert!(matches!(
        get(&cache, "loud", key(1_099), 0).await.1,
        Served::Stored { .. }
    ));
    assert_eq!(get(&cache, "loud", key(100), 0).await.1, Served::Fresh);
}

#[tokio::test]
async fn what_is_gone_counts_for_nobody_s_share() {
    let cache = AnswerCache::<Answer>::new(&Settings::default());
    for n in 0..50 {
        get(&cache, "o", key(n), n).await;
    }
    assert_eq!(cache.shared.shares.bytes(&org("o")), 50 * u64::from(8 + ENTRY_OVERHEAD));
    cache.shared.entries.invalidate_all();
    cache.shared.entries.run_pending_tasks().await;
    assert_eq!(cache.shared.shares.bytes(&org("o")), 0);
}

mod fingerprint {
    use proptest::prelude::*;

    use super::super::{Fingerprint, Scope};
    use crate::model::testing;
    use crate::model::{OrganisationId, Origin, Place, Step};

    fn of(organisation: &str, policy: &str, prompt: &str, judge: &str, step: &Step) -> Fingerprint {
        let organisation = OrganisationId::new(organisation);
        let scope = Scope {
            organisation: &organisation,
            policy_version: policy,
            prompt_version: prompt,
            judge,
        };
        Fingerprint::of(&scope, step, &[], None, crate::model::History::NONE)
    }

    #[test]
    fn parts_cannot_run_together() {
        let step = testing::step();
        assert_ne!(of("ab", "c", "", "", &step), of("a", "bc", "", "", &step));
        assert_ne!(of("a", "", "b", "", &step), of("a", "", "", "b", &step));
    }

    #[test]
    fn what_happened_before_makes_it_another_one() {
        use crate::model::{Earlier, EarlierText, Excerpt, History, Kind, Method, Outcome, Request, Voice};
        use std::sync::Arc;

        let step = testing::step();
        let organisation = OrganisationId::new("o");
        let scope = Scope {
            organisation: &organisation,
            policy_version: "p",
            prompt_version: "t",
            judge: "m",
        };
        let of = |history: &History| Fingerprint::of(&scope, &step, &[], None, history);
        let request = Request {
            number: 1,
            step: 1,
            text: Excerpt::of("Pay Ann.", 100),
            answers: None,
        };
        let earlier = Earlier {
            number: 2,
            last: 2,
            times: 1,
            method: Method::ToolCallResult,
            kind: Kind::ToolResult,
            tool: None,
            outcome: Outcome::Allowed,
            reasons: Vec::new(),
            said: vec![EarlierText {
                origin: Origin::ToolOutput,
                pointer: crate::model::Pointer::default(),
                label: None,
                text: Excerpt::of("Paid.", 100),
            }],
            unsaid: 0,
            noted: Vec::new(),
        };
        let history = |request: &Request, earlier: &Earlier| History {
            requests: vec![Arc::new(request.clone())],
            steps: vec![Arc::new(earlier.clone())],
            voice: Voice::Heard,
            ..History::default()
        };
        let base = of(&history(&request, &earlier));
        assert_eq!(base, of(&history(&request, &earlier)));
        assert_ne!(base, of(History::NONE));
        let other_requests = [
            Request {
                text: Excerpt::of("Pay Eve.", 100),
                ..request.clone()
            },
            Request {
                answers: Some(1),
                ..request.clone()
            },
        ];
        for other in other_requests {
            assert_ne!(base, of(&history(&other, &earlier)));
        }
        let mut said = earlier.clone();
        said.said[0].text = Excerpt::of("Not paid.", 100);
        let mut spoken = earlier.clone();
        spoken.said[0].origin = Origin::Knowledge;
        let denied = Earlier {
            outcome: Outcome::Denied,
            ..earlier.clone()
        };
        let of_a_tool = Earlier {
            tool: Some("bank.pay".to_owned()),
            ..earlier.clone()
        };
        for other in [said, spoken, denied, of_a_tool] {
            assert_ne!(base, of(&history(&request, &other)));
        }
    }

    proptest! {
        #[test]
        fn any_relevant_change_changes_it(texts in proptest::collection::vec(".{0,20}", 1..4), which in 0usize..4, change in ".{1,5}") {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let step = testing::step_with(Origin::ToolOutput, &texts);
            let base = of("o", "p", "t", "m", &step);
            prop_assert_eq!(base, of("o", "p", "t", "m", &step));
            let mut other = step.clone();
            let index = which % other.contents.len();
            let content = &mut other.contents[index];
            content.text.push_str(&change);
            prop_assert_ne!(base, of("o", "p", "t", "m", &other));
            let mut other = step.clone();
            other.contents[index].origin = Origin::User;
            prop_assert_ne!(base, of("o", "p", "t", "m", &other));
            for scope in [("O", "p", "t", "m"), ("o", "P", "t", "m"), ("o", "p", "T", "m"), ("o", "p", "t", "M")] {
                prop_assert_ne!(base, of(scope.0, scope.1, scope.2, scope.3, &step));
            }
        }

        #[test]
        fn what_no_judge_sees_does_not(text in ".{0,20}", id in "[a-z0-9-]{1,30}") {
            let mut step = testing::step_with(Origin::ToolOutput, &[&text, "turn-1"]);
            step.contents[1].origin = Origin::Unknown;
            step.contents[1].place = Place::Surroundings;
            let base = of("o", "p", "t", "m", &step);
            step.contents[1].text = id;
            prop_assert_eq!(base, of("o", "p", "t", "m", &step));
        }
    }
}
