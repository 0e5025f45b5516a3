//! What the messages of an endpoint come to is known where all of them are received, whoever gets which.
//!
//! A sum over all receives of an endpoint is the sum of what is sent to it. Without this a solver has to try the matchings one
//! after the other to see that a sum is the same in all of them: their number grows as n! does, and so does a proof by clauses.
//!
//! A comparison is brought into the form `c1 x1 + c2 x2 + .. < c0`. Where all variables that an endpoint's messages are stored
//! in have the same coefficient, what was sent takes their place, as long as there is such an endpoint. Only complete runs are
//! asked about where this is used, in which each of these messages is received once; that numbers stay within 64 bits is looked
//! after elsewhere (`ranges.rs`).

use crate::ctp::{CommandKind, Ctp, Expr, Operator, VariableId};
use std::collections::{BTreeMap, HashMap};

/// A sum of variables, each some times, and of a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// How often each variable counts; never 0.
    pub times: BTreeMap<VariableId, i128>,
    /// The number.
    pub number: i128,
}

/// What is known of the sums of a program.
#[derive(Default)]
pub struct Sums<'a> {
    /// For each endpoint whose messages are all received: where they are stored, and what they are.
    endpoints: Vec<(Vec<VariableId>, Vec<&'a Expr>)>,
    /// For each variable to which a sum is assigned: the place in its node, and the sum.
    assigned: HashMap<VariableId, (usize, &'a Expr)>,
}

impl<'a> Sums<'a> {
    /// `all_received` says of each endpoint whether each message to it is received in every run that is asked about.
    pub fn new(ctp: &'a Ctp, all_received: &[bool]) -> Sums<'a> {
        let mut endpoints = Vec::new();
        for (endpoint, _) in ctp.endpoints.iter().zip(all_received).filter(|(e, all)| **all && e.receives.len() > 1) {
            let sent: Vec<&Expr> = endpoint.incoming.iter().map(|s| &ctp.sends[*s].value).collect();
            if sent.iter().all(|e| is_sum(e)) {
                endpoints.push((endpoint.receives.iter().map(|r| ctp.receives[*r].variable).collect(), sent));
            }
        }
        let mut assigned = HashMap::new();
        for node in &ctp.nodes {
            for (at, command) in node.commands.iter().enumerate() {
                match &command.kind {
                    CommandKind::Assign(x, e) if is_sum(e) => drop(assigned.insert(*x, (at, e))),
                    _ => {}
                }
            }
        }
        Sums { endpoints, assigned }
    }

    /// The difference of two numbers, if some endpoint's messages have gone into it as a whole: then it is about other
    /// variables than the numbers are.
    pub fn difference(&self, a: &Expr, b: &Expr) -> Option<Sum> {
        if self.endpoints.is_empty() || !is_sum(a) || !is_sum(b) {
            return None;
        }
        let mut sum = Sum::default();
        sum.add(a, 1)?;
        sum.add(b, -1)?;
        let mut open: Vec<&(Vec<VariableId>, Vec<&Expr>)> = self.endpoints.iter().collect();
        let mut settled = false;
        // A variable may come back by what was sent: as often as messages are put in for others.
        for _ in 0..=self.endpoints.len() {
            self.unfold(&mut sum)?;
            let Some(found) = open.iter().position(|(variables, _)| sum.times_all(variables).is_some()) else { break };
            let (variables, sent) = open.swap_remove(found);
            let times = sum.times_all(variables)?;
            sum.times.retain(|x, _| !variables.contains(x));
            sent.iter().try_for_each(|e| sum.add(e, times))?;
            settled = true;
        }
        settled.then_some(sum)
    }

    /// Calls `f` with every variable that the truth of an expression depends on.
    pub fn each_variable(&self, e: &Expr, f: &mut impl FnMut(VariableId)) {
        use Operator::{And, Eq, Ge, Gt, Le, Lt, Ne, Or};
        match e {
            Expr::Not(e) => self.each_variable(e, f),
            Expr::Binary(And | Or, a, b) => {
                self.each_variable(a, f);
                self.each_variable(b, f);
            }
            Expr::Binary(Eq | Ne | Lt | Le | Gt | Ge, a, b) => match self.difference(a, b) {
                Some(sum) => sum.times.into_keys().for_each(f),
                None => e.each_variable(f),
            },
            _ => e.each_variable(f),
        }
    }

    /// Puts the values of assigned variables in their place. Those of later assignments of a node come first, since they may
    /// be made of earlier ones: so each is met once.
    fn unfold(&self, sum: &mut Sum) -> Option<()> {
        for _ in 0..=self.assigned.len() {
            let known = sum.times.keys().filter_map(|x| Some((self.assigned.get(x)?, *x)));
            let Some(((_, value), x)) = known.max_by_key(|((at, _), _)| *at) else { return Some(()) };
            let times = sum.times.remove(&x)?;
            sum.add(value, times)?;
        }
        None
    }
}

impl Sum {
    /// Adds a sum so many times; `None` if the numbers get too large.
    fn add(&mut self, e: &Expr, times: i128) -> Option<()> {
        match e {
            Expr::Const(v) => self.number = self.number.checked_add(i128::from(*v).checked_mul(times)?)?,
            Expr::Variable(x) => {
                let now = self.times.get(x).copied().unwrap_or(0).checked_add(times)?;
                match now {
                    0 => drop(self.times.remove(x)),
                    _ => drop(self.times.insert(*x, now)),
                }
            }
            Expr::Binary(Operator::Add, a, b) => {
                self.add(a, times)?;
                self.add(b, times)?;
            }
            Expr::Binary(Operator::Sub, a, b) => {
                self.add(a, times)?;
                self.add(b, times.checked_neg()?)?;
            }
            Expr::Binary(Operator::Mul, a, b) => match (a.as_ref(), b.as_ref()) {
                (Expr::Const(v), e) | (e, Expr::Const(v)) => self.add(e, times.checked_mul(i128::from(*v))?)?,
                _ => return None,
            },
            _ => return None,
        }
        Some(())
    }

    /// How often each of these variables counts, if all count alike.
    fn times_all(&self, variables: &[VariableId]) -> Option<i128> {
        let times = *self.times.get(variables.first()?)?;
        variables.iter().all(|x| self.times.get(x) == Some(&times)).then_some(times)
    }
}

/// Whether an expression is a sum of variables, each some times, and numbers.
fn is_sum(e: &Expr) -> bool {
    match e {
        Expr::Const(_) | Expr::Variable(_) => true,
        Expr::Binary(Operator::Add | Operator::Sub, a, b) => is_sum(a) && is_sum(b),
        Expr::Binary(Operator::Mul, a, b) => match (a.as_ref(), b.as_ref()) {
            (Expr::Const(_), e) | (e, Expr::Const(_)) => is_sum(e),
            _ => false,
        },
        _ => false,
    }
}
