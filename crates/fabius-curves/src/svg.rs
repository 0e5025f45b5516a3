//! A chart as SVG. Series differ by the mark, by the dash pattern and only then by colour; names come in any font.

use crate::{Axis, Chart, Point, Scale, Series, Shape};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::ops::Range;

/// Size of the axes with all that stands at them, and of the legend beside them; many series and long names make more of it.
const WIDTH: u32 = 620;
const HEIGHT: u32 = 420;
const LEGEND: u32 = 200;

/// Where the first line of the legend is, how far lines are apart, where names begin, and how wide a character of them is
/// thought to be.
const LEGEND_TOP: u32 = 52;
const LEGEND_LINE: u32 = 22;
const LEGEND_NAMES: u32 = 52;
const LEGEND_CHARACTER: u32 = 7;

/// Colours that are told apart with any kind of sight, on white.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 0, 0),
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 120, 90),
    RGBColor(180, 80, 140),
    RGBColor(150, 100, 0),
    RGBColor(40, 130, 180),
];

/// Length of a dash and of the space behind it; the first is a solid line.
const DASHES: [(u32, u32); 5] = [(0, 0), (9, 4), (2, 3), (15, 6), (4, 9)];

/// How many kinds of marks there are; has no divisor in common with the number of dash patterns, so 40 series differ.
const MARKS: usize = 8;

/// Values beside an axis.
const TICKS: usize = 11;

/// Lines of many points have about so many marks.
const MARKS_OF_A_LINE: usize = 12;

/// Draws.
///
/// # Errors
/// If there is no point, a value is no number, or one is not above 0 on a logarithmic axis.
pub fn svg(chart: &Chart) -> Result<String, String> {
    let (many, long) = (chart.series.len(), chart.series.iter().map(|s| s.name.chars().count()).max().unwrap_or(0));
    let wide = |n: usize| u32::try_from(n.min(1000)).expect("a thousand is a small number");
    let width = WIDTH + LEGEND.max(LEGEND_NAMES + LEGEND_CHARACTER * wide(long));
    let height = HEIGHT.max(LEGEND_TOP + LEGEND_LINE * wide(many));
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (width, height)).into_drawing_area();
        let (plot, legend) = root.split_horizontally(WIDTH);
        let drawn = root.fill(&WHITE).map_err(|e| e.to_string());
        drawn.and_then(|()| draw(chart, &plot)).and_then(|()| draw_legend(chart, &legend))?;
        root.present().map_err(|e| e.to_string())?;
    }
    let name = chart.title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let text = text.replacen('>', &format!(" role=\"img\">\n<title>{name}</title>"), 1);
    // Names may hold characters that XML does not know, not even escaped.
    Ok(text.replace(|c: char| c.is_control() && c != '\n' || matches!(c, '\u{fffe}' | '\u{ffff}'), " "))
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The values of an axis, with some space beyond the largest.
fn range(axis: &Axis, values: impl Iterator<Item = f64>) -> Result<Range<f64>, String> {
    let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in values {
        if !value.is_finite() || axis.scale == Scale::Logarithmic && value <= 0.0 {
            return Err(format!("{value} cannot be drawn on the axis `{}`", axis.label()));
        }
        (least, most) = (least.min(value), most.max(value));
    }
    if least > most {
        return Err("there is nothing to draw".into());
    }
    match axis.scale {
        Scale::Logarithmic => Ok(least / 1.15..most.max(least * 1.5) * 1.15),
        Scale::Linear | Scale::Whole => {
            let least = least.min(0.0);
            let span = if most > least { most - least } else { 1.0 };
            Ok(least..least + span * 1.06)
        }
    }
}

fn draw(chart: &Chart, area: &Area<'_>) -> Result<(), String> {
    let points = || chart.series.iter().flat_map(|s| &s.points);
    let x = range(&chart.x, points().map(|p| p.x))?;
    let y = range(&chart.y, points().flat_map(|p| [p.y, p.range.map_or(p.y, |r| r.0), p.range.map_or(p.y, |r| r.1)]))?;
    match (chart.x.scale, chart.y.scale) {
        (Scale::Logarithmic, Scale::Logarithmic) => draw_on(chart, area, x.log_scale(), y.log_scale()),
        (Scale::Logarithmic, _) => draw_on(chart, area, x.log_scale(), y),
        (_, Scale::Logarithmic) => draw_on(chart, area, x, y.log_scale()),
        _ => draw_on(chart, area, x, y),
    }
}

fn draw_on<X, Y>(chart: &Chart, area: &Area<'_>, x: X, y: Y) -> Result<(), String>
where
    X: AsRangedCoord<Value = f64>,
    Y: AsRangedCoord<Value = f64>,
    X::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let fails = |e: DrawingAreaErrorKind<std::io::Error>| e.to_string();
    let points = || chart.series.iter().flat_map(|s| &s.points);
    let (x_labels, y_labels) = (ticks(&chart.x, points().map(|p| p.x)), ticks(&chart.y, points().map(|p| p.y)));
    let mut plot = ChartBuilder::on(area)
        .caption(&chart.title, ("sans-serif", 17))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(66)
        .build_cartesian_2d(x, y)
        .map_err(fails)?;
    plot.configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(RGBColor(221, 221, 221))
        .label_style(("sans-serif", 12))
        .axis_desc_style(("sans-serif", 14))
        .x_desc(chart.x.label())
        .y_desc(chart.y.label())
        .x_labels(x_labels)
        .y_labels(y_labels)
        .x_label_formatter(&|v| shown(chart.x.scale, *v))
        .y_label_formatter(&|v| shown(chart.y.scale, *v))
        .draw()
        .map_err(fails)?;
    for (at, series) in chart.series.iter().enumerate() {
        let style = COLOURS[at % COLOURS.len()].stroke_width(2);
        if series.shape == Shape::Line {
            let line = series.points.iter().map(|p| (p.x, p.y));
            match DASHES[at % DASHES.len()] {
                (0, _) => plot.draw_series(LineSeries::new(line, style)).map_err(fails)?,
                (dash, space) => plot.draw_series(DashedLineSeries::new(line, dash, space, style)).map_err(fails)?,
            };
        }
        for point in marked(series) {
            if let Some((least, most)) = point.range {
                let thin = COLOURS[at % COLOURS.len()].stroke_width(1);
                let bar = ErrorBar::new_vertical(point.x, least, point.y, most, thin, 6);
                plot.draw_series([bar]).map_err(fails)?;
            }
            mark(area, at, plot.backend_coord(&(point.x, point.y)))?;
        }
    }
    for (point, text) in labels(chart) {
        // On the side where there is room.
        let (x, y) = plot.backend_coord(&(point.x, point.y));
        let is_right = x - area.get_base_pixel().0 > WIDTH as i32 * 2 / 3;
        let (side, offset) = if is_right { (HPos::Right, -8) } else { (HPos::Left, 8) };
        let style = ("sans-serif", 11).into_text_style(area).pos(Pos::new(side, VPos::Bottom));
        area.draw(&Text::new(text, (x + offset, y - 1), style)).map_err(fails)?;
    }
    Ok(())
}

/// How many values stand beside an axis at most: of whole numbers no more than there are.
fn ticks(axis: &Axis, values: impl Iterator<Item = f64>) -> usize {
    match axis.scale {
        Scale::Whole => TICKS.min(values.fold(1.0, f64::max) as usize + 1),
        Scale::Linear | Scale::Logarithmic => TICKS,
    }
}

/// What stands beside points: a text that is at several points of one column is there once, of several texts at one point
/// their number.
fn labels(chart: &Chart) -> Vec<(&Point, String)> {
    let mut all: Vec<(&Point, Vec<&str>)> = Vec::new();
    for point in chart.series.iter().flat_map(|s| &s.points).filter(|p| !p.label.is_empty()) {
        let label = point.label.as_str();
        if all.iter().any(|(other, texts)| other.x == point.x && texts.contains(&label)) {
            continue;
        }
        match all.iter_mut().find(|(other, _)| (other.x, other.y) == (point.x, point.y)) {
            Some((_, texts)) => texts.push(label),
            None => all.push((point, vec![label])),
        }
    }
    let text = |texts: &[&str]| if let [one] = texts { one.to_string() } else { format!("{} of them", texts.len()) };
    all.into_iter().map(|(point, texts)| (point, text(&texts))).collect()
}

/// The points of a series that have a mark: all of a scatter, some of a long line and always its ends.
fn marked(series: &Series) -> impl Iterator<Item = &Point> {
    let points = &series.points;
    let every = if series.shape == Shape::Line { points.len().div_ceil(MARKS_OF_A_LINE).max(1) } else { 1 };
    let is_marked =
        move |at: usize, p: &Point| at.is_multiple_of(every) || at + 1 == points.len() || !p.label.is_empty();
    points.iter().enumerate().filter(move |(at, p)| is_marked(*at, p)).map(|(_, p)| p)
}

fn draw_legend(chart: &Chart, area: &Area<'_>) -> Result<(), String> {
    let fails = |e: DrawingAreaErrorKind<std::io::Error>| e.to_string();
    let middle = ("sans-serif", 13).into_text_style(area).pos(Pos::new(HPos::Left, VPos::Center));
    for (at, series) in chart.series.iter().enumerate() {
        let y = LEGEND_TOP as i32 + LEGEND_LINE as i32 * i32::try_from(at).expect("there are few series");
        if series.shape == Shape::Line {
            let style = COLOURS[at % COLOURS.len()].stroke_width(2);
            let line = [(4, y), (44, y)];
            match DASHES[at % DASHES.len()] {
                (0, _) => area.draw(&PathElement::new(line, style)).map_err(fails)?,
                (dash, space) => area.draw(&DashedPathElement::new(line, dash, space, style)).map_err(fails)?,
            }
        }
        mark(area, at, (24, y))?;
        area.draw(&Text::new(series.name.clone(), (LEGEND_NAMES as i32, y), middle.clone())).map_err(fails)?;
    }
    Ok(())
}

/// Draws the mark of a series around a point of the picture.
fn mark(area: &Area<'_>, series: usize, (x, y): (i32, i32)) -> Result<(), String> {
    let colour = COLOURS[series % COLOURS.len()];
    let (full, hollow) = (colour.filled(), colour.stroke_width(2));
    let around = |corners: &[(i32, i32)]| corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect::<Vec<_>>();
    let polygon = |corners: &[(i32, i32)]| area.draw(&Polygon::new(around(corners), full));
    let outline = |corners: &[(i32, i32)]| {
        let closed: Vec<_> = corners.iter().chain(&corners[..1]).copied().collect();
        area.draw(&PathElement::new(around(&closed), hollow))
    };
    let square = [(-4, -4), (4, -4), (4, 4), (-4, 4)];
    let triangle = [(0, -5), (5, 4), (-5, 4)];
    let diamond = [(0, -6), (6, 0), (0, 6), (-6, 0)];
    let drawn = match series % MARKS {
        0 => area.draw(&Circle::new((x, y), 4, full)),
        1 => outline(&square),
        2 => polygon(&triangle),
        3 => area.draw(&Cross::new((x, y), 4, hollow)),
        4 => outline(&diamond),
        5 => polygon(&square),
        6 => area.draw(&Circle::new((x, y), 4, hollow)),
        _ => polygon(&diamond),
    };
    drawn.map_err(|e| e.to_string())
}

/// A value beside an axis: few digits, and powers of ten where they are shorter; nothing between whole numbers.
fn shown(scale: Scale, value: f64) -> String {
    if scale == Scale::Whole && value.fract().abs() > 1e-9 {
        return String::new();
    }
    let size = value.abs();
    if size != 0.0 && !(1e-3..1e6).contains(&size) {
        return format!("{value:.1e}").replace(".0e", "e");
    }
    let digits = format!("{value:.3}");
    digits.trim_end_matches('0').trim_end_matches('.').to_string()
}
