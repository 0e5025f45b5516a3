//! Draws what `bench/native/run.sh` prints on the threads of a program and the time of a scheduling point:
//!
//! ```text
//! bench/native/run.sh target/release/fabius | cargo run -p fabius-curves --example native_points > docs/native-points.svg
//! ```

use fabius_curves::{Axis, Chart, Series, svg};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = std::io::read_to_string(std::io::stdin())?;
    let chart = Chart {
        title: "Processor time of a scheduling point".into(),
        x: Axis::linear("threads", ""),
        y: Axis::linear("a point", "ns"),
        series: vec![Series::line("account, random schedules", text.lines().filter_map(point))],
    };
    print!("{}", svg(&chart)?);
    Ok(())
}

/// `account, 20 threads   12345 executions per CPU second   321 ns a point`: threads and nanoseconds.
fn point(line: &str) -> Option<(f64, f64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let before = |word: &str| words.get(words.iter().position(|w| *w == word)?.checked_sub(1)?)?.parse().ok();
    Some((before("threads")?, before("ns")?))
}
