//! Which atomic blocks wait elsewhere than at their beginning: these can go on only if some way through them does.

use crate::program::{Block, Program, Stmt, StmtKind};
use crate::walk::{decided, statements};

/// Which procedures wait, those that they call included.
#[derive(Clone, Debug, Default)]
pub struct Waits(Vec<bool>);

impl Waits {
    /// Looks at a program.
    pub fn of(program: &Program) -> Waits {
        let mut waits = Waits(vec![false; program.procs.len()]);
        loop {
            let now: Vec<bool> = program.procs.iter().map(|p| waits.find(&p.body, None).is_some()).collect();
            if now == waits.0 {
                return waits;
            }
            waits.0 = now;
        }
    }

    /// The statement that waits in an atomic block, or calls what does, and is not its first one.
    pub fn midway<'p>(&self, block: &'p Block) -> Option<&'p Stmt> {
        self.find(block, first(block))
    }

    /// Whether the procedure waits.
    pub fn procedure(&self, proc: usize) -> bool {
        self.0[proc]
    }

    fn find<'p>(&self, block: &'p Block, but: Option<&'p Stmt>) -> Option<&'p Stmt> {
        let mut found = None;
        statements(block, &mut |s| {
            let waits = match &s.kind {
                StmtKind::Join(_) => true,
                StmtKind::Await(e) => decided(e) != Some(true),
                StmtKind::Call(_, p, _) => self.0[*p],
                _ => false,
            };
            if waits && found.is_none() && !but.is_some_and(|but| std::ptr::eq(but, s)) {
                found = Some(s);
            }
        });
        found
    }
}

/// The `await` or `join` that a block begins with.
fn first(block: &Block) -> Option<&Stmt> {
    let s = block.first()?;
    match &s.kind {
        StmtKind::Atomic(inner) => first(inner),
        StmtKind::Await(_) | StmtKind::Join(_) => Some(s),
        _ => None,
    }
}
