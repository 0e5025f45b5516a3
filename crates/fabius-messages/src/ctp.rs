//! A concurrent trace program: the straight-line program of each node of one recorded run, with every name resolved.

use fabius_trace::Span;

/// Number of a node, in the order of the text.
pub type NodeId = usize;
/// Number of an endpoint, in the order of the text.
pub type EndpointId = usize;
/// Number of a send, node by node in program order.
pub type SendId = usize;
/// Number of a receive, node by node in program order.
pub type ReceiveId = usize;
/// Number of a variable.
pub type VariableId = usize;
/// Number of a channel.
pub type ChannelId = usize;
/// Number of a mark, in the order of the text.
pub type MarkId = usize;

/// A concurrent trace program.
#[derive(Clone, Debug, Default)]
pub struct Ctp {
    /// Its text.
    pub source: String,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The endpoints.
    pub endpoints: Vec<Endpoint>,
    /// The pairs of endpoints between which messages are sent.
    pub channels: Vec<Channel>,
    /// The sends.
    pub sends: Vec<Send>,
    /// The receives.
    pub receives: Vec<Receive>,
    /// Names of the variables.
    pub variables: Vec<String>,
    /// The marks.
    pub marks: Vec<Mark>,
}

/// A node (a process, a thread): commands that happen one after the other.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// What it does.
    pub commands: Vec<Command>,
}

/// An endpoint: messages are sent from one to another.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Its name, without the `@`.
    pub name: String,
    /// The node that sends from it and receives at it; `None`: messages are only sent there.
    pub owner: Option<NodeId>,
    /// The sends to it.
    pub incoming: Vec<SendId>,
    /// The receives at it, in the order in which they are posted.
    pub receives: Vec<ReceiveId>,
}

/// A pair of endpoints. Its messages do not overtake each other.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Where its messages come from.
    pub from: EndpointId,
    /// Where they go.
    pub to: EndpointId,
    /// The sends, in program order.
    pub sends: Vec<SendId>,
}

/// A send request.
#[derive(Clone, Debug)]
pub struct Send {
    /// Its name.
    pub name: String,
    /// Where it stands: the node and the command.
    pub node: NodeId,
    /// Number of the command.
    pub at: usize,
    /// The pair of endpoints.
    pub channel: ChannelId,
    /// Its place among the sends of the channel, from 0.
    pub rank: usize,
    /// What is sent.
    pub value: Expr,
    /// The command that waits for it.
    pub wait: Option<usize>,
}

/// A receive request.
#[derive(Clone, Debug)]
pub struct Receive {
    /// Its name.
    pub name: String,
    /// Where it stands: the node and the command.
    pub node: NodeId,
    /// Number of the command.
    pub at: usize,
    /// Where it receives.
    pub endpoint: EndpointId,
    /// Its place among the receives posted at the endpoint, from 0: it gets the message that arrives there in that place.
    pub rank: usize,
    /// What the message is stored in.
    pub variable: VariableId,
    /// The *nearest enclosing wait*: the first command that completes it or a receive posted later at the same endpoint.
    pub done: Option<usize>,
}

/// A place in a node that others name: what is `after` it is executed later in every run.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Its name.
    pub name: String,
    /// Where it stands: the node and the command.
    pub node: NodeId,
    /// Number of the command.
    pub at: usize,
}

/// A send or a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// A send.
    Send(SendId),
    /// A receive.
    Receive(ReceiveId),
}

/// A command and where it stands.
#[derive(Clone, Debug)]
pub struct Command {
    /// Where.
    pub span: Span,
    /// What.
    pub kind: CommandKind,
}

/// The commands.
#[derive(Clone, Debug)]
pub enum CommandKind {
    /// Hands a message to the network.
    Send(SendId),
    /// Posts a request for the next message at an endpoint.
    Receive(ReceiveId),
    /// Waits until a request is completed.
    Wait(Request),
    /// Waits until one of the requests is completed; in the recorded run it was `chosen`.
    WaitAny {
        /// The requests.
        requests: Vec<Request>,
        /// The one that was reported.
        chosen: Request,
    },
    /// Asks whether a request is completed.
    Test {
        /// The request.
        request: Request,
        /// The answer in the recorded run.
        answer: bool,
    },
    /// Runs in which this does not hold took another path.
    Assume(Expr),
    /// A bug unless this holds; the text says why.
    Assert(Expr, Option<String>),
    /// Gives a variable its only value.
    Assign(VariableId, Expr),
    /// Does nothing, and can be named by others.
    Mark(MarkId),
    /// Waits until another node has passed the mark.
    After(MarkId),
}

impl CommandKind {
    /// Whether it can be executed as soon as the command before it is: nobody can tell it from a part of that.
    pub fn is_local(&self) -> bool {
        use CommandKind::{Assert, Assign, Assume, Mark};
        matches!(self, Assume(_) | Assert(..) | Assign(..) | Mark(_))
    }
}

/// An expression. Truth values are 0 and 1.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A number or a truth value.
    Const(i64),
    /// A variable.
    Variable(VariableId),
    /// `!e`.
    Not(Box<Expr>),
    /// Two operands.
    Binary(Operator, Box<Expr>, Box<Expr>),
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Operator {
    Add,
    Sub,
    Mul,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
}

/// Numbers beyond 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow;

impl Expr {
    /// Its value.
    ///
    /// # Errors
    /// [`Overflow`].
    pub fn value(&self, of: &impl Fn(VariableId) -> i64) -> Result<i64, Overflow> {
        let (operator, a, b) = match self {
            Expr::Const(v) => return Ok(*v),
            Expr::Variable(x) => return Ok(of(*x)),
            Expr::Not(e) => return Ok(1 - e.value(of)?),
            Expr::Binary(operator, a, b) => (*operator, a.value(of)?, b.value(of)?),
        };
        let exact = match operator {
            Operator::Add => a.checked_add(b),
            Operator::Sub => a.checked_sub(b),
            Operator::Mul => a.checked_mul(b),
            Operator::Eq => Some(i64::from(a == b)),
            Operator::Ne => Some(i64::from(a != b)),
            Operator::Lt => Some(i64::from(a < b)),
            Operator::Le => Some(i64::from(a <= b)),
            Operator::Gt => Some(i64::from(a > b)),
            Operator::Ge => Some(i64::from(a >= b)),
            Operator::And => Some(a & b),
            Operator::Or => Some(a | b),
        };
        exact.ok_or(Overflow)
    }

    /// Whether there are no variables in it.
    pub fn is_closed(&self) -> bool {
        let mut closed = true;
        self.each_variable(&mut |_| closed = false);
        closed
    }

    /// Calls `f` with every variable in it.
    pub fn each_variable(&self, f: &mut impl FnMut(VariableId)) {
        match self {
            Expr::Const(_) => {}
            Expr::Variable(x) => f(*x),
            Expr::Not(e) => e.each_variable(f),
            Expr::Binary(_, a, b) => {
                a.each_variable(f);
                b.each_variable(f);
            }
        }
    }
}

impl Ctp {
    /// The endpoint that a message goes to.
    pub fn destination(&self, s: SendId) -> EndpointId {
        self.channels[self.sends[s].channel].to
    }

    /// The command of a node.
    pub fn command(&self, node: NodeId, at: usize) -> &CommandKind {
        &self.nodes[node].commands[at].kind
    }

    /// The request that a command completes, and thereby all that were posted earlier at the same endpoint.
    pub fn completes(&self, node: NodeId, at: usize) -> Option<Request> {
        match self.command(node, at) {
            CommandKind::Wait(request) | CommandKind::Test { request, answer: true } => Some(*request),
            CommandKind::WaitAny { chosen, .. } => Some(*chosen),
            _ => None,
        }
    }

    /// The program in which a node ends with this command in place of one of its own.
    pub(crate) fn cut(&self, node: NodeId, at: usize, last: Command) -> Ctp {
        let mut cut = self.clone();
        cut.nodes[node].commands.truncate(at);
        cut.nodes[node].commands.push(last);
        // What the node posts later is gone; the rest is numbered anew.
        let is_kept = |n: NodeId, posted: usize| n != node || posted < at;
        let sends = numbered(self.sends.iter().map(|s| is_kept(s.node, s.at)));
        let receives = numbered(self.receives.iter().map(|r| is_kept(r.node, r.at)));
        cut.sends.retain(|s| is_kept(s.node, s.at));
        cut.receives.retain(|r| is_kept(r.node, r.at));
        for endpoint in &mut cut.endpoints {
            endpoint.incoming = endpoint.incoming.iter().filter_map(|s| sends[*s]).collect();
            endpoint.receives = endpoint.receives.iter().filter_map(|r| receives[*r]).collect();
        }
        for channel in &mut cut.channels {
            channel.sends = channel.sends.iter().filter_map(|s| sends[*s]).collect();
        }
        let request = |r: &mut Request| match r {
            Request::Send(s) => *s = sends[*s].expect("it is posted above"),
            Request::Receive(r) => *r = receives[*r].expect("it is posted above"),
        };
        for command in cut.nodes.iter_mut().flat_map(|n| &mut n.commands) {
            match &mut command.kind {
                CommandKind::Send(s) => *s = sends[*s].expect("it is kept"),
                CommandKind::Receive(r) => *r = receives[*r].expect("it is kept"),
                CommandKind::Wait(r) | CommandKind::Test { request: r, .. } => request(r),
                CommandKind::WaitAny { requests, chosen } => requests.iter_mut().chain([chosen]).for_each(request),
                // A mark that was cut off is never passed: it stands behind the end of its node.
                CommandKind::Mark(_) | CommandKind::After(_) => {}
                CommandKind::Assume(_) | CommandKind::Assert(..) | CommandKind::Assign(..) => {}
            }
        }
        cut.complete_requests();
        cut
    }

    /// Finds out which command completes each request.
    fn complete_requests(&mut self) {
        self.sends.iter_mut().for_each(|s| s.wait = None);
        self.receives.iter_mut().for_each(|r| r.done = None);
        for node in 0..self.nodes.len() {
            for at in 0..self.nodes[node].commands.len() {
                if let Some(request) = self.completes(node, at) {
                    self.complete(at, request);
                }
            }
        }
    }

    /// A command of its node completes the request, and all that were posted earlier at the same endpoint.
    pub(crate) fn complete(&mut self, at: usize, request: Request) {
        match request {
            Request::Send(s) => self.sends[s].wait = Some(at),
            Request::Receive(r) => {
                let (endpoint, rank) = (self.receives[r].endpoint, self.receives[r].rank);
                // Those before one that is completed are.
                for earlier in self.endpoints[endpoint].receives[..=rank].iter().rev() {
                    if self.receives[*earlier].done.is_some() {
                        break;
                    }
                    self.receives[*earlier].done = Some(at);
                }
            }
        }
    }

    /// The requests that a `test` found incomplete: by which command of which node.
    pub fn found_incomplete(&self) -> Vec<(NodeId, usize, Request)> {
        let mut found = Vec::new();
        for (n, node) in self.nodes.iter().enumerate() {
            for (at, command) in node.commands.iter().enumerate() {
                if let CommandKind::Test { request, answer: false } = command.kind {
                    found.push((n, at, request));
                }
            }
        }
        found
    }

    /// The commands that wait for a mark: the node, the command, and the mark.
    pub fn orders(&self) -> impl Iterator<Item = (NodeId, usize, &Mark)> + '_ {
        self.nodes.iter().enumerate().flat_map(move |(n, node)| {
            node.commands.iter().enumerate().filter_map(move |(at, command)| match command.kind {
                CommandKind::After(mark) => Some((n, at, &self.marks[mark])),
                _ => None,
            })
        })
    }

    /// Whether a mark stands in its node, and was not cut off.
    pub fn is_there(&self, mark: &Mark) -> bool {
        mark.at < self.nodes[mark.node].commands.len()
    }

    /// How many commands there are.
    pub fn len(&self) -> usize {
        self.nodes.iter().map(|n| n.commands.len()).sum()
    }

    /// Whether there are no commands.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// New numbers for those that are kept.
fn numbered(kept: impl Iterator<Item = bool>) -> Vec<Option<usize>> {
    let mut next = 0;
    kept.map(|is_kept| {
        next += usize::from(is_kept);
        is_kept.then(|| next - 1)
    })
    .collect()
}
