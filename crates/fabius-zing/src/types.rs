//! Declared types: enums, ranges, structs, and what lives on the heap: objects, arrays, channels.

use crate::ast::{Declared, DeclaredKind, Expr, ExprKind, Field, File, Name};
use crate::refusal::{Result, unsupported, wrong};
use fabius_lang::program::{Class, Enum, EnumId, Field as CoreField, Record, RecordId, Type, Value};
use fabius_trace::Span;
use std::collections::HashMap;

/// A type. Of structs, objects, arrays and channels it is the record that they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ty {
    Int,
    /// A number that is no `int`: its bits, and whether it has a sign.
    Number(u8, bool),
    Bool,
    Text,
    Enum(EnumId),
    Struct(RecordId),
    Object(RecordId),
    Array(RecordId),
    Chan(RecordId),
    Set(RecordId),
    /// Of `null`.
    Null,
}

/// The 32 bits of an `int`.
pub const INT: Type = Type::Fixed { bits: 32, signed: true };

/// Numbers that are no `int`: name, bits, sign.
const NUMBERS: [(&str, u8, bool); 7] = [
    ("byte", 8, false),
    ("sbyte", 8, true),
    ("short", 16, true),
    ("ushort", 16, false),
    ("uint", 32, false),
    ("long", 64, true),
    ("ulong", 64, false),
];

/// Fields of the record that a channel, a set or an array is: what it holds, and how many, if that changes.
pub const ITEMS: usize = 0;
pub const SIZE: usize = 1;

/// Elements of an array at most.
const LONGEST: i64 = 4096;

/// All types of a program.
#[derive(Debug, Default)]
pub struct Types {
    named: HashMap<String, Ty>,
    ranges: HashMap<String, (i64, i64)>,
    pub records: Vec<Record>,
    /// The strings of the program, and the names that the core has for them, behind the one of `null`.
    texts: Vec<String>,
    text: EnumId,
    pub enums: Vec<Enum>,
    /// Fields of structs and objects, by record, in order.
    pub fields: Vec<Vec<(String, Ty)>>,
    /// What an array or channel holds, and how many.
    pub elements: HashMap<RecordId, (Ty, u32)>,
    is_filled: Vec<bool>,
}

impl Types {
    /// The types of a file, its classes included.
    pub fn of(file: &File, room: u32) -> Result<Types> {
        let mut types = Types::default();
        let numbers = NUMBERS.map(|(name, bits, signed)| (name, Ty::Number(bits, signed)));
        for (name, ty) in [("int", Ty::Int), ("bool", Ty::Bool)].into_iter().chain(numbers) {
            types.named.insert(name.into(), ty);
        }
        for declared in &file.types {
            types.declare(declared)?;
        }
        if let Some(texts) = &file.texts {
            types.name_texts(texts);
        }
        for class in &file.classes {
            let record = types.record(&class.name);
            types.name(&class.name, Ty::Object(record))?;
        }
        for declared in &file.types {
            types.fill(declared, file, room)?;
        }
        for class in &file.classes {
            let Some(Ty::Object(record)) = types.named.get(&class.name.text).cloned() else { continue };
            let own: Vec<Field> = class.fields.iter().filter(|f| !f.is_static).cloned().collect();
            types.fill_fields(record, &own, file, room)?;
        }
        Ok(types)
    }

    /// Makes `string` a type: nothing can be done with its values but to compare them.
    fn name_texts(&mut self, texts: &[String]) {
        let mut names = vec!["no_text".to_string()];
        for text in texts {
            let word: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
            let name = format!("text_{word}");
            let is_taken = names.contains(&name);
            names.push(if is_taken { format!("{name}__{}", names.len()) } else { name });
        }
        self.text = self.enums.len();
        self.texts = texts.to_vec();
        self.enums.push(Enum { name: "string".into(), names });
        self.named.insert("string".into(), Ty::Text);
    }

    /// The number of a string among those of the program.
    pub fn text(&self, text: &str) -> i64 {
        self.texts.iter().position(|t| t == text).map_or(0, |at| at as i64 + 1)
    }

    fn name(&mut self, name: &Name, ty: Ty) -> Result<()> {
        if self.named.insert(name.text.clone(), ty).is_some() {
            return Err(wrong(name.span, format!("`{}` is declared twice", name.text)));
        }
        Ok(())
    }

    fn record(&mut self, name: &Name) -> RecordId {
        self.records.push(Record { name: name.text.clone(), fields: Vec::new(), kind: Default::default() });
        self.fields.push(Vec::new());
        self.is_filled.push(false);
        self.records.len() - 1
    }

    fn declare(&mut self, declared: &Declared) -> Result<()> {
        let name = &declared.name;
        let ty = match &declared.kind {
            DeclaredKind::Enum(names) => {
                if names.is_empty() {
                    return Err(wrong(name.span, "an enum without values"));
                }
                let names = names.iter().map(|n| n.text.clone()).collect();
                self.enums.push(Enum { name: name.text.clone(), names });
                Ty::Enum(self.enums.len() - 1)
            }
            DeclaredKind::Range(lo, hi) => {
                let (lo, hi) = (constant(lo)?, constant(hi)?);
                if lo > hi {
                    return Err(wrong(name.span, "a range without numbers"));
                }
                self.ranges.insert(name.text.clone(), (lo, hi));
                Ty::Int
            }
            DeclaredKind::Struct(_) => Ty::Struct(self.record(name)),
            DeclaredKind::Array(..) => Ty::Array(self.record(name)),
            DeclaredKind::Chan(_) => Ty::Chan(self.record(name)),
            DeclaredKind::Set(_) => Ty::Set(self.record(name)),
        };
        self.name(name, ty)
    }

    fn fill(&mut self, declared: &Declared, file: &File, room: u32) -> Result<()> {
        let name = &declared.name;
        match (&declared.kind, self.named[&name.text].clone()) {
            (DeclaredKind::Struct(fields), Ty::Struct(record)) => self.fill_fields(record, fields, file, room),
            (DeclaredKind::Array(len, element), Ty::Array(record)) => {
                let (len, is_fixed) = match len {
                    Some(len) => (constant(len)?, true),
                    None => longest(file, &name.text, room)?,
                };
                if !(1..=LONGEST).contains(&len) {
                    return Err(unsupported(name.span, format!("an array of {len} elements"))
                        .help(format!("an array has 1 to {LONGEST}")));
                }
                self.hold(record, element, len as u32, file, room)?;
                if !is_fixed {
                    self.count(record, len);
                }
                Ok(())
            }
            (DeclaredKind::Chan(message), Ty::Chan(record)) => {
                self.hold(record, message, room, file, room)?;
                self.count(record, i64::from(room));
                Ok(())
            }
            (DeclaredKind::Set(element), Ty::Set(record)) => {
                let room = match self.named(element)? {
                    Ty::Bool => 2,
                    Ty::Enum(e) => self.enums[e].names.len() as u32,
                    Ty::Struct(_) => {
                        return Err(unsupported(element.span, "a set of structs").help("make it a set of objects"));
                    }
                    _ => room,
                };
                self.hold(record, element, room, file, room)?;
                self.count(record, i64::from(room));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// What holds now more and now less has a field that says how many.
    fn count(&mut self, record: RecordId, room: i64) {
        if self.records[record].fields.len() == 1 {
            let ty = Type::Range(0, room);
            let size = CoreField { name: "size".into(), ty, init: Value::Int(0), class: Class::Sync };
            self.records[record].fields.push(size);
        }
    }

    /// Whether the length of an array is in a field, and not the same for all of its type.
    pub fn is_counted(&self, record: RecordId) -> bool {
        self.records[record].fields.len() > SIZE
    }

    /// An array or channel has one field for what it holds.
    fn hold(&mut self, record: RecordId, element: &Name, len: u32, file: &File, room: u32) -> Result<()> {
        if std::mem::replace(&mut self.is_filled[record], true) {
            return Ok(());
        }
        let element = self.complete(element, file, room)?;
        let ty = Type::Array { index: Type::Int.into(), lo: 0, len, element: self.core(&element).into() };
        let init = ty.default_value(&self.records);
        self.records[record].fields.push(CoreField { name: "items".into(), ty, init, class: Class::Sync });
        self.elements.insert(record, (element, len));
        Ok(())
    }

    fn fill_fields(&mut self, record: RecordId, fields: &[Field], file: &File, room: u32) -> Result<()> {
        if std::mem::replace(&mut self.is_filled[record], true) {
            return Ok(());
        }
        for f in fields {
            let ty = self.complete(&f.ty, file, room)?;
            if self.fields[record].iter().any(|(name, _)| *name == f.name.text) {
                return Err(wrong(f.name.span, format!("`{}` is declared twice", f.name.text)));
            }
            let core = self.core(&ty);
            let init = match &f.init {
                None => core.default_value(&self.records),
                Some(e) => Value::Int(self.initial(e, &ty)?.ok_or_else(|| {
                    unsupported(e.span, "a field that begins as something else than a constant")
                        .help("assign it behind `new`")
                })?),
            };
            self.fields[record].push((f.name.text.clone(), ty));
            self.records[record].fields.push(CoreField {
                name: f.name.text.clone(),
                ty: core,
                init,
                class: Class::Sync,
            });
        }
        if self.records[record].fields.is_empty() {
            // An object is something, even if it has no fields.
            let (name, ty) = ("nothing".into(), Type::Bool);
            self.records[record].fields.push(CoreField { name, ty, init: Value::Int(0), class: Class::Sync });
        }
        Ok(())
    }

    /// A type by name, whose values are known: structs within it are complete.
    fn complete(&mut self, name: &Name, file: &File, room: u32) -> Result<Ty> {
        let ty = self.named(name)?;
        if let Ty::Struct(record) = ty {
            let is_open = self.is_filled[record] && self.records[record].fields.is_empty();
            if is_open {
                return Err(wrong(name.span, format!("`{}` contains itself", name.text)));
            }
            let declared = file.types.iter().find(|d| d.name.text == name.text);
            declared.map_or(Ok(()), |d| self.fill(d, file, room))?;
        }
        Ok(ty)
    }

    /// A type by name.
    pub fn named(&self, name: &Name) -> Result<Ty> {
        let known = self.named.get(&name.text).cloned();
        known.ok_or_else(|| wrong(name.span, format!("there is no type `{}`", name.text)))
    }

    /// The type of a name, if it is one.
    pub fn find(&self, name: &str) -> Option<&Ty> {
        self.named.get(name)
    }

    /// The numbers that are chosen from, and the type of what is chosen.
    pub fn choice(&self, name: &str, span: Span) -> Result<(i64, i64, Ty)> {
        if let Some((lo, hi)) = self.ranges.get(name) {
            return Ok((*lo, *hi, Ty::Int));
        }
        match self.named.get(name) {
            Some(Ty::Bool) => Ok((0, 1, Ty::Bool)),
            Some(Ty::Enum(e)) => Ok((0, self.enums[*e].names.len() as i64 - 1, Ty::Enum(*e))),
            Some(Ty::Number(8, false)) => Ok((0, 255, Ty::Number(8, false))),
            Some(_) => Err(unsupported(span, format!("a choice among all of `{name}`"))
                .help("choose from a `range`, an `enum` or `bool`")),
            None => Err(wrong(span, format!("there is no variable and no type `{name}`"))),
        }
    }

    /// The type of the core.
    pub fn core(&self, ty: &Ty) -> Type {
        match ty {
            Ty::Int => INT,
            Ty::Number(bits, signed) => Type::Fixed { bits: *bits, signed: *signed },
            Ty::Bool => Type::Bool,
            Ty::Text => Type::Enum(self.text),
            Ty::Enum(e) => Type::Enum(*e),
            Ty::Struct(r) => Type::Record(*r),
            Ty::Object(r) | Ty::Array(r) | Ty::Chan(r) | Ty::Set(r) => Type::Ref(*r),
            Ty::Null => Type::Bool,
        }
    }

    /// A type as people write it.
    pub fn show(&self, ty: &Ty) -> String {
        match ty {
            Ty::Int => "int".into(),
            Ty::Number(bits, signed) => {
                let known = NUMBERS.iter().find(|(_, b, s)| (b, s) == (bits, signed));
                known.map_or("int", |(name, ..)| name).into()
            }
            Ty::Bool => "bool".into(),
            Ty::Text => "string".into(),
            Ty::Enum(e) => self.enums[*e].name.clone(),
            Ty::Struct(r) | Ty::Object(r) | Ty::Array(r) | Ty::Chan(r) | Ty::Set(r) => self.records[*r].name.clone(),
            Ty::Null => "null".into(),
        }
    }

    /// The code of a constant first value; `None` if it is no constant.
    pub fn initial(&self, e: &Expr, ty: &Ty) -> Result<Option<i64>> {
        Ok(match (&e.kind, ty) {
            (ExprKind::Bool(b), Ty::Bool) => Some(i64::from(*b)),
            (ExprKind::Text(text), Ty::Text) => Some(self.text(text)),
            (ExprKind::Null, Ty::Text | Ty::Object(_) | Ty::Array(_) | Ty::Chan(_) | Ty::Set(_)) => Some(0),
            (ExprKind::Member(of, name), Ty::Enum(n)) => {
                let names = &self.enums[*n];
                let is_of = matches!(&of.kind, ExprKind::Name(of) if *of == names.name);
                names.names.iter().position(|v| is_of && *v == name.text).map(|v| v as i64)
            }
            (_, Ty::Int) => constant(e).ok(),
            (_, Ty::Number(bits, signed)) => {
                let fits = |n: &i64| fabius_lang::build::wrap(i128::from(*n), *bits, *signed) == *n;
                written(e).filter(fits)
            }
            _ => None,
        })
    }
}

/// Elements of the longest array of a type whose length `new` says, and whether all are that long: what is computed has room for
/// as many as a channel.
fn longest(file: &File, array: &str, room: u32) -> Result<(i64, bool)> {
    let mut lens = file.lengths.iter().filter(|(name, _)| name == array).map(|(_, len)| constant(len).ok());
    let Some(first) = lens.next() else { return Ok((1, false)) };
    let (mut longest, mut is_fixed) = (first.unwrap_or(i64::from(room)), first.is_some_and(|len| len > 0));
    for len in lens {
        is_fixed &= len == first;
        longest = longest.max(len.unwrap_or(i64::from(room)));
    }
    Ok((longest.max(1), is_fixed))
}

/// A number that is written down.
fn written(e: &Expr) -> Option<i64> {
    match &e.kind {
        ExprKind::Number(n, _) => Some(*n),
        ExprKind::Unary("-", a) => written(a)?.checked_neg(),
        ExprKind::Binary("+", a, b) => written(a)?.checked_add(written(b)?),
        ExprKind::Binary("-", a, b) => written(a)?.checked_sub(written(b)?),
        ExprKind::Binary("*", a, b) => written(a)?.checked_mul(written(b)?),
        _ => None,
    }
}

/// A number of 32 bits that is written down.
pub fn constant(e: &Expr) -> Result<i64> {
    let in_32_bits = written(e).filter(|n| i32::try_from(*n).is_ok());
    in_32_bits.ok_or_else(|| unsupported(e.span, "what is no number of 32 bits here").help("write the number"))
}
