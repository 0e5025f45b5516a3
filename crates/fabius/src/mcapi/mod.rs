//! Message passing in the manner of MCAPI (Multicore Communications API, 2.015), under the scheduler.
//!
//! ```
//! use fabius::mcapi::{self, Domain};
//! use fabius::thread;
//!
//! fn program(domain: &Domain) {
//!     let (one, two) = (domain.initialize("T1"), domain.initialize("T2"));
//!     let first = thread::spawn(move || one.endpoint_create(1).msg_send(0, 4));
//!     let second = thread::spawn(move || two.endpoint_create(2).msg_send(0, 1));
//!     let inbox = domain.initialize("T0").endpoint_create(0);
//!     let (a, b) = (inbox.msg_recv(), inbox.msg_recv());
//!     a.equals(4).assert("the first message is that of T1");
//!     a.plus(b).equals(5).assert("both messages have come");
//!     first.join().unwrap();
//!     second.join().unwrap();
//! }
//!
//! // Explored: every order of the messages is run.
//! let report = fabius::Config::new().explore(|| program(&Domain::new()));
//! assert!(report.is_bug());
//! // Recorded: one run, for `fabius trace`, which finds the other orders by itself.
//! let trace = mcapi::record(program).expect("a run comes to its end");
//! assert!(trace.contains("assert T0_x0 == 4"));
//! ```
//!
//! Messages are numbers, in [`Value`]s that remember how they were computed. What a run decides by a message is written into
//! the record as an `assume`: so a program decides by [`Condition::branch`], and claims by [`Condition::assert`]. Messages of
//! the same pair of endpoints do not overtake each other; nothing else is ordered; the network holds any number of them. What
//! nodes share besides messages is explored, but not recorded: see [`record`].

mod record;
mod value;

use crate::rt::{self, Object, Op, Rt};
use record::Written;
pub use record::{record, record_guided, record_paths};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
pub use value::{Condition, Value};

/// Number of an endpoint.
pub type Port = u32;

/// What an operation says, by MCAPI's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// `MCAPI_SUCCESS`.
    Success,
    /// `MCAPI_PENDING`: not completed yet.
    Pending,
    /// `MCAPI_ERR_REQUEST_INVALID`: completed before, and so released.
    ErrRequestInvalid,
}

/// Whether a claim that does not hold ends the execution.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Check,
    Record,
}

/// What a run is to do, as far as it is said: with other messages, and with other outcomes of `wait_any` and `test`, a
/// program may take another path. By the numbers of endpoints and the names of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guide {
    /// For each endpoint, where its first messages come from.
    pub arrivals: BTreeMap<Port, Vec<Port>>,
    /// For each node, what its first `wait_any` and `test` say: the number of the request, or 1 for yes.
    pub outcomes: BTreeMap<String, Vec<usize>>,
}

/// The nodes of one execution, and the network between them.
#[derive(Clone)]
pub struct Domain(Arc<Network>);

struct Network {
    mode: Mode,
    inboxes: Shared<BTreeMap<Port, Arc<Inbox>>>,
    /// What each node did, in the language of traces.
    record: Shared<Vec<Written>>,
    guide: Guide,
    /// How many outcomes of each node have been decided.
    decided: Shared<BTreeMap<usize, usize>>,
}

/// The messages to an endpoint.
struct Inbox {
    object: Object,
    owner: Shared<Option<usize>>,
    /// Sent and not arrived, by the endpoint that they come from.
    channels: Shared<BTreeMap<Port, VecDeque<i64>>>,
    arrived: Shared<Vec<i64>>,
    /// Receives that were posted, and those that are completed.
    posted: Shared<usize>,
    received: Shared<usize>,
    /// Where the first messages come from.
    guide: Vec<Port>,
}

/// What threads share. Nobody waits for it: nothing is a scheduling point while it is borrowed.
#[derive(Default)]
struct Shared<T>(std::sync::Mutex<T>);

impl<T> Shared<T> {
    fn borrow(&self) -> std::sync::MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Inbox {
    #[track_caller]
    fn new() -> Inbox {
        Inbox {
            object: Object::new(),
            owner: Shared::default(),
            channels: Shared::default(),
            arrived: Shared::default(),
            posted: Shared::default(),
            received: Shared::default(),
            guide: Vec::new(),
        }
    }

    /// Whether so many messages have been sent, and can arrive in the order of the guide.
    fn has(&self, n: usize) -> bool {
        let channels = self.channels.borrow();
        let (waiting, arrived) = (channels.values().map(VecDeque::len).sum::<usize>(), self.arrived.borrow().len());
        let guided = self.guide.get(arrived..n.min(self.guide.len()).max(arrived)).unwrap_or_default();
        let wanted = |port: &Port| guided.iter().filter(|p| *p == port).count();
        let are_there = guided.iter().all(|p| channels.get(p).is_some_and(|q| q.len() >= wanted(p)));
        arrived + waiting >= n && are_there
    }

    /// Makes so many messages arrive, in an order that the search decides.
    fn deliver(&self, n: usize) {
        while self.arrived.borrow().len() < n {
            let guided = self.guide.get(self.arrived.borrow().len());
            let may = |port: &Port| guided.is_none_or(|wanted| wanted == port);
            let channels = self.channels.borrow();
            let waiting: Vec<Port> =
                channels.iter().filter(|(p, q)| !q.is_empty() && may(p)).map(|(p, _)| *p).collect();
            drop(channels);
            let Some(port) = waiting.get(rt::choose(waiting.len() as u32) as usize) else { return };
            let message = self.channels.borrow().get_mut(port).and_then(VecDeque::pop_front);
            self.arrived.borrow().extend(message);
            rt::note(|| format!("the next message is from {port}"));
        }
        let mut received = self.received.borrow();
        *received = n.max(*received);
    }
}

impl Default for Domain {
    #[track_caller]
    fn default() -> Domain {
        Domain::new()
    }
}

impl Domain {
    /// A network without nodes.
    #[track_caller]
    pub fn new() -> Domain {
        Domain::in_mode(Mode::Check)
    }

    #[track_caller]
    fn in_mode(mode: Mode) -> Domain {
        Domain::guided(mode, Guide::default())
    }

    #[track_caller]
    fn guided(mode: Mode, guide: Guide) -> Domain {
        rt::must(|_| ());
        let (inboxes, record, decided) = (Shared::default(), Shared::default(), Shared::default());
        Domain(Arc::new(Network { mode, inboxes, record, guide, decided }))
    }

    /// What the guide says of the next outcome of a node.
    fn outcome(&self, node: usize) -> Option<usize> {
        let network = &self.0;
        let mut decided = network.decided.borrow();
        let number = decided.entry(node).or_insert(0);
        *number += 1;
        network.guide.outcomes.get(&network.record.borrow()[node].name)?.get(*number - 1).copied()
    }

    /// A node of this name: a word of letters, digits and `_`.
    ///
    /// # Panics
    /// If the name is not such a word, or taken.
    pub fn initialize(&self, name: &str) -> Node {
        let is_word = name.chars().all(|c| c.is_alphanumeric() || c == '_') && name.starts_with(char::is_alphabetic);
        assert!(is_word, "`{name}` is no name of a node: write a word of letters, digits and `_`");
        let mut record = self.0.record.borrow();
        assert!(record.iter().all(|other| other.name != name), "there is a node `{name}` already");
        record.push(Written::new(name));
        Node { domain: self.clone(), number: record.len() - 1 }
    }

    #[track_caller]
    fn inbox(&self, port: Port) -> Arc<Inbox> {
        self.0.inboxes.borrow().entry(port).or_insert_with(|| Arc::new(self.new_inbox(port))).clone()
    }

    #[track_caller]
    fn new_inbox(&self, port: Port) -> Inbox {
        let inbox = Inbox { guide: self.0.guide.arrivals.get(&port).cloned().unwrap_or_default(), ..Inbox::new() };
        if self.0.mode == Mode::Record {
            let object = inbox.object.id();
            rt::with(|rt| rt.orders.as_mut().map(|orders| orders.is_queue(object)));
        }
        inbox
    }

    fn write(&self, node: usize, command: String) {
        if self.0.mode == Mode::Record {
            self.0.record.borrow()[node].push(command);
            rt::with(|rt| rt.orders.as_mut().map(|orders| orders.command(rt.current, node)));
        }
    }
}

impl fmt::Debug for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Domain").finish_non_exhaustive()
    }
}

/// A node: what one thread does.
#[derive(Debug)]
pub struct Node {
    domain: Domain,
    number: usize,
}

impl Node {
    /// An endpoint of this node: `mcapi_endpoint_create`.
    ///
    /// # Panics
    /// If another node has it.
    #[track_caller]
    pub fn endpoint_create(&self, port: Port) -> Endpoint {
        let inbox = self.domain.inbox(port);
        let before = inbox.owner.borrow().replace(self.number);
        assert!(before.is_none(), "endpoint {port} has been created before");
        Endpoint { domain: self.domain.clone(), node: self.number, port, inbox }
    }
}

/// An endpoint: sends from it, and receives at it. Others send to its number.
pub struct Endpoint {
    domain: Domain,
    node: usize,
    port: Port,
    inbox: Arc<Inbox>,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Endpoint").field(&self.port).finish()
    }
}

impl Endpoint {
    /// The node's name and the number of its next request.
    fn next_request(&self) -> (String, usize) {
        self.domain.0.record.borrow()[self.node].next_request()
    }

    /// `mcapi_msg_send_i`: hands a message to the network.
    #[track_caller]
    pub fn msg_send_i(&self, to: Port, message: impl Into<Value>) -> Request {
        let message = message.into();
        let inbox = self.domain.inbox(to);
        rt::point(Op::write("msg_send_i", inbox.object.id(), Location::caller()));
        rt::note(|| format!("{} to {to}", message.number()));
        inbox.channels.borrow().entry(self.port).or_default().push_back(message.number());
        let (node, number) = self.next_request();
        let name = format!("{node}_s{number}");
        let text = message.text_at(self.node);
        self.domain.write(self.node, format!("send_i {name} @{} -> @{to}: {text}", self.port));
        Request { domain: self.domain.clone(), node: self.node, name, waits: None, released: Cell::new(false) }
    }

    /// `mcapi_msg_recv_i`: asks for the next message.
    #[track_caller]
    pub fn msg_recv_i(&self) -> Request {
        let mut posted = self.inbox.posted.borrow();
        let place = *posted;
        *posted += 1;
        drop(posted);
        let (node, number) = self.next_request();
        let name = format!("{node}_r{number}");
        let variable = format!("{node}_x{number}");
        self.domain.write(self.node, format!("recv_i {name} @{} -> {variable}", self.port));
        let waits = Some(Waits { inbox: self.inbox.clone(), place, variable });
        Request { domain: self.domain.clone(), node: self.node, name, waits, released: Cell::new(false) }
    }

    /// `mcapi_msg_send`: returns when the message is handed over, which is at once.
    #[track_caller]
    pub fn msg_send(&self, to: Port, message: impl Into<Value>) {
        self.msg_send_i(to, message).wait();
    }

    /// `mcapi_msg_recv`: waits for the next message.
    #[track_caller]
    pub fn msg_recv(&self) -> Value {
        let request = self.msg_recv_i();
        request.wait();
        request.message()
    }
}

/// What a receive waits for.
struct Waits {
    inbox: Arc<Inbox>,
    /// Its place among the receives of the endpoint.
    place: usize,
    variable: String,
}

impl Waits {
    fn may_complete(&self) -> bool {
        self.inbox.has(self.place + 1)
    }
}

/// A send or receive that was begun.
pub struct Request {
    domain: Domain,
    node: usize,
    name: String,
    waits: Option<Waits>,
    released: Cell<bool>,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Request").field(&self.name).finish()
    }
}

unsafe fn one_may_complete(requests: *const (), _: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with such a list.
    let requests = unsafe { &*requests.cast::<&[&Request]>() };
    requests.iter().any(|r| r.may_complete())
}

impl Request {
    fn may_complete(&self) -> bool {
        self.waits.as_ref().is_none_or(Waits::may_complete)
    }

    fn object(&self) -> Option<u32> {
        self.waits.as_ref().map(|w| w.inbox.object.id())
    }

    fn complete(&self) {
        self.released.set(true);
        if let Some(waits) = &self.waits {
            waits.inbox.deliver(waits.place + 1);
        }
    }

    /// `mcapi_wait`: waits until the request is completed.
    #[track_caller]
    pub fn wait(&self) -> Status {
        if self.released.get() {
            return Status::ErrRequestInvalid;
        }
        if let Some(object) = self.object() {
            let requests: &[&Request] = &[self];
            rt::point(Op::write("wait", object, Location::caller()).when(&requests, one_may_complete).waits_for_more());
        }
        self.complete();
        self.domain.write(self.node, format!("wait {}", self.name));
        Status::Success
    }

    /// `mcapi_test`: whether the request is completed now. That a message is on its way does not mean that it has arrived.
    #[track_caller]
    pub fn test(&self) -> Status {
        if self.released.get() {
            return Status::ErrRequestInvalid;
        }
        let mut completed = true;
        let guided = self.domain.outcome(self.node);
        if let Some(waits) = &self.waits {
            let (object, at) = (waits.inbox.object.id(), Location::caller());
            // Where the guide says that the message has arrived, it has to be there.
            let requests: &[&Request] = &[self];
            let test = Op::write("test", object, at);
            rt::point(if guided == Some(1) { test.when(&requests, one_may_complete).waits_for_more() } else { test });
            let already = *waits.inbox.received.borrow() > waits.place;
            completed = already || waits.may_complete() && guided.map_or_else(|| rt::choose(2) == 0, |yes| yes == 1);
        }
        rt::note(|| if completed { "completed" } else { "pending" }.into());
        if completed {
            self.complete();
        }
        self.domain.write(self.node, format!("test {} is {completed}", self.name));
        if completed { Status::Success } else { Status::Pending }
    }

    /// The message of a completed receive.
    ///
    /// # Panics
    /// If the request is no receive, or not completed.
    pub fn message(&self) -> Value {
        let completed = self.waits.as_ref().filter(|w| *w.inbox.received.borrow() > w.place);
        let waits = completed.expect("only a completed receive has a message");
        let number = waits.inbox.arrived.borrow()[waits.place];
        Value::received(number, &waits.variable, self.node, &self.domain)
    }
}

/// `mcapi_wait_any`: waits until one of the requests is completed, and says which one.
///
/// # Errors
/// [`Status::ErrRequestInvalid`] if one of them was completed before.
///
/// # Panics
/// If there are no requests.
#[track_caller]
pub fn wait_any(requests: &[&Request]) -> Result<usize, Status> {
    assert!(!requests.is_empty(), "there must be something to wait for");
    if requests.iter().any(|r| r.released.get()) {
        return Err(Status::ErrRequestInvalid);
    }
    let at = Location::caller();
    let guided = requests[0].domain.outcome(requests[0].node).filter(|i| *i < requests.len());
    let wanted = guided.map_or(requests, |i| &requests[i..=i]);
    // Announced for one of the endpoints; waiting at several is a step for each of them.
    for object in requests.iter().filter_map(|r| r.object()).collect::<BTreeSet<u32>>() {
        rt::point(Op::write("wait_any", object, at).when(&wanted, one_may_complete).waits_for_more());
    }
    let may = |i: &usize| guided.is_none_or(|wanted| wanted == *i) && requests[*i].may_complete();
    let ready: Vec<usize> = (0..requests.len()).filter(may).collect();
    let chosen = ready.get(rt::choose(ready.len() as u32) as usize).copied().unwrap_or(0);
    requests[chosen].complete();
    let names: Vec<&str> = requests.iter().map(|r| r.name.as_str()).collect();
    let first = requests[chosen];
    first.domain.write(first.node, format!("wait_any {} is {}", names.join(", "), first.name));
    Ok(chosen)
}
