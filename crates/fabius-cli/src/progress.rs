//! Progress on a terminal: one line, written again every second.

use crate::files;
use crate::paint::{Paint, clip, printable, progress_width};
use fabius_verify::Progress;
use fabius_verify::portfolio::{Member, Now};
use fabius_verify::prove::ProofProgress;
use std::cell::{Cell, RefCell};
use std::io::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Shows how far a search is, if somebody is there to see it.
pub struct Ticker {
    /// How many columns there are; nothing if nobody is there to see it.
    columns: Option<usize>,
    /// What is searched, where there are several things; with what divides it from the rest.
    what: String,
    /// When to write next, and whether there is a line to clear.
    next: Mutex<(Instant, bool)>,
}

impl Ticker {
    /// Silent for the first second.
    pub fn new(wanted: bool) -> Ticker {
        let columns = progress_width().filter(|_| wanted);
        Ticker { columns, what: String::new(), next: Mutex::new((Instant::now() + Duration::from_secs(1), false)) }
    }

    /// The same for one of several searches.
    pub fn of(what: &str) -> Ticker {
        Ticker { what: format!("{}: ", printable(what)), ..Ticker::new(true) }
    }

    /// Called by the search a few times a second.
    pub fn tick(&self, p: &Progress) {
        let Ok(mut next) = self.next.lock() else { return };
        let Some(columns) = self.columns.filter(|_| Instant::now() >= next.0) else { return };
        *next = (Instant::now() + Duration::from_secs(1), true);
        let seconds = p.elapsed.as_secs_f64().max(0.001);
        let explored = if p.states > 0 {
            format!("{} states ({:.0}/s), {} to do", p.states, p.states as f64 / seconds, p.frontier)
        } else {
            format!("{} executions ({:.0}/s)", p.executions, p.executions as f64 / seconds)
        };
        let memory = p.memory / (1 << 20);
        let what = &self.what;
        let line = format!("{what}{seconds:.0} s: bound {}, depth {}, {explored}, {memory} MB", p.bound, p.depth);
        // Nothing is lost if the terminal is gone.
        let _ = write!(std::io::stderr(), "\r\x1b[K{}", clip(&line, columns.saturating_sub(1)));
    }

    /// Called by a verification before each question to the solver.
    pub fn proof(&self, p: &ProofProgress) {
        let Ok(mut next) = self.next.lock() else { return };
        let Some(columns) = self.columns.filter(|_| Instant::now() >= next.0) else { return };
        *next = (Instant::now() + Duration::from_secs(1), true);
        let (bound, _) = p.sequentialization.cost();
        let what = bound.count(p.sequentialization.most());
        let (seconds, s) = (p.elapsed.as_secs_f64(), &p.statistics);
        let line =
            format!("{seconds:.0} s: at most {what}, {} loops and calls opened, question {}", s.opened, s.queries + 1);
        // Nothing is lost if the terminal is gone.
        let _ = write!(std::io::stderr(), "\r\x1b[K{}", clip(&line, columns.saturating_sub(1)));
    }

    /// Takes the line away.
    pub fn clear(&self) {
        if self.next.lock().is_ok_and(|next| next.1) {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
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
