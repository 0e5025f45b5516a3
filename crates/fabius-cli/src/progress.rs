//! Progress on a terminal: one line, written again every second.

use crate::files;
use crate::paint::{Paint, clip, printable, progress_width};
use fabius_verify::Progress;
use fabius_verify::portfolio::{Member, Now};
use fabius_verify::prove::ProofProgress;
use std::cell::{Cell, RefCell};
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Between two lines.
const PAUSE: Duration = Duration::from_secs(1);

/// Shows how far a search is, if somebody is there to see it.
pub struct Ticker {
    /// What is searched, where there are several things; with what divides it from the rest.
    what: String,
    /// Nothing if nobody is there to see it.
    line: Option<Arc<Line>>,
}

/// The line on the terminal.
struct Line {
    columns: usize,
    began: Instant,
    /// When to write next, and whether there is a line to clear; nothing when there is no more to show.
    next: Mutex<Option<(Instant, bool)>>,
}

impl Ticker {
    /// Silent for the first second.
    pub fn new(wanted: bool) -> Ticker {
        Ticker::with(String::new(), wanted)
    }

    /// The same for one of several searches.
    pub fn of(what: &str) -> Ticker {
        Ticker::with(format!("{}: ", printable(what)), true)
    }

    fn with(what: String, wanted: bool) -> Ticker {
        let began = Instant::now();
        let line = |columns| Arc::new(Line { columns, began, next: Mutex::new(Some((began + PAUSE, false))) });
        let line = progress_width().filter(|_| wanted).map(line);
        if let Some(line) = &line {
            let (line, what) = (Arc::clone(line), what.clone());
            // Without this thread only long steps are silent.
            drop(Builder::new().stack_size(64 << 10).spawn(move || line.go_on(&what)));
        }
        Ticker { what, line }
    }

    /// Called by the search a few times a second.
    pub fn tick(&self, p: &Progress) {
        let seconds = p.elapsed.as_secs_f64().max(0.001);
        self.show(|| {
            let explored = if p.states > 0 {
                format!("{} states ({:.0}/s), {} to do", p.states, p.states as f64 / seconds, p.frontier)
            } else {
                format!("{} executions ({:.0}/s)", p.executions, p.executions as f64 / seconds)
            };
            let memory = p.memory / (1 << 20);
            let what = &self.what;
            format!("{what}{seconds:.0} s: bound {}, depth {}, {explored}, {memory} MB", p.bound, p.depth)
        });
    }

    /// Called by a verification before each question to the solver.
    pub fn proof(&self, p: &ProofProgress) {
        self.show(|| {
            let (bound, _) = p.sequentialization.cost();
            let what = bound.count(p.sequentialization.most());
            let (seconds, s) = (p.elapsed.as_secs_f64(), &p.statistics);
            format!("{seconds:.0} s: at most {what}, {} loops and calls opened, question {}", s.opened, s.queries + 1)
        });
    }

    fn show(&self, text: impl FnOnce() -> String) {
        if let Some(line) = &self.line {
            line.show(Instant::now(), text);
        }
    }

    /// Takes the line away; no other one comes.
    pub fn clear(&self) {
        let Some(line) = &self.line else { return };
        if line.next.lock().is_ok_and(|mut next| next.take().is_some_and(|(_, is_written)| is_written)) {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Line {
    /// Shows something if it is time at this moment.
    fn show(&self, at: Instant, text: impl FnOnce() -> String) {
        let Ok(mut next) = self.next.lock() else { return };
        let Some(when) = next.as_mut().filter(|(when, _)| at >= *when) else { return };
        *when = (Instant::now() + PAUSE, true);
        // Nothing is lost if the terminal is gone.
        let _ = write!(std::io::stderr(), "\r\x1b[K{}", clip(&text(), self.columns.saturating_sub(1)));
    }

    /// Shows that it goes on while nobody else shows anything.
    fn go_on(&self, what: &str) {
        loop {
            std::thread::sleep(PAUSE);
            let Some(late) = Instant::now().checked_sub(PAUSE) else { continue };
            self.show(late, || {
                format!("{what}{:.0} s: reading, or in a long step", self.began.elapsed().as_secs_f64())
            });
            if self.next.lock().is_ok_and(|next| next.is_none()) {
                return;
            }
        }
    }
}

/// How far each of several engines is: a line on a terminal, and where there is none, or no limit of time, one word to say
/// that it takes long.
pub struct Board {
    /// How many columns there are; nothing if nobody is there to see it.
    columns: Option<usize>,
    /// Whether to say once that it takes long.
    patience: Cell<Option<Duration>>,
    began: Instant,
    next: Cell<Instant>,
    /// Whether there is a line to clear.
    is_written: Cell<bool>,
    /// What each engine last said.
    latest: RefCell<Vec<(Member, String)>>,
}

/// After this long without a limit it is said what goes on.
const LONG: Duration = Duration::from_secs(10);

impl Board {
    /// Silent for the first second.
    pub fn new(wanted: bool, is_unlimited: bool) -> Board {
        let began = Instant::now();
        Board {
            columns: progress_width().filter(|_| wanted),
            patience: Cell::new((wanted && is_unlimited).then_some(LONG)),
            began,
            next: Cell::new(began + Duration::from_secs(1)),
            is_written: Cell::new(false),
            latest: RefCell::default(),
        }
    }

    /// Called when an engine is further.
    pub fn tell(&self, member: Member, now: &Now) {
        let text = match now {
            Now::Exploring(p) if p.states > 0 => format!("bound {}, {} states", p.bound, p.states),
            Now::Exploring(p) => format!("{} executions", p.executions),
            Now::Proving(p) => {
                let (bound, _) = p.sequentialization.cost();
                let what = bound.count(p.sequentialization.most());
                format!("at most {what}, question {}", p.statistics.queries + 1)
            }
        };
        let mut latest = self.latest.borrow_mut();
        match latest.iter_mut().find(|(m, _)| *m == member) {
            Some((_, old)) => *old = text,
            None => latest.push((member, text)),
        }
        let (now, elapsed) = (Instant::now(), self.began.elapsed());
        let all: Vec<String> = latest.iter().map(|(m, text)| format!("{}: {text}", m.name())).collect();
        if self.patience.get().is_some_and(|long| elapsed >= long) {
            self.patience.set(None);
            self.clear();
            let text = format!(
                "after {:.0} s: {}\n(`--time` limits this; Ctrl-C ends it and says what is known)\n",
                elapsed.as_secs_f64(),
                all.join("; ")
            );
            files::tell(Paint::Plain, &text);
        }
        let Some(columns) = self.columns.filter(|_| now >= self.next.get()) else { return };
        self.next.set(now + Duration::from_secs(1));
        self.is_written.set(true);
        let line = format!("{:.0} s: {}", elapsed.as_secs_f64(), all.join("; "));
        // Nothing is lost if the terminal is gone.
        let _ = write!(std::io::stderr(), "\r\x1b[K{}", clip(&line, columns.saturating_sub(1)));
    }

    /// Takes the line away.
    pub fn clear(&self) {
        if self.is_written.replace(false) {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
