//! Parsers of the values of options.

use fabius_native::Walk;
use fabius_trace::SchedulerKind;
use fabius_verify::Strategy;
use fabius_verify::compare::{WAYS, Way};
use std::time::Duration;

/// The name of standard output on the command line, for what says nothing else there.
pub const STDOUT: &str = "-";

/// `name:number`, if the text begins with this name.
fn numbered(text: &str, name: &str, example: &str) -> Option<Result<u32, String>> {
    let rest = text.strip_prefix(name)?;
    let number = rest.strip_prefix(':').and_then(|n| n.parse().ok()).filter(|n| *n >= 1);
    Some(number.ok_or_else(|| format!("write a number of at least 1 after `{name}`, for instance `{example}`")))
}

pub fn parse_scheduler(text: &str) -> Result<SchedulerKind, String> {
    match text {
        "bag" => return Ok(SchedulerKind::Bag),
        "round-robin" => return Ok(SchedulerKind::RoundRobin),
        "depth-first" => return Ok(SchedulerKind::DepthFirst),
        _ => {}
    }
    if let Some(number) = numbered(text, "bounded-bag", "bounded-bag:2") {
        return number.map(SchedulerKind::BoundedBag);
    }
    Err(unknown(text, &["bag", "bounded-bag:K", "round-robin", "depth-first"]))
}

pub fn parse_strategy(text: &str) -> Result<Strategy, String> {
    match text {
        "iterative" => return Ok(Strategy::Iterative),
        "dfs" => return Ok(Strategy::DepthFirst),
        "random" => return Ok(Strategy::Random),
        _ => {}
    }
    if let Some(number) = numbered(text, "pct", "pct:3") {
        return number.map(Strategy::Pct);
    }
    Err(unknown(text, &["iterative", "dfs", "random", "pct:D"]))
}

pub fn parse_walk(text: &str) -> Result<Walk, String> {
    match text {
        "iterative" => return Ok(Walk::Iterative),
        "dfs" => return Ok(Walk::DepthFirst),
        "random" => return Ok(Walk::Random),
        "pos" => return Ok(Walk::Pos),
        "urw" => return Ok(Walk::Urw),
        "surw" => return Ok(Walk::Surw),
        _ => {}
    }
    if let Some(number) = numbered(text, "pct", "pct:3") {
        return number.map(Walk::Pct);
    }
    Err(unknown(text, &["iterative", "dfs", "random", "pct:D", "pos", "urw", "surw"]))
}

pub fn parse_way(text: &str) -> Result<Way, String> {
    Way::named(text).ok_or_else(|| unknown(text, &WAYS))
}

fn unknown(text: &str, known: &[&str]) -> String {
    let all = format!("possible values: {}", known.join(", "));
    match nearest(text, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? ({all})"),
        None => all,
    }
}

/// The candidate that is most like the text, if one is like it at all.
pub fn nearest<'a>(text: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .map(|candidate| (distance(&text.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len() / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Fewest insertions, deletions and replacements of characters that make one text of the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

pub fn parse_const(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() && !value.trim().is_empty() => {
            Ok((name.trim().to_string(), value.trim().to_string()))
        }
        // As compilers take it.
        None if is_name(text.trim()) => Ok((text.trim().to_string(), "1".to_string())),
        _ => Err("write NAME=VALUE, for instance `N=3`".to_string()),
    }
}

fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || c == '_') && text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

pub fn parse_instances(text: &str) -> Result<(String, u32), String> {
    let wrong = || "write PROC=N, for instance `worker=2`".to_string();
    let (name, number) = text.split_once('=').ok_or_else(wrong)?;
    let number = number.trim().parse().map_err(|_| wrong())?;
    if name.trim().is_empty() { Err(wrong()) } else { Ok((name.trim().to_string(), number)) }
}

/// A number and the unit behind it, which may be missing.
fn with_unit(text: &str) -> Option<(u64, String)> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    Some((number.parse().ok()?, unit.trim().to_lowercase()))
}

pub fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || "write a number of bytes with or without a unit, for instance `512M` or `4G`".to_string();
    let (number, unit) = with_unit(text).ok_or_else(wrong)?;
    let shift = match unit.trim_end_matches("ib").trim_end_matches('b') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return Err(wrong()),
    };
    number.checked_mul(1 << shift).ok_or_else(|| "that is more than 64 bits of bytes".to_string())
}

pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || "write a time, for instance `500ms`, `30s`, `5m` or `1h`".to_string();
    let (number, unit) = with_unit(text).ok_or_else(wrong)?;
    let (factor, milliseconds) = match unit.as_str() {
        "ms" => (1, true),
        "" | "s" => (1, false),
        "m" | "min" => (60, false),
        "h" => (3600, false),
        _ => return Err(wrong()),
    };
    let total = number.checked_mul(factor).filter(|t| *t <= 1 << 40).ok_or_else(wrong)?;
    Ok(if milliseconds { Duration::from_millis(total) } else { Duration::from_secs(total) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read() {
        assert_eq!(parse_size("512"), Ok(512));
        assert_eq!(parse_size("64K"), Ok(64 << 10));
        assert_eq!(parse_size("2GiB"), Ok(2 << 30));
        assert!(parse_size("G").is_err() && parse_size("1x").is_err() && parse_size("99999999999T").is_err());
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("2m"), Ok(Duration::from_secs(120)));
        assert!(parse_duration("fast").is_err() && parse_duration("1w").is_err());
        assert_eq!(parse_scheduler("bounded-bag:2"), Ok(SchedulerKind::BoundedBag(2)));
        assert!(parse_scheduler("bounded-bag:0").unwrap_err().contains("bounded-bag:2"));
        assert!(parse_scheduler("roundrobin").unwrap_err().contains("did you mean `round-robin`"));
        assert_eq!(parse_strategy("pct:3"), Ok(Strategy::Pct(3)));
        assert!(parse_strategy("ddfs").unwrap_err().contains("did you mean `dfs`"));
        assert!(parse_instances("p").is_err() && parse_instances("=2").is_err() && parse_instances("p=-1").is_err());
        assert!(parse_const("N=").is_err() && parse_const("=3").is_err());
        assert_eq!(parse_const("N=3"), Ok(("N".into(), "3".into())));
        assert_eq!(parse_const("FIXED"), Ok(("FIXED".into(), "1".into())));
        assert!(parse_const("3").is_err() && parse_const("a b").is_err() && parse_const("").is_err());
    }

    #[test]
    fn near_misses_are_found() {
        assert_eq!(nearest("E0103x", ["E0103", "E0200"].into_iter()), Some("E0103"));
        assert_eq!(nearest("zzzzzzz", ["bag"].into_iter()), None);
    }
}
