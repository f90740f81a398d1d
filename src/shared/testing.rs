//! Links for tests: to the server on the standard port of this machine, each test under a prefix of its own.

use std::time::Duration;

use super::{Link, Settings};

/// Returns the settings of one test; `GUARDIAN_TEST_REDIS` names another server.
pub(crate) fn settings() -> Settings {
    let url = std::env::var("GUARDIAN_TEST_REDIS").unwrap_or_else(|_| "redis://127.0.0.1:6379".to_owned());
    Settings {
        url: url.into(),
        prefix: format!("guardian-test-{}", uuid::Uuid::new_v4().simple()),
        // Machines that test are busy.
        timeout: Duration::from_secs(2),
        key: None,
    }
}

/// Opens links of so many nodes, each of which knows of the others; `None`, and a line that says so, where there is no server.
pub(crate) async fn links<const N: usize>() -> Option<[Link; N]> {
    let settings = settings();
    let links = std::array::from_fn(|_| Link::open(settings.clone()).unwrap());
    for link in &links {
        if !link.answers_within(Duration::from_secs(5)).await {
            eprintln!("no Redis on its standard port: the tests of shared state are left out");
            return None;
        }
    }
    for link in &links {
        link.count_nodes().await;
        assert_eq!(link.nodes() as usize, N);
    }
    Some(links)
}

/// Opens the link of one node.
pub(crate) async fn link() -> Option<Link> {
    links::<1>().await.map(|[link]| link)
}
