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
