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
        "tmp_customers_2026_05_01",
        "pr-88",
    ] {
        assert!(is_disposable(name), "{name}");
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
        "tmp_prod",
        "customers_tmp",
    ] {
        assert!(!is_disposable(name), "{name}");
    }
}
