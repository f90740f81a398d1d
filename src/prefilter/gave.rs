//! What examining one content gives besides findings.

use super::views::{Granted, ViewText, Views};
use crate::model::ViewSet;

/// What examining one content gave, other than findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Gave {
    /// The views in which it was examined.
    pub(super) views: ViewSet,
    /// Bytes of these but the raw one.
    pub(super) derived_bytes: usize,
    /// What of the room for derived texts it took.
    pub(super) taken: Granted,
    /// The vocabularies of which it holds words.
    pub(super) vocabularies: u64,
}

impl From<&Views<'_>> for Gave {
    fn from(views: &Views<'_>) -> Self {
        let raw = views.iter().next();
        Self {
            views: views.iter().map(ViewText::view).collect(),
            derived_bytes: views.derived_bytes(),
            taken: views.taken(),
            vocabularies: raw.map_or(0, |raw| raw.sightings().vocabularies()),
        }
    }
}
