//! The answers about several files as JUnit XML: a test case for each file.
//!
//! A bug is a failure, with its schedule. What is unknown, and bad input, is an error: the question was not answered. What
//! was explored stands in the output of the others, so that no bound reads like a proof.

use super::checked::Checked;
use super::sarif::name_of;
use fabius_trace::Verdict;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

/// The document. `text` says an answer for people.
pub fn document(all: &[Checked], text: impl Fn(&Checked) -> String) -> String {
    let mut suite = TestSuite::new("fabius check");
    suite.set_time(all.iter().map(|c| c.elapsed).sum());
    for checked in all {
        let failed = |kind, r#type: String, message: String| {
            let mut status = TestCaseStatus::non_success(kind);
            status.set_type(r#type).set_message(message).set_description(text(checked));
            status
        };
        let status = match &checked.outcome {
            Ok((_, report)) => match &report.verdict {
                Verdict::Bug { trace } => failed(NonSuccessKind::Failure, name_of(trace.kind), trace.message.clone()),
                Verdict::Unknown { reason, .. } => failed(NonSuccessKind::Error, "unknown".into(), reason.words()),
                Verdict::Verified | Verdict::NoBugWithinBounds { .. } => TestCaseStatus::success(),
            },
            Err(failure) => failed(NonSuccessKind::Error, "bad input".into(), failure.message()),
        };
        let good = matches!(status, TestCaseStatus::Success { .. });
        let mut case = TestCase::new(checked.file.as_str(), status);
        case.set_classname("fabius.check").set_time(checked.elapsed);
        if good {
            case.set_system_out(text(checked));
        }
        suite.add_test_case(case);
    }
    let mut report = Report::new("fabius");
    report.add_test_suite(suite);
    report.to_string().expect("XML that is made in memory can be written")
}
