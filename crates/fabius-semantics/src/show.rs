//! Names and values for people.

use crate::config::{Buffer, Config, Frame, Object, Task};
use crate::eval::Scope;
use crate::layout::Layout;
use crate::rules::scope_of;
use crate::value::{ObjectId, TaskId, Value};
use fabius_explore::system::{ANONYMOUS, BufferId, number_of_declared};
use fabius_lang::program::{
    Base, ExprKind, Local, Place, Program, Projection, RecordId, RecordKind, Shown, Stmt, Type, UNSET, UNSET_BYTES,
    UNSET_COPY, Variable,
};
use fabius_lang::walk;
use fabius_trace::{Change, LaneKind, Scope as Owner};
use std::collections::{BTreeMap, HashMap};

/// So far is a pointer moved that has no value.
const NEAR: u64 = 1 << 32;

/// Names of threads, buffers and tasks in the order of their births.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    lanes: Vec<(String, LaneKind)>,
    /// How often a name occurs, if that is known.
    counts: HashMap<String, usize>,
    seen: HashMap<String, usize>,
    lane_of: HashMap<BufferId, u32>,
    tasks: HashMap<TaskId, (BufferId, String)>,
    anonymous: HashMap<TaskId, String>,
}

impl Names {
    /// Empty again, but it knows how many of each name there will be.
    pub(crate) fn counted(self) -> Names {
        Names { counts: self.seen, ..Names::default() }
    }

    pub(crate) fn list(&self) -> &[(String, LaneKind)] {
        &self.lanes
    }

    fn fresh(&mut self, base: &str) -> String {
        let n = self.seen.entry(base.to_string()).or_default();
        *n += 1;
        if self.counts.get(base) == Some(&1) { base.to_string() } else { format!("{base}#{n}") }
    }

    pub(crate) fn thread(&mut self, n: BufferId, base: &str) {
        let name = self.fresh(base);
        self.lane_of.insert(n, self.lanes.len() as u32);
        self.tasks.insert(n, (n, name.clone()));
        self.lanes.push((name, LaneKind::Thread));
    }

    /// Takes note of what has been born since, in order.
    pub(crate) fn refresh(&mut self, program: &Program, config: &Config) {
        for (n, buffer) in &config.buffers {
            let declared = number_of_declared(*n).map(|i| i as usize);
            for task in buffer.stack.iter().chain(&buffer.pending) {
                let proc = &program.procs[task.frames[0].proc].name;
                let known = match task.id & ANONYMOUS {
                    0 => self.tasks.get(&task.id).is_some_and(|(b, _)| b == n),
                    _ => self.anonymous.contains_key(&task.id),
                };
                if known {
                    continue;
                }
                match declared {
                    Some(i) if !self.lane_of.contains_key(n) => {
                        self.lane_of.insert(*n, self.lanes.len() as u32);
                        self.lanes.push((program.buffers[i].name.clone(), LaneKind::Buffer));
                    }
                    _ => {}
                }
                if task.id == *n {
                    self.thread(*n, proc);
                } else {
                    let name = self.fresh(proc);
                    match task.id & ANONYMOUS {
                        0 => self.tasks.insert(task.id, (*n, name)).map(|_| ()),
                        _ => self.anonymous.insert(task.id, name).map(|_| ()),
                    };
                }
            }
        }
        // A number that is free again may get a new owner.
        self.tasks.retain(|id, _| config.find(*id).is_some() || config.finished.contains(id));
    }

    pub(crate) fn lane(&self, n: BufferId) -> u32 {
        self.lane_of.get(&n).copied().unwrap_or(0)
    }

    /// Name of a task where its lane runs several.
    pub(crate) fn task_name(&self, n: BufferId, task: TaskId) -> Option<String> {
        (task != n).then(|| self.of_task(task))
    }

    pub(crate) fn of_task(&self, task: TaskId) -> String {
        let known = self.anonymous.get(&task).or_else(|| self.tasks.get(&task).map(|(_, name)| name));
        known.cloned().unwrap_or_else(|| format!("task {}", task & !ANONYMOUS))
    }

    pub(crate) fn of_buffer(&self, n: BufferId) -> String {
        let lane = self.lane_of.get(&n).and_then(|l| self.lanes.get(*l as usize));
        lane.map_or_else(|| self.of_task(n), |(name, _)| name.clone())
    }

    /// A value without a type.
    pub(crate) fn show(&self, value: &Value) -> String {
        match value {
            Value::Number(n) => n.to_string(),
            Value::Reference(None) | Value::Handle(None) => "null".into(),
            Value::Reference(Some(o)) => format!("object {o}"),
            Value::Handle(Some(t)) => self.of_task(*t),
            Value::Set(ts) => {
                let names: Vec<String> = ts.iter().map(|t| self.of_task(*t)).collect();
                format!("{{{}}}", names.join(", "))
            }
            Value::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|p| self.show(p)).collect();
                format!("[{}]", parts.join(", "))
            }
        }
    }
}

/// What a statement can change: of the procedures of its task, the innermost ones. Stacks may be high.
pub(crate) struct Before {
    globals: Vec<Value>,
    heap: BTreeMap<ObjectId, Object>,
    own: Vec<Value>,
    task: TaskId,
    frames: Vec<Frame>,
    /// How many frames are beneath these.
    beneath: usize,
}

impl Before {
    /// In front of a statement of the running task of a buffer.
    pub(crate) fn of(config: &Config, buffer: &Buffer, task: &Task) -> Before {
        // A statement begins or ends one procedure at most, and changes the last two of those that there are before and after.
        let beneath = task.frames.len().saturating_sub(3);
        Before {
            globals: config.globals.clone(),
            heap: config.heap.clone(),
            own: buffer.own.clone(),
            task: task.id,
            frames: task.frames[beneath..].to_vec(),
            beneath,
        }
    }
}

/// Changes of the variables of one owner.
struct Owned<'a> {
    owner: Owner,
    /// What its 64 bits hold, if that is known.
    look: Option<Shown>,
    list: &'a mut Vec<Change>,
}

/// The variables of a program, by name.
pub(crate) struct Variables<'a> {
    program: &'a Program,
}

impl<'a> Variables<'a> {
    pub(crate) fn of(program: &'a Program) -> Variables<'a> {
        Variables { program }
    }

    /// The scalars that differ between two configurations: globals, heap, and what the running task of the buffer sees,
    /// its caller's locals included, for what a return stores there. What is in one of them alone is left out.
    pub(crate) fn changes(&self, before: &Before, after: &Config, n: BufferId, names: &Names) -> Vec<Change> {
        let mut out = Vec::new();
        let buffer = after.buffers.get(&n);
        let told = |g: &fabius_lang::program::Global| !g.name.starts_with('$');
        for (g, global) in self.program.globals.iter().enumerate().filter(|(_, g)| told(g)) {
            let (old, new) = match (global.per_thread, buffer) {
                (false, _) => (&before.globals[g], &after.globals[g]),
                (true, Some(buffer)) => (&before.own[g], &buffer.own[g]),
                (true, None) => continue,
            };
            let owner = if global.per_thread { Owner::Lane } else { Owner::Shared };
            let look = self.look(Variable::Global(g));
            self.differences(&global.name, &global.ty, old, new, names, &mut Owned { owner, look, list: &mut out });
        }
        for (o, object) in &before.heap {
            if let Some(new) = after.heap.get(o).filter(|new| new.record == object.record) {
                let name = format!("{}@{o}", self.program.records[object.record].name);
                let mut out = Owned { owner: Owner::Object, look: None, list: &mut out };
                self.differences(&name, &Type::Record(object.record), &object.value, &new.value, names, &mut out);
            }
        }
        let task = buffer.and_then(|buffer| buffer.innermost()).filter(|task| task.id == before.task);
        let Some(task) = task else { return out };
        let all = (before.beneath + before.frames.len()).min(task.frames.len());
        let old = (before.beneath..).zip(&before.frames);
        for ((at, old), new) in old.zip(&task.frames[before.beneath..]).filter(|((at, _), _)| at + 2 >= all) {
            if old.proc == new.proc {
                let locals = &self.program.procs[old.proc].locals;
                let values = old.locals.iter().zip(&new.locals);
                for (l, (local, (before, after))) in locals.iter().zip(values).enumerate() {
                    if !local.name.starts_with('$') {
                        let look = self.look(Variable::Local(old.proc, l));
                        let mut out = Owned { owner: Owner::Frame(at as u32), look, list: &mut out };
                        self.differences(&local.name, &local.ty, before, after, names, &mut out);
                    }
                }
            }
        }
        out
    }

    fn differences(&self, name: &str, ty: &Type, old: &Value, new: &Value, names: &Names, out: &mut Owned<'_>) {
        match (ty, old, new) {
            _ if old == new => {}
            (Type::Record(r), Value::Tuple(olds), Value::Tuple(news))
                if self.program.records[*r].kind == RecordKind::Plain =>
            {
                for (field, (old, new)) in self.program.records[*r].fields.iter().zip(olds.iter().zip(news)) {
                    self.differences(&format!("{name}.{}", field.name), &field.ty, old, new, names, out);
                }
            }
            (Type::Array { index, lo, element, .. }, Value::Tuple(olds), Value::Tuple(news)) => {
                for (i, (old, new)) in olds.iter().zip(news).enumerate().filter(|(_, (old, new))| old != new) {
                    let shown = self.show(index, &key(index, *lo, i), names);
                    self.differences(&format!("{name}[{shown}]"), element, old, new, names, out);
                }
            }
            _ => {
                let shown = |value| self.show_as(out.look, ty, value, names);
                let (old, new) = (shown(old), shown(new));
                // What is noted beside the elements of a collection is not shown.
                if old != new || !matches!(ty, Type::Record(_)) {
                    out.list.push(Change { variable: name.to_string(), scope: out.owner, old, new });
                }
            }
        }
    }

    fn scalars(&self, name: &str, ty: &Type, value: &Value, names: &Names, out: &mut Vec<(String, String)>) {
        match (ty, value) {
            (Type::Record(r), Value::Tuple(parts)) => {
                for (field, part) in self.program.records[*r].fields.iter().zip(parts) {
                    self.scalars(&format!("{name}.{}", field.name), &field.ty, part, names, out);
                }
            }
            (Type::Array { index, lo, element, .. }, Value::Tuple(parts)) => {
                for (i, part) in parts.iter().enumerate() {
                    let shown = self.show(index, &key(index, *lo, i), names);
                    self.scalars(&format!("{name}[{shown}]"), element, part, names, out);
                }
            }
            _ => out.push((name.to_string(), self.show(ty, value, names))),
        }
    }

    /// What a variable of 64 bits holds.
    fn look(&self, variable: Variable) -> Option<Shown> {
        self.program.shown.get(&variable).copied()
    }

    /// A value of a type, or as what its 64 bits hold.
    fn show_as(&self, look: Option<Shown>, ty: &Type, value: &Value, names: &Names) -> String {
        match (look, value) {
            (Some(look @ (Shown::Single | Shown::Double)), Value::Number(bits)) => floating(*bits, look),
            (Some(Shown::Integer), Value::Number(n)) if !(UNSET..=UNSET_COPY).contains(n) => match ty {
                Type::Fixed { signed: false, .. } => (*n as u64).to_string(),
                _ => n.to_string(),
            },
            _ => self.show(ty, value, names),
        }
    }

    /// A value of a type.
    pub(crate) fn show(&self, ty: &Type, value: &Value, names: &Names) -> String {
        match (ty, value) {
            (Type::Bool, Value::Number(n)) => (*n != 0).to_string(),
            (Type::Enum(e), Value::Number(n)) => {
                let known = self.program.enums[*e].names.get(*n as usize);
                known.cloned().unwrap_or_else(|| n.to_string())
            }
            (Type::Fixed { bits: 64, .. }, Value::Number(UNSET..=UNSET_COPY)) => "(no value yet)".to_string(),
            (Type::Fixed { bits: 64, .. }, Value::Number(n)) if UNSET_BYTES.contains(n) => {
                "(some bytes have no value yet)".into()
            }
            (Type::Fixed { bits: 64, .. }, Value::Number(n)) if n.abs_diff(UNSET) < NEAR => {
                "(no value yet, moved)".into()
            }
            (Type::Fixed { bits: 64, signed: false }, Value::Number(n)) => (*n as u64).to_string(),
            (Type::Ref(r), Value::Reference(Some(o))) => format!("{}@{o}", self.program.records[*r].name),
            (Type::Record(r), Value::Tuple(parts)) if self.program.records[*r].kind != RecordKind::Plain => {
                self.collection(*r, parts, names)
            }
            (Type::Record(r), Value::Tuple(parts)) => {
                let record = &self.program.records[*r];
                let fields = record.fields.iter().zip(parts);
                let shown = fields.map(|(f, part)| format!("{}: {}", f.name, self.show(&f.ty, part, names)));
                format!("{} {{ {} }}", record.name, shown.collect::<Vec<_>>().join(", "))
            }
            (Type::Array { .. }, Value::Tuple(_)) => {
                let mut parts = Vec::new();
                self.parts(ty, value, names, &mut parts);
                format!("[{}]", parts.join(", "))
            }
            _ => names.show(value),
        }
    }

    /// What an array is made of: scalars, records and collections.
    fn parts(&self, ty: &Type, value: &Value, names: &Names, out: &mut Vec<String>) {
        match (ty, value) {
            (Type::Array { element, .. }, Value::Tuple(parts)) => {
                parts.iter().for_each(|part| self.parts(element, part, names, out));
            }
            _ => out.push(self.show(ty, value, names)),
        }
    }

    /// A set or bag `{1, 2}`, a sequence `[1, 2]`.
    fn collection(&self, record: RecordId, parts: &[Value], names: &Names) -> String {
        let record = &self.program.records[record];
        let (Some(Value::Tuple(items)), Some(Value::Number(size))) = (parts.first(), parts.get(1)) else {
            return String::new();
        };
        let Type::Array { index, lo, element, .. } = &record.fields[0].ty else { return String::new() };
        let mut shown = Vec::new();
        for (i, item) in items.iter().enumerate() {
            match record.kind {
                RecordKind::Sequence if (i as i64) < *size => shown.push(self.show(element, item, names)),
                RecordKind::Sequence | RecordKind::Plain => {}
                RecordKind::Set | RecordKind::Bag => {
                    let key = self.show(index, &key(index, *lo, i), names);
                    shown.extend((0..item.number()).map(|_| key.clone()));
                }
            }
        }
        match record.kind {
            RecordKind::Sequence => format!("[{}]", shown.join(", ")),
            _ => format!("{{{}}}", shown.join(", ")),
        }
    }

    /// The name of a shared variable by its number.
    pub(crate) fn name_of(&self, layout: &Layout, variable: u64) -> String {
        if variable >= Layout::of_object(0) {
            return "a field of a heap object".into();
        }
        let at = layout.first.partition_point(|first| *first <= variable).saturating_sub(1);
        let global = &self.program.globals[at];
        let mut parts = Vec::new();
        let value = Value::of_constant(self.program, &global.ty, &global.init);
        self.scalars(&global.name, &global.ty, &value, &Names::default(), &mut parts);
        let part = parts.get((variable - layout.first[at]) as usize);
        part.map_or_else(|| global.name.clone(), |(name, _)| name.clone())
    }
}

/// What the statement reads, each with its value: `x is 1`.
pub(crate) fn values_in(program: &Program, config: &Config, n: BufferId, stmt: &Stmt, names: &Names) -> Vec<String> {
    let Some(task) = config.buffers.get(&n).and_then(|b| b.innermost()) else { return Vec::new() };
    let layout = Layout::of(program, fabius_trace::Points::All);
    let mut out: Vec<String> = Vec::new();
    for e in walk::expressions(stmt) {
        walk::each(e, &mut |x| {
            if let ExprKind::Read(place) = &x.kind
                && !task.frames.last().is_some_and(|f| is_outside_of_a_constant(&program.procs[f.proc].locals, place))
            {
                let mut scope: Scope<'_> = scope_of(program, &layout, config, n, task);
                let text = one_line(place.span.text(&program.source));
                if let Ok(value) = scope.eval(x)
                    && !text.is_empty()
                {
                    let variables = Variables::of(program);
                    let proc = task.frames.last().map_or(0, |f| f.proc);
                    let look = match place.base {
                        Base::Global(g) => variables.look(Variable::Global(g)),
                        Base::Local(l) => variables.look(Variable::Local(proc, l)),
                        Base::Heap(..) => None,
                    };
                    let shown = variables.show_as(look, &place.ty, &value, names);
                    let said = format!("`{text}` is {shown}");
                    if !out.contains(&said) {
                        out.push(said);
                    }
                }
            }
        });
    }
    out
}

/// The index of an element.
fn key(index: &Type, lo: i64, position: usize) -> Value {
    match index {
        Type::Thread => Value::Handle(Some(position as TaskId)),
        _ => Value::Number(lo + position as i64),
    }
}

/// Whether it stands for an element that a constant does not have: the front end asks an array without values for it, whose
/// values are nobody's.
fn is_outside_of_a_constant(locals: &[Local], place: &Place) -> bool {
    let is_index = |step: &Projection| matches!(step, Projection::Index { .. });
    matches!(place.base, Base::Local(l) if locals[l].name.starts_with('$')) && place.path.iter().any(is_index)
}

/// A floating-point number as C writes it, with as many digits as tell it from others of its precision.
fn floating(bits: i64, look: Shown) -> String {
    let x = f64::from_bits(bits as u64);
    match look {
        _ if bits == UNSET || bits == UNSET_COPY => "(not known)".into(),
        _ if x.is_nan() => "nan".into(),
        Shown::Single => format!("{:?}", x as f32),
        _ => format!("{x:?}"),
    }
}

/// Text on one line, with single spaces.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
