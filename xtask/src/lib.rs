//! Project tasks, as a library so that tests can run parts of them.

pub mod circles;
pub mod papers;
pub mod schema;
pub mod tidy;
