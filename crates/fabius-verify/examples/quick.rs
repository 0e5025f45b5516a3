fn main() {
    let args: Vec<String> = std::env::args().collect();
    let source = std::fs::read_to_string(&args[1]).unwrap();
    let consts: Vec<(String, String)> = args[4..]
        .iter()
        .map(|a| {
            let (n, v) = a.split_once('=').unwrap();
            (n.into(), v.into())
        })
        .collect();
    let program = fabius_lang::compile(&source, &fabius_lang::Options { consts }).unwrap();
    let id = fabius_verify::program_id(&args[1], &source, &[], &[]);
    let bound = if args[2] == "none" { fabius_trace::Bound::None } else { fabius_trace::Bound::Preemptions };
    let plan = fabius_verify::Plan { bound, jobs: args[3].parse().unwrap(), ..Default::default() };
    let report = fabius_verify::check(&program, &id, &plan, &false.into(), &|_| {}).unwrap();
    let l = report.levels.last().unwrap();
    println!(
        "{:?} {:?} {:.2}s states/s {:.0} trans/s {:.0} bytes/state {:.1}",
        report.verdict.exit_code(),
        l,
        report.elapsed.as_secs_f64(),
        l.states as f64 / report.elapsed.as_secs_f64(),
        l.transitions as f64 / report.elapsed.as_secs_f64(),
        report.memory as f64 / l.states as f64
    );
}
