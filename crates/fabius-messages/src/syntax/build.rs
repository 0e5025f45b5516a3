//! Builds the trace program command by command, and checks that it is well-formed while it does.
//!
//! Paper: Proving MCAPI Executions are Correct, Applying SMT to Message Passing (P4), Figure 3.
//!
//! Deviations:
//! 1. What the paper's grammar does not say but its encoding relies on is checked: names of requests are unique, a request
//!    is waited for once and by its own node, a variable is assigned once, and read only after a command that completes its
//!    receive, an endpoint belongs to one node.
//! 2. Variables belong to their node: there is no shared memory.

use super::{DEEPEST, Word};
use crate::ctp::{
    Channel, ChannelId, Command, CommandKind, Ctp, Endpoint, EndpointId, Expr, Mark, MarkId, Node, Operator, Receive,
    Request, Send, VariableId,
};
use fabius_trace::{Diagnostic, Span};
use std::collections::HashMap;

/// The trace program under construction.
pub(super) struct Build {
    ctp: Ctp,
    wrong: Vec<Diagnostic>,
    endpoints: HashMap<String, EndpointId>,
    channels: HashMap<(EndpointId, EndpointId), ChannelId>,
    /// Who an endpoint belongs to, and where that was seen.
    owners: HashMap<EndpointId, (usize, Span)>,
    requests: HashMap<String, Known>,
    nodes: HashMap<String, Span>,
    marks: HashMap<String, (MarkId, Span)>,
    /// What waits for marks, which may stand further below: the node, the command, and the name.
    orders: Vec<(usize, usize, Word)>,
    /// Variables of the current node.
    variables: HashMap<String, (VariableId, Span, Readable)>,
}

#[derive(Clone, Copy)]
struct Known {
    request: Request,
    node: usize,
    posted: Span,
    completed: Option<Span>,
}

/// When a variable has its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Readable {
    Now(Type),
    /// When this receive is completed.
    Later(usize),
    /// Something about it was wrong already.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Number,
    Truth,
    /// Of something that was wrong already.
    Any,
}

impl Type {
    fn name(self) -> &'static str {
        match self {
            Type::Number => "a number",
            Type::Truth => "a truth value",
            Type::Any => "anything",
        }
    }
}

/// An expression with what is known of it.
#[derive(Clone)]
pub(super) struct Typed {
    pub expr: Expr,
    pub of: Type,
    pub span: Span,
    /// Operators inside of each other; [`REPORTED`]: too many, as has been said.
    pub depth: usize,
}

const REPORTED: usize = usize::MAX;

impl Typed {
    fn leaf(expr: Expr, of: Type, span: Span) -> Typed {
        Typed { expr, of, span, depth: 0 }
    }
}

fn diagnostic(code: &'static str, message: String, span: Span, label: &str) -> Diagnostic {
    Diagnostic { code, message, span, label: label.into(), related: Vec::new(), help: None }
}

impl Build {
    pub fn new(source: &str, wrong: Vec<Diagnostic>) -> Build {
        let ctp = Ctp { source: source.into(), ..Ctp::default() };
        Build {
            ctp,
            wrong,
            endpoints: HashMap::new(),
            channels: HashMap::new(),
            owners: HashMap::new(),
            requests: HashMap::new(),
            nodes: HashMap::new(),
            marks: HashMap::new(),
            orders: Vec::new(),
            variables: HashMap::new(),
        }
    }

    pub fn report(&mut self, diagnostic: Diagnostic) {
        self.wrong.push(diagnostic);
    }

    /// From now on commands belong to a node of this name.
    pub fn node(&mut self, name: &Word) {
        if let Some(before) = self.nodes.insert(name.text.clone(), name.span) {
            let mut wrong =
                diagnostic("E0603", format!("there are two nodes `{}`", name.text), name.span, "the second one");
            wrong.related.push((before, "the first one".into()));
            self.report(wrong);
        }
        self.variables.clear();
        self.ctp.nodes.push(Node { name: name.text.clone(), commands: Vec::new() });
    }

    fn here(&self) -> (usize, usize) {
        let node = self.ctp.nodes.len() - 1;
        (node, self.ctp.nodes[node].commands.len())
    }

    fn push(&mut self, span: Span, kind: CommandKind) {
        let node = self.ctp.nodes.len() - 1;
        self.ctp.nodes[node].commands.push(Command { span, kind });
    }

    fn endpoint(&mut self, name: &Word) -> EndpointId {
        let endpoints = &mut self.ctp.endpoints;
        // `@01` is `@1`.
        let name = match name.text.trim_start_matches('0') {
            "" => "0",
            digits if digits.bytes().all(|b| b.is_ascii_digit()) => digits,
            _ => &name.text,
        };
        *self.endpoints.entry(name.to_string()).or_insert_with(|| {
            endpoints.push(Endpoint {
                name: name.to_string(),
                owner: None,
                incoming: Vec::new(),
                receives: Vec::new(),
            });
            endpoints.len() - 1
        })
    }

    /// An endpoint of the current node.
    fn own_endpoint(&mut self, name: &Word) -> EndpointId {
        let (id, node) = (self.endpoint(name), self.here().0);
        let (owner, first) = *self.owners.entry(id).or_insert((node, name.span));
        if owner != node {
            let mut wrong = diagnostic(
                "E0608",
                format!("endpoint `@{}` belongs to node `{}`", name.text, self.ctp.nodes[owner].name),
                name.span,
                "used by another node",
            );
            wrong.related.push((first, "its owner uses it here".into()));
            wrong.help = Some("a node sends from and receives at endpoints of its own; give this node another".into());
            self.report(wrong);
        }
        self.ctp.endpoints[id].owner = Some(owner);
        id
    }

    fn post(&mut self, name: &Word, request: Request) {
        let known = Known { request, node: self.here().0, posted: name.span, completed: None };
        if let Some(before) = self.requests.insert(name.text.clone(), known) {
            let mut wrong =
                diagnostic("E0603", format!("there are two requests `{}`", name.text), name.span, "the second one");
            wrong.related.push((before.posted, "the first one".into()));
            wrong.help = Some("every send and receive of the run has a name of its own".into());
            self.report(wrong);
        }
    }

    pub fn send(&mut self, span: Span, name: &Word, from: &Word, to: &Word, value: Typed) {
        self.expect(&value, Type::Number);
        let (from, to) = (self.own_endpoint(from), self.endpoint(to));
        let channel = *self.channels.entry((from, to)).or_insert_with(|| {
            self.ctp.channels.push(Channel { from, to, sends: Vec::new() });
            self.ctp.channels.len() - 1
        });
        let (node, at) = self.here();
        let id = self.ctp.sends.len();
        let rank = self.ctp.channels[channel].sends.len();
        self.ctp.channels[channel].sends.push(id);
        self.ctp.endpoints[to].incoming.push(id);
        self.ctp.sends.push(Send { name: name.text.clone(), node, at, channel, rank, value: value.expr, wait: None });
        self.post(name, Request::Send(id));
        self.push(span, CommandKind::Send(id));
    }

    pub fn receive(&mut self, span: Span, name: &Word, endpoint: &Word, variable: &Word) {
        let endpoint = self.own_endpoint(endpoint);
        let (node, at) = self.here();
        let id = self.ctp.receives.len();
        let variable = self.define(variable, Readable::Later(id));
        let rank = self.ctp.endpoints[endpoint].receives.len();
        self.ctp.endpoints[endpoint].receives.push(id);
        let name_text = name.text.clone();
        self.ctp.receives.push(Receive { name: name_text, node, at, endpoint, rank, variable, done: None });
        self.post(name, Request::Receive(id));
        self.push(span, CommandKind::Receive(id));
    }

    /// A request of the current node that is not completed yet.
    fn open(&mut self, name: &Word) -> Option<Request> {
        let Some(known) = self.requests.get(&name.text).copied() else {
            let mut wrong =
                diagnostic("E0604", format!("no request `{}` has been posted", name.text), name.span, "not posted yet");
            wrong.help = Some("a wait names a send or receive above it in the same node".into());
            self.report(wrong);
            return None;
        };
        if known.node != self.here().0 {
            let owner = &self.ctp.nodes[known.node].name;
            let mut wrong = diagnostic(
                "E0604",
                format!("request `{}` belongs to node `{owner}`", name.text),
                name.span,
                "posted by another node",
            );
            wrong.related.push((known.posted, "posted here".into()));
            self.report(wrong);
            return None;
        }
        if let Some(before) = known.completed {
            let mut wrong = diagnostic(
                "E0605",
                format!("request `{}` is completed already", name.text),
                name.span,
                "its second completion",
            );
            wrong.related.push((before, "completed here".into()));
            self.report(wrong);
            return None;
        }
        Some(known.request)
    }

    /// The current command completes the request and what was posted earlier at its endpoint.
    fn complete(&mut self, name: &Word, request: Request) {
        let (_, at) = self.here();
        if let Some(known) = self.requests.get_mut(&name.text) {
            known.completed = Some(name.span);
        }
        self.ctp.complete(at, request);
    }

    pub fn wait(&mut self, span: Span, name: &Word) {
        if let Some(request) = self.open(name) {
            self.complete(name, request);
            self.push(span, CommandKind::Wait(request));
        }
    }

    pub fn wait_any(&mut self, span: Span, names: &[Word], chosen: &Word) {
        let requests: Vec<Option<Request>> = names.iter().map(|n| self.open(n)).collect();
        let Some(requests) = requests.into_iter().collect::<Option<Vec<Request>>>() else { return };
        let Some(which) = names.iter().position(|n| n.text == chosen.text) else {
            let mut wrong = diagnostic(
                "E0604",
                format!("`{}` is none of the requests that are waited for", chosen.text),
                chosen.span,
                "not among them",
            );
            wrong.related.push((names[0].span.to(names[names.len() - 1].span), "these are".into()));
            return self.report(wrong);
        };
        self.complete(chosen, requests[which]);
        self.push(span, CommandKind::WaitAny { chosen: requests[which], requests });
    }

    pub fn test(&mut self, span: Span, name: &Word, answer: bool) {
        if let Some(request) = self.open(name) {
            if answer {
                self.complete(name, request);
            }
            self.push(span, CommandKind::Test { request, answer });
        }
    }

    pub fn mark(&mut self, span: Span, name: &Word) {
        let (node, at) = self.here();
        let id = self.ctp.marks.len();
        self.ctp.marks.push(Mark { name: name.text.clone(), node, at });
        if let Some((_, before)) = self.marks.insert(name.text.clone(), (id, name.span)) {
            let mut wrong =
                diagnostic("E0603", format!("there are two marks `{}`", name.text), name.span, "the second one");
            wrong.related.push((before, "the first one".into()));
            self.report(wrong);
        }
        self.push(span, CommandKind::Mark(id));
    }

    pub fn after(&mut self, span: Span, name: &Word) {
        let (node, at) = self.here();
        self.orders.push((node, at, name.clone()));
        // Which mark that is, is known at the end.
        self.push(span, CommandKind::After(0));
    }

    /// All marks are known.
    fn find_marks(&mut self) {
        for (node, at, name) in std::mem::take(&mut self.orders) {
            let Some((id, place)) = self.marks.get(&name.text).copied() else {
                let message = format!("there is no mark `{}`", name.text);
                let mut wrong = diagnostic("E0612", message, name.span, "not marked");
                wrong.help = Some(format!("write `mark {};` in the node that is waited for", name.text));
                self.report(wrong);
                continue;
            };
            if self.ctp.marks[id].node == node {
                let message = format!("mark `{}` is in the same node", name.text);
                let mut wrong = diagnostic("E0612", message, name.span, "waits for its own node");
                wrong.related.push((place, "marked here".into()));
                wrong.help = Some("the commands of a node are ordered as they stand".into());
                self.report(wrong);
            }
            self.ctp.nodes[node].commands[at].kind = CommandKind::After(id);
        }
    }

    pub fn assume(&mut self, span: Span, condition: Typed) {
        self.expect(&condition, Type::Truth);
        self.push(span, CommandKind::Assume(condition.expr));
    }

    pub fn assert(&mut self, span: Span, condition: Typed, why: Option<String>) {
        self.expect(&condition, Type::Truth);
        self.push(span, CommandKind::Assert(condition.expr, why));
    }

    pub fn assign(&mut self, span: Span, variable: &Word, value: Typed) {
        let readable = if value.of == Type::Any { Readable::Unknown } else { Readable::Now(value.of) };
        let variable = self.define(variable, readable);
        self.push(span, CommandKind::Assign(variable, value.expr));
    }

    fn define(&mut self, name: &Word, readable: Readable) -> VariableId {
        let id = self.ctp.variables.len();
        self.ctp.variables.push(name.text.clone());
        if let Some((_, before, _)) = self.variables.insert(name.text.clone(), (id, name.span, readable)) {
            let message = format!("variable `{}` has two values in this node", name.text);
            let mut wrong = diagnostic("E0606", message, name.span, "the second one");
            wrong.related.push((before, "the first one".into()));
            wrong.help = Some("a trace program is straight-line: give each value a variable of its own".into());
            self.report(wrong);
        }
        id
    }

    pub fn variable(&mut self, name: &Word) -> Typed {
        let unknown = Typed::leaf(Expr::Const(0), Type::Any, name.span);
        let Some((id, _, readable)) = self.variables.get(&name.text).copied() else {
            let mut wrong = diagnostic(
                "E0607",
                format!("variable `{}` has no value in this node", name.text),
                name.span,
                "unknown here",
            );
            wrong.help = Some("values come from receives and assignments above, in the same node".into());
            self.report(wrong);
            return unknown;
        };
        let of = match readable {
            Readable::Now(of) => of,
            Readable::Unknown => return unknown,
            Readable::Later(r) if self.ctp.receives[r].done.is_some() => Type::Number,
            Readable::Later(r) => {
                let receive = &self.ctp.receives[r];
                let message = format!("variable `{}` is read before its message has been waited for", name.text);
                let mut wrong = diagnostic("E0607", message, name.span, "not received yet");
                let posted = self.ctp.nodes[receive.node].commands[receive.at].span;
                wrong.related.push((posted, "requested here".into()));
                wrong.help = Some(format!("write `wait {};` first", receive.name));
                self.report(wrong);
                return unknown;
            }
        };
        Typed::leaf(Expr::Variable(id), of, name.span)
    }

    /// A number, which may have a sign.
    pub fn number(&mut self, text: &str, span: Span) -> Typed {
        let value = text.replace('_', "").parse().unwrap_or_else(|_| {
            let message = format!("`{text}` is not a number of at most 64 bits");
            self.report(diagnostic("E0610", message, span, "too large, or not decimal"));
            0
        });
        Typed::leaf(Expr::Const(value), Type::Number, span)
    }

    /// A message of text: digits are the number, other text is the number of its bytes, the first one the highest.
    pub fn text(&mut self, quoted: &str, span: Span) -> Typed {
        let text = unquoted(quoted);
        let value = text.parse().ok().or_else(|| {
            let bytes = text.bytes().try_fold(0i64, |n, b| n.checked_mul(256)?.checked_add(i64::from(b)));
            bytes.filter(|_| text.len() < 8)
        });
        if value.is_none() {
            let message = format!("{quoted} is longer than the 7 bytes that a message of text has here");
            self.report(diagnostic("E0610", message, span, "too long"));
        }
        Typed::leaf(Expr::Const(value.unwrap_or(0)), Type::Number, span)
    }

    pub fn truth(&mut self, value: bool, span: Span) -> Typed {
        Typed::leaf(Expr::Const(i64::from(value)), Type::Truth, span)
    }

    pub fn not(&mut self, operand: Typed, span: Span) -> Typed {
        self.expect(&operand, Type::Truth);
        let depth = operand.depth.saturating_add(1);
        self.shallow(Typed { expr: Expr::Not(Box::new(operand.expr)), of: Type::Truth, span, depth })
    }

    pub fn negative(&mut self, operand: Typed, span: Span) -> Typed {
        self.expect(&operand, Type::Number);
        let opposite = match operand.expr {
            Expr::Const(v) => v.checked_neg(),
            _ => None,
        };
        let expr = match (opposite, operand.expr) {
            (Some(v), _) => Expr::Const(v),
            (None, other) => Expr::Binary(Operator::Sub, Box::new(Expr::Const(0)), Box::new(other)),
        };
        self.shallow(Typed { expr, of: Type::Number, span, depth: operand.depth.saturating_add(1) })
    }

    pub fn binary(&mut self, operator: Operator, a: Typed, b: Typed) -> Typed {
        let (operands, of) = match operator {
            Operator::Add | Operator::Sub | Operator::Mul => (Type::Number, Type::Number),
            Operator::And | Operator::Or => (Type::Truth, Type::Truth),
            Operator::Lt | Operator::Le | Operator::Gt | Operator::Ge => (Type::Number, Type::Truth),
            Operator::Eq | Operator::Ne if a.of == Type::Any => (b.of, Type::Truth),
            Operator::Eq | Operator::Ne => (a.of, Type::Truth),
        };
        self.expect(&a, operands);
        self.expect(&b, operands);
        let (span, depth) = (a.span.to(b.span), a.depth.max(b.depth).saturating_add(1));
        self.shallow(Typed { expr: Expr::Binary(operator, Box::new(a.expr), Box::new(b.expr)), of, span, depth })
    }

    /// The expression, if whoever walks through it finds the way back.
    fn shallow(&mut self, e: Typed) -> Typed {
        if e.depth <= DEEPEST {
            return e;
        }
        if e.depth < REPORTED {
            let message = format!("more than {DEEPEST} operators inside of each other");
            let mut wrong = diagnostic("E0611", message, e.span, "too deep");
            wrong.help = Some("give parts of it a variable of their own".into());
            self.report(wrong);
        }
        Typed { depth: REPORTED, ..Typed::leaf(Expr::Const(0), Type::Any, e.span) }
    }

    fn expect(&mut self, e: &Typed, wanted: Type) {
        if e.of != wanted && e.of != Type::Any && wanted != Type::Any {
            let message = format!("expected {}, found {}", wanted.name(), e.of.name());
            self.report(diagnostic("E0609", message, e.span, &format!("this is {}", e.of.name())));
        }
    }

    pub fn finish(mut self) -> Result<Ctp, Vec<Diagnostic>> {
        self.find_marks();
        if self.wrong.is_empty() && self.ctp.nodes.is_empty() {
            let mut nothing =
                diagnostic("E0602", "there are no nodes in this trace".into(), Span::default(), "expected a node");
            nothing.help = Some("write `node NAME { .. }` for each process of the run".into());
            self.report(nothing);
        }
        if self.wrong.is_empty() {
            return Ok(self.ctp);
        }
        self.wrong.sort_by_key(|d| d.span.start);
        Err(self.wrong)
    }
}

/// The text between the quotes.
pub(super) fn unquoted(quoted: &str) -> String {
    let mut text = String::new();
    let mut rest = quoted[1..quoted.len().max(2) - 1].chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.next() {
                Some('n') => text.push('\n'),
                Some(other) => text.push(other),
                None => {}
            },
            c => text.push(c),
        }
    }
    text
}
