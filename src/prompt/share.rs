//! The sharing of a budget: short needs are met whole, long ones share what is left.

/// The need of one unit.
pub(super) struct Need {
    /// Tokens that it needs to be shown whole.
    pub(super) whole: usize,
    /// Tokens below which showing it makes no sense.
    pub(super) least: usize,
    /// Its rank by whether something was found in it: such needs are met first.
    pub(super) rank: Rank,
    /// How much it should be shown of those in which as much was found; 0 is not more than any other.
    pub(super) weight: f32,
}

/// The order in which needs are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Something was found in it.
    Found,
    /// Nothing was found in it.
    Plain,
}

impl Need {
    /// The least that it gets, if it gets anything.
    fn due(&self) -> usize {
        self.whole.min(self.least)
    }

    /// The same where others get nothing: what weighs more than they is shown whole, as far as it is short.
    fn ample(&self) -> usize {
        let times = if self.weight > 0.0 { 2 } else { 1 };
        self.whole.min(times * self.least)
    }
}

/// Returns the share of each, in the order of the needs; `None` for those that get nothing at all.
pub(super) fn out(budget: usize, needs: &[Need]) -> Vec<Option<usize>> {
    let mut order: Vec<(usize, &Need)> = needs.iter().enumerate().collect();
    order.sort_by(|(at, one), (other_at, other)| {
        let by_weight = other.weight.total_cmp(&one.weight);
        let by_size = (one.whole, at).cmp(&(other.whole, other_at));
        one.rank.cmp(&other.rank).then(by_weight).then(by_size)
    });
    let mut given = vec![None; needs.len()];
    let mut left = budget;
    let for_all = needs.iter().map(Need::due).sum::<usize>() <= budget;
    for (at, need) in order {
        let ample = Some(need.ample()).filter(|ample| !for_all && *ample <= left);
        let share = ample.unwrap_or(need.due());
        if share <= left
            && let Some(slot) = given.get_mut(at)
        {
            left -= share;
            *slot = Some(share);
        }
    }
    hand_out_the_rest(left, needs, &mut given);
    given
}

/// Hands the rest of short needs to those that could not be met, the smallest gap first.
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
        Need {
            whole,
            least: 50,
            rank,
            weight: 0.0,
        }
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

    #[test]
    fn when_there_are_too_many_what_weighs_most_is_shown_whole() {
        let mut needs: Vec<Need> = (0..100).map(|_| need(60, Rank::Plain)).collect();
        needs[50].weight = 1.5;
        let given = out(1000, &needs);
        assert_eq!(given[50], Some(60));
        assert_eq!(given.iter().flatten().sum::<usize>(), 1000);
    }
}
