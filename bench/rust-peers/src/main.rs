//! One program under one tool: `rust-peers TOOL STRATEGY PROGRAM [--seed S] [--secs T] [--max N]`.
//!
//!   TOOL/STRATEGY: loom none|BOUND ; shuttle random|pctDEPTH|urw|dfs ;
//!            fabius none|dfs|BOUND|setsBOUND|icb|default|random|pctDEPTH|pos|urw|surw
//!   PROGRAM: mcounter:N:M mcounter-ok:N:M mcounter-min:N:M order lost-order sb-ok counter:N:M counter-ok:N:M counter-min:N:M phil:N phil-ok:N
//!            buffer:P:C:I buffer-ok:P:C:I wsq:TH:I wsq-ok:TH:I window:K window-ok:K readers:N indep-ww:N lastzero:N
//! With `--relaxed`, one store is `Relaxed`, so that Fabius allows stale reads; with `--sc` it does not.
//! Prints one JSON line: executions started, seconds, how it ended.

mod programs;

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant};

static EXECUTIONS: AtomicUsize = AtomicUsize::new(0);

type Program = Arc<dyn Fn() + Send + Sync>;

macro_rules! pick {
    ($tool:ident, $spec:expr) => {{
        use programs::$tool as p;
        let parts: Vec<&str> = $spec.split(':').collect();
        let a: Vec<usize> = parts[1..].iter().map(|s| s.parse().unwrap()).collect();
        let f: Program = match parts[0] {
            "counter" => Arc::new(move || p::counter(a[0], a[1], |t, full| t != full)),
            "counter-ok" => Arc::new(move || p::counter(a[0], a[1], |_, _| false)),
            "counter-min" => Arc::new(move || p::counter(a[0], a[1], |t, _| t == 2)),
            "mcounter" => Arc::new(move || p::mutex_counter(a[0], a[1], |t, full| t != full)),
            "mcounter-ok" => Arc::new(move || p::mutex_counter(a[0], a[1], |_, _| false)),
            "mcounter-min" => Arc::new(move || p::mutex_counter(a[0], a[1], |t, _| t == 2)),
            "readers" => Arc::new(move || p::readers(a[0])),
            "indep-ww" => Arc::new(move || p::independent(a[0])),
            "lastzero" => Arc::new(move || p::last_zero(a[0])),
            "order" => Arc::new(move || p::order()),
            "lost-order" => Arc::new(move || p::lost_then_order()),
            "sb-ok" => Arc::new(move || p::store_buffering()),
            "phil" => Arc::new(move || p::philosophers(a[0], false)),
            "phil-ok" => Arc::new(move || p::philosophers(a[0], true)),
            "buffer" => Arc::new(move || p::buffer(a[0], a[1], a[2], false)),
            "buffer-ok" => Arc::new(move || p::buffer(a[0], a[1], a[2], true)),
            "wsq" => Arc::new(move || p::wsq(a[0], a[1], false)),
            "wsq-ok" => Arc::new(move || p::wsq(a[0], a[1], true)),
            "window" => Arc::new(move || p::window(a[0], true)),
            "window-ok" => Arc::new(move || p::window(a[0], false)),
            other => panic!("unknown program {other}"),
        };
        f
    }};
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let opt = |name: &str, default: u64| -> u64 {
        args.iter()
            .position(|a| a == name)
            .map(|i| args[i + 1].parse().unwrap())
            .unwrap_or(default)
    };
    let (tool, strategy, spec) = (args[0].as_str(), args[1].clone(), args[2].clone());
    let seed = opt("--seed", 1);
    let secs = opt("--secs", 10);
    let max = opt("--max", u64::MAX >> 1) as usize;
    let quiet = !args.iter().any(|a| a == "--loud");
    if quiet {
        std::panic::set_hook(Box::new(|_| {}));
    }

    let start = Instant::now();
    let result = match tool {
        "loom" => {
            let f = pick!(on_loom, spec);
            let mut b = loom::model::Builder::new();
            b.preemption_bound = match strategy.as_str() {
                "none" => None,
                n => Some(n.parse().unwrap()),
            };
            // loom looks at its own limits only once per checkpoint interval
            b.checkpoint_interval = 64;
            b.max_branches = 100_000;
            b.max_duration = Some(Duration::from_secs(secs));
            if max < usize::MAX >> 1 {
                b.max_permutations = Some(max);
            }
            catch_unwind(AssertUnwindSafe(|| {
                b.check(move || {
                    EXECUTIONS.fetch_add(1, Relaxed);
                    f()
                })
            }))
        }
        "shuttle" => {
            use shuttle::scheduler::*;
            let f = pick!(on_shuttle, spec);
            let mut c = shuttle::Config::new();
            c.silence_warnings = true;
            if quiet {
                c.failure_persistence = shuttle::FailurePersistence::None;
            }
            c.max_time = Some(Duration::from_secs(secs));
            let g = move || {
                EXECUTIONS.fetch_add(1, Relaxed);
                f()
            };
            catch_unwind(AssertUnwindSafe(|| {
                match strategy.as_str() {
                    "random" => shuttle::Runner::new(RandomScheduler::new_from_seed(seed, max), c).run(g),
                    s if s.starts_with("pct") => {
                        let depth = s[3..].parse().unwrap();
                        shuttle::Runner::new(PctScheduler::new_from_seed(seed, depth, max), c).run(g)
                    }
                    "urw" => shuttle::Runner::new(UrwRandomScheduler::new_from_seed(seed, max), c).run(g),
                    "dfs" => shuttle::Runner::new(DfsScheduler::new(Some(max), false), c).run(g),
                    other => panic!("unknown strategy {other}"),
                };
            }))
        }
        "fabius" => {
            let f = pick!(on_fabius, spec);
            let most = max as u64;
            let c = fabius::Config::new().seed(seed).time(Duration::from_secs(secs)).max_steps(100_000).executions(most);
            let c = match strategy.as_str() {
                "none" => c.exhaustive(),
                "dfs" => c.exhaustive().without_reduction(),
                "default" => fabius::Config::new().seed(seed),
                "icb" => c.iterative_preemptions(),
                "random" => c.random(most),
                "pos" => c.pos(most),
                "urw" => c.urw(most),
                "surw" => c.surw(most),
                s if s.starts_with("pct") => c.pct(s[3..].parse().unwrap(), most),
                s if s.starts_with("sets") => c.preemptions(s[4..].parse().unwrap()).persistent_sets(),
                s if s.starts_with("delays") => c.delays(s[6..].parse().unwrap()),
                n => c.preemptions(n.parse().unwrap()),
            };
            let c = if args.iter().any(|a| a == "--sc") { c.sequentially_consistent() } else { c };
            let is_relaxed = args.iter().any(|a| a == "--relaxed");
            let report = c.explore(move || {
                if is_relaxed {
                    fabius::sync::atomic::AtomicUsize::new(0).store(1, Relaxed);
                }
                f()
            });
            EXECUTIONS.store((report.executions + report.walks) as usize, Relaxed);
            match report.verdict {
                fabius::Verdict::Bug { .. } => Err(Box::new("BUG".to_string()) as Box<dyn std::any::Any + Send>),
                _ => Ok(()),
            }
        }
        other => panic!("unknown tool {other}"),
    };
    let t = start.elapsed().as_secs_f64();
    let cpu = cpu_secs();
    let n = EXECUTIONS.load(Relaxed);
    let end = match &result {
        Err(e) => {
            let m = e
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| e.downcast_ref::<&str>().map(|s| s.to_string()))
                .unwrap_or_else(|| "?".into());
            if m.contains("BUG") || m.contains("deadlock") {
                "bug".to_string()
            } else {
                format!("other panic: {}", m.replace('"', "'").replace('\n', " ").chars().take(90).collect::<String>())
            }
        }
        Ok(()) if t >= secs as f64 => "timeout".to_string(),
        Ok(()) if n >= max => "cap".to_string(),
        Ok(()) => "complete".to_string(),
    };
    println!(
        "{{\"tool\":\"{tool}\",\"strategy\":\"{strategy}\",\"program\":\"{spec}\",\"seed\":{seed},\"executions\":{n},\"secs\":{t:.4},\"cpu\":{cpu:.4},\"per_cpu_sec\":{:.0},\"rss_mib\":{},\"end\":\"{end}\"}}",
        n as f64 / cpu,
        max_rss_mib()
    );
}

fn cpu_secs() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}

fn max_rss_mib() -> i64 {
    let mut r: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut r) };
    r.ru_maxrss / 1024
}
