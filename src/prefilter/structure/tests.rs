use super::*;
use crate::model::Pointer;
use crate::model::ReasonCode;
use crate::model::Remark;
use crate::prefilter::testing;

#[test]
fn a_remark_becomes_a_finding_at_its_pointer() {
    let mut step = testing::step([]);
    step.remarks.push(Remark {
        pointer: Pointer::new("/params/payload/method"),
        what: "the inner method differs from the outer one".into(),
        kind: RemarkKind::Oddity,
    });
    step.remarks.push(Remark {
        pointer: Pointer::new("/params/message/role"),
        what: "the role is another word for the same".into(),
        kind: RemarkKind::Leniency("role_assistant"),
    });
    let found = testing::seen_in_shape(&Structure::load().unwrap(), &step, &Policy::standard().unwrap());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].pointer.as_str(), "/params/payload/method");
    assert_eq!(found[0].reason, ReasonCode::MalformedPayload);
    assert_eq!(found[0].explanation, "the inner method differs from the outer one");
}
