//! What a user can do where the answer is `unknown`, or no proof.

use fabius_trace::{Bounds, Reason};

/// What an answer says, and what helps there.
const HELP: [(&str, &str); 6] = [
    (
        "not all values of a choice were tried",
        "`fabius verify` solves for the value; or say which values there may be: `__VERIFIER_assume(0 <= n && n < 4)` behind the choice",
    ),
    ("that nothing was written to", "give it a value where it is declared (`= 0`), allocated (`calloc`) or returned"),
    ("that has another type", "access it by pointers to its own type; what has several types may be a `union`"),
    ("returns without a value", "let each way through the function return a value"),
    (
        "a loop without a scheduling point",
        "if the loop waits for shared data, `--points all` makes each access a scheduling point",
    ),
    ("more than 4096 active calls", "let the recursion end sooner"),
];

/// The largest number of new rounds that are asked about.
const LAST: u32 = 63;

/// What says more than that nothing was found within bounds.
pub fn what_proves(bounds: &Bounds) -> Option<&'static str> {
    let more = bounds.completed.is_some_and(|rounds| rounds < LAST);
    (more && !bounds.any.is_empty()).then_some("`--incremental`, without `--rounds`, looks for a proof for all rounds")
}

/// What helps, a line for each way.
pub fn what_helps(reason: &Reason, limits: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    match reason {
        Reason::Time => {
            lines.push("more time (`--time`); fewer threads or rounds, shorter loops, smaller arrays and values".into())
        }
        Reason::Memory => {
            lines.push("more memory (`--memory`); fewer threads, shorter loops, smaller arrays and values".into())
        }
        _ => {}
    }
    let said = reason.words() + &limits.join("; ");
    let known = HELP.iter().filter(|(words, _)| said.contains(words));
    lines.extend(known.map(|(_, help)| help.to_string()));
    if let Reason::Program { message } = reason
        && lines.is_empty()
        && !message.contains("--")
    {
        lines.push("write what is named there in another way, or ask another engine: `fabius check`, `fabius verify`, `fabius FILE`".into());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_says_what_helps() {
        let program = |message: &str| what_helps(&Reason::Program { message: message.into() }, &[]);
        assert!(program("not all values of a choice were tried, at 3:4")[0].contains("fabius verify"));
        assert!(
            program("more than is followed: a value that nothing was written to is used, at 3:4")[0].contains("calloc")
        );
        assert!(program("more than 8 allocations of `int` by one thread (`--allocations` raises that)").is_empty());
        assert_eq!(program("something else, at 3:4").len(), 1);
        let limits = ["not followed: memory is used as `int` that has another type".to_string()];
        let both = what_helps(&Reason::Time, &limits);
        assert!(both[0].contains("--time") && both[1].contains("union"), "{both:?}");
        assert!(what_helps(&Reason::Interrupted, &[]).is_empty());
    }
}
