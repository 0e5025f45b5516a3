//! Figures 2, 5 and 6 of Iterative Context Bounding (PLDI 2007): distinct states against executions, for each strategy.

use super::{Lab, Measured, Row, Table, chart, fixed};
use fabius_curves::{Axis, Series};
use fabius_trace::Comparison;

/// Executions of each strategy, which is the default of `fabius compare`.
const EXECUTIONS: u64 = 10_000;

/// Executions after which the states are a column.
const COLUMNS: [u64; 4] = [10, 100, 1_000, 10_000];

/// The strategies; the last is not in the paper.
const STRATEGIES: [&str; 7] = ["icb", "dfs", "random", "db:20", "db:40", "idfs", "delay:round-robin"];

pub fn tables() -> Vec<Table> {
    let table = |name, title, command: &'static str| Table {
        name,
        columns: vec!["strategy", "states after 10 executions", "100", "1,000", "10,000", "executions in all"],
        rows: STRATEGIES.iter().map(|strategy| Row::new(move |lab| grown(lab, command, strategy))).collect(),
        quick: 1,
        command,
        chart: chart(title, Axis::logarithmic("executions", ""), Axis::linear("distinct states", "")),
    };
    vec![
        table(
            "pldi07-figure-2",
            "The work-stealing queue: states against executions",
            "fabius compare corpus/coverage/safe/work_stealing_queue.fab --const ITEMS=6 --const STEALS=6 --points sync --seeds 1",
        ),
        table(
            "pldi07-figure-5",
            "The stand-in for APE: states against executions",
            "fabius compare corpus/threads/bug/ape.fab --const BUG=0 --points sync --seeds 1",
        ),
        table(
            "pldi07-figure-6",
            "The stand-in for Dryad channels: states against executions",
            "fabius compare corpus/threads/bug/dryad_channels.fab --const BUG=0 --const WORKERS=3 --points sync --seeds 1",
        ),
    ]
}

fn grown(lab: &Lab, command: &str, strategy: &str) -> Result<Measured, String> {
    let command = command.strip_prefix("fabius ").unwrap_or(command);
    let answer = lab.run(&format!("{command} --strategies {strategy}"))?;
    let comparison: Comparison = serde_json::from_value(answer.json).map_err(|e| format!("{command}: {e}"))?;
    let measured = comparison.programs.first().and_then(|program| program.strategies.first());
    let run = measured.and_then(|measured| measured.runs.first()).ok_or(format!("{command}: nothing was run"))?;
    if let Some(bug) = run.bug {
        return Err(format!("{command}: {bug:?} ends the search"));
    }
    let all = if run.executions < EXECUTIONS { run.executions.to_string() } else { "more".into() };
    let mut cells = vec![fixed(strategy)];
    cells.extend(COLUMNS.map(|n| fixed(run.distinct_after(n))));
    cells.push(fixed(all));
    let points = run.growth.iter().map(|grown| (grown.executions as f64, grown.distinct as f64));
    Ok(Measured { cells, series: vec![Series::line(strategy, points)] })
}
