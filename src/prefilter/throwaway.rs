//! Names that say of themselves that little is lost with them: `shop_test`, `tmp_import`, `preview-441`.
//!
//! It reads names alone and knows neither what bears them nor what happens to it.

/// Parts of names of what exists to be thrown away.
const PARTS: &[&str] = &[
    "tmp",
    "temp",
    "temporary",
    "test",
    "tests",
    "testing",
    "dev",
    "development",
    "staging",
    "stage",
    "preview",
    "sandbox",
    "scratch",
    "ci",
    "bench",
    "benchmark",
    "demo",
    "dummy",
    "playground",
    "e2e",
    "throwaway",
    "ephemeral",
    "fixture",
    "fixtures",
    "mock",
    "trial",
    "qa",
    "loadtest",
    "perftest",
    "smoketest",
    "unittest",
];
/// Parts of names of what is in use, whatever else stands in the name.
const PRECIOUS: &[&str] = &[
    "prod",
    "production",
    "live",
    "main",
    "master",
    "backup",
    "backups",
    "customer",
    "customers",
];

/// Whether a name says that what it names is thrown away as a matter of course.
///
/// A part of the name has to say it as a word of its own: `latest` is no test.
pub(super) fn is_throwaway(name: &str) -> bool {
    let parts = || {
        name.split(|c: char| !c.is_ascii_alphanumeric())
            .flat_map(|part| {
                part.split(|c: char| c.is_ascii_digit())
                    .filter(|word| !word.is_empty())
                    .chain([part])
            })
            .map(str::to_ascii_lowercase)
    };
    name.len() <= 256
        && parts().any(|part| PARTS.contains(&part.as_str()))
        && !parts().any(|part| PRECIOUS.contains(&part.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_of_itself_that_it_is_thrown_away() {
        for name in [
            "shop_test",
            "tmp_import_20260504",
            "staging.orders",
            "Preview-441",
            "aws_instance.bench",
            "e2e",
            "test2",
            "loadtest",
            "redis.staging.internal",
        ] {
            assert!(is_throwaway(name), "{name}");
        }
        for name in [
            "",
            "orders",
            "latest",
            "attempts",
            "contest",
            "templates",
            "devices",
            "equality",
            "prod_test",
            "backup-dev",
            "live.tmp",
        ] {
            assert!(!is_throwaway(name), "{name}");
        }
    }
}
