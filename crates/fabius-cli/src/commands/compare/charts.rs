//! The curves of a comparison.

use crate::failure::{Failure, usage};
use fabius_curves::{Axis, Chart, Point, Scale, Series, Shape};
use fabius_trace::{Bound, Compared, Counted, Measured};
use std::collections::BTreeSet;
use std::path::Path;

/// A chart, and what its files are called.
pub struct Drawn {
    pub name: String,
    pub chart: Chart,
}

/// What is counted, in words.
pub fn counted(compared: &Compared) -> &'static str {
    match compared.counted {
        Counted::States => "states",
        Counted::Classes => "happens-before classes",
    }
}

/// The beginning of the names of a program's files.
fn stem(name: &str) -> String {
    let stem = Path::new(name).file_stem().map_or(name.into(), |s| s.to_string_lossy());
    stem.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect()
}

/// Refuses programs whose charts would overwrite each other.
pub fn refuse_same_names(names: &[&str]) -> Result<(), Failure> {
    let mut stems = BTreeSet::new();
    match names.iter().find(|name| !stems.insert(stem(name))) {
        None => Ok(()),
        Some(name) => Err(usage(format!("the charts of two programs would be called `{}-..`", stem(name)))
            .help("compare them one by one, with a folder for each; or rename a file")),
    }
}

/// What the files of all charts of these programs may be called.
pub fn names_of(programs: &[&str]) -> Vec<String> {
    let of_each = programs.iter().flat_map(|name| OF_PROGRAM.map(|chart| format!("{}-{chart}", stem(name))));
    of_each.chain(OF_ALL.map(String::from)).collect()
}

const OF_PROGRAM: [&str; 3] = ["within-bound", "within-steps", "growth"];
const OF_ALL: [&str; 2] = ["first-bug", "least-cost"];

/// The charts of one program.
pub fn of_program(compared: &Compared) -> Vec<Drawn> {
    let is_depth = |measured: &&Measured| measured.bound == Bound::Depth;
    let named = |name: &str, chart: Option<Chart>| {
        Some(Drawn { name: format!("{}-{name}", stem(&compared.name)), chart: chart? })
    };
    let drawn = [
        named(OF_PROGRAM[0], within(compared, "preemptions, delays", |m| !is_depth(m))),
        named(OF_PROGRAM[1], within(compared, "steps", is_depth)),
        named(OF_PROGRAM[2], growth(compared)),
    ];
    drawn.into_iter().flatten().collect()
}

/// The charts of all programs together.
pub fn of_all(programs: &[Compared]) -> Vec<Drawn> {
    let named = |name: &str, chart: Option<Chart>| Some(Drawn { name: name.into(), chart: chart? });
    let drawn = [named(OF_ALL[0], first_bugs(programs)), named(OF_ALL[1], least_costs(programs))];
    drawn.into_iter().flatten().collect()
}

/// The share of the states against the bound; where no strategy has seen them all, their number.
fn within(compared: &Compared, unit: &str, is_in: impl Fn(&&Measured) -> bool) -> Option<Chart> {
    let what = counted(compared);
    let (among, scale) = match (compared.total(), compared.totals().len()) {
        (Some(all), _) => (format!("{what} (% of all {all})"), 100.0 / all.max(1) as f64),
        (None, 0) => (format!("{what} (it is not known how many there are)"), 1.0),
        (None, _) => (format!("{what} (strategies tell different ones apart)"), 1.0),
    };
    let series = compared.strategies.iter().filter(is_in).filter_map(|measured| {
        let coverage = measured.coverage.as_ref()?;
        let points = coverage.finished().map(|level| Point {
            x: f64::from(level.bound),
            y: level.states as f64 * scale,
            range: None,
            label: if coverage.bug_cost == Some(level.bound) { "bug".into() } else { String::new() },
        });
        Some(Series { name: measured.strategy.clone(), shape: Shape::Line, points: points.collect() })
    });
    let series = series.filter(|s| !s.points.is_empty());
    chart(
        &format!("{}: {what} within a bound", stem(&compared.name)),
        Axis::whole("bound", unit),
        Axis::linear(&among, ""),
        series,
    )
}

/// Distinct states against executions; of several runs the median, the least and the most.
fn growth(compared: &Compared) -> Option<Chart> {
    let series = compared.strategies.iter().map(|measured| {
        let mut at: Vec<u64> = measured.runs.iter().flat_map(|run| &run.growth).map(|g| g.executions).collect();
        at.sort_unstable();
        at.dedup();
        let found = measured.runs.iter().any(|run| run.bug.is_some());
        let end = at.last().copied().filter(|_| found && measured.runs.len() == 1);
        let point = |n: u64| {
            let spread = measured.distinct_after(n)?;
            let range = (measured.runs.len() > 1).then_some((spread.least as f64, spread.most as f64));
            let label = if end == Some(n) { "bug".into() } else { String::new() };
            Some(Point { x: n as f64, y: spread.median as f64, range, label })
        };
        Series {
            name: measured.strategy.clone(),
            shape: Shape::Line,
            points: at.into_iter().filter_map(point).collect(),
        }
    });
    let what = counted(compared);
    let (x, y) = (Axis::logarithmic("executions", ""), Axis::linear(&format!("distinct {what}"), ""));
    chart(
        &format!("{}: {what} against executions", stem(&compared.name)),
        x,
        y,
        series.filter(|s| !s.points.is_empty()),
    )
}

/// Executions up to the first bug: those of the first strategy from left to right, those of each up. What is below the
/// line of the first needs fewer.
fn first_bugs(programs: &[Compared]) -> Option<Chart> {
    let first = &programs.first()?.strategies.first()?.strategy;
    let needed = |compared: &Compared, strategy: &str| {
        let measured = compared.strategies.iter().find(|m| m.strategy == strategy)?;
        measured.first_bug().map(|n| n as f64)
    };
    let right = format!("executions of {first}, median");
    let (x, y) = (Axis::logarithmic(&right, ""), Axis::logarithmic("executions, median", ""));
    let title = "Executions up to the first bug, where both found one";
    against(programs, first, title, x, y, |compared| needed(compared, first), needed)
}

/// The least cost of a bug: preemptions against delays.
fn least_costs(programs: &[Compared]) -> Option<Chart> {
    let least = |m: &Measured| m.coverage.as_ref()?.bug_cost.map(f64::from);
    let of = |compared: &Compared, is: &dyn Fn(&&Measured) -> bool| compared.strategies.iter().find(is).and_then(least);
    let preemptions = |compared: &Compared| of(compared, &|m| m.bound == Bound::Preemptions);
    let delays = |compared: &Compared, name: &str| of(compared, &|m| m.strategy == name && m.bound == Bound::Delays);
    let (x, y) = (Axis::whole("least preemptions", ""), Axis::whole("least delays", ""));
    against(programs, "equal", "The least cost of a bug", x, y, preemptions, delays)
}

/// A point for each strategy and program that has both values, over the line of equal ones.
fn against(
    programs: &[Compared],
    line: &str,
    title: &str,
    x: Axis,
    y: Axis,
    right: impl Fn(&Compared) -> Option<f64>,
    up: impl Fn(&Compared, &str) -> Option<f64>,
) -> Option<Chart> {
    let point = |x: f64, y: f64, label: String| Point { x, y, range: None, label };
    let all = others(programs, line).into_iter().map(|strategy| {
        let points = programs.iter().filter_map(|c| Some(point(right(c)?, up(c, strategy)?, stem(&c.name))));
        Series { name: strategy.into(), shape: Shape::Scatter, points: points.collect() }
    });
    let all: Vec<Series> = all.filter(|s| !s.points.is_empty()).collect();
    let most = all.iter().flat_map(|s| &s.points).map(|p| p.x.max(p.y)).reduce(f64::max)?;
    // From the least power of ten to one beyond all points, so that an axis has several.
    let ends = [1.0, 10f64.powf(most.log10().ceil()).max(10.0)];
    let ends = if x.scale == Scale::Logarithmic { ends } else { [0.0, most + 1.0] };
    let named = programs.iter().filter_map(|c| right(c).map(|x| point(x, x, stem(&c.name))));
    let mut points: Vec<Point> = named.chain(ends.map(|end| point(end, end, String::new()))).collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    let equal = Series { name: line.into(), shape: Shape::Line, points };
    chart(title, x, y, std::iter::once(equal).chain(all))
}

/// The names of all strategies but this one.
fn others<'a>(programs: &'a [Compared], but: &str) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for measured in programs.iter().flat_map(|p| &p.strategies) {
        if measured.strategy != but && !names.contains(&measured.strategy.as_str()) {
            names.push(&measured.strategy);
        }
    }
    names
}

/// A chart, if there is anything to draw.
fn chart(title: &str, x: Axis, y: Axis, series: impl Iterator<Item = Series>) -> Option<Chart> {
    let series: Vec<Series> = series.collect();
    (!series.is_empty()).then(|| Chart { title: title.into(), x, y, series })
}
