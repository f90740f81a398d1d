//! Several nodes over one server: nothing is lost, nothing is done twice, and what may be missing is said.

use std::time::Instant;

use redis::Script;

use super::*;
use crate::model::{Origin, Outcome, Step};
use crate::session::tests::{caller, live, past_of, record, said};
use crate::session::{Authentication as Who, Memory, Nameless};
use crate::shared::testing::links;

fn node(link: Link) -> (SharedSessions, Memory) {
    let store = SharedSessions::new(Settings::default(), link);
    (store.clone(), Memory::new(Arc::new(store), Nameless::ByCredential))
}

async fn nodes<const N: usize>() -> Option<[(SharedSessions, Memory); N]> {
    Some(links::<N>().await?.map(node))
}

fn user(text: &str) -> Step {
    said(Origin::User, text)
}

fn steps(past: &Arc<SessionSnapshot>) -> usize {
    past.events().count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_on_any_node_sees_what_steps_on_others_said() {
    let Some(nodes) = nodes::<3>().await else { return };
    for n in 0..12 {
        let step = user(&format!("message {n}"));
        let (_, memory) = &nodes[n % 3];
        assert_eq!(steps(&past_of(memory, &step).await), n);
        live(memory, &step, Outcome::Allowed).await;
    }
    let past = past_of(&nodes[1].1, &user("last")).await;
    assert_eq!((steps(&past), past.next_number(), past.gap()), (12, 13, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_that_come_at_once_on_all_nodes_are_all_kept() {
    let Some(nodes) = nodes::<3>().await else { return };
    let all = (0..30).map(|n| {
        let memory = nodes[n % 3].1.clone();
        tokio::spawn(async move { live(&memory, &user(&format!("message {n}")), Outcome::Allowed).await })
    });
    for one in all.collect::<Vec<_>>() {
        one.await.unwrap();
    }
    assert_eq!(steps(&past_of(&nodes[0].1, &user("last")).await), 30);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_waits_for_the_update_that_another_node_has_begun() {
    let Some([(_, here), (_, there)]) = nodes::<2>().await else {
        return;
    };
    let step = user("first");
    let recalled = here.see(&caller(), Who::Authenticated, &step).await.unwrap();
    let pending = here.begin(here.keys(&caller(), Who::Authenticated, &step)).await;
    let second = user("second");
    let mut later = Box::pin(past_of(&there, &second));
    assert!(
        tokio::time::timeout(Duration::from_millis(100), later.as_mut())
            .await
            .is_err()
    );
    let record = record(&recalled, &step, Outcome::Allowed);
    here.remember(&recalled, record).await.unwrap();
    pending.end().await;
    let past = later.await;
    assert_eq!((steps(&past), past.gap()), (1, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_that_its_node_never_ended_leaves_the_session_incomplete() {
    let Some([(_, here), (_, there)]) = nodes::<2>().await else {
        return;
    };
    let step = user("first");
    let pending = here.begin(here.keys(&caller(), Who::Authenticated, &step)).await;
    // As where its node is killed.
    std::mem::forget(pending);
    for n in 0..2 {
        let step = user(&format!("after {n}"));
        assert_eq!(past_of(&there, &step).await.gap(), Some(Gap::Apart));
        live(&there, &step, Outcome::Allowed).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_go_on_by_themselves_say_so_and_merge_what_they_decided() {
    let Some(nodes) = nodes::<2>().await else { return };
    let [(here_store, here), (there_store, there)] = &nodes;
    live(here, &user("before"), Outcome::Allowed).await;
    assert_eq!(steps(&past_of(there, &user("x")).await), 1);
    for (store, memory, name) in [(here_store, here, "here"), (there_store, there, "there")] {
        store.shared.link.break_for_test();
        for n in 0..3 {
            let step = user(&format!("{name} {n}"));
            let past = past_of(memory, &step).await;
            assert_eq!((steps(&past), past.gap()), (1 + n, Some(Gap::Apart)));
            live(memory, &step, Outcome::Allowed).await;
        }
    }
    for store in [here_store, there_store] {
        assert!(store.shared.link.answers_within(Duration::from_secs(5)).await);
        // By itself, as soon as the server answers; here at once, to wait for nothing.
        store.shared.merge_all().await;
    }
    // What others decided alone may still be on its way.
    assert_eq!(past_of(here, &user("early")).await.gap(), Some(Gap::Apart));
    for store in [here_store, there_store] {
        store.shared.link.settle();
    }
    for memory in [here, there] {
        let past = past_of(memory, &user("after")).await;
        assert_eq!((steps(&past), past.gap()), (7, None));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_whose_link_is_soon_back_misses_nothing_of_other_nodes() {
    let Some([(store, here), (_, there)]) = nodes::<2>().await else {
        return;
    };
    let link = &store.shared.link;
    for n in 0..6 {
        live(&there, &user(&format!("there {n}")), Outcome::Allowed).await;
        link.break_until(Some(Instant::now() + Duration::from_secs(10)));
        assert_eq!(steps(&past_of(&here, &user("x")).await), 2 * n + 1);
        link.break_until(Some(Instant::now() + Duration::from_secs(10)));
        live(&here, &user(&format!("here {n}")), Outcome::Allowed).await;
    }
    assert_eq!(store.shared.lock().records, 0);
    // One that had not held for long rests first, and no call waits for it.
    link.break_until(None);
    assert_eq!(
        store
            .shared
            .link
            .run_again::<u8>(&Script::new("return 1").prepare_invoke())
            .await,
        Err(Away)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_lost_its_state_gets_it_back_and_the_session_says_so() {
    let Some([(store, here), (_, there)]) = nodes::<2>().await else {
        return;
    };
    let step = user("before");
    live(&here, &step, Outcome::Allowed).await;
    let keys = here.keys(&caller(), Who::Authenticated, &step);
    let names = store.shared.names(keys.session.unwrap(), keys.agent);
    let forget = Script::new("return redis.call('DEL', KEYS[1], KEYS[2])");
    let forgotten: u8 = store
        .shared
        .link
        .run(forget.key(names.session).key(names.once))
        .await
        .unwrap();
    assert_eq!(forgotten, 2);
    let past = past_of(&here, &user("after")).await;
    assert_eq!((steps(&past), past.gap()), (1, Some(Gap::Apart)));
    live(&here, &user("after"), Outcome::Allowed).await;
    let past = past_of(&there, &user("later")).await;
    assert_eq!((steps(&past), past.gap()), (2, Some(Gap::Apart)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_is_not_understood_is_said_and_left_as_it_is() {
    let Some([(store, here), (_, there)]) = nodes::<2>().await else {
        return;
    };
    let step = user("before");
    live(&here, &step, Outcome::Allowed).await;
    let keys = here.keys(&caller(), Who::Authenticated, &step);
    let name = store.shared.names(keys.session.unwrap(), keys.agent).session;
    let spoil = Script::new("return redis.call('HSET', KEYS[1], 't', 'newer', 'v', ARGV[1])");
    let mut call = spoil.key(&name);
    let _: u8 = store.shared.link.run(call.arg(&b"\xffnewer"[..])).await.unwrap();
    assert_eq!(past_of(&there, &user("after")).await.gap(), Some(Gap::Apart));
    let recalled = there.see(&caller(), Who::Authenticated, &step).await.unwrap();
    let record = record(&recalled, &step, Outcome::Allowed);
    assert!(there.remember(&recalled, record).await.is_err());
    let read = Script::new("return redis.call('HGET', KEYS[1], 't')");
    let tag: String = store.shared.link.run(&read.key(&name)).await.unwrap();
    assert_eq!(tag, "newer");
}
