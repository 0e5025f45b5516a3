//! A comparison on a terminal.

use super::charts::counted;
use crate::paint::{Ink, Paint, pad, printable, width};
use fabius_trace::{Bound, Compared, Coverage, Measured, Spread};
use std::fmt::Write;

/// Bounds that have a column of their own.
const COLUMNS: usize = 8;

/// The tables of one program.
pub fn program(compared: &Compared, paint: Paint) -> String {
    let mut text = format!("{}\n", paint.ink(Ink::Strong, &printable(&compared.name)));
    let what = counted(compared);
    let is_depth = |m: &&Measured| m.bound == Bound::Depth;
    for rows in [within(compared, |m| !is_depth(m)), within(compared, is_depth)].into_iter().flatten() {
        let share = match (compared.total(), compared.totals().len()) {
            (Some(all), _) => format!("share of all {all}"),
            (None, 0) => "their number; how many there are is not known".into(),
            (None, _) => "their number; not every strategy tells the same apart, so how many there are differs".into(),
        };
        let _ = write!(text, "\n  {what} within a bound ({share})\n{}", laid_out(&rows, paint));
    }
    let executions = compared.strategies.iter().flat_map(|m| &m.runs).map(|run| run.executions).max().unwrap_or(0);
    let powers: Vec<u64> = (1..).map_while(|i| 10u64.checked_pow(i)).take_while(|n| *n <= executions.max(10)).collect();
    let mut rows = vec![vec!["strategy".to_string()]];
    rows[0].extend(powers.iter().map(u64::to_string));
    rows[0].extend(["at the end", "executions", "  ended by"].map(String::from));
    rows.extend(compared.strategies.iter().map(|measured| grown(measured, &powers)));
    let _ =
        writeln!(text, "\n  distinct {what} after so many executions, one after the other\n{}", laid_out(&rows, paint));
    text
}

/// The share within each bound, if a strategy has one.
fn within(compared: &Compared, is_in: impl Fn(&&Measured) -> bool) -> Option<Vec<Vec<String>>> {
    let measured: Vec<(&Measured, &Coverage)> =
        compared.strategies.iter().filter(is_in).filter_map(|m| Some((m, m.coverage.as_ref()?))).collect();
    let last = measured.iter().filter_map(|(_, c)| c.finished().last()).map(|level| level.bound).max()?;
    let columns = COLUMNS.min(last as usize + 1);
    let mut bounds: Vec<u32> = (0..columns).map(|i| (last as usize * i / (columns - 1).max(1)) as u32).collect();
    bounds.dedup();
    let mut rows = vec![vec!["strategy".to_string()]];
    rows[0].extend(bounds.iter().map(u32::to_string));
    rows[0].push("  ended by".into());
    for (measured, coverage) in measured {
        let cell = |bound: &u32| {
            let level = coverage.finished().find(|level| level.bound == *bound)?;
            Some(match compared.total() {
                Some(all) => format!("{:.1} %", level.states as f64 / all.max(1) as f64 * 100.0),
                None => level.states.to_string(),
            })
        };
        let mut row = vec![measured.strategy.clone()];
        row.extend(bounds.iter().map(|bound| cell(bound).unwrap_or_default()));
        row.push(format!("  {}", ended(measured.bound, coverage)));
        rows.push(row);
    }
    Some(rows)
}

/// What ended a search through the bounds.
fn ended(bound: Bound, coverage: &Coverage) -> String {
    let last = coverage.levels.last().map_or(0, |level| level.bound);
    match (coverage.bug_cost, &coverage.cut) {
        (Some(cost), _) => format!("a bug with {}", bound.count(cost)),
        (None, Some(reason)) => reason.words(),
        (None, None) if coverage.exhausted => format!("nothing is left at {}", bound.count(last)),
        (None, None) => format!("no more than {} were asked for", bound.count(last)),
    }
}

/// The growth of one strategy, and what ended it.
fn grown(measured: &Measured, powers: &[u64]) -> Vec<String> {
    let most = measured.runs.iter().map(|run| run.executions).max().unwrap_or(0);
    let mut row = vec![measured.strategy.clone()];
    row.extend(powers.iter().map(|n| {
        let spread = measured.distinct_after(*n).filter(|_| *n <= most);
        spread.map_or(String::new(), |s| s.median.to_string())
    }));
    let executions = Spread::of(measured.runs.iter().map(|run| run.executions));
    for spread in [measured.distinct_after(most), executions] {
        row.push(spread.map_or(String::new(), |s| s.median.to_string()));
    }
    row.push(format!("  {}", ends(measured)));
    row
}

/// What ended the runs of a strategy.
fn ends(measured: &Measured) -> String {
    let of = measured.runs.len();
    let found = measured.runs.iter().filter(|run| run.bug.is_some()).count();
    let without = measured.runs.iter().find(|run| run.bug.is_none());
    let end = without.map(|run| match &run.cut {
        Some(reason) => reason.words(),
        None if run.exhausted => "no executions are left".into(),
        None => "no more were asked for".into(),
    });
    let bugs = measured.runs.iter().filter(|run| run.bug.is_some()).map(|run| run.executions);
    match (Spread::of(bugs), end) {
        (Some(_), None) if of == 1 => "a bug".into(),
        (Some(Spread { least, most, .. }), None) => format!("a bug in each of {of} runs, after {least} to {most}"),
        (Some(Spread { least, most, .. }), Some(end)) => {
            format!("a bug in {found} of {of} runs, after {least} to {most}; {end}")
        }
        (None, end) => end.unwrap_or_default(),
    }
}

/// Executions up to the first bug, of all programs and strategies; nothing if there is one program only.
pub fn bugs(programs: &[Compared], paint: Paint) -> String {
    let buggy: Vec<&Compared> =
        programs.iter().filter(|p| p.strategies.iter().any(|m| m.first_bug().is_some())).collect();
    if programs.len() < 2 || buggy.is_empty() {
        return String::new();
    }
    let mut names: Vec<&str> = Vec::new();
    for measured in buggy.iter().flat_map(|p| &p.strategies) {
        if !names.contains(&measured.strategy.as_str()) {
            names.push(&measured.strategy);
        }
    }
    let mut rows = vec![vec!["program".to_string()]];
    rows[0].extend(names.iter().map(|name| name.to_string()));
    for compared in buggy {
        let cell = |name: &&str| {
            let measured = compared.strategies.iter().find(|m| m.strategy == **name);
            measured.map_or(String::new(), |m| m.first_bug().map_or("-".into(), |n| n.to_string()))
        };
        let mut row = vec![compared.name.clone()];
        row.extend(names.iter().map(cell));
        rows.push(row);
    }
    format!("executions up to the first bug (-: none was found)\n{}", laid_out(&rows, paint))
}

/// Lines of columns, the first to the left, the others to the right but for a last one that begins with space; the first
/// line is the heading.
fn laid_out(rows: &[Vec<String>], paint: Paint) -> String {
    // Names of strategies and reasons may come from a file.
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|cell| printable(cell)).collect()).collect();
    let columns = rows.first().map_or(0, Vec::len);
    let wide: Vec<usize> = (0..columns).map(|i| rows.iter().map(|row| width(&row[i])).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        let mut line = String::new();
        for (i, cell) in row.iter().enumerate() {
            if i == 0 {
                line += &format!("  {}", pad(cell, wide[0]));
            } else if i + 1 == columns && cell.starts_with(' ') {
                line += cell;
            } else {
                line += &format!("  {}{cell}", " ".repeat(wide[i] - width(cell)));
            }
        }
        let line = line.trim_end();
        text += if number == 0 { paint.ink(Ink::Faint, line) } else { line.to_string() }.as_str();
        text.push('\n');
    }
    text
}
