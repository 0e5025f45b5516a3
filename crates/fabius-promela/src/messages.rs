//! Records in messages: each of their fields is a field of the message, as for SPIN.

use crate::ast::{Expr as Tree, ExprKind as Kind, Lvalue, Name, Ty};
use crate::lower::Lower;
use crate::refusal::{Result, wrong};
use fabius_trace::Span;

impl Lower {
    /// The fields of messages, with those of records in their place.
    pub fn spread_fields(&self, fields: &[Ty], span: Span) -> Result<Vec<Ty>> {
        let mut out = Vec::new();
        for ty in fields {
            let Ty::Named(name) = ty else {
                out.push(ty.clone());
                continue;
            };
            let Some((_, inner)) = self.typedefs.get(name) else {
                return Err(wrong(span, format!("there is no type `{name}`")));
            };
            for field in inner {
                let one = self.spread_fields(std::slice::from_ref(&field.ty), span)?;
                (0..field.len.unwrap_or(1)).for_each(|_| out.extend(one.iter().cloned()));
            }
        }
        Ok(out)
    }

    /// What is sent or received, with the fields of records in their place.
    pub fn spread(&mut self, args: &[Tree]) -> Vec<Tree> {
        let mut out = Vec::new();
        for arg in args {
            match self.record_of(arg) {
                Some((place, record)) => {
                    let inner = self.typedefs[&record].1.clone();
                    for field in inner {
                        let parts = (0..field.len.unwrap_or(1)).map(|n| {
                            let mut place = place.clone();
                            let index = field.len.map(|_| Tree { kind: Kind::Number(n.into()), span: arg.span });
                            place.parts.push((Name { text: field.name.clone(), span: arg.span }, index));
                            Tree { kind: Kind::Read(place), span: arg.span }
                        });
                        let parts: Vec<Tree> = parts.collect();
                        out.extend(self.spread(&parts));
                    }
                }
                None => out.push(arg.clone()),
            }
        }
        out
    }

    /// The place of a record, and its type.
    fn record_of(&mut self, arg: &Tree) -> Option<(Lvalue, String)> {
        let Kind::Read(place) = &arg.kind else { return None };
        match self.place(place).ok()?.ty {
            Ty::Named(record) => Some((place.clone(), record)),
            _ => None,
        }
    }
}
