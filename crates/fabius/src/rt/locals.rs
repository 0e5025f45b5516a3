//! Where the thread-local values of a test are.

use super::trial;
use std::any::Any;
use std::ptr;
use std::rc::Rc;

/// Thread-local values, by the addresses of their keys.
pub(crate) type Locals = Vec<(usize, Rc<dyn Any>)>;

/// Where the thread-local value of this key is, null if nowhere. A round goes on with that address, wherever it is.
pub(crate) fn local<T: 'static>(locals: &Locals, key: usize) -> *const T {
    let found = trial::aside(|| {
        let value = locals.iter().find(|(k, value)| *k == key && value.is::<T>());
        let found = value.map_or(0, |(_, value)| Rc::as_ptr(value).cast::<T>().expose_provenance());
        if let Some(trial) = trial::current() {
            trial.finds_local(key, found);
        }
        found
    });
    ptr::with_exposed_provenance(trial::goes_on_with_local(found))
}
