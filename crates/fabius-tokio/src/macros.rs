//! Macros that know the name of the crate they are used through.

/// As in tokio. Which branch is polled first is a choice of the search, each time, unless it begins with `biased;`.
#[macro_export]
macro_rules! select {
    ($($branches:tt)*) => { $crate::__macros::select! { $crate $($branches)* } };
}

/// As in tokio.
#[macro_export]
macro_rules! join {
    ($($futures:tt)*) => { $crate::__macros::join! { $crate $($futures)* } };
}

/// As in tokio.
#[macro_export]
macro_rules! try_join {
    ($($futures:tt)*) => { $crate::__macros::try_join! { $crate $($futures)* } };
}

/// As in tokio.
#[macro_export]
macro_rules! pin {
    ($($name:ident),* $(,)?) => { $(let mut $name = ::core::pin::pin!($name);)* };
    ($(let $name:ident = $value:expr;)*) => { $(let mut $name = ::core::pin::pin!($value);)* };
}
