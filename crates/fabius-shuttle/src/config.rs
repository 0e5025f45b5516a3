//! What a run is told besides its scheduler.

use std::path::PathBuf;
use std::time::Duration;

/// How a test is run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Without effect: every thread has a stack of two mebibytes, of which only what is used takes memory.
    pub stack_size: usize,
    /// Where the schedule of a failing execution goes.
    pub failure_persistence: FailurePersistence,
    /// How many steps an execution may take, and what happens then.
    pub max_steps: MaxSteps,
    /// No execution is begun after that time.
    pub max_time: Option<Duration>,
    /// Whether nothing is said of atomics with orderings weaker than `SeqCst`.
    pub silence_warnings: bool,
    /// Without effect: there are no tracing spans.
    pub record_steps_in_span: bool,
    /// Without effect: an execution that fails is given up at once, and its threads are unwound.
    pub ungraceful_shutdown_config: UngracefulShutdownConfig,
}

impl Config {
    /// The default.
    pub fn new() -> Config {
        Config {
            stack_size: 0xf000,
            failure_persistence: FailurePersistence::Print,
            max_steps: MaxSteps::FailAfter(1_000_000),
            max_time: None,
            silence_warnings: false,
            record_steps_in_span: false,
            ungraceful_shutdown_config: UngracefulShutdownConfig::new(),
        }
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::new()
    }
}

/// Where the schedule of a failing execution goes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailurePersistence {
    /// Nowhere.
    None,
    /// To standard error.
    Print,
    /// To a new file in this directory, or in the current one.
    File(Option<PathBuf>),
}

/// How many steps an execution may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MaxSteps {
    /// Any number.
    None,
    /// The test fails after so many.
    FailAfter(usize),
    /// The next execution begins after so many.
    ContinueAfter(usize),
}

/// What becomes of tasks that never ran when an execution fails. Without effect.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum ContinuationFunctionBehavior {
    /// They are dropped.
    Drop,
    /// They are leaked.
    #[default]
    Leak,
}

impl ContinuationFunctionBehavior {
    /// The default.
    pub const fn new() -> ContinuationFunctionBehavior {
        ContinuationFunctionBehavior::Leak
    }
}

/// How an execution that fails is left. Without effect.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct UngracefulShutdownConfig {
    /// Whether nothing is scheduled any more after a panic.
    pub immediately_return_on_panic: bool,
    /// What becomes of tasks that never ran.
    pub continuation_function_behavior: ContinuationFunctionBehavior,
}

impl UngracefulShutdownConfig {
    /// The default.
    pub const fn new() -> UngracefulShutdownConfig {
        UngracefulShutdownConfig {
            immediately_return_on_panic: false,
            continuation_function_behavior: ContinuationFunctionBehavior::new(),
        }
    }
}
