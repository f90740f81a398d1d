//! The spend budget of a judge: a call reserves its highest possible cost beforehand, and settles its real cost afterwards.

use std::ops::Add;

use futures_util::future::BoxFuture;

use super::JudgeFailure;
use crate::llm::Cost;

/// The codes of failures that mean that the budget refused a call: no further call is tried then.
pub mod refusal {
    /// There is no room for another call now.
    pub const LIMIT: &str = "judge_limit";
    /// The budget of the day is spent.
    pub const BUDGET: &str = "budget_spent";
}

/// The charge of a call, before or after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charge {
    /// Tokens of prompt and reply.
    pub tokens: u64,
    /// Their price.
    pub cost: Cost,
}

impl Add for Charge {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            cost: self.cost + other.cost,
        }
    }
}

/// The budget from which calls of a judge are paid.
pub trait SpendBudget: Send + Sync {
    /// Sets aside the highest charge of a call. It may wait a moment for room.
    ///
    /// # Errors
    ///
    /// The [`JudgeFailure`] that names the limit, when there is no room: then no model is asked.
    fn reserve(&self, most: Charge) -> BoxFuture<'_, Result<(), JudgeFailure>>;

    /// Books the charge of the call after all, in place of what was set aside. A call that is never settled took what was set aside.
    fn settle(&self, reserved: Charge, spent: Charge);
}

impl JudgeFailure {
    /// Returns `true` if no model was asked because the budget refused the call.
    pub(super) fn is_unpaid(&self) -> bool {
        matches!(self.code, refusal::LIMIT | refusal::BUDGET)
    }
}

/// A budget without a limit, which counts nothing.
#[derive(Clone, Copy, Debug)]
pub struct UnlimitedBudget;

impl SpendBudget for UnlimitedBudget {
    fn reserve(&self, _most: Charge) -> BoxFuture<'_, Result<(), JudgeFailure>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn settle(&self, _reserved: Charge, _spent: Charge) {}
}
