//! The outcomes of 160 trace programs that were computed elsewhere, by exploration and by every encoding.

use crate::common::{encodings, feasible, has_bug, parse, root};
use fabius_explore::search::Options;
use fabius_messages::ctp::Ctp;
use fabius_messages::pairs::{self, Pairs};
use fabius_messages::semantics::{Buffering, Matching, Status};
use fabius_messages::system::{Which, outcomes};
use fabius_messages::{Plan, Property};
use fabius_smt::Limits;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use testkit::oracle::messages::{Pair, cases};

fn name((r, s): &(usize, usize), ctp: &Ctp) -> Pair {
    (ctp.receives[*r].name.clone(), ctp.sends[*s].name.clone())
}

fn names(matching: &Matching, ctp: &Ctp) -> BTreeSet<Pair> {
    matching.iter().map(|p| name(p, ctp)).collect()
}

fn all_names(pairs: &Pairs, ctp: &Ctp) -> BTreeSet<Pair> {
    pairs.iter().map(|p| name(&p, ctp)).collect()
}

#[test]
fn exploration_has_the_outcomes_and_pairs_of_the_oracle() {
    for case in cases(&root()) {
        let ctp = parse(&case.source);
        let stop = AtomicBool::new(false);
        let found = outcomes(&ctp, Buffering::Infinite, Which::Complete, &Options::default(), &stop);
        let found: BTreeSet<_> = found
            .expect("few states")
            .iter()
            .map(|(matching, status)| (names(matching, &ctp), format!("{status:?}").to_lowercase()))
            .collect();
        assert_eq!(found, case.outcomes, "{}", case.source);
        let exact = pairs::exact(&ctp, Buffering::Infinite, Property::Assert, &Options::default(), &stop);
        assert_eq!(all_names(&exact.expect("few states"), &ctp), case.exact, "{}", case.source);
        let limits = &Limits { deadline: None, stop: &Arc::default() };
        assert_eq!(all_names(&pairs::by_place(&ctp, limits), &ctp), case.by_place, "{}", case.source);
        let tight = all_names(&pairs::tight(&ctp, limits), &ctp);
        assert!(case.exact.is_subset(&tight) && tight.is_subset(&case.by_place), "{}", case.source);
    }
}

#[test]
fn every_encoding_has_the_verdicts_and_matchings_of_the_oracle() {
    for case in cases(&root()) {
        let ctp = parse(&case.source);
        let wanted: BTreeSet<_> =
            case.outcomes.iter().filter(|(_, status)| status != "infeasible").map(|(m, _)| m.clone()).collect();
        for encoding in encodings() {
            let plan = Plan { encoding, enumerate: true, ..Plan::default() };
            let (bug, enumerated) = feasible(&ctp, &plan);
            assert_eq!(bug, case.violation, "{encoding:?}\n{}", case.source);
            assert!(enumerated.complete);
            let found: BTreeSet<_> = enumerated.outcomes.keys().map(|m| names(m, &ctp)).collect();
            assert_eq!(found, wanted, "{encoding:?}\n{}", case.source);
            let fails = enumerated.outcomes.values().any(|s| *s == Status::Failure);
            assert_eq!(fails, case.violation, "{encoding:?}\n{}", case.source);
        }
        assert_eq!(has_bug(&ctp, &Plan::default()), case.violation);
    }
}
