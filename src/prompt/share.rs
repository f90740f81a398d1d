//! How a budget is shared out: short needs are met whole, long ones share what is left.

/// One that needs a share.
pub(super) struct Need {
    /// Tokens that it needs to be shown whole.
    pub(super) whole: usize,
    /// Tokens below which showing it makes no sense.
    pub(super) least: usize,
    /// Whether something was found in it: such needs are met first.
    pub(super) rank: Rank,
}

/// Who is served first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Something was found in it.
    Found,
    /// Nothing was found in it.
    Plain,
}

/// What each gets, in the order of the needs; `None` for those that get nothing at all.
pub(super) fn out(budget: usize, needs: &[Need]) -> Vec<Option<usize>> {
    let mut order: Vec<(usize, &Need)> = needs.iter().enumerate().collect();
    order.sort_by_key(|(at, need)| (need.rank, need.whole, *at));
    let mut given = vec![None; needs.len()];
    let mut left = budget;
    let mut waiting = order.len();
    for (at, need) in order {
        let fair = (left / waiting.max(1)).max(need.least);
        let share = need.whole.min(fair).min(left);
        waiting -= 1;
        if share < need.whole.min(need.least) {
            continue;
        }
        left -= share;
        if let Some(slot) = given.get_mut(at) {
            *slot = Some(share);
        }
    }
    hand_out_the_rest(left, needs, &mut given);
    given
}

/// What short needs left over goes to those that could not be met, the smallest gap first.
fn hand_out_the_rest(mut left: usize, needs: &[Need], given: &mut [Option<usize>]) {
    let mut short: Vec<(usize, &mut usize)> = needs
        .iter()
        .zip(given)
        .filter_map(|(need, share)| share.as_mut().map(|share| (need.whole - *share, share)))
        .filter(|(gap, _)| *gap > 0)
        .collect();
    short.sort_by_key(|(gap, _)| *gap);
    let mut waiting = short.len();
    for (gap, share) in short {
        let more = gap.min(left / waiting.max(1));
        *share += more;
        left -= more;
        waiting -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need(whole: usize, rank: Rank) -> Need {
        Need { whole, least: 50, rank }
    }

    #[test]
    fn short_needs_are_met_and_long_ones_share() {
        let needs = [
            need(10_000, Rank::Plain),
            need(10, Rank::Plain),
            need(5_000, Rank::Plain),
        ];
        assert_eq!(out(1000, &needs), [Some(495), Some(10), Some(495)]);
    }

    #[test]
    fn what_is_left_over_goes_to_the_long_ones() {
        let mut needs: Vec<Need> = (0..20).map(|_| need(5, Rank::Plain)).collect();
        needs.push(need(5000, Rank::Found));
        assert_eq!(out(1000, &needs)[20], Some(900));
    }

    #[test]
    fn when_there_are_too_many_the_last_get_nothing_but_what_was_found_comes_first() {
        let mut needs: Vec<Need> = (0..100).map(|_| need(60, Rank::Plain)).collect();
        needs.push(need(5000, Rank::Found));
        let given = out(1000, &needs);
        assert_eq!(given[100], Some(50));
        assert_eq!(given.iter().flatten().sum::<usize>(), 1000);
        assert_eq!(given.iter().filter(|share| share.is_some()).count(), 20);
    }
}
