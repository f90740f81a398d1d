use super::*;
use crate::prefilter::testing::step;

#[test]
fn work_adds_up_to_what_the_size_of_a_step_allows() {
    let effort = CostMeter::of(&step([
        (Origin::ToolOutput, "a".repeat(100)),
        (Origin::User, String::new()),
    ]));
    assert_eq!(effort.most(), AT_LEAST + PER_BYTE * (100 + 2 * AROUND));
    let large = CostMeter::of(&step([(Origin::ToolOutput, "a".repeat(BEYOND + 100 - AROUND))]));
    assert_eq!(large.most(), AT_LEAST + PER_BYTE * BEYOND + PER_BYTE_BEYOND * 100);
    effort.spend(Work::Command, 2);
    effort.spend(Work::Byte, 7);
    assert_eq!(effort.spent(), 2 * Work::Command.cost() + 7 * Work::Byte.cost());
    assert!(!effort.is_exhausted());
    effort.spend(Work::Finding, usize::MAX);
    effort.spend(Work::Finding, usize::MAX);
    assert!(effort.is_exhausted());
    assert!(!CostMeter::default().is_exhausted());
}
