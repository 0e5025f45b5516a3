//! ATOMIC, for blocks that wait elsewhere than at their beginning: enabled if some way through the block comes to no false
//! `await` or `join`. What a way does before it comes to one is undone: it was done to a copy.
//!
//! A way that ends otherwise, in an error or a false `assume`, can be gone. One that only comes back to where it was cannot.

use crate::config::{Config, Whereabouts};
use crate::layout::Layout;
use crate::rules::{Effect, dispatch};
use crate::run::{Blind, MAX_STATEMENTS, Run, inside_atomic, next_statement};
use crate::value::TaskId;
use fabius_explore::system::{Choose, Fault, StepLog};
use fabius_explore::ways::Ways;
use fabius_lang::program::{Guard, Program, StmtKind};

/// Whether the task, which stands in front of an atomic block after what does nothing, can go through it.
pub fn can_go_through(program: &Program, layout: &Layout, config: &Config, task: TaskId) -> bool {
    let mut ways = Ways::default();
    loop {
        let way = go(program, layout, config.clone(), task, &mut ways);
        let ends = match way {
            Ok(Effect::Blocked) => false,
            Ok(Effect::Dropped) => !ways.came_back(),
            _ => true,
        };
        if ends {
            return true;
        }
        if !ways.advance() {
            return false;
        }
    }
}

/// One way.
fn go(program: &Program, layout: &Layout, mut config: Config, task: TaskId, ways: &mut Ways) -> Result<Effect, Fault> {
    let n = match config.find(task).expect("only unfinished tasks are asked for") {
        Whereabouts::Stack(n, _) => n,
        Whereabouts::Pending(n, at) => {
            dispatch(config.buffers.get_mut(&n).expect("it was just found"), at);
            n
        }
    };
    let frame = config.frame_mut(n);
    frame.control.pass_all(&program.procs[frame.proc]);
    for statement in 0..MAX_STATEMENTS {
        let running = config.buffers[&n].innermost().expect("a task runs until it is past its block");
        if statement > 0 && !inside_atomic(program, running) {
            break;
        }
        if next_statement(program, running).is_some_and(|s| chooses(&s.kind)) && comes_back(&config, ways) {
            return Ok(Effect::Dropped);
        }
        let mut log = StepLog::default();
        let mut run = Run { program, layout, choose: ways, log: &mut log, observer: &mut Blind };
        match run.one_with_births(&mut config, n)? {
            Effect::Went => {}
            end => return Ok(end),
        }
    }
    Ok(Effect::Went)
}

fn chooses(kind: &StmtKind) -> bool {
    matches!(
        kind,
        StmtKind::If(Guard::Star, ..) | StmtKind::While(Guard::Star, _) | StmtKind::Any(..) | StmtKind::SetRemoveAny(_)
    )
}

fn comes_back(config: &Config, ways: &mut Ways) -> bool {
    ways.comes_back(&mut |out| {
        let mut bytes = Vec::new();
        crate::codec::encode(config, &mut bytes);
        out.extend(bytes.chunks(8).map(|word| i64::from_le_bytes(word.try_into().expect("a number has eight bytes"))));
    })
}
