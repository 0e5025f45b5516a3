//! Random programs in Promela: SPIN says what we say, and the machine has the states of the reference semantics.

mod common;

use common::{Said, answer, compiled, folder, is_there, spin};
use fabius_explore::system::{Choose, End, Snapshot, StepLog, System, TaskId};
use fabius_machine::Machine;
use fabius_semantics::Reference;
use fabius_trace::Points;
use std::collections::BTreeSet;

fn condition(rng: &mut fastrand::Rng) -> &'static str {
    ["x == 0", "x == y", "f", "!f", "y > 1", "x != y && f", "len(c) == 1", "full(c)", "c?[1]", "t < 2"][rng.usize(..10)]
}

/// A statement; `deep`: how many more may stand inside.
fn statement(rng: &mut fastrand::Rng, deep: u32) -> String {
    let many = |rng: &mut fastrand::Rng, deep: u32| {
        let all: Vec<String> = (0..rng.usize(1..4)).map(|_| statement(rng, deep)).collect();
        all.join("; ")
    };
    match rng.u32(..if deep == 0 { 14 } else { 20 }) {
        0 => "x = (x + 1) % 3".into(),
        1 => "y = x".into(),
        2 => "f = !f".into(),
        3 => condition(rng).into(),
        4 => "c!x".into(),
        5 => "c?t".into(),
        6 => "c?1".into(),
        7 => "d!x,1".into(),
        8 => "d?t,_".into(),
        9 => "d?2,t".into(),
        10 => "t = x; x = t".into(),
        11 => format!("assert({} || x < 2 || f)", condition(rng)),
        12 => "skip".into(),
        13 => "c??2".into(),
        // A loop inside of a step is left in more ways than can be tried.
        14 => format!("atomic {{ {} }}", many(rng, 0)),
        15 => format!(
            "d_step {{ {}; x = 2 - x; if :: f -> y = 1 :: x > 0 -> y = 0 :: else -> f = true fi }}",
            condition(rng)
        ),
        16 => format!("do :: {} :: {} -> break od", many(rng, deep - 1), condition(rng)),
        17 => {
            format!("do :: {} -> {} :: else -> {}; break od", condition(rng), many(rng, deep - 1), many(rng, deep - 1))
        }
        18 => format!("if :: {} :: {} fi", many(rng, deep - 1), many(rng, deep - 1)),
        _ => format!(
            "if :: {} -> {} :: {} -> goto again :: else -> skip fi",
            condition(rng),
            many(rng, deep - 1),
            condition(rng)
        ),
    }
}

fn random(seed: u64) -> String {
    let mut rng = fastrand::Rng::with_seed(seed);
    // With room or without.
    let room = rng.usize(..2);
    let mut source = format!("byte x, y; bool f; chan c = [1] of {{ byte }}; chan d = [{room}] of {{ byte, byte }};\n");
    for process in 0..rng.usize(2..4) {
        let all: Vec<String> = (0..rng.usize(1..5)).map(|_| statement(&mut rng, 2)).collect();
        let back = ["", "; goto again"][rng.usize(..2)];
        source += &format!("active proctype p{process}() {{ byte t; again: skip; {}{back} }}\n", all.join("; "));
    }
    source
}

/// The same with labels `end` in front of waits.
fn with_ends(seed: u64) -> String {
    let source = random(seed);
    let ends = source.replace("again: skip;", "end0: (x != 1 || f); again: skip;");
    ends.replace(" }\n", "; end1: do :: c?t -> x = t :: d?t,1 od }\n")
}

/// The same with processes that are left for something else, and go on only where they may. All channels have room.
fn with_escapes(seed: u64) -> String {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut source = String::new();
    for line in random(seed).replace("[0] of", "[1] of").lines() {
        let Some((head, body)) = line.split_once("again: skip; ") else {
            source += line;
            continue;
        };
        let body = body.trim_end_matches('}');
        let may = [String::new(), format!("provided ({}) ", condition(&mut rng).replace("t < 2", "x < 2"))];
        let head = head.replace("{ byte t;", &format!("{}{{ byte t;", may[rng.usize(..2)]));
        let inner = match rng.usize(..3) {
            0 => format!("{{ {} }} unless {{ {} -> x = 1 }}; y = 2; ", condition(&mut rng), condition(&mut rng)),
            1 => format!(
                "if :: {{ x = 0; f = true }} unless {{ {} -> x = 2 }} :: {} fi; ",
                condition(&mut rng),
                condition(&mut rng)
            ),
            _ => String::new(),
        };
        let escape = format!("{} -> {}", condition(&mut rng), statement(&mut rng, 1));
        source += &format!("{head}again: skip; {{ {inner}{body} }} unless {{ {escape} }} }}\n");
    }
    source
}

/// The same with processes that go on when nobody else can.
fn with_timeouts(seed: u64) -> String {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut source = String::new();
    for line in random(seed).lines() {
        let mut guard = || {
            let condition = condition(&mut rng).replace("len(c) == 1", "f").replace("full(c)", "f");
            let condition = condition.replace("c?[1]", "x == 1");
            let guard = ["timeout".to_string(), format!("timeout && {condition}"), format!("timeout || {condition}")];
            guard[rng.usize(..3)].clone()
        };
        let waits = [
            format!("if :: {} -> x = 1 - x :: {} -> f = !f; y = 2 fi", guard(), guard()),
            format!("do :: {} -> y = 1 :: f -> f = false :: {} -> x = 2; break od", guard(), guard()),
            format!("atomic {{ x = 1; {} -> x = 0; f = true }}", guard()),
            format!("if :: d?t,_ -> skip :: {} -> f = true fi", guard()),
        ];
        let line = line.replace("again: skip;", &format!("again: skip; {};", waits[rng.usize(..waits.len())]));
        source += &line;
        source += "\n";
    }
    source
}

/// Decides choices as it is told, and then as the first; says how many there were.
struct Script {
    given: Vec<u32>,
    met: Vec<(u32, u32)>,
}

impl Choose for Script {
    fn choose(&mut self, alternatives: u32) -> u32 {
        let chosen = self.given.get(self.met.len()).copied().unwrap_or(0);
        self.met.push((chosen, alternatives));
        chosen
    }
}

impl Script {
    /// The next outcomes of the choices, if there are more.
    fn next(mut self) -> Option<Script> {
        while let Some((chosen, alternatives)) = self.met.pop() {
            if chosen + 1 < alternatives {
                let given = self.met.iter().map(|(c, _)| *c).chain([chosen + 1]).collect();
                return Some(Script { given, met: Vec::new() });
            }
        }
        None
    }
}

/// How many states there are, how many of them have nobody who can go on, and how many steps go wrong. `None`: too many.
fn states<S: System + Snapshot>(system: &S) -> Option<(usize, usize, usize)> {
    let mut log = StepLog::default();
    let mut script = Script { given: Vec::new(), met: Vec::new() };
    let Ok(first) = system.initial(&mut script, &mut log) else { return Some((0, 0, 1)) };
    let tasks: Vec<TaskId> = log.born.iter().map(|b| b.task).collect();
    let (mut known, mut open) = (BTreeSet::new(), vec![(first, tasks)]);
    let (mut stuck, mut wrong) = (0, 0);
    while let Some((state, tasks)) = open.pop() {
        let mut bytes = Vec::new();
        system.encode(&state, &mut bytes);
        if !known.insert(bytes) {
            continue;
        }
        if known.len() > 150 {
            return None;
        }
        let ready: Vec<TaskId> = tasks.iter().copied().filter(|t| system.ready(&state, *t)).collect();
        let rest = tasks.iter().all(|t| system.may_rest(&state, *t));
        stuck += usize::from(ready.is_empty()) + usize::from(ready.is_empty() && !rest) * 1000;
        for task in ready {
            let mut script = Some(Script { given: Vec::new(), met: Vec::new() });
            while let Some(mut choices) = script {
                log.clear();
                let mut after = state.clone();
                match system.step(&mut after, task, &mut choices, &mut log) {
                    Err(_) => wrong += 1,
                    Ok(End::Dropped) => {}
                    Ok(end) => {
                        let mut left = tasks.clone();
                        left.retain(|t| *t != task || end != End::Finished);
                        left.extend(log.born.iter().map(|b| b.task));
                        open.push((after, left));
                    }
                }
                script = choices.next();
            }
        }
    }
    Some((known.len(), stuck, wrong))
}

/// Of those of the first programs that are small: how many states there are, where nobody can go on, and where a step goes wrong,
/// which the machine and the reference say alike.
fn compared(seeds: u64, written: fn(u64) -> String) -> Vec<(usize, usize, usize)> {
    let both = |seed| {
        let source = written(seed);
        let program = compiled(&source).unwrap_or_else(|wrong| panic!("{wrong}\n{source}"));
        let machine = states(&Machine::new(&program, Points::All))?;
        assert_eq!(Some(machine), states(&Reference::new(&program, Points::All)), "seed {seed}\n{source}");
        Some(machine)
    };
    (0..seeds).filter_map(both).collect()
}

#[test]
fn the_machine_has_the_states_of_the_reference() {
    let all = compared(1000, random);
    let wrong = all.iter().filter(|(.., wrong)| *wrong > 0).count();
    assert!(all.len() > 200 && wrong > 20, "{} programs were compared, {wrong} go wrong", all.len());
}

#[test]
fn ends_are_those_of_the_reference() {
    let all = compared(300, with_ends);
    let stuck = all.iter().filter(|(_, stuck, _)| *stuck % 1000 > 0 && *stuck < 1000).count();
    assert!(all.len() > 60 && stuck > 1, "{} programs were compared, {stuck} end at their ends alone", all.len());
}

#[test]
fn escapes_are_those_of_the_reference() {
    let all = compared(300, with_escapes);
    assert!(all.len() > 60, "{} programs were compared", all.len());
}

#[test]
fn timeouts_are_those_of_the_reference() {
    let all = compared(300, with_timeouts);
    let stuck = all.iter().filter(|(_, stuck, _)| *stuck > 0).count();
    assert!(all.len() > 40 && stuck > 5, "{} programs were compared, {stuck} get stuck", all.len());
}

#[test]
#[ignore = "a C compiler runs for each program: minutes"]
fn spin_agrees_on_random_programs() {
    if !is_there() {
        return;
    }
    let (mut bugs, mut fine) = (0, 0);
    for seed in 0..400 {
        let source = [random, with_ends, with_escapes, with_timeouts][seed as usize % 4](seed / 4);
        let program = compiled(&source).unwrap_or_else(|wrong| panic!("{wrong}"));
        let (ours, theirs) = (answer(&program).0, spin(&source, &folder("random")));
        if theirs.said == Said::Nothing {
            continue;
        }
        assert_eq!(ours, theirs.said, "seed {seed}\n{source}\n{}", theirs.text);
        bugs += usize::from(ours == Said::Bug);
        fine += usize::from(ours == Said::None);
    }
    assert!(bugs >= 20 && fine >= 5, "{bugs} have bugs, {fine} have none");
}
