//! What the environment says of a check whose test has no [`Config`]: `fabius::check`, and the models of the loom layer.

use crate::config::{Config, Plan, Until};
use fabius_trace::{Bound, SchedulerKind};
use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The variables.
const NAMES: [&str; 5] = ["FABIUS_JOBS", "FABIUS_TIME", "FABIUS_PREEMPTIONS", "FABIUS_STALE_READS", "FABIUS_INTERRUPT"];

/// More threads of the operating system are more than it may have.
const MOST_JOBS: u32 = 1024;

impl Config {
    /// As this, but for what the environment says: `FABIUS_JOBS` (1 to 1024), `FABIUS_TIME` (`500ms`, `30s`, `5m`, `1h`, or seconds),
    /// `FABIUS_PREEMPTIONS` (a number, or `none` for all executions), and `FABIUS_STALE_READS` (a number, see
    /// [`Config::stale`], or `all`, see [`Config::as_loom`]). `FABIUS_INTERRUPT` may be `ignore` only (see the crate's documentation).
    ///
    /// [`crate::check()`] does so by itself.
    ///
    /// # Panics
    /// If a variable cannot be read.
    #[track_caller]
    pub fn environment(self) -> Config {
        self.variables(|name| std::env::var_os(name))
    }

    #[track_caller]
    fn variables(mut self, value: impl Fn(&str) -> Option<OsString>) -> Config {
        let unreadable = |name: &&str| value(name).filter(|value| value.to_str().is_none());
        if let Some((name, value)) = NAMES.iter().find_map(|name| Some((name, unreadable(name)?))) {
            panic!("{name} is not Unicode: {}", value.display());
        }
        let variable = |name| value(name).and_then(|value| value.into_string().ok());
        if let Some(text) = variable("FABIUS_JOBS") {
            self.jobs = number("FABIUS_JOBS", &text, 1..=MOST_JOBS) as usize;
        }
        if let Some(text) = variable("FABIUS_TIME") {
            let Some(time) = duration(&text) else {
                wrong("FABIUS_TIME", &text, "a time, for instance `500ms`, `30s` or `5m`")
            };
            self.time = Some(time);
        }
        if let Some(text) = variable("FABIUS_PREEMPTIONS") {
            self.plan = match text.as_str() {
                "none" => Plan::Exhaustive,
                _ => {
                    let max = Some(number("FABIUS_PREEMPTIONS", &text, 0..=u32::MAX));
                    Plan::Iterative { bound: Bound::Preemptions, scheduler: SchedulerKind::Bag, max }
                }
            };
        }
        if let Some(text) = variable("FABIUS_STALE_READS") {
            match text.as_str() {
                "all" => (self.deviations, self.until) = (u32::MAX, Until::AllIsSeen),
                _ => self.deviations = number("FABIUS_STALE_READS", &text, 0..=u32::MAX),
            }
        }
        // What it says is read where a check begins to run (`interrupt.rs`).
        if let Some(text) = variable("FABIUS_INTERRUPT").filter(|text| !["", "ignore"].contains(&text.as_str())) {
            wrong("FABIUS_INTERRUPT", &text, "`ignore`, or not there");
        }
        self
    }
}

#[track_caller]
fn wrong(name: &str, text: &str, wanted: &str) -> ! {
    panic!("{name} must be {wanted}, not `{text}`")
}

#[track_caller]
fn number(name: &str, text: &str, all: RangeInclusive<u32>) -> u32 {
    match text.parse() {
        Ok(number) if all.contains(&number) => number,
        _ => wrong(name, text, &format!("a number from {} to {}", all.start(), all.end())),
    }
}

fn duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let factor = match unit {
        "ms" => return Some(Duration::from_millis(number)),
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return None,
    };
    number.checked_mul(factor).filter(|seconds| *seconds <= 1 << 40).map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    fn with(name: &'static str, value: &'static str) -> Config {
        Config::new().variables(|n| (n == name).then(|| value.into()))
    }

    #[test]
    fn variables_say_what_is_checked() {
        assert_eq!(with("FABIUS_JOBS", "2").jobs, 2);
        assert_eq!(with("FABIUS_TIME", "500ms").time, Some(Duration::from_millis(500)));
        assert_eq!(with("FABIUS_TIME", "90").time, Some(Duration::from_secs(90)));
        assert_eq!(with("FABIUS_TIME", "2m").time, Some(Duration::from_secs(120)));
        assert_eq!(with("FABIUS_PREEMPTIONS", "none").plan, Plan::Exhaustive);
        assert_eq!(with("FABIUS_STALE_READS", "0").deviations, 0);
        let all = Config::new().as_loom().stale(3).variables(|n| (n == "FABIUS_STALE_READS").then(|| "all".into()));
        assert_eq!((all.deviations, all.until), (u32::MAX, Until::AllIsSeen));
        let two = Config::new().preemptions(2).plan;
        assert_eq!(with("FABIUS_PREEMPTIONS", "2").plan, two);
        assert_eq!(Config::new().preemptions(2).variables(|_| None).plan, two);
        assert_eq!(with("FABIUS_INTERRUPT", "ignore").plan, Config::new().plan);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let wrong = [
            ("FABIUS_JOBS", "0"),
            ("FABIUS_JOBS", ""),
            ("FABIUS_TIME", "1w"),
            ("FABIUS_TIME", "s"),
            ("FABIUS_TIME", "9999999999999h"),
            ("FABIUS_PREEMPTIONS", "-1"),
            ("FABIUS_STALE_READS", "none"),
            ("FABIUS_INTERRUPT", "no"),
        ];
        for (name, value) in wrong {
            let panic = catch_unwind(|| with(name, value)).unwrap_err();
            let text = panic.downcast_ref::<String>().unwrap();
            assert!(
                text.starts_with(&format!("{name} must be ")) && text.ends_with(&format!("not `{value}`")),
                "{text}"
            );
        }
    }
}
