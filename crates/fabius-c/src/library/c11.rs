//! C11 threads as the system's `threads.h` declares them, in files that are preprocessed already: each function is one of POSIX, but for
//! what it returns (C11 7.26). (Others are preprocessed with a header of ours, which says the same.)

use crate::core::*;
use crate::expressions::Ex;
use crate::lower::Lower;
use crate::places::Value;
use crate::refusal::Result;
use crate::types::INT as C_INT;
use fabius_lang::program::BinaryOp;
use fabius_trace::Span;

const FUNCTIONS: [(&str, &str); 21] = [
    ("thrd_current", "pthread_self"),
    ("thrd_equal", "pthread_equal"),
    ("thrd_detach", "pthread_detach"),
    ("thrd_yield", "sched_yield"),
    ("thrd_sleep", "nanosleep"),
    ("mtx_lock", "pthread_mutex_lock"),
    ("mtx_trylock", "pthread_mutex_trylock"),
    ("mtx_timedlock", "pthread_mutex_timedlock"),
    ("mtx_unlock", "pthread_mutex_unlock"),
    ("mtx_destroy", "pthread_mutex_destroy"),
    ("cnd_init", "pthread_cond_init"),
    ("cnd_wait", "pthread_cond_wait"),
    ("cnd_timedwait", "pthread_cond_timedwait"),
    ("cnd_signal", "pthread_cond_signal"),
    ("cnd_broadcast", "pthread_cond_broadcast"),
    ("cnd_destroy", "pthread_cond_destroy"),
    ("call_once", "pthread_once"),
    ("tss_create", "pthread_key_create"),
    ("tss_get", "pthread_getspecific"),
    ("tss_set", "pthread_setspecific"),
    ("tss_delete", "pthread_key_delete"),
];

/// What `threads.h` numbers.
const BUSY: i64 = 1;
const TIMED_OUT: i64 = 4;

/// Whether a text has the system's declarations in it.
pub fn is_declared_in(text: &str) -> bool {
    text.contains("thrd_t *__thr")
}

impl<'a> Lower<'a, '_> {
    /// A call of one of the functions, where they are the system's.
    pub(super) fn c11_call(&mut self, name: &str, args: &'a [Ex], span: Span) -> Result<Option<Value>> {
        let known = FUNCTIONS.iter().find(|(c11, _)| self.session.c11_threads && *c11 == name);
        let Some((_, posix)) = known else { return Ok(None) };
        let result = self.library_call(posix, args, span)?;
        let says = match name {
            "mtx_trylock" => BUSY,
            "mtx_timedlock" | "cnd_timedwait" => TIMED_OUT,
            _ => return Ok(result),
        };
        let Some(Value { parts, .. }) = result else { return Ok(None) };
        let done = binary(BinaryOp::Eq, parts[0].clone(), constant(0, INT, span));
        let code = if_else(done, constant(0, INT, span), constant(says, INT, span));
        Ok(Some(Value::scalar(code, C_INT)))
    }
}
