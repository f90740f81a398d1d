use super::*;

#[test]
fn a_temporary_table_is_dropped_once() {
    let traits = |text: &str| -> Vec<Trait> { read(text).traits.into_iter().map(|(seen, _)| seen).collect() };
    assert_eq!(
        traits("CREATE TEMP TABLE sums AS SELECT * FROM sales; DROP TABLE Sums"),
        [Trait::DropsMinor]
    );
    let twice = traits("CREATE TEMP TABLE users AS SELECT 1; DROP TABLE users; DROP TABLE users");
    assert!(twice.contains(&Trait::Drops));
    assert_eq!(traits("CREATE TABLE users (id int); DROP TABLE users"), [Trait::Drops]);
}
