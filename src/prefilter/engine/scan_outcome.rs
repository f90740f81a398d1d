//! What examining one content gives besides findings.

use crate::model::ViewSet;
use crate::text::views::{Granted, ViewText, Views};

/// What examining one content outcome, other than findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::prefilter) struct ScanOutcome {
    /// The views in which it was examined.
    pub(in crate::prefilter) views: ViewSet,
    /// Bytes of these but the raw one.
    pub(in crate::prefilter) derived_bytes: usize,
    /// What of the room for derived texts it took.
    pub(in crate::prefilter) taken: Granted,
    /// The vocabularies of which it holds words.
    pub(in crate::prefilter) vocabularies: u64,
}

impl From<&Views<'_>> for ScanOutcome {
    fn from(views: &Views<'_>) -> Self {
        let raw = views.iter().next();
        Self {
            views: views.iter().map(ViewText::view).collect(),
            derived_bytes: views.derived_bytes(),
            taken: views.taken(),
            vocabularies: raw.map_or(0, |raw| raw.hits().vocabularies()),
        }
    }
}
