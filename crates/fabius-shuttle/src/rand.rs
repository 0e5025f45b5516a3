//! The crate `rand` 0.8, with a generator that the scheduler decides.

pub use rand::{Rng, RngCore};

/// Generators.
pub mod rngs {
    use crate::run;
    use rand::{CryptoRng, Error, RngCore, SeedableRng};
    use rand_pcg::Pcg64Mcg;
    use std::cell::RefCell;

    /// How many seeds are tried where no runner gives random numbers but `fabius::check` explores.
    const SEEDS: u32 = 16;

    fabius::thread_local! {
        static GENERATOR: RefCell<Pcg64Mcg> = RefCell::new(Pcg64Mcg::seed_from_u64(fabius::any(SEEDS).into()));
    }

    /// The generator of the execution.
    #[derive(Clone, Debug, Default)]
    pub struct ThreadRng {
        pub(super) _private: (),
    }

    impl RngCore for ThreadRng {
        fn next_u32(&mut self) -> u32 {
            self.next_u64() as u32
        }

        fn next_u64(&mut self) -> u64 {
            run::next_u64().unwrap_or_else(|| GENERATOR.with_borrow_mut(RngCore::next_u64))
        }

        fn fill_bytes(&mut self, dest: &mut [u8]) {
            for chunk in dest.chunks_mut(8) {
                let bytes = self.next_u64().to_le_bytes();
                chunk.copy_from_slice(&bytes[..chunk.len()]);
            }
        }

        fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), Error> {
            self.fill_bytes(dest);
            Ok(())
        }
    }

    impl CryptoRng for ThreadRng {}
}

/// The generator of the execution.
pub fn thread_rng() -> rngs::ThreadRng {
    rngs::ThreadRng { _private: () }
}
