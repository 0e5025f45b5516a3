//! Charts as plain data: what is drawn, and the numbers themselves. Draws and writes text; touches no files.

mod svg;

pub use svg::svg;

/// Points over two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// What goes from left to right.
    pub x: Axis,
    /// What goes up.
    pub y: Axis,
    /// What is drawn, each with a mark and a dash pattern of its own.
    pub series: Vec<Series>,
}

/// An axis. A linear one begins at 0 where no value is below.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What is measured.
    pub name: String,
    /// In what: "preemptions", "s"; empty where the name says it.
    pub unit: String,
    /// How values lie on it.
    pub scale: Scale,
}

/// How values lie on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equally far apart.
    Linear,
    /// The same for whole numbers: there is nothing between them.
    Whole,
    /// Equal ratios are equally far apart; values have to be above 0.
    Logarithmic,
}

/// Points that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What the legend says.
    pub name: String,
    /// Whether the points are joined.
    pub shape: Shape,
    /// In the order in which a line joins them.
    pub points: Vec<Point>,
}

/// Whether points are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// By lines.
    Line,
    /// Marks alone.
    Scatter,
}

/// One value over another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// From left to right.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// The least and the most that `y` was, where `y` is the middle of several runs.
    pub range: Option<(f64, f64)>,
    /// What stands beside the mark.
    pub label: String,
}

impl Axis {
    /// A linear axis.
    pub fn linear(name: &str, unit: &str) -> Axis {
        Axis { name: name.into(), unit: unit.into(), scale: Scale::Linear }
    }

    /// A linear axis of whole numbers.
    pub fn whole(name: &str, unit: &str) -> Axis {
        Axis { scale: Scale::Whole, ..Axis::linear(name, unit) }
    }

    /// A logarithmic axis.
    pub fn logarithmic(name: &str, unit: &str) -> Axis {
        Axis { scale: Scale::Logarithmic, ..Axis::linear(name, unit) }
    }

    /// The name with the unit, as it stands at the axis and above the column.
    pub fn label(&self) -> String {
        if self.unit.is_empty() { self.name.clone() } else { format!("{} ({})", self.name, self.unit) }
    }
}

impl Series {
    /// Points joined by lines.
    pub fn line(name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Series {
        let points = points.into_iter().map(|(x, y)| Point { x, y, ..Point::default() }).collect();
        Series { name: name.into(), shape: Shape::Line, points }
    }

    /// Marks alone.
    pub fn scatter(name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Series {
        Series { shape: Shape::Scatter, ..Series::line(name, points) }
    }
}

/// The numbers of a chart: a line of names and units, and a line for each point. Columns `least`, `most` and `label` are there
/// if a point has them.
pub fn csv(chart: &Chart) -> String {
    let points = || chart.series.iter().flat_map(|s| &s.points);
    let has_range = points().any(|p| p.range.is_some());
    let has_label = points().any(|p| !p.label.is_empty());
    let mut header = vec!["series".to_string(), chart.x.label(), chart.y.label()];
    if has_range {
        header.extend(["least".to_string(), "most".to_string()]);
    }
    if has_label {
        header.push("label".to_string());
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    let in_memory = "writing to memory cannot fail";
    writer.write_record(&header).expect(in_memory);
    for series in &chart.series {
        for point in &series.points {
            let mut row = vec![series.name.clone(), point.x.to_string(), point.y.to_string()];
            if has_range {
                let (least, most) = point.range.map_or_else(Default::default, |r| (r.0.to_string(), r.1.to_string()));
                row.extend([least, most]);
            }
            if has_label {
                row.push(point.label.clone());
            }
            writer.write_record(&row).expect(in_memory);
        }
    }
    String::from_utf8(writer.into_inner().expect(in_memory)).expect("all fields are text")
}
