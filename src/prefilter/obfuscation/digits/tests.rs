use super::*;

proptest::proptest! {
    #[test]
    fn merged_spans_cover_what_the_spans_cover(
        spans in proptest::collection::vec((0_usize..60, 1_usize..9), 0..12),
        start in 0_usize..60,
        length in 1_usize..9,
    ) {
        let spans: Vec<Range<usize>> = spans.into_iter().map(|(start, length)| start..start + length).collect();
        let touches = |known: &Range<usize>| known.start < start + length && start < known.end;
        let merged = merged(spans.clone());
        proptest::prop_assert_eq!(merged.iter().any(touches), spans.iter().any(touches));
        proptest::prop_assert!(merged.is_sorted_by(|a, b| a.end < b.start));
    }
}
