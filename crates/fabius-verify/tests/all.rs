//! All tests that need no process of their own, in one program: most of the time to build tests is that to link them.

mod any_threads;
mod async_oracle;
mod caps;
mod collections;
mod corpus;
mod direct;
mod engines_agree;
mod executions;
mod joined;
mod language;
mod liveness;
mod midway;
mod model_and_code;
mod packed;
mod parameterized;
mod portfolio;
mod promela;
mod prove;
mod reduction;
mod reductions;
mod symmetry;
mod sync_points;
mod translations;
mod vacuous;
mod waiting;
mod walks;
