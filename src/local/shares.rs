//! The weight of one feature, by the number of features beside it.
//!
//! A score is a sum. Without this, a window of many features scores high by their number alone, and a request of six words
//! scores low because it has few.

/// Features of a window that count one each; of a usual window of [`WINDOW`](super::windows::WINDOW) words.
const USUAL_WINDOW: f32 = 130.0;
/// Features of a step as a whole that count one each.
const USUAL_STEP: f32 = 40.0;
/// The least and the most that a feature of a window counts. Harmless words added to a short attack move it from the most
/// towards the least, and no further.
const WINDOW_BOUNDS: (f32, f32) = (0.75, 1.2);
/// The most that a feature of a step counts.
const MAX_OF_STEP: f32 = 3.0;

/// Returns the weight of each feature of a window of so many.
pub(super) fn in_window(features: usize) -> f32 {
    (USUAL_WINDOW / features.max(1) as f32).clamp(WINDOW_BOUNDS.0, WINDOW_BOUNDS.1)
}

/// Returns the weight of each feature of a step as a whole, where there are so many.
pub(super) fn in_step(features: usize) -> f32 {
    (USUAL_STEP / features.max(1) as f32).sqrt().min(MAX_OF_STEP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_counts_more_among_few_and_within_bounds() {
        assert!(in_window(110) > in_window(120) && in_window(120) > in_window(160));
        assert!(in_window(0) == 1.2 && in_window(100_000) == 0.75 && in_window(130) == 1.0);
        assert!(in_step(20) > in_step(40) && in_step(40) == 1.0 && in_step(0) == 3.0);
    }
}
