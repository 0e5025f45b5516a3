//! Models: closures that are run in every interleaving.

use fabius::Config;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// loom's `Builder`, with its fields.
#[derive(Debug)]
#[non_exhaustive]
pub struct Builder {
    /// Without effect: there is no limit on threads.
    pub max_threads: usize,
    /// How long an execution may be: it fails after so many steps; after twenty times as many if that is loom's default or
    /// more. A loop that yields goes around some times before it is believed to repeat itself, where loom lets others go first.
    pub max_branches: usize,
    /// Executions at most.
    pub max_permutations: Option<usize>,
    /// How long to look at most.
    pub max_duration: Option<Duration>,
    /// Preemptions at most; stale values are free, as in loom. Other than in loom, so is a switch away from a thread that waits.
    pub preemption_bound: Option<usize>,
    /// Without effect: exploring again from the beginning is fast.
    pub checkpoint_file: Option<PathBuf>,
    /// Without effect.
    pub checkpoint_interval: usize,
    /// Without effect: everything is explored.
    pub expect_explicit_explore: bool,
    /// Without effect: places are always known.
    pub location: bool,
    /// Without effect.
    pub log: bool,
}

/// loom's default for the length of an execution.
const MAX_BRANCHES: usize = 1000;

/// Steps of an execution for each that loom would allow, in long executions.
const STEPS_FOR_A_BRANCH: usize = 20;

impl Builder {
    /// loom's defaults; the variables `LOOM_MAX_BRANCHES`, `LOOM_MAX_PERMUTATIONS`, `LOOM_MAX_DURATION` (seconds),
    /// `LOOM_MAX_PREEMPTIONS`, `LOOM_CHECKPOINT_FILE`, `LOOM_CHECKPOINT_INTERVAL`, `LOOM_LOCATION` and `LOOM_LOG` are read as in
    /// loom.
    ///
    /// # Panics
    /// If a variable cannot be read.
    #[track_caller]
    pub fn new() -> Builder {
        Builder {
            max_threads: crate::MAX_THREADS,
            max_branches: variable("LOOM_MAX_BRANCHES").unwrap_or(MAX_BRANCHES),
            max_permutations: variable("LOOM_MAX_PERMUTATIONS"),
            max_duration: variable("LOOM_MAX_DURATION").map(Duration::from_secs),
            preemption_bound: variable("LOOM_MAX_PREEMPTIONS"),
            checkpoint_file: variable("LOOM_CHECKPOINT_FILE"),
            checkpoint_interval: variable("LOOM_CHECKPOINT_INTERVAL").unwrap_or(20_000),
            expect_explicit_explore: false,
            location: std::env::var("LOOM_LOCATION").is_ok(),
            log: std::env::var("LOOM_LOG").is_ok(),
        }
    }

    /// Without effect.
    pub fn checkpoint_file(&mut self, file: &str) -> &mut Self {
        self.checkpoint_file = Some(file.into());
        self
    }

    /// Runs the closure in every interleaving, with stale reads. What `FABIUS_JOBS`, `FABIUS_TIME`, `FABIUS_PREEMPTIONS` and
    /// `FABIUS_STALE_READS` say takes the place of what the fields say; see [`Config::environment`].
    ///
    /// # Panics
    /// If one fails.
    #[track_caller]
    pub fn check<F>(&self, f: F)
    where
        F: Fn() + Sync + Send + 'static,
    {
        let steps = match self.max_branches {
            most if most < MAX_BRANCHES => most,
            most => most.saturating_mul(STEPS_FOR_A_BRANCH),
        };
        let steps = u32::try_from(steps).unwrap_or(u32::MAX);
        let mut config = Config::new().find_leaks().every_panic_fails().max_steps(steps).as_loom();
        config = match self.preemption_bound {
            Some(most) => config.preemptions(u32::try_from(most).unwrap_or(u32::MAX)),
            None => config.exhaustive(),
        };
        if let Some(most) = self.max_permutations {
            config = config.executions(most as u64);
        }
        if let Some(time) = self.max_duration {
            config = config.time(time);
        }
        config.environment().check(f);
    }
}

/// What a variable of the environment says.
#[track_caller]
fn variable<T: FromStr>(name: &str) -> Option<T> {
    let value = std::env::var(name).ok()?;
    match value.parse() {
        Ok(value) => Some(value),
        Err(_) => panic!("invalid value for `{name}`: `{value}`"),
    }
}

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}

/// Runs the closure in every interleaving.
///
/// # Panics
/// If one fails.
#[track_caller]
pub fn model<F>(f: F)
where
    F: Fn() + Sync + Send + 'static,
{
    Builder::new().check(f);
}
