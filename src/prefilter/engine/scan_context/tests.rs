use super::*;

#[test]
fn costs_add_up() {
    let notes = ScanContext::default();
    assert!(notes.spend(6, 10) && notes.spend(4, 10));
    assert!(!notes.spend(1, 10));
    assert!(!notes.spend(usize::MAX, 10) && !notes.spend(1, 10));
}
