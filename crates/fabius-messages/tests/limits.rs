//! What is done before the solver begins ends with the limits.

mod common;

use common::{encodings, parse};
use fabius_messages::Property;
use fabius_messages::encode::{Encoded, Encoding, Question, encode};
use fabius_messages::pairs;
use fabius_messages::semantics::Buffering;
use fabius_messages::system::Goal;
use fabius_smt::Limits;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use testkit::messages::{Variant, race, race_all, router};

/// What grows with the square of the messages is left out once a limit is hit.
#[test]
fn a_formula_that_nobody_waits_for_stays_small() {
    for source in [race(40, Variant::Wrong), race_all(60, Variant::Wrong), router(20, Variant::Wrong)] {
        let ctp = parse(&source);
        let all = &Limits { deadline: None, stop: &Arc::default() };
        let pairs = pairs::by_place(&ctp, all);
        assert!(pairs::count_all(&ctp) == pairs::all(&ctp, all).len() && pairs.len() <= pairs::count_all(&ctp));
        let size = |encoding: Encoding, buffering: Buffering, property: Property, is_hit: bool| {
            let stop = Arc::new(AtomicBool::new(is_hit));
            let limits = &Limits { deadline: None, stop: &stop };
            let question = Question { ctp: &ctp, buffering, goal: Goal::Bug(property), pairs: &pairs, limits };
            let Encoded { terms, facts, .. } = encode(encoding, question);
            terms.len() + facts.clauses.iter().count() + facts.orders.len()
        };
        for encoding in encodings() {
            for buffering in [Buffering::Infinite, Buffering::Zero] {
                for property in [Property::Assert, Property::Deadlock, Property::Unmatched] {
                    let [whole, cut] = [false, true].map(|is_hit| size(encoding, buffering, property, is_hit));
                    assert!(cut * 3 < whole, "{encoding:?} {buffering:?} {property:?}: {cut} of {whole}");
                }
            }
        }
    }
}
