//! `guardian learn report`: what is asked, settled and saved.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::super::{Ended, printable};
use super::Of;
use crate::learning::{Count, Store};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Write the share of asked steps by day as a curve there (SVG). Needs --organisation, where there are several.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    of: Of,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    let config = arguments.of.config()?;
    let organisations = arguments.of.organisations(&config)?;
    anyhow::ensure!(
        arguments.svg.is_none() || organisations.len() == 1,
        "--svg: expected --organisation, to say whose curve it is"
    );
    for id in organisations {
        let folder = config.learning.folder(&id);
        let days = match folder.exists() {
            true => Store::open(&folder)?.days()?,
            false => Vec::new(),
        };
        let mut all = Count::default();
        let (mut by_day, mut by_tool) = (BTreeMap::<i64, Count>::new(), BTreeMap::<String, Count>::new());
        for day in &days {
            all.add(&day.count);
            by_day.entry(day.day).or_default().add(&day.count);
            by_tool.entry(day.tool.clone()).or_default().add(&day.count);
        }
        let mut told = format!("{id}\n{HEAD}");
        told.extend(by_day.iter().map(|(day, count)| line(&date(*day), count)));
        let mut tools: Vec<_> = by_tool.iter().collect();
        tools.sort_by_key(|(_, count)| std::cmp::Reverse(count.steps()));
        told.extend(tools.iter().map(|(tool, count)| line(&printable(tool), count)));
        told.push_str(&line("all", &all));
        let each = |sum: u64| sum as f64 / all.asked.max(1) as f64;
        told.push_str(&format!(
            "  settled by learned models without asking: {} steps; at what an asked one took, that saved {:.0} tokens and {:.2} of the unit \
             of the configured prices\n",
            all.learned,
            each(all.tokens) * all.learned as f64,
            each(all.cost_micros) * all.learned as f64 / 1e6
        ));
        super::super::output::write(format_args!("{told}"));
        if let Some(path) = &arguments.svg {
            let points: Vec<(i64, f64)> = by_day
                .iter()
                .map(|(day, count)| (*day, share(count.asked, count)))
                .collect();
            std::fs::write(path, curve(&points)?).with_context(|| format!("{}: cannot be written", path.display()))?;
        }
    }
    Ok(Ended::Done)
}

const HEAD: &str = "                                    steps  asked  built-in  learned  other\n";

fn share(some: u64, count: &Count) -> f64 {
    100.0 * some as f64 / count.steps().max(1) as f64
}

fn line(name: &str, count: &Count) -> String {
    format!(
        "  {name:30} {:8} {:5.1}% {:8.1}% {:7.1}% {:5.1}%\n",
        count.steps(),
        share(count.asked, count),
        share(count.built_in, count),
        share(count.learned, count),
        share(count.other, count)
    )
}

fn date(day: i64) -> String {
    let time = jiff::Timestamp::from_second(day.saturating_mul(86_400)).unwrap_or_default();
    time.strftime("%Y-%m-%d").to_string()
}

/// Returns the share of asked steps by day.
fn curve(points: &[(i64, f64)]) -> anyhow::Result<String> {
    use plotters::prelude::*;
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (640, 320)).into_drawing_area();
        let (first, last) = (points.first().map_or(0, |p| p.0), points.last().map_or(1, |p| p.0));
        let mut chart = ChartBuilder::on(&area)
            .margin(12)
            .x_label_area_size(32)
            .y_label_area_size(48)
            .build_cartesian_2d(first..last.max(first + 1), 0.0..100.0)
            .context("the curve cannot be drawn")?;
        let mesh = chart
            .configure_mesh()
            .y_desc("% asked")
            .x_label_formatter(&|day| date(*day))
            .draw();
        mesh.context("the curve cannot be drawn")?;
        let drawn = chart.draw_series(LineSeries::new(points.iter().copied(), &BLUE));
        drawn.context("the curve cannot be drawn")?;
        area.present().context("the curve cannot be drawn")?;
    }
    Ok(svg)
}
