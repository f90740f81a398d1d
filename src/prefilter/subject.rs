//! What a prefilter looks at: one content of one step, in its views, under one policy.

use super::Views;
use crate::model::{Content, Step};
use crate::policy::Policy;

/// One content of one step.
pub struct Subject<'a> {
    /// The step it belongs to.
    pub step: &'a Step,
    /// The organisation's policy.
    pub policy: &'a Policy,
    /// The content.
    pub content: &'a Content,
    /// Its views.
    pub views: &'a Views<'a>,
}
