use super::*;
use crate::model::Origin;
use crate::prefilter::testing::step;

#[test]
fn one_content_is_bounded_by_its_size_and_all_by_theirs() {
    let mut room = DecodeBudget::of(&step([(Origin::ToolOutput, "a".repeat(100))]));
    assert_eq!(room.granted(100).bytes, 600 + OF_CONTENT);
    let taken = Granted {
        bytes: OF_STEP,
        texts: SURE_TEXTS,
    };
    room.take(taken);
    assert_eq!(room.granted(100).bytes, 2 * 100 + SURE);
    assert_eq!(room.granted(100).texts, SURE_TEXTS + TEXTS_OF_STEP);
    room.take(Granted {
        bytes: usize::MAX,
        texts: usize::MAX,
    });
    assert_eq!(room.granted(100).bytes, 2 * 100 + SURE);
    assert_eq!(room.granted(100).texts, SURE_TEXTS);
}
