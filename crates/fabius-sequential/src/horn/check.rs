//! Whether definitions of the predicates are a solution of the clauses.
//!
//! Each clause with the definitions put in is a question of its own, without any Horn clauses, which a solver answers in a
//! fresh run. Nothing that the first run knew is used but the text of the definitions.

use super::text::{sort_name, violation};
use super::{Clauses, Predicate};
use fabius_smt::{Limits, run_script};
use std::path::Path;

/// What a check of definitions says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checked {
    /// Every clause holds.
    Holds,
    /// A clause does not hold, or a predicate has no definition: which.
    Fails(String),
    /// The solver gave up.
    Open(String),
}

/// Checks the model that a solver printed: a list of `define-fun`.
///
/// # Errors
/// The solver cannot be started.
pub fn check(clauses: &Clauses, model: &str, solver: &Path, limits: &Limits<'_>) -> Result<Checked, String> {
    let definitions = match definitions(model) {
        Ok(definitions) => definitions,
        Err(why) => return Ok(Checked::Fails(why)),
    };
    let mut script = String::from("(set-logic ALL)\n");
    for predicate in &clauses.predicates {
        let named: Vec<&&str> = definitions.iter().filter(|d| name_of(d) == Some(&predicate.name)).collect();
        match named.as_slice() {
            [one] if defines(one, predicate) => {}
            [] => return Ok(Checked::Fails(format!("{} has no definition", predicate.name))),
            _ => return Ok(Checked::Fails(format!("{} is defined otherwise than declared", predicate.name))),
        }
    }
    for definition in definitions {
        script.push_str(definition);
        script.push('\n');
    }
    for clause in &clauses.clauses {
        script += &violation(clauses, clause);
    }
    let Some(said) = run_script(solver, &script, limits)? else {
        return Ok(Checked::Open("the limits were hit".into()));
    };
    let mut answers = said.lines().map(str::trim);
    for (n, clause) in clauses.clauses.iter().enumerate() {
        let of = clause
            .head
            .as_ref()
            .map_or("an assertion".into(), |a| format!("`{}`", clauses.predicates[a.predicate].name));
        match answers.next() {
            Some("unsat") => {}
            Some("sat") => return Ok(Checked::Fails(format!("clause {n}, for {of}, does not hold"))),
            Some("unknown") => return Ok(Checked::Open(format!("clause {n}, for {of}"))),
            Some(other) => return Ok(Checked::Fails(format!("the definitions are not understood: {other}"))),
            None => return Ok(Checked::Open(format!("the solver ended before clause {n}"))),
        }
    }
    match answers.next() {
        None => Ok(Checked::Holds),
        Some(more) => Ok(Checked::Fails(format!("the definitions say more than they should: {more}"))),
    }
}

/// The definitions in a model: lists inside of one list, each of which begins with `define-fun`.
fn definitions(model: &str) -> Result<Vec<&str>, String> {
    let inside = model.trim().strip_prefix('(').and_then(|m| m.strip_suffix(')'));
    let Some(inside) = inside else { return Err("the model is no list".into()) };
    let inside = inside.trim().strip_prefix("model").unwrap_or(inside);
    let (mut all, mut depth, mut begin) = (Vec::new(), 0usize, 0);
    for (i, c) in inside.char_indices() {
        match c {
            '(' => {
                if depth == 0 {
                    begin = i;
                }
                depth += 1;
            }
            ')' if depth == 0 => return Err("the model has too many parentheses".into()),
            ')' => {
                depth -= 1;
                if depth == 0 {
                    all.push(&inside[begin..=i]);
                }
            }
            '"' | '|' | ';' => return Err(format!("the model has `{c}` in it")),
            c if depth == 0 && !c.is_whitespace() => return Err(format!("the model has `{c}` between definitions")),
            _ => {}
        }
    }
    match all.iter().find(|d| name_of(d).is_none()) {
        Some(other) => {
            Err(format!("the model has something else than definitions: {}", other.lines().next().unwrap_or("")))
        }
        None if depth > 0 => Err("the model ends too early".into()),
        None => Ok(all),
    }
}

fn name_of(definition: &str) -> Option<&str> {
    definition.strip_prefix("(define-fun ")?.split_whitespace().next()
}

/// Whether a definition has the sorts of the predicate.
fn defines(definition: &str, predicate: &Predicate) -> bool {
    let words: String = definition.replace('(', " ( ").replace(')', " ) ");
    let mut words = words.split_whitespace().skip(3);
    if words.next() != Some("(") {
        return false;
    }
    for argument in &predicate.arguments {
        let [open, _name, sort, close] = [words.next(), words.next(), words.next(), words.next()];
        if (open, sort, close) != (Some("("), Some(sort_name(argument.sort)), Some(")")) {
            return false;
        }
    }
    words.next() == Some(")") && words.next() == Some("Bool")
}
