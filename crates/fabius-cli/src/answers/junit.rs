//! Answers as JUnit XML: a test case for each program.
//!
//! A bug is a failure, with its schedule. What is unknown, and bad input, is an error: the question was not answered. What
//! was explored stands in the output of the others, so that no bound reads like a proof.

use super::sarif::{Answered, name_of};
use fabius_trace::Verdict;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use std::time::Duration;

/// What became of a program.
pub struct Case<'a> {
    /// The answer.
    pub answered: Answered<'a>,
    /// The answer for people.
    pub text: String,
    /// How long it took.
    pub elapsed: Duration,
}

/// The document about what a command has answered.
pub fn document(command: &str, cases: &[Case<'_>]) -> String {
    let mut suite = TestSuite::new(format!("fabius {command}"));
    suite.set_time(cases.iter().map(|c| c.elapsed).sum());
    for Case { answered, text, elapsed } in cases {
        let failed = |kind, r#type: String, message: String| {
            let mut status = TestCaseStatus::non_success(kind);
            status.set_type(r#type).set_message(message).set_description(text);
            status
        };
        let status = match answered.answer {
            Ok(Verdict::Bug { trace }) => failed(NonSuccessKind::Failure, name_of(trace.kind), trace.message.clone()),
            Ok(Verdict::Unknown { reason, .. }) => failed(NonSuccessKind::Error, "unknown".into(), reason.words()),
            Ok(Verdict::Verified | Verdict::NoBugWithinBounds { .. }) => TestCaseStatus::success(),
            Err(failure) => failed(NonSuccessKind::Error, "bad input".into(), failure.message()),
        };
        let good = matches!(status, TestCaseStatus::Success { .. });
        let mut case = TestCase::new(answered.file, status);
        case.set_classname(format!("fabius.{command}")).set_time(*elapsed);
        if good {
            case.set_system_out(text);
        }
        suite.add_test_case(case);
    }
    let mut report = Report::new("fabius");
    report.add_test_suite(suite);
    report.to_string().expect("XML that is made in memory can be written")
}
