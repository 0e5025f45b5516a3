//! `select!` and `select_biased!`.

/// As in crossbeam-channel.
#[macro_export]
macro_rules! select {
    ($($arms:tt)*) => { $crate::__select_arms!((new) () () $($arms)*) };
}

/// As in crossbeam-channel.
#[macro_export]
macro_rules! select_biased {
    ($($arms:tt)*) => { $crate::__select_arms!((new_biased) () () $($arms)*) };
}

/// Takes arms apart: how it is made, the operations so far, the default, what is left.
#[doc(hidden)]
#[macro_export]
macro_rules! __select_arms {
    ($new:tt ($($done:tt)*) $default:tt recv($r:expr $(,)?) -> $p:pat => $body:expr, $($rest:tt)*) => {
        $crate::__select_arms!($new ($($done)* (recv $r; $p => $body)) $default $($rest)*)
    };
    ($new:tt ($($done:tt)*) $default:tt recv($r:expr $(,)?) -> $p:pat => $body:block $($rest:tt)*) => {
        $crate::__select_arms!($new ($($done)* (recv $r; $p => $body)) $default $($rest)*)
    };
    ($new:tt ($($done:tt)*) $default:tt recv($r:expr $(,)?) -> $p:pat => $body:expr) => {
        $crate::__select_arms!($new ($($done)* (recv $r; $p => $body)) $default)
    };
    ($new:tt ($($done:tt)*) $default:tt send($s:expr, $m:expr $(,)?) -> $p:pat => $body:expr, $($rest:tt)*) => {
        $crate::__select_arms!($new ($($done)* (send $s, $m; $p => $body)) $default $($rest)*)
    };
    ($new:tt ($($done:tt)*) $default:tt send($s:expr, $m:expr $(,)?) -> $p:pat => $body:block $($rest:tt)*) => {
        $crate::__select_arms!($new ($($done)* (send $s, $m; $p => $body)) $default $($rest)*)
    };
    ($new:tt ($($done:tt)*) $default:tt send($s:expr, $m:expr $(,)?) -> $p:pat => $body:expr) => {
        $crate::__select_arms!($new ($($done)* (send $s, $m; $p => $body)) $default)
    };
    ($new:tt $done:tt () default $(())? => $body:expr, $($rest:tt)*) => {
        $crate::__select_arms!($new $done (() $body) $($rest)*)
    };
    ($new:tt $done:tt () default $(())? => $body:block $($rest:tt)*) => {
        $crate::__select_arms!($new $done (() $body) $($rest)*)
    };
    ($new:tt $done:tt () default $(())? => $body:expr) => {
        $crate::__select_arms!($new $done (() $body))
    };
    ($new:tt $done:tt () default($limit:expr $(,)?) => $body:expr, $($rest:tt)*) => {
        $crate::__select_arms!($new $done (($limit) $body) $($rest)*)
    };
    ($new:tt $done:tt () default($limit:expr $(,)?) => $body:block $($rest:tt)*) => {
        $crate::__select_arms!($new $done (($limit) $body) $($rest)*)
    };
    ($new:tt $done:tt () default($limit:expr $(,)?) => $body:expr) => {
        $crate::__select_arms!($new $done (($limit) $body))
    };
    (($new:ident) ($($arm:tt)*) $default:tt) => {{
        #[allow(unused_mut, reason = "there may be a default alone")]
        let mut selection = $crate::Select::$new();
        $crate::__select_bind!(selection $default () $($arm)*)
    }};
}

/// Evaluates the sides of channels, each once, and adds them.
#[doc(hidden)]
#[macro_export]
macro_rules! __select_bind {
    ($selection:ident $default:tt ($($done:tt)*) (recv $r:expr; $p:pat => $body:expr) $($rest:tt)*) => {
        match &$r {
            side => {
                let side: &$crate::Receiver<_> = side;
                $selection.recv(side);
                $crate::__select_bind!($selection $default ($($done)* (recv side; $p => $body)) $($rest)*)
            }
        }
    };
    ($selection:ident $default:tt ($($done:tt)*) (send $s:expr, $m:expr; $p:pat => $body:expr) $($rest:tt)*) => {
        match &$s {
            side => {
                let side: &$crate::Sender<_> = side;
                $selection.send(side);
                $crate::__select_bind!($selection $default ($($done)* (send side, $m; $p => $body)) $($rest)*)
            }
        }
    };
    ($selection:ident () ($($arm:tt)*)) => {{
        let operation = $selection.select();
        $crate::__select_run!(operation 0usize; $($arm)*)
    }};
    ($selection:ident (() $body:expr) ($($arm:tt)*)) => {
        match $selection.try_select() {
            Err(_) => $body,
            Ok(operation) => $crate::__select_run!(operation 0usize; $($arm)*),
        }
    };
    ($selection:ident (($limit:expr) $body:expr) ($($arm:tt)*)) => {
        match $selection.select_timeout($limit) {
            Err(_) => $body,
            Ok(operation) => $crate::__select_run!(operation 0usize; $($arm)*),
        }
    };
}

/// Does the operation that was selected.
#[doc(hidden)]
#[macro_export]
macro_rules! __select_run {
    ($operation:ident $number:expr; (recv $side:ident; $p:pat => $body:expr) $($rest:tt)*) => {
        if $operation.index() == $number {
            let $p = $operation.recv($side);
            $body
        } else {
            $crate::__select_run!($operation $number + 1; $($rest)*)
        }
    };
    ($operation:ident $number:expr; (send $side:ident, $m:expr; $p:pat => $body:expr) $($rest:tt)*) => {
        if $operation.index() == $number {
            let $p = $operation.send($side, $m);
            $body
        } else {
            $crate::__select_run!($operation $number + 1; $($rest)*)
        }
    };
    ($operation:ident $number:expr;) => {
        unreachable!("operation {} of {} was selected", $operation.index(), $number)
    };
}
