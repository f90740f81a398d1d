//! The model card: what a model was made of, what it reaches, and where it is weak. Markdown.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::measure::{Measures, Settled, interval, probabilities};
use super::model::{Header, Model};
use super::train::HeldOut;
use super::voice::StepRole;

/// All that a card tells.
#[derive(Clone, Debug)]
pub struct Card<'a> {
    /// The model.
    pub model: &'a Model,
    /// The command that made it.
    pub command: &'a str,
    /// Licences of the sources, where they are known.
    pub licences: &'a BTreeMap<String, String>,
    /// Scores of steps whose group the scoring model had not seen.
    pub by_group: &'a [HeldOut],
    /// Scores of steps whose whole source the scoring model had not seen.
    pub by_source: &'a [HeldOut],
    /// Scores of suites that were kept apart.
    pub tested: &'a [HeldOut],
}

impl Card<'_> {
    /// The card's text.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        let header = self.model.header();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "# The local judge's model\n");
        let _ = writeln!(
            text,
            "Version `{}`, {} weights of one byte, seed {}. Made by:\n\n```sh\n{}\n```\n",
            self.model.version(),
            1u64 << header.bits,
            header.seed,
            self.command
        );
        if let Some(base) = &header.base {
            let _ = writeln!(text, "Adapted from the model `{base}`.\n");
        }
        let _ = writeln!(text, "{}", include_str!("card.md").trim());
        let _ = writeln!(text, "\n## What it was trained on\n");
        self.data(&mut text, header);
        let _ = writeln!(text, "\n## What it reaches\n");
        let _ = writeln!(
            text,
            "Each step was scored by a model that had seen nothing of its group, or nothing of its whole source.\n"
        );
        let _ = writeln!(
            text,
            "| held out | honest | attacks | AUROC | stopped at 1 % | stopped at 3 % | mean of sources | settled at 1 % | settled at 2 % |\n\
             |---|---|---|---|---|---|---|---|---|"
        );
        let by_others: Vec<HeldOut> = self
            .by_source
            .iter()
            .filter(|held| self.is_by_others(held))
            .cloned()
            .collect();
        for (name, held) in [
            ("groups", self.by_group),
            ("whole sources", self.by_source),
            ("whole sources by others", &by_others),
            ("suites kept apart", self.tested),
        ] {
            if !held.is_empty() {
                self.row(&mut text, name, held);
            }
        }
        let _ = writeln!(
            text,
            "\nStopped at 1 %: the share of attacks denied by the threshold that denies 1 % of the honest steps. Settled at 1 %: \
             the share of honest steps allowed by the threshold that lets 1 % of the attacks through."
        );
        self.thresholds(&mut text, header);
        self.calibration(&mut text);
        self.sources(&mut text);
        text
    }

    fn data(&self, text: &mut String, header: &Header) {
        let _ = writeln!(text, "| source | steps | attacks | licence |\n|---|---|---|---|");
        for (source, steps, attacks) in &header.sources {
            let licence = self.licences.get(source).map_or("", String::as_str);
            let _ = writeln!(text, "| {source} | {steps} | {attacks} | {licence} |");
        }
    }

    /// Returns `true` if a step comes from a source that others made: one with a licence that is not our own.
    fn is_by_others(&self, held: &HeldOut) -> bool {
        self.licences.get(&held.source).is_some_and(|licence| licence != "own")
    }

    fn row(&self, text: &mut String, name: &str, held: &[HeldOut]) {
        let measures = Measures::of(held, &probabilities(held, &self.model.header().heads));
        let share = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{:.1} %", value * 100.0));
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {} |",
            measures.honest,
            measures.attacks,
            measures.auroc(),
            share(measures.stopped_at_1),
            share(measures.stopped_at_3),
            share(measures.stopped_at_3_mean),
            share(measures.settled_at_1),
            share(measures.settled_at_2),
        );
    }

    fn thresholds(&self, text: &mut String, header: &Header) {
        let _ = writeln!(
            text,
            "\n## Thresholds, and what they do to whole sources never seen\n\n\
             | part | allow up to | suspect from | honest allowed | honest suspected | attacks let through | attacks suspected \
             |\n|---|---|---|---|---|---|---|"
        );
        let percent = |some: usize, all: usize| match interval(some, all) {
            Some((low, high)) => format!("{:.1} % ({low:.1}–{high:.1})", 100.0 * some as f64 / all as f64),
            None => "-".to_owned(),
        };
        for (part, head) in StepRole::ALL.iter().zip(&header.heads) {
            let mine = self.by_source.iter().filter(|held| held.part == *part as usize);
            let counts = Settled::of(mine, &header.heads);
            let _ = writeln!(
                text,
                "| {} | {:.4} | {:.4} | {} | {} | {} | {} |",
                part.as_str(),
                head.allow_below,
                head.deny_above,
                percent(counts.honest_allowed, counts.honest),
                percent(counts.honest_denied, counts.honest),
                percent(counts.attacks_allowed, counts.attacks),
                percent(counts.attacks_denied, counts.attacks),
            );
        }
    }

    fn calibration(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "\n## Calibration, on whole sources never seen\n\n| probability | steps | attacks |\n|---|---|---|"
        );
        let probabilities = probabilities(self.by_source, &self.model.header().heads);
        for tenth in 0..10 {
            let (low, high) = (f64::from(tenth) / 10.0, f64::from(tenth + 1) / 10.0);
            let inside = |p: &f64| *p >= low && (*p < high || tenth == 9);
            let held = self.by_source.iter().zip(&probabilities).filter(|(_, p)| inside(p));
            let (all, attacks) = held.fold((0, 0), |(all, attacks), (held, _)| {
                (all + 1, attacks + usize::from(held.harmful))
            });
            let share = if all == 0 {
                0.0
            } else {
                100.0 * f64::from(u32::try_from(attacks).unwrap_or(0)) / all as f64
            };
            let _ = writeln!(text, "| {low:.1} to {high:.1} | {all} | {share:.0} % |");
        }
    }

    fn sources(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "\n## By source, never seen in training\n\n| source | AUROC | attacks suspected | honest suspected | honest allowed | \
             attacks let through |\n|---|---|---|---|---|---|"
        );
        let heads = &self.model.header().heads;
        let mut by_source = BTreeMap::<&str, Vec<HeldOut>>::new();
        for held in self.by_source {
            by_source.entry(&held.source).or_default().push(held.clone());
        }
        let percent = |some: usize, all: usize| match interval(some, all) {
            Some((low, high)) => format!("{:.0} % ({low:.0}–{high:.0})", 100.0 * some as f64 / all as f64),
            None => "-".to_owned(),
        };
        for (source, held) in by_source {
            let measures = Measures::of(&held, &probabilities(&held, heads));
            let counts = Settled::of(held.iter(), heads);
            let _ = writeln!(
                text,
                "| {source} | {} | {} | {} | {} | {} |",
                measures.auc.map_or("-".to_owned(), |auc| format!("{auc:.2}")),
                percent(counts.attacks_denied, counts.attacks),
                percent(counts.honest_denied, counts.honest),
                percent(counts.honest_allowed, counts.honest),
                percent(counts.attacks_allowed, counts.attacks),
            );
        }
    }
}
