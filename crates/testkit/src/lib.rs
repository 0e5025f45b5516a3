//! What the project's own tests share: the programs of the corpus with their claims.

pub mod corpus;
