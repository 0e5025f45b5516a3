//! Panics inside of executions are kept instead of printed: there may be one in each of thousands.
//!
//! A panic that cannot unwind, for instance one in a destructor while another unwinds, ends the process. Then what was kept
//! is printed first, past the test runner, which would lose it.

use fabius_trace::BugKind;
use std::any::Any;
use std::cell::RefCell;
use std::io::Write;
use std::panic::PanicHookInfo;
use std::sync::Once;

/// A panic that ended the execution or a thread.
#[derive(Clone, Debug)]
pub(crate) struct Panic {
    pub thread: usize,
    pub message: String,
    pub at: Option<(String, u32, u32)>,
}

/// As many as can unwind the same stack at once before the process ends.
const KEPT: usize = 2;

thread_local! {
    static LAST: RefCell<Vec<Panic>> = const { RefCell::new(Vec::new()) };
}

/// From now on panics inside of executions are kept.
pub(crate) fn capture_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let Some(thread) = super::with(|rt| rt.current) else { return before(info) };
            let message = text_of(info.payload());
            let at = info.location().map(|l| (l.file().to_string(), l.line(), l.column()));
            let panic = Panic { thread, message, at };
            if ends_the_process(info) {
                say_last_words(&panic);
                return before(info);
            }
            LAST.with_borrow_mut(|last| {
                if last.iter().filter(|p| p.thread == thread).count() == KEPT {
                    let first = last.iter().position(|p| p.thread == thread);
                    first.map(|first| last.remove(first));
                }
                last.push(panic);
            });
        }));
    });
}

/// Whether the panic cannot unwind. Only the text for debugging tells, as of today.
fn ends_the_process(info: &PanicHookInfo<'_>) -> bool {
    format!("{info:?}").contains("can_unwind: false")
}

fn say_last_words(panic: &Panic) {
    let name = super::with(|rt| rt.name_of(panic.thread)).unwrap_or_default();
    let mut text =
        format!("\nfabius: {name} panics where that cannot be caught, so the process ends: {}\n", panic.message);
    let before = LAST.with_borrow_mut(std::mem::take);
    for panic in before.iter().filter(|p| p.thread == panic.thread) {
        let at = panic.at.as_ref().map_or(String::new(), |(file, line, column)| format!(" at {file}:{line}:{column}"));
        text += &format!("  before that, it panicked{at}: {}\n", panic.message);
    }
    // Not by a macro: the test runner keeps what those print until the test is over.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

pub(crate) fn text_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|s| (*s).to_string());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without a text".into())
}

/// The panic that unwinds a thread, for people.
pub(super) fn said_by(thread: usize) -> String {
    let last = LAST.with_borrow(|last| last.iter().rev().find(|p| p.thread == thread).cloned());
    last.map_or(String::new(), |panic| format!(": {}", panic.message))
}

/// Forgets those of an execution that is over.
pub(super) fn forget_panics() {
    LAST.with_borrow_mut(Vec::clear);
}

/// Remembers a panic that ended the current thread, or a destructor of one of its values.
pub(crate) fn note_panic(payload: &(dyn Any + Send)) -> Panic {
    let thread = super::with(|rt| rt.current).unwrap_or(0);
    // Others may be under way.
    let last = LAST.with_borrow_mut(|last| last.extract_if(.., |p| p.thread == thread).last());
    let panic = last.unwrap_or_else(|| Panic { thread, message: text_of(payload), at: None });
    super::with(|rt| {
        rt.panics.push(panic.clone());
        if rt.settings.panics {
            rt.fail_at(BugKind::Panic, panic.message.clone(), panic.at.clone());
        }
    });
    panic
}
