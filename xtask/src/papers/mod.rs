//! `cargo xtask papers [--only NAME]`: the papers' tables and figures, theirs beside ours, measured again.
//!
//! `docs/papers.md` is its own template: what stands between `<!-- begin NAME -->` and `<!-- end NAME -->` is written, the
//! rest is prose. A table is a list of rows, each of which is measured for itself, so that a test can measure one of them
//! (`crates/fabius-cli/tests/papers.rs`). Charts go to `docs/papers/` as SVG and CSV. Counts are the same on every machine;
//! times are those of this one, and have a unit.

mod buffers;
mod coverage;
mod curves;
mod interfaces;
mod lab;
mod maxima;
mod messages;
mod pldi07;
mod popl11;
mod theirs;

pub use lab::Lab;

use fabius_curves::{Axis, Chart, Series};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

/// A table of the page, with the chart beside it.
pub struct Table {
    /// What its markers in the page call it; a chart's files are called the same.
    pub name: &'static str,
    /// The names of the columns.
    columns: Vec<&'static str>,
    /// The rows, in order.
    pub rows: Vec<Row>,
    /// The row that a test measures: one that takes a moment.
    pub quick: usize,
    /// A command that gives a row; empty if there is none but this task.
    command: &'static str,
    /// What the rows' series are drawn into: a chart without them, or with what is there to compare with.
    chart: Option<Chart>,
}

/// A row that can be measured.
pub struct Row(Measure);

type Measure = Box<dyn Fn(&Lab) -> Result<Measured, String>>;

/// What came out.
#[derive(Default)]
pub struct Measured {
    cells: Vec<Cell>,
    series: Vec<Series>,
}

/// A cell.
#[derive(Clone, Debug, PartialEq)]
enum Cell {
    /// A name, a count, what a paper says: the same on every machine.
    Fixed(String),
    /// A time of this machine, or that something took too long on it.
    Timed(String),
}

impl Row {
    fn new(measure: impl Fn(&Lab) -> Result<Measured, String> + 'static) -> Row {
        Row(Box::new(measure))
    }
}

/// A cell of something that does not depend on the machine.
fn fixed(value: impl ToString) -> Cell {
    Cell::Fixed(value.to_string())
}

/// A cell with a time.
fn seconds(value: f64) -> Cell {
    Cell::Timed(format!("{value:.2} s"))
}

/// A cell with what a paper says and what is the case here.
fn beside(theirs: &str, ours: impl ToString) -> Cell {
    let theirs = if theirs.is_empty() { "?" } else { theirs };
    Cell::Fixed(format!("{theirs} / {}", ours.to_string()))
}

/// A chart to which the rows add their series.
fn chart(title: &str, x: Axis, y: Axis) -> Option<Chart> {
    Some(Chart { title: title.into(), x, y, series: Vec::new() })
}

/// A row without a curve.
fn cells(cells: Vec<Cell>) -> Measured {
    Measured { cells, series: Vec::new() }
}

/// All tables, in the order of the page.
///
/// # Errors
/// If the papers' numbers cannot be read.
pub fn tables(root: &Path) -> Result<Vec<Table>, String> {
    let mut all = pldi07::tables(root)?;
    all.extend(coverage::tables(root)?);
    all.extend(curves::tables());
    all.extend(popl11::tables(root)?);
    all.extend(buffers::tables(root)?);
    all.extend(messages::tables(root)?);
    all.extend(interfaces::tables());
    Ok(all)
}

/// Runs the task; the arguments are those behind its name.
pub fn run(arguments: &[String]) -> ExitCode {
    let only = match arguments {
        [] => None,
        [option, name] if option == "--only" => Some(name.as_str()),
        _ => {
            eprintln!("usage: cargo xtask papers [--only NAME]");
            return ExitCode::from(2);
        }
    };
    match write(only) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("papers: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write(only: Option<&str>) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let lab = Lab::new(root.clone(), built(&root)?);
    let began = Instant::now();
    let tables = tables(&root)?;
    if let Some(name) = only.filter(|name| !tables.iter().any(|t| t.name == *name)) {
        let names: Vec<&str> = tables.iter().map(|t| t.name).collect();
        return Err(format!("there is no table `{name}`; there are: {}", names.join(", ")));
    }
    let page = root.join("docs/papers.md");
    for table in tables.iter().filter(|t| only.is_none_or(|name| name == t.name)) {
        let started = Instant::now();
        let rows = table.rows.iter().map(|row| (row.0)(&lab)).collect::<Result<Vec<_>, _>>();
        let rows = rows.map_err(|e| format!("{}: {e}", table.name))?;
        draw(&root, table, &rows)?;
        // Each table is written when it is done, so that an interrupted run loses only the one that it is at.
        let text = replaced(&read(&page)?, table.name, &markdown(table, &rows))?;
        write_file(&page, &text)?;
        eprintln!("{}: {:.0} s", table.name, started.elapsed().as_secs_f64());
    }
    if only.is_none() {
        let processors = std::thread::available_parallelism().map_or(1, |n| n.get());
        let took = began.elapsed().as_secs_f64() / 60.0;
        let machine =
            format!("The times are those of a machine with {processors} processors; all of it took {took:.1} minutes.");
        write_file(&page, &replaced(&read(&page)?, "machine", &machine)?)?;
    }
    Ok(())
}

/// Builds the command line as its users have it.
fn built(root: &Path) -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let arguments = ["build", "--release", "--locked", "-p", "fabius-cli", "--message-format=json"];
    let output = Command::new(cargo)
        .args(arguments)
        .current_dir(root)
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|e| format!("cannot run cargo: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let messages = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let mut binaries = messages
        .filter(|m| m["target"]["name"] == "fabius")
        .filter_map(|m| m["executable"].as_str().map(PathBuf::from));
    binaries.next_back().ok_or("fabius-cli cannot be built".into())
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
}

fn write_file(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
}

/// The page with another text between the markers of this name.
fn replaced(page: &str, name: &str, text: &str) -> Result<String, String> {
    let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->"));
    let parts = page.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(&end)?.1)));
    let (before, after) = parts.ok_or(format!("docs/papers.md has no place for `{name}`"))?;
    Ok(format!("{before}{begin}\n{text}\n{end}{after}"))
}

fn line(cells: &[Cell]) -> String {
    let texts: Vec<&str> = cells.iter().map(|(Cell::Fixed(text) | Cell::Timed(text))| text.as_str()).collect();
    format!("| {} |\n", texts.join(" | "))
}

fn markdown(table: &Table, rows: &[Measured]) -> String {
    let mut text = format!("| {} |\n|{}\n", table.columns.join(" | "), "---|".repeat(table.columns.len()));
    for row in rows {
        text += &line(&row.cells);
    }
    let row = if table.command.is_empty() { String::new() } else { format!("A row: `{}`. ", table.command) };
    text += &format!("\n{row}The table again: `cargo xtask papers --only {}`.\n", table.name);
    if let Some(Chart { title, .. }) = &table.chart {
        text += &format!("\n![{title}](papers/{0}.svg)\n\nThe numbers: [{0}.csv](papers/{0}.csv).\n", table.name);
    }
    text
}

fn draw(root: &Path, table: &Table, rows: &[Measured]) -> Result<(), String> {
    let Some(mut chart) = table.chart.clone() else { return Ok(()) };
    // Points of different rows that are marked alike are one series.
    for new in rows.iter().flat_map(|row| &row.series) {
        match chart.series.iter_mut().find(|known| known.name == new.name) {
            Some(known) => known.points.extend(new.points.iter().cloned()),
            None => chart.series.push(new.clone()),
        }
    }
    let path = |extension: &str| root.join(format!("docs/papers/{}.{extension}", table.name));
    write_file(&path("svg"), &fabius_curves::svg(&chart).map_err(|e| format!("{}: {e}", table.name))?)?;
    write_file(&path("csv"), &fabius_curves::csv(&chart))
}

/// Measures the quick row again and compares it, but for times, with what the page says.
///
/// # Errors
/// Says how they differ.
pub fn agrees(lab: &Lab, page: &str, table: &Table) -> Result<(), String> {
    let (begin, end) = (format!("<!-- begin {} -->", table.name), format!("<!-- end {} -->", table.name));
    let section = page.split_once(&begin).and_then(|(_, rest)| Some(rest.split_once(&end)?.0));
    let section = section.ok_or(format!("docs/papers.md has no place for `{}`", table.name))?;
    let row = table.quick;
    let written = section.lines().filter(|l| l.starts_with("| ")).nth(row + 1).unwrap_or_default();
    let written: Vec<&str> = written.trim_matches('|').split('|').map(str::trim).collect();
    let ours = (table.rows[row].0)(lab).map_err(|e| format!("{}: {e}", table.name))?.cells;
    let same = |(cell, text): (&Cell, &&str)| matches!(cell, Cell::Timed(_)) || *cell == fixed(text);
    if written.len() == ours.len() && ours.iter().zip(&written).all(same) {
        return Ok(());
    }
    Err(format!("{}, row {row}: the page says\n{written:?}\nbut it is\n{}", table.name, line(&ours)))
}
