//! Every trace of the corpus and the examples does what its header says, by every encoding, and, where there are few enough
//! states, by exploration. The traces of the families are those that the testkit makes.

use crate::common::{encodings, explored, parse, report, root};
use fabius_messages::semantics::Buffering;
use fabius_messages::{Plan, Property};
use fabius_trace::Verdict;
use std::path::PathBuf;
use testkit::messages::{FAMILIES, Variant};

fn traces() -> Vec<(PathBuf, String)> {
    let mut open = vec![root().join("corpus/messages"), root().join("examples")];
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).expect("the folder is part of the project") {
            let path = entry.expect("a file").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "ctp") {
                let source = std::fs::read_to_string(&path).expect("a text");
                found.push((path, source));
            }
        }
    }
    found.sort();
    found
}

/// `--property deadlock --buffering zero`.
fn plan(options: &str) -> Plan {
    let mut plan = Plan::default();
    let words: Vec<&str> = options.split_whitespace().collect();
    for pair in words.chunks(2) {
        match pair {
            ["--property", "assert"] => plan.property = Property::Assert,
            ["--property", "deadlock"] => plan.property = Property::Deadlock,
            ["--property", "unmatched"] => plan.property = Property::Unmatched,
            ["--buffering", "zero"] => plan.buffering = Buffering::Zero,
            ["--buffering", "infinite"] => plan.buffering = Buffering::Infinite,
            other => panic!("{other:?} is no option of a claim"),
        }
    }
    plan
}

/// Whether the trace is small enough to be explored.
const FEW: usize = 7;

#[test]
fn every_claim_holds() {
    let (mut claims, mut files) = (0, 0);
    for (path, source) in traces() {
        let ctp = parse(&source);
        let named = path.display();
        files += 1;
        let before = claims;
        let header = source.lines().take_while(|l| l.starts_with("//"));
        for line in header.filter_map(|l| l.strip_prefix("// ")) {
            let (claim, options) = line.split_once(" with ").unwrap_or((line, ""));
            if let Some(answer) = claim.strip_prefix("expect: ") {
                claims += 1;
                let plan = plan(options);
                let bug = answer.starts_with("bug");
                let few = ctp.sends.len() <= FEW;
                for encoding in encodings().into_iter().take(if few { 3 } else { 1 }) {
                    let found = report(&ctp, &Plan { encoding, ..plan.clone() });
                    let said = match &found.verdict {
                        Verdict::Bug { trace } => format!("bug {:?}", trace.kind).to_lowercase(),
                        Verdict::Verified => "verified".into(),
                        verdict if verdict.is_vacuous() => "vacuous".into(),
                        other => format!("{other:?}"),
                    };
                    assert_eq!(said, answer, "{named}: {line} ({encoding:?})");
                }
                if few {
                    assert_eq!(explored(&ctp, plan.buffering, plan.property), bug, "{named}: {line}");
                }
            } else if let Some(count) = claim.strip_prefix("matchings: ") {
                claims += 1;
                let found = report(&ctp, &Plan { enumerate: true, ..plan(options) }).enumerated.expect("asked for");
                assert_eq!(found.outcomes.len().to_string(), count, "{named}: {line}");
            }
        }
        assert!(claims > before, "{named} claims nothing");
    }
    assert!(files >= 31, "{files}");
}

#[test]
fn traces_of_families_are_those_of_the_testkit() {
    let mut found = 0;
    for (path, source) in traces() {
        let made = source.lines().find_map(|l| l.strip_prefix("// made: "));
        let Some([name, size, variant]) =
            made.map(|m| m.split(' ').collect::<Vec<_>>()).as_deref().map(|w| [w[0], w[1], w[2]])
        else {
            continue;
        };
        found += 1;
        let (_, family) = FAMILIES.iter().find(|(known, _)| *known == name).expect("a family");
        let variant = if variant == "right" { Variant::Right } else { Variant::Wrong };
        let body: String =
            source.lines().filter(|l| !l.starts_with("//") && !l.is_empty()).map(|l| format!("{l}\n")).collect();
        assert_eq!(body, family(size.parse().expect("a number"), variant), "{}", path.display());
    }
    assert!(found >= 20, "{found}");
}
