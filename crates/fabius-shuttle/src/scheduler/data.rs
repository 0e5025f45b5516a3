//! Where random numbers come from. The same generator as in shuttle, so that its seeds mean the same here.

use rand::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::fmt::Debug;

/// A source of random numbers that begins anew with each execution.
pub trait DataSource: Debug {
    /// Where it begins.
    type Seed: Clone;

    /// A source that begins there.
    fn initialize(seed: Self::Seed) -> Self;

    /// Begins anew, and says where.
    fn reinitialize(&mut self) -> Self::Seed;

    /// The next number.
    fn next_u64(&mut self) -> u64;
}

/// Other numbers in every execution.
#[derive(Debug)]
pub struct RandomDataSource {
    rng: Pcg64Mcg,
    first: Option<u64>,
}

impl DataSource for RandomDataSource {
    type Seed = u64;

    fn initialize(seed: u64) -> RandomDataSource {
        RandomDataSource { rng: Pcg64Mcg::seed_from_u64(seed), first: Some(seed) }
    }

    fn reinitialize(&mut self) -> u64 {
        let seed = self.first.take().unwrap_or_else(|| self.rng.next_u64());
        self.rng = Pcg64Mcg::seed_from_u64(seed);
        seed
    }

    fn next_u64(&mut self) -> u64 {
        self.rng.next_u64()
    }
}
