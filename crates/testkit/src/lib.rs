//! What the project's own tests share: the programs of the corpus with their claims, and programs with facts that were
//! computed elsewhere.

pub mod asynchronous;
pub mod corpus;
pub mod generate;
pub mod locked;
pub mod messages;
pub mod mutate;
pub mod oracle;
pub mod parameterized;
pub mod recursive;

/// The number in a variable of the environment, if it holds one.
pub fn number_of(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .map_or(default, |number| number.parse().unwrap_or_else(|_| panic!("{name} is no number: {number}")))
}

/// Seeds for the random programs of a long test: so many from this one on; `FIRST_SEED` and `SEEDS` say otherwise.
pub fn seeds(first: u64, number: u64) -> std::ops::Range<u64> {
    let first = number_of("FIRST_SEED", first);
    first..first + number_of("SEEDS", number)
}
