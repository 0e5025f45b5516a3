//! All engines that fit a program, side by side: the first definite answer is the answer.
//!
//! Who answers first may depend on the machine, and so may whether a deadlock is found where a proof leaves deadlocks out;
//! the answer then says so. Every bug is replayed, and if one engine says that there is none and another one shows one, that
//! is an error of Fabius, and reported as such.
//!
//! Length: one race among members, and the tests of how it is decided.

mod members;

use crate::proof::ProofError;
use crate::prove::is_parameterized;
use crate::stack::with_room;
use crate::{CheckError, Report, convergence};
use fabius_lang::program::Program;
use fabius_smt::Watch;
use fabius_trace::{Bound, BugKind, Points, ProgramId, Reason, SchedulerKind, Verdict};
pub use members::Now;
use members::{Work, has_equal_threads, run};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Who may answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member {
    /// All schedules in order of their preemptions, with states. Of processes of any number, two to four of each.
    Exploration,
    /// Bounded model checking, with bounds that grow.
    BoundedModelChecking,
    /// Any number of threads, in more and more rounds, or in all of them.
    AnyThreads,
    /// Recursion without a bound, in a fixed number of threads.
    Convergence,
    /// Schedules at random.
    RandomWalks,
}

impl Member {
    /// All of them, in the order in which they are asked.
    pub const ALL: [Member; 5] = {
        use Member::{AnyThreads, BoundedModelChecking, Convergence, Exploration, RandomWalks};
        [AnyThreads, Exploration, Convergence, BoundedModelChecking, RandomWalks]
    };

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Member::Exploration => "exploration",
            Member::BoundedModelChecking => "bounded model checking",
            Member::AnyThreads => "any number of threads",
            Member::Convergence => "convergence",
            Member::RandomWalks => "random walks",
        }
    }

    /// What its bugs cost, and whether they cost the least.
    pub fn cost(self) -> (Bound, SchedulerKind, bool) {
        match self {
            Member::Exploration => (Bound::Preemptions, SchedulerKind::Bag, true),
            Member::BoundedModelChecking | Member::AnyThreads => (Bound::Rounds, SchedulerKind::Bag, false),
            Member::Convergence => (Bound::Contexts, SchedulerKind::Bag, true),
            Member::RandomWalks => (Bound::None, SchedulerKind::Bag, false),
        }
    }
}

/// What is asked.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Ask nobody else.
    pub only: Option<Member>,
    /// Whether the choices of the program can be tried one by one.
    pub is_explorable: bool,
    /// Where threads may be switched, for those who explore.
    pub points: Points,
    /// Whether a deadlock is a bug, for those who explore.
    pub deadlock: bool,
    /// Time for all together.
    pub time: Option<Duration>,
    /// Bytes: of states for exploration, of the process for the others.
    pub memory: Option<u64>,
    /// Processors to use, at least 1.
    pub jobs: usize,
    /// Reads the program again with limits that are not in the way, if it has any.
    pub larger: Larger,
    /// The same program with any number of threads, for those who prove, where it starts threads in a loop without an end. It has
    /// no more deadlocks than this one, and they are not looked for.
    pub any_number: Option<Arc<(Program, ProgramId)>>,
}

impl Default for Ask {
    /// All members, without limits, by one processor; threads are switched anywhere, and a deadlock is a bug.
    fn default() -> Ask {
        Ask {
            only: None,
            is_explorable: true,
            points: Points::All,
            deadlock: true,
            time: None,
            memory: None,
            jobs: 1,
            larger: Larger::default(),
            any_number: None,
        }
    }
}

/// Given what an exploration was cut by, and how often before: the program with larger limits.
#[derive(Clone, Default)]
pub struct Larger(pub Option<Arc<MakeLarger>>);

/// As [`Larger`] says.
pub type MakeLarger = dyn Fn(&Reason, u32) -> Option<(Program, ProgramId)> + Send + Sync;

impl std::fmt::Debug for Larger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Larger" } else { "none larger" })
    }
}

/// What became of one member.
#[derive(Clone, Debug)]
pub struct Told {
    /// Who.
    pub member: Member,
    /// What it found out until it was stopped; `None` if it did not stop in time.
    pub outcome: Option<Result<Report, MemberError>>,
}

/// The answer.
#[derive(Clone, Debug)]
pub struct Decided {
    /// The answer.
    pub report: Report,
    /// Who answered.
    pub by: Member,
    /// All that were asked, in the order in which they began.
    pub told: Vec<Told>,
}

/// Why a member has no answer.
#[derive(Clone, Debug, PartialEq)]
pub enum MemberError {
    /// Of exploration and random walks.
    Check(CheckError),
    /// Of the others.
    Proof(ProofError),
    /// It is none for this program, and why, in a sentence.
    Unfit(String),
}

impl MemberError {
    fn is_internal(&self) -> bool {
        matches!(self, MemberError::Check(CheckError::Internal(_)) | MemberError::Proof(ProofError::Internal(_)))
    }
}

/// How much later those begin that are not the first: small programs are decided by then, and always by the same member.
/// Random walks begin at once, and tell of a bug only then: what they find is mostly found soon, and needs a processor until
/// then.
const HEAD_START: Duration = Duration::from_millis(60);

/// How long others are waited for at least, once somebody has an answer that leaves something out.
const PATIENCE: Duration = Duration::from_secs(1);

/// The same where the number of threads is given: then the others can know.
const PATIENCE_WITH_NUMBER: Duration = Duration::from_secs(10);

/// How long walks at random go on once nobody else is left, besides as long as it took until then: what they meet may be what the
/// others gave up at.
const ALONE: Duration = Duration::from_secs(2);

/// How often limits are looked at.
const OFTEN: Duration = Duration::from_millis(10);

/// How long those are waited for that have been stopped because there is an answer.
const GRACE: Duration = Duration::from_millis(60);

/// How long if there is none: then what they have covered is all that is known.
const GRACE_WITHOUT_ANSWER: Duration = Duration::from_millis(300);

/// Members end by themselves when the memory is used up; beyond this part of it more, nobody waits for them.
const LATE: u64 = 20;

enum Message {
    News(Member, Now),
    Done(Member, Box<Result<Report, MemberError>>),
}

/// Asks all that fit. `stop` may be set at any time from another thread; `news` is called when a member is further.
///
/// # Errors
/// [`MemberError`]: nobody fits, or an error of Fabius.
pub fn decide(
    program: &Program,
    id: &ProgramId,
    ask: &Ask,
    stop: &AtomicBool,
    news: &mut dyn FnMut(Member, Now),
) -> Result<Decided, MemberError> {
    let mut race = Race::new(program, id, ask);
    let ended = race.run(stop, news);
    race.stop.store(true, Ordering::Relaxed);
    race.hear_the_others();
    ended?;
    race.answer()
}

/// A member that is asked.
struct Runner {
    member: Member,
    /// When it begins.
    at: Instant,
    has_begun: bool,
    outcome: Option<Result<Report, MemberError>>,
}

struct Race {
    work: Arc<Work>,
    began: Instant,
    deadline: Option<Instant>,
    /// What all members have together: who prepares a search, which looks at no limit, is not waited for beyond it.
    watch: Watch,
    /// What stops the members.
    stop: Arc<AtomicBool>,
    runners: Vec<Runner>,
    /// Who has answered.
    winner: Option<Member>,
    /// When an answer is taken that leaves something out.
    settled: Option<(Instant, Member)>,
    /// When walks at random end that nobody else is left beside.
    alone: Option<Instant>,
    /// What stopped all of them before there was an answer.
    cut: Option<Reason>,
    sender: Sender<Message>,
    receiver: Receiver<Message>,
}

impl Race {
    fn new(program: &Program, id: &ProgramId, ask: &Ask) -> Race {
        let began = Instant::now();
        let any = is_parameterized(program);
        let fits = |member: &Member| match (ask.only, member) {
            (Some(only), member) => only == *member,
            // Nobody else sees infinite executions.
            (None, member) if !program.properties.is_empty() => *member == Member::Exploration,
            // Who does not know of data races leaves them out, also in what is verified.
            (None, Member::AnyThreads) => {
                any || (has_equal_threads(program) || ask.any_number.is_some()) && ask.points == Points::All
            }
            (None, Member::BoundedModelChecking) => !any,
            (None, Member::Exploration) => ask.is_explorable,
            (None, Member::Convergence) => ask.points == Points::All && convergence::fits(program),
            (None, Member::RandomWalks) => ask.is_explorable && !any,
        };
        let members: Vec<Member> = Member::ALL.into_iter().filter(fits).collect();
        // Who knows of more threads than there are waits for who knows of these.
        let first = members.iter().find(|m| any || **m != Member::AnyThreads).copied();
        let is_at_once = |member| Some(member) == first || member == Member::RandomWalks;
        let at = |member| if is_at_once(member) { began } else { began + HEAD_START };
        let runner = |member| Runner { member, at: at(member), has_begun: false, outcome: None };
        let runners: Vec<Runner> = members.into_iter().map(runner).collect();
        let (sender, receiver) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let deadline = ask.time.and_then(|time| began.checked_add(time));
        let others_rest = AtomicBool::new(false);
        let watch = Watch::begin(&Arc::default(), ask.memory.map(|memory| memory.saturating_add(memory / LATE)));
        let work = Work {
            program: program.clone(),
            id: id.clone(),
            ask: ask.clone(),
            others_begin: began + HEAD_START,
            deadline,
            stop: Arc::clone(&stop),
            others_rest,
        };
        Race {
            work: Arc::new(work),
            began,
            deadline,
            watch,
            stop,
            runners,
            winner: None,
            settled: None,
            alone: None,
            cut: None,
            sender,
            receiver,
        }
    }

    /// Runs the members until one has answered, all have ended, or a limit is hit.
    fn run(&mut self, stop: &AtomicBool, news: &mut dyn FnMut(Member, Now)) -> Result<(), MemberError> {
        loop {
            let now = Instant::now();
            let is_over = self.runners.iter().all(|r| r.outcome.is_some());
            if let Some((_, member)) = self.settled.filter(|(at, _)| is_over || now >= *at) {
                self.winner = self.winner.or(Some(member));
            }
            if self.winner.is_none() {
                self.cut = match stop.load(Ordering::Relaxed) {
                    true => Some(Reason::Interrupted),
                    false if self.watch.is_full() => Some(Reason::Memory),
                    false => self.deadline.filter(|d| now >= *d).map(|_| Reason::Time),
                };
            }
            if is_over || self.cut.is_some() || self.winner.is_some() || self.walks_are_over(now) {
                return Ok(());
            }
            self.start()?;
            match self.receiver.recv_timeout(OFTEN) {
                Ok(Message::News(member, now)) => news(member, now),
                Ok(Message::Done(member, outcome)) => self.note(member, *outcome)?,
                Err(_) => {}
            }
        }
    }

    /// Whether walks at random have gone on for long enough after all others have given up.
    fn walks_are_over(&mut self, now: Instant) -> bool {
        let walks = |r: &Runner| r.member == Member::RandomWalks && r.has_begun;
        if self.runners.len() < 2 || !self.runners.iter().all(|r| walks(r) || r.outcome.is_some()) {
            return false;
        }
        now >= *self.alone.get_or_insert(now + ALONE + self.began.elapsed())
    }

    /// Starts whose time has come; and if all others have ended, the next.
    fn start(&mut self) -> Result<(), MemberError> {
        let now = Instant::now();
        let mut begun = self.runners.iter().filter(|r| r.has_begun).peekable();
        let is_idle = begun.peek().is_some() && begun.all(|r| r.outcome.is_some());
        let explored = |r: &Runner| r.member == Member::Exploration && r.outcome.is_some();
        if self.runners.iter().any(explored) {
            self.work.others_rest.store(true, Ordering::Relaxed);
        }
        for i in 0..self.runners.len() {
            let runner = &self.runners[i];
            if runner.has_begun || now < runner.at && !is_idle {
                continue;
            }
            let member = runner.member;
            self.runners[i].has_begun = true;
            let spawned = with_room(|builder| {
                let (work, sender) = (Arc::clone(&self.work), self.sender.clone());
                builder.spawn(move || {
                    let told = sender.clone();
                    // If nobody listens any more, nobody has to know.
                    let news = move |now| drop(told.send(Message::News(member, now)));
                    // The panic has been printed; who waits for an answer hears of it.
                    let outcome = catch_unwind(AssertUnwindSafe(|| run(member, &work, &news))).unwrap_or_else(|_| {
                        Err(MemberError::Proof(ProofError::Internal(format!("{} has panicked", member.name()))))
                    });
                    drop(sender.send(Message::Done(member, Box::new(outcome))));
                })
            });
            spawned.map_err(|e| MemberError::Proof(crate::stack::no_thread(e)))?;
        }
        Ok(())
    }

    /// Until when the others are waited for once somebody has an answer that leaves something out.
    fn patience(&self) -> Instant {
        let least = if is_parameterized(&self.work.program) { PATIENCE } else { PATIENCE_WITH_NUMBER };
        Instant::now() + self.began.elapsed() / 2 + least
    }

    /// Notes what a member says. An error of Fabius ends everything.
    fn note(&mut self, member: Member, outcome: Result<Report, MemberError>) -> Result<(), MemberError> {
        if let Err(error) = &outcome
            && error.is_internal()
        {
            return Err(error.clone());
        }
        if let Ok(report) = &outcome {
            match &report.verdict {
                Verdict::Bug { .. } => self.winner = self.winner.or(Some(member)),
                Verdict::Verified if report.limits.is_empty() => self.winner = self.winner.or(Some(member)),
                // The others may still find what it does not look for.
                Verdict::Verified => self.settled = Some((self.patience(), member)),
                // So many copies were asked for, and all was explored.
                Verdict::NoBugWithinBounds { .. }
                    if matches!(member, Member::Exploration | Member::Convergence)
                        && !is_parameterized(&self.work.program) =>
                {
                    self.winner = self.winner.or(Some(member));
                }
                // Nothing is known, and nobody will know more, unless of more copies.
                verdict if verdict.is_vacuous() && member == Member::Exploration => {
                    if !is_parameterized(&self.work.program) {
                        self.winner = self.winner.or(Some(member));
                    }
                }
                // An execution that does not complete may fail behind the bounds of who says so.
                verdict if verdict.is_vacuous() => self.settled = Some((self.patience(), member)),
                Verdict::NoBugWithinBounds { .. } | Verdict::Unknown { .. } => {}
            }
        }
        let runner = self.runners.iter_mut().find(|r| r.member == member).expect("it was asked");
        runner.outcome = Some(outcome);
        Ok(())
    }

    /// Those that have been stopped say how far they were.
    fn hear_the_others(&mut self) {
        let until = Instant::now() + if self.winner.is_some() { GRACE } else { GRACE_WITHOUT_ANSWER };
        while self.runners.iter().any(|r| r.has_begun && r.outcome.is_none()) {
            let left = until.saturating_duration_since(Instant::now());
            match self.receiver.recv_timeout(left) {
                Ok(Message::Done(member, outcome)) => {
                    if let Some(runner) = self.runners.iter_mut().find(|r| r.member == member) {
                        runner.outcome = Some(*outcome);
                    }
                }
                Ok(Message::News(..)) => {}
                Err(_) => return,
            }
        }
    }

    fn answer(self) -> Result<Decided, MemberError> {
        let elapsed = self.began.elapsed();
        let first = self.runners.first().map(|r| r.member);
        let told: Vec<Told> = self
            .runners
            .into_iter()
            .filter(|r| r.has_begun)
            .map(|r| Told { member: r.member, outcome: r.outcome })
            .collect();
        if let Some(wrong) = disagreement(&told) {
            return Err(MemberError::Proof(ProofError::Internal(wrong)));
        }
        let report = |told: &Told| told.outcome.as_ref().and_then(|o| o.as_ref().ok()).cloned();
        let has_bug = |told: &&Told| report(told).is_some_and(|r| matches!(r.verdict, Verdict::Bug { .. }));
        let winner = told.iter().find(|t| self.winner == Some(t.member));
        // A bug that is heard of late is one that the winner did not look for.
        let bug = winner.filter(has_bug).or_else(|| told.iter().find(has_bug));
        let most =
            || told.iter().filter(|t| report(t).is_some()).max_by_key(|t| worth(&report(t).expect("it has one")));
        let best = bug.or(winner).or_else(most);
        if let Some((best, report)) = best.and_then(|t| Some((t.member, report(t)?))) {
            let verdict = cut_short(report.verdict, self.cut);
            return Ok(Decided { report: Report { verdict, elapsed, ..report }, by: best, told });
        }
        let error = told.iter().find_map(|t| t.outcome.as_ref().and_then(|o| o.as_ref().err()).cloned());
        // Somebody whom the program fits was not done.
        let is_open = told.iter().any(|t| t.outcome.is_none());
        Err(match (error, first) {
            (Some(error), _) if !is_open => error,
            // Nobody has stopped in time, or the time was over before anybody began.
            (_, Some(by)) => {
                let by = told.iter().find(|t| t.outcome.is_none()).map_or(by, |t| t.member);
                let report = members::nothing_known(by, &self.work.id, self.cut.unwrap_or(Reason::Time), elapsed);
                return Ok(Decided { report, by, told });
            }
            (_, None) => MemberError::Unfit("no engine fits this program".into()),
        })
    }
}

/// The answer when something stopped all: bounds are what was finished until then. Who was stopped by us was stopped by what
/// stopped us.
fn cut_short(verdict: Verdict, by: Option<Reason>) -> Verdict {
    match (verdict, by) {
        (Verdict::NoBugWithinBounds { bounds }, Some(reason)) => Verdict::Unknown { reason, bounds },
        (Verdict::Unknown { reason: Reason::Interrupted, bounds }, by) => {
            Verdict::Unknown { reason: by.unwrap_or(Reason::Time), bounds }
        }
        (verdict, _) => verdict,
    }
}

/// How much an answer says.
fn worth(report: &Report) -> u32 {
    match &report.verdict {
        Verdict::Bug { .. } => 4,
        Verdict::Verified => 3,
        Verdict::NoBugWithinBounds { .. } => 2,
        Verdict::Unknown { bounds, .. } if bounds.completed.is_some() => 1,
        Verdict::Unknown { .. } => 0,
    }
}

/// Whether who has verified the rest has not looked for such bugs: those of which it says so, and otherwise deadlocks.
fn leaves_out(verified: &Report, kind: BugKind) -> bool {
    match kind {
        BugKind::DataRace => verified.limits.iter().any(|limit| limit == members::NO_RACES),
        BugKind::Deadlock => verified.limits.iter().any(|limit| limit != members::NO_RACES),
        _ => false,
    }
}

/// What two members contradict each other in.
fn disagreement(told: &[Told]) -> Option<String> {
    let reports = || told.iter().filter_map(|t| Some((t.member, t.outcome.as_ref()?.as_ref().ok()?)));
    for (one, verified) in reports().filter(|(_, r)| r.verdict == Verdict::Verified) {
        for (other, report) in reports() {
            let Verdict::Bug { trace } = &report.verdict else { continue };
            if !leaves_out(verified, trace.kind) {
                let (one, other) = (one.name(), other.name());
                return Some(format!(
                    "{one} says that no schedule breaks the program, and {other} shows one that does"
                ));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::of_verdict;
    use crate::{Plan, check, program_id};

    fn told(member: Member, verdict: Verdict, limits: &[&str]) -> Told {
        let limits = limits.iter().map(|l| (*l).to_string()).collect();
        Told { member, outcome: Some(Ok(Report { limits, ..of_verdict(verdict) })) }
    }

    fn checked(source: &str) -> Verdict {
        let program = fabius_lang::compile(source, &fabius_lang::Options::default()).expect("it is a program");
        let id = program_id("test.fab", source, &[], &[]);
        check(&program, &id, &Plan::default(), &AtomicBool::new(false), &|_| {}).expect("it can be checked").verdict
    }

    #[test]
    fn a_bug_of_what_is_verified_is_an_error_of_fabius() {
        let failing = checked("init { assert false; }\n");
        let stuck = checked("init { await false; }\n");
        let (one, other) = (Member::AnyThreads, Member::Exploration);
        let verified = |limits: &[&str]| told(one, Verdict::Verified, limits);
        let wrong = disagreement(&[verified(&[]), told(other, failing.clone(), &[])]).expect("they disagree");
        assert!(wrong.contains("exploration shows one"), "{wrong}");
        assert!(disagreement(&[told(other, stuck.clone(), &[]), verified(&[])]).is_some());
        assert!(disagreement(&[verified(&["deadlocks were not looked for"]), told(other, failing, &[])]).is_some());
        assert!(disagreement(&[verified(&["deadlocks were not looked for"]), told(other, stuck, &[])]).is_none());
        assert!(disagreement(&[verified(&[])]).is_none());
    }

    /// Answers as if these had said this before all were stopped.
    fn answered(said: Vec<Told>, winner: Option<Member>, cut: Option<Reason>) -> Decided {
        let source = "process p[*] { skip; }\n";
        let program = fabius_lang::compile(source, &fabius_lang::Options::default()).expect("it is a program");
        let mut race = Race::new(&program, &program_id("test.fab", source, &[], &[]), &Ask::default());
        let runner = |t: Told| Runner { member: t.member, at: Instant::now(), has_begun: true, outcome: t.outcome };
        race.runners = said.into_iter().map(runner).collect();
        (race.winner, race.cut) = (winner, cut);
        race.answer().expect("there is an answer")
    }

    #[test]
    fn a_deadlock_that_is_heard_of_late_is_the_answer() {
        let verified = told(Member::AnyThreads, Verdict::Verified, &["deadlocks were not looked for"]);
        let stuck = told(Member::Exploration, checked("init { await false; }\n"), &[]);
        let decided = answered(vec![verified, stuck], Some(Member::AnyThreads), None);
        assert_eq!(decided.by, Member::Exploration);
        assert!(matches!(decided.report.verdict, Verdict::Bug { .. }), "{:?}", decided.report.verdict);
    }

    #[test]
    fn who_explores_is_waited_for_where_no_execution_completes() {
        let source = "init { assume false; }\n";
        let program = fabius_lang::compile(source, &fabius_lang::Options::default()).expect("it is a program");
        let mut race = Race::new(&program, &program_id("test.fab", source, &[], &[]), &Ask::default());
        let nothing = checked(source);
        assert!(nothing.is_vacuous(), "{nothing:?}");
        for (member, winner) in [(Member::BoundedModelChecking, None), (Member::Exploration, Some(Member::Exploration))]
        {
            race.note(member, Ok(of_verdict(nothing.clone()))).expect("it is no error");
            assert_eq!((race.winner, race.settled.is_some()), (winner, true));
        }
    }

    #[test]
    fn who_was_not_done_is_no_error_of_another() {
        let open = Told { member: Member::Exploration, outcome: None };
        let unfit = Told {
            member: Member::BoundedModelChecking,
            outcome: Some(Err(MemberError::Unfit("it has tasks".into()))),
        };
        let decided = answered(vec![open, unfit], None, Some(Reason::Time));
        assert_eq!(decided.by, Member::Exploration);
        assert!(matches!(decided.report.verdict, Verdict::Unknown { reason: Reason::Time, .. }));
    }

    #[test]
    fn what_is_cut_short_is_unknown_with_what_was_finished() {
        let work = program_id("test.fab", "", &[], &[("p".into(), 2)]);
        let Verdict::Unknown { bounds, .. } =
            members::nothing_known(Member::Exploration, &work, Reason::Time, Duration::ZERO).verdict
        else {
            panic!("nothing is known");
        };
        let finished = || told(Member::Exploration, Verdict::NoBugWithinBounds { bounds: bounds.clone() }, &[]);
        let open = || Told { member: Member::AnyThreads, outcome: None };
        for reason in [Reason::Time, Reason::Interrupted] {
            let verdict = answered(vec![open(), finished()], None, Some(reason.clone())).report.verdict;
            assert_eq!(verdict, Verdict::Unknown { reason, bounds: bounds.clone() });
        }
        let verdict = answered(vec![open(), finished()], None, None).report.verdict;
        assert_eq!(verdict, Verdict::NoBugWithinBounds { bounds: bounds.clone() });
    }
}
