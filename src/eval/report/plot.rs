//! Curves as SVG, drawn by a plotting library; colours that can be seen on white and on black.

use plotters::prelude::*;

use crate::eval::Curve;

/// Width and height of a drawing.
const SIZE: (u32, u32) = (360, 320);
const LINE: RGBColor = RGBColor(64, 128, 224);
const FAINT: RGBColor = RGBColor(144, 144, 144);

/// Draws the ROC curve.
pub(super) fn roc(curve: &Curve) -> Option<String> {
    let area = curve.auroc?;
    let title = format!("ROC, area {area:.3}");
    draw(
        &title,
        ["false-positive rate", "recall"],
        &curve.roc,
        Style::Line,
        Diagonal::Shown,
    )
}

/// Draws recall and precision.
pub(super) fn precision_recall(curve: &Curve) -> Option<String> {
    let average = curve.average_precision?;
    let title = format!("Precision and recall, average {average:.3}");
    draw(
        &title,
        ["recall", "precision"],
        &curve.precision_recall,
        Style::Line,
        Diagonal::Left,
    )
}

/// Draws predicted and observed shares of attacks.
pub(super) fn reliability(curve: &Curve) -> Option<String> {
    let error = curve.calibration_error?;
    let title = format!("Reliability, calibration error {error:.3}");
    let points: Vec<(f64, f64)> = curve
        .reliability
        .iter()
        .map(|bin| (bin.predicted, bin.observed))
        .collect();
    draw(&title, ["predicted", "observed"], &points, Style::Dots, Diagonal::Shown)
}

#[derive(Clone, Copy, PartialEq)]
enum Style {
    Line,
    Dots,
}

#[derive(Clone, Copy, PartialEq)]
enum Diagonal {
    Shown,
    Left,
}

/// Draws a plot; `None` where it cannot be drawn, which no report has to end for.
fn draw(title: &str, axes: [&str; 2], points: &[(f64, f64)], style: Style, diagonal: Diagonal) -> Option<String> {
    let mut svg = String::new();
    plot(&mut svg, title, axes, points, style, diagonal).ok()?;
    Some(svg)
}

fn plot(
    svg: &mut String,
    title: &str,
    [x, y]: [&str; 2],
    points: &[(f64, f64)],
    style: Style,
    diagonal: Diagonal,
) -> Result<(), Box<dyn std::error::Error>> {
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    let mut chart = ChartBuilder::on(&root)
        .margin(8)
        .caption(title, ("sans-serif", 15, &FAINT))
        .x_label_area_size(36)
        .y_label_area_size(44)
        .build_cartesian_2d(0.0..1.0, 0.0..1.0)?;
    chart
        .configure_mesh()
        .x_desc(x)
        .y_desc(y)
        .x_labels(6)
        .y_labels(6)
        .axis_style(FAINT)
        .label_style(("sans-serif", 12, &FAINT))
        .axis_desc_style(("sans-serif", 13, &FAINT))
        .bold_line_style(FAINT.mix(0.25))
        .light_line_style(TRANSPARENT)
        .draw()?;
    if diagonal == Diagonal::Shown {
        chart.draw_series(LineSeries::new([(0.0, 0.0), (1.0, 1.0)], FAINT.mix(0.6)))?;
    }
    chart.draw_series(LineSeries::new(points.iter().copied(), LINE.stroke_width(2)))?;
    if style == Style::Dots {
        chart.draw_series(points.iter().map(|point| Circle::new(*point, 4, LINE.filled())))?;
    }
    root.present()?;
    Ok(())
}
