//! What is asked about a program: the properties of SV-COMP. The others of its faults then end the process, or are not followed.

use crate::core::*;
use fabius_lang::program::*;
use fabius_trace::Span;

/// A property of SV-COMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// `reach_error` is not called.
    UnreachCall,
    /// No two accesses race.
    NoDataRace,
    /// Pointers that are followed or freed are valid, and no memory is lost.
    ValidMemsafety,
    /// All memory is freed at the end.
    ValidMemcleanup,
    /// No signed result overflows.
    NoOverflow,
}

impl Property {
    /// All of them.
    pub const ALL: [Property; 5] = [
        Property::UnreachCall,
        Property::NoDataRace,
        Property::ValidMemsafety,
        Property::ValidMemcleanup,
        Property::NoOverflow,
    ];

    /// What SV-COMP calls it.
    pub fn name(self) -> &'static str {
        match self {
            Property::UnreachCall => "unreach-call",
            Property::NoDataRace => "no-data-race",
            Property::ValidMemsafety => "valid-memsafety",
            Property::ValidMemcleanup => "valid-memcleanup",
            Property::NoOverflow => "no-overflow",
        }
    }

    /// What its file says.
    pub fn specification(self) -> &'static str {
        match self {
            Property::UnreachCall => "CHECK( init(main()), LTL(G ! call(reach_error())) )",
            Property::NoDataRace => "CHECK( init(main()), LTL(G ! data-race) )",
            Property::ValidMemsafety => {
                "CHECK( init(main()), LTL(G valid-free) )\nCHECK( init(main()), LTL(G valid-deref) )\n\
                 CHECK( init(main()), LTL(G valid-memtrack) )"
            }
            Property::ValidMemcleanup => "CHECK( init(main()), LTL(G valid-memcleanup) )",
            Property::NoOverflow => "CHECK( init(main()), LTL(G ! overflow) )",
        }
    }

    /// The property of this name.
    pub fn of_name(name: &str) -> Option<Property> {
        Property::ALL.into_iter().find(|p| p.name() == name)
    }

    /// The property that a file asks about, if it is one of them.
    pub fn of_text(text: &str) -> Option<Property> {
        let bare = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        let asked = bare(text);
        let old = asked.replace("__VERIFIER_error", "reach_error");
        Property::ALL.into_iter().find(|p| {
            let mut wanted: Vec<String> = p.specification().lines().map(bare).collect();
            let mut given: Vec<String> = old.split_inclusive("))").fold(Vec::new(), join);
            wanted.sort_unstable();
            given.sort_unstable();
            given == wanted
        })
    }

    /// Whether this is what is asked about.
    fn is_violated_by(self, check: Check) -> bool {
        match self {
            Property::UnreachCall => check == Check::Assertion,
            Property::NoDataRace => false,
            Property::ValidMemsafety => {
                matches!(check, Check::Null | Check::OutOfBounds | Check::Memory | Check::Leak)
            }
            Property::ValidMemcleanup => check == Check::Leak,
            Property::NoOverflow => check == Check::Overflow,
        }
    }
}

/// Puts the parts of one `CHECK(..)` together again.
fn join(mut all: Vec<String>, part: &str) -> Vec<String> {
    match all.last_mut() {
        Some(last) if last.matches('(').count() > last.matches(')').count() => last.push_str(part),
        _ => all.push(part.into()),
    }
    all
}

/// The faults that nobody asks about: behind an abort the process has ended; what else goes wrong is not followed.
pub(crate) fn restrict(program: &mut Program, property: Property) {
    let ends = match program.globals.iter().position(|g| g.name == ENDS) {
        Some(id) => id,
        None => {
            let (init, span) = (Value::Int(0), Span::default());
            program.globals.push(Global {
                name: ENDS.into(),
                ty: Type::Bool,
                init,
                class: Class::Data,
                per_thread: true,
                span,
            });
            program.globals.len() - 1
        }
    };
    for proc in &mut program.procs {
        in_block(&mut proc.body, property, ends, false);
    }
}

fn in_block(block: &mut Block, property: Property, ends: GlobalId, in_atomic: bool) {
    for s in block {
        match &mut s.kind {
            StmtKind::If(_, a, b) => {
                in_block(a, property, ends, in_atomic);
                in_block(b, property, ends, in_atomic);
            }
            StmtKind::While(_, b) => in_block(b, property, ends, in_atomic),
            StmtKind::Atomic(b) => in_block(b, property, ends, true),
            StmtKind::Assert(e, check, words) if !property.is_violated_by(*check) => match check {
                Check::Bound => {}
                Check::Assertion | Check::Null => {
                    let place = Place { base: Base::Global(ends), path: Vec::new(), ty: Type::Bool, span: s.span };
                    let mut end = Block::new();
                    if !in_atomic {
                        end.push(stmt(StmtKind::Await(boolean(true, s.span)), s.span));
                    }
                    end.push(stmt(StmtKind::Assume(read(place)), s.span));
                    s.kind = StmtKind::If(Guard::Expr(not(e.clone())), end, Vec::new());
                }
                _ => {
                    let words = words.take().unwrap_or_default();
                    s.kind = StmtKind::Assert(e.clone(), Check::Bound, Some(words));
                }
            },
            _ => {}
        }
    }
}
