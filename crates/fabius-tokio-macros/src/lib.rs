//! The macros of `fabius-tokio`, which hands them on: use them from there.

mod entry;
mod join;
mod pattern;
mod select;

use proc_macro::TokenStream;

/// As `tokio::test`, for every schedule.
#[proc_macro_attribute]
pub fn test(attributes: TokenStream, item: TokenStream) -> TokenStream {
    entry::expand(attributes.into(), item.into(), entry::Kind::Test).into()
}

/// As `tokio::main`, for every schedule.
#[proc_macro_attribute]
pub fn main(attributes: TokenStream, item: TokenStream) -> TokenStream {
    entry::expand(attributes.into(), item.into(), entry::Kind::Main).into()
}

/// What `select!` stands for; its first token is the crate that it is used through.
#[doc(hidden)]
#[proc_macro]
pub fn select(input: TokenStream) -> TokenStream {
    select::expand(input.into()).into()
}

/// The same for `join!`.
#[doc(hidden)]
#[proc_macro]
pub fn join(input: TokenStream) -> TokenStream {
    join::expand(input.into(), join::Until::All).into()
}

/// The same for `try_join!`.
#[doc(hidden)]
#[proc_macro]
pub fn try_join(input: TokenStream) -> TokenStream {
    join::expand(input.into(), join::Until::FirstError).into()
}
