//! C types as the rest of the front end knows them: widths of LP64, layouts, leaves.

use crate::core::ADDRESS;
use fabius_lang::program::Type;
use std::rc::Rc;

/// Index of a struct in [`Types`].
pub type StructId = usize;

/// A C type. Qualifiers are gone but for `_Atomic`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CType {
    Void,
    /// `_Bool`.
    Bool,
    Int {
        bits: u8,
        signed: bool,
    },
    /// Known by size only: nothing can be done with one.
    Float(u8),
    Pointer(Rc<CType>),
    /// With the number of elements, if it is known.
    Array(Rc<CType>, Option<u32>),
    Struct(StructId),
    Function(Rc<Signature>),
    Atomic(Rc<CType>),
    /// `pthread_t`: a handle.
    Thread,
    /// The waiters of a condition variable.
    Waiters,
}

/// The type of a function.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Signature {
    pub result: CType,
    pub params: Vec<CType>,
    pub variadic: bool,
    /// Declared as `f()`: nothing is known of the parameters.
    pub open: bool,
}

/// A field of a struct.
#[derive(Clone, Debug)]
pub struct Field {
    pub name: String,
    pub ty: CType,
    pub offset: i64,
    /// Of a bit-field: which bits of what it is stored in.
    pub bits: Option<Bits>,
}

/// Where a bit-field is. Bit-fields that stand next to each other are one memory location (C11 3.14): a run.
#[derive(Clone, Copy, Debug)]
pub struct Bits {
    /// The first field of the run.
    pub leader: usize,
    /// How many bytes the run has; its offset is that of its fields.
    pub bytes: u8,
    pub shift: u8,
    pub width: u8,
}

impl Bits {
    /// The integer that holds the run.
    pub fn cell(&self) -> CType {
        CType::Int { bits: self.bytes.next_power_of_two() * 8, signed: false }
    }
}

/// What a union is stored in: integers of one width, without a sign.
#[derive(Clone, Copy, Debug)]
pub struct Cells {
    pub bytes: i64,
    pub count: u32,
}

impl Cells {
    pub fn cell(&self) -> CType {
        CType::Int { bits: self.bytes as u8 * 8, signed: false }
    }
}

/// A field as it is declared.
#[derive(Clone, Debug)]
pub struct Member {
    pub name: String,
    pub ty: CType,
    /// Of a bit-field.
    pub width: Option<u8>,
    /// What `_Alignas` asks for.
    pub align: Option<i64>,
}

/// A struct.
#[derive(Clone, Debug)]
pub struct Struct {
    pub name: String,
    /// `None` as long as it is only declared.
    pub fields: Option<Vec<Field>>,
    pub size: i64,
    pub align: i64,
    /// Accesses to its parts synchronize (the library's objects).
    pub sync: bool,
    pub union: bool,
    /// Of a union with fields.
    pub cells: Option<Cells>,
}

/// How wide `long` and pointers are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataModel {
    /// 32 bits.
    Ilp32,
    /// 64 bits.
    #[default]
    Lp64,
}

/// All structs.
#[derive(Clone, Debug, Default)]
pub struct Types {
    pub structs: Vec<Struct>,
    pub model: DataModel,
    /// So many elements of a flexible array are followed at most.
    pub flexible: u32,
}

/// `int`.
pub const INT: CType = CType::Int { bits: 32, signed: true };
/// An integer of 64 bits, as addresses are reckoned with.
pub const LONG: CType = CType::Int { bits: 64, signed: true };
/// `unsigned char`.
pub const BYTE: CType = CType::Int { bits: 8, signed: false };
/// `char`.
pub const CHAR: CType = CType::Int { bits: 8, signed: true };

/// A scalar part of a type.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// Which fields lead to it; indexes of arrays are left out.
    pub fields: Vec<usize>,
    /// Lengths of the arrays on the way, outermost first.
    pub dims: Vec<u32>,
    pub ty: CType,
    /// `.head`, `.lock.holder`; behind the name of the variable.
    pub name: String,
    /// Accesses synchronize.
    pub sync: bool,
    /// What it is besides a variable of its type.
    pub kind: LeafKind,
}

/// What a scalar part is besides a variable of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafKind {
    Plain,
    /// A run of bit-fields.
    Run,
    /// A part of an object of the library.
    Library,
}

/// The type of a constant of an `enum`: an unsigned one where it is no `int`, as gcc has it.
pub fn of_constant(n: i64) -> CType {
    let is_long = n < i64::from(i32::MIN) || n > i64::from(u32::MAX);
    CType::Int { bits: if is_long { 64 } else { 32 }, signed: is_long || i32::try_from(n).is_ok() }
}

impl CType {
    pub fn pointer(self) -> CType {
        CType::Pointer(Rc::new(self))
    }

    /// Without `_Atomic`.
    pub fn plain(&self) -> &CType {
        match self {
            CType::Atomic(inner) => inner,
            other => other,
        }
    }

    pub fn is_integer(&self) -> bool {
        matches!(self.plain(), CType::Int { .. } | CType::Bool)
    }

    pub fn is_pointer(&self) -> bool {
        matches!(self.plain(), CType::Pointer(_))
    }

    pub fn is_float(&self) -> bool {
        matches!(self.plain(), CType::Float(_))
    }

    pub fn is_scalar(&self) -> bool {
        let others = matches!(self.plain(), CType::Thread | CType::Waiters);
        self.is_integer() || self.is_pointer() || self.is_float() || others
    }

    /// What a pointer points to.
    pub fn pointee(&self) -> Option<&CType> {
        match self.plain() {
            CType::Pointer(to) => Some(to),
            _ => None,
        }
    }

    /// As the core knows a scalar.
    pub fn core(&self) -> Type {
        match self.plain() {
            CType::Int { bits, signed } => Type::Fixed { bits: *bits, signed: *signed },
            CType::Bool => Type::Fixed { bits: 8, signed: false },
            CType::Thread => Type::Thread,
            CType::Waiters => Type::ThreadSet,
            _ => ADDRESS,
        }
    }

    /// Whether a pointer to one may be used as a pointer to the other: the same, but for signs and qualifiers.
    pub fn same_layout(&self, other: &CType) -> bool {
        match (self.plain(), other.plain()) {
            (CType::Int { bits: a, .. }, CType::Int { bits: b, .. }) => a == b,
            (CType::Bool, CType::Int { bits: 8, .. }) | (CType::Int { bits: 8, .. }, CType::Bool) => true,
            (CType::Pointer(_), CType::Pointer(_)) => true,
            (CType::Array(a, n), CType::Array(b, m)) => n == m && a.same_layout(b),
            (a, b) => a == b,
        }
    }
}

impl Types {
    /// Bits of `long` and of pointers.
    pub fn word(&self) -> u8 {
        match self.model {
            DataModel::Ilp32 => 32,
            DataModel::Lp64 => 64,
        }
    }

    /// `size_t`.
    pub fn size_type(&self) -> CType {
        CType::Int { bits: self.word(), signed: false }
    }

    /// `ptrdiff_t`.
    pub fn difference_type(&self) -> CType {
        CType::Int { bits: self.word(), signed: true }
    }

    pub fn size(&self, ty: &CType) -> Option<i64> {
        Some(match ty {
            CType::Bool => 1,
            CType::Int { bits, .. } => i64::from(*bits) / 8,
            CType::Float(16) if self.model == DataModel::Ilp32 => 12,
            CType::Float(bytes) => i64::from(*bytes),
            CType::Pointer(_) | CType::Thread => i64::from(self.word()) / 8,
            CType::Waiters => 8,
            CType::Array(of, n) => self.size(of)? * i64::from((*n)?),
            CType::Struct(id) => {
                self.structs[*id].fields.as_ref()?;
                self.structs[*id].size
            }
            CType::Atomic(inner) => self.size(inner)?,
            CType::Void | CType::Function(_) => 1,
        })
    }

    /// Of a struct that ends with a flexible array: where that is, and its elements.
    pub fn flexible_array(&self, ty: &CType) -> Option<(i64, &CType)> {
        let CType::Struct(id) = ty.plain() else { return None };
        let s = &self.structs[*id];
        let last = s.fields.as_ref()?.last().filter(|_| !s.union)?;
        match last.ty.plain() {
            CType::Array(of, None) => Some((last.offset, of)),
            inner => self.flexible_array(inner).map(|(at, of)| (last.offset + at, of)),
        }
    }

    /// Bytes of an object, with those that its flexible array may have.
    pub fn room(&self, ty: &CType) -> Option<i64> {
        let size = self.size(ty)?;
        let Some((at, of)) = self.flexible_array(ty) else { return Some(size) };
        Some(size.max(at + self.size(of)? * i64::from(self.flexible)))
    }

    pub fn align(&self, ty: &CType) -> i64 {
        match ty {
            CType::Array(of, _) => self.align(of),
            CType::Struct(id) => self.structs[*id].align,
            // As on i386.
            CType::Int { bits: 64, .. } | CType::Float(8 | 16) if self.model == DataModel::Ilp32 => 4,
            CType::Atomic(inner) => match inner.is_scalar() {
                true => self.size(inner).unwrap_or(1).clamp(1, 16),
                false => self.align(inner),
            },
            other => self.size(other).unwrap_or(1).clamp(1, 16),
        }
    }

    /// Gives a struct its fields, laid out as gcc does: one after the other (or, in a union, one over the other). `most` is
    /// what their types are aligned to at most: 1 if the struct is packed.
    ///
    /// # Errors
    /// A run of bit-fields that has more than 64 bits: the name of a field of it.
    pub fn define(&mut self, id: StructId, members: Vec<Member>, most: i64, least: i64) -> Result<(), String> {
        let union = self.structs[id].union;
        // Bits from the start; where the run of bit-fields begins, as field and bit.
        let (mut at, mut align, mut largest): (i64, i64, i64) = (0, least.max(1), 0);
        let mut run: Option<(usize, i64)> = None;
        let mut fields: Vec<Field> = Vec::new();
        for Member { name, ty, width, align: asked } in members {
            if union {
                at = 0;
                run = None;
            }
            let size = self.size(&ty).unwrap_or(0);
            let own = self.align(&ty).min(most);
            let mine = own.max(asked.unwrap_or(1));
            let Some(width) = width else {
                run = None;
                at = up((at + 7) / 8, mine);
                align = align.max(mine);
                fields.push(Field { name, ty, offset: at, bits: None });
                at = (at + size) * 8;
                largest = largest.max(at);
                continue;
            };
            let unit = size * 8;
            if width == 0 {
                at = up(at, unit);
                largest = largest.max(at);
                run = None;
                continue;
            }
            let width = i64::from(width);
            if most > 1 && at / unit != (at + width - 1) / unit {
                at = up(at, unit);
            }
            let (leader, start) = *run.get_or_insert((fields.len(), at / 8 * 8));
            if !name.is_empty() {
                align = align.max(mine);
                let bits = Bits { leader, bytes: 0, shift: (at - start).min(64) as u8, width: width as u8 };
                fields.push(Field { name, ty, offset: start / 8, bits: Some(bits) });
            }
            at += width;
            largest = largest.max(at);
            let bytes = (at - start + 7) / 8;
            for f in fields.iter_mut().skip(leader) {
                if bytes > 8 {
                    return Err(f.name.clone());
                }
                if let Some(b) = &mut f.bits {
                    b.bytes = bytes as u8;
                }
            }
        }
        let s = &mut self.structs[id];
        s.size = up((largest + 7) / 8, align);
        s.align = align;
        s.fields = Some(fields);
        if union {
            let mut places = Vec::new();
            self.extents(&CType::Struct(id), 0, &mut places);
            let common = places.iter().fold(8, |g, (at, size)| gcd(gcd(g, *at), *size));
            // The greatest power of two that divides all of them.
            let bytes = 1 << common.trailing_zeros();
            let size = self.structs[id].size;
            // With what lies behind the longest field: a union is copied whole.
            self.structs[id].cells = (!places.is_empty()).then_some(Cells { bytes, count: (size / bytes) as u32 });
        }
        Ok(())
    }

    /// Where the scalar parts are: offsets and sizes. Of an array its first element, and how far the others are.
    fn extents(&self, ty: &CType, at: i64, out: &mut Vec<(i64, i64)>) {
        match ty.plain() {
            CType::Array(of, n) => {
                if n.unwrap_or(0) == 0 {
                    return;
                }
                self.extents(of, at, out);
                let size = self.size(of).unwrap_or(0);
                out.push((at, size * i64::from(n.unwrap_or(0))));
                out.push((at, size));
            }
            CType::Struct(id) => {
                // A cell of a union in a union is some cells of the outer one.
                out.extend(self.structs[*id].cells.map(|cells| (at, cells.bytes)));
                for f in self.structs[*id].fields.iter().flatten() {
                    match f.bits {
                        Some(b) => out.push((at + f.offset, i64::from(b.bytes))),
                        None => self.extents(&f.ty, at + f.offset, out),
                    }
                }
            }
            other => out.push((at, self.size(other).unwrap_or(0))),
        }
    }

    /// The scalar parts of a type, in order.
    pub fn leaves(&self, ty: &CType) -> Vec<Leaf> {
        let mut out = Vec::new();
        let start = Leaf {
            fields: Vec::new(),
            dims: Vec::new(),
            ty: ty.clone(),
            name: String::new(),
            sync: false,
            kind: LeafKind::Plain,
        };
        self.collect(start, &mut out);
        out
    }

    fn collect(&self, leaf: Leaf, out: &mut Vec<Leaf>) {
        match &leaf.ty {
            CType::Atomic(inner) => self.collect(Leaf { ty: (**inner).clone(), sync: true, ..leaf.clone() }, out),
            CType::Array(of, n) => {
                let mut next = leaf.clone();
                next.dims.push(n.unwrap_or(0));
                next.ty = (**of).clone();
                self.collect(next, out);
            }
            CType::Struct(id) if self.structs[*id].cells.is_some() => {
                let cells = self.structs[*id].cells.expect("it was asked");
                let mut next = leaf.clone();
                if cells.count > 1 {
                    next.dims.push(cells.count);
                }
                next.ty = cells.cell();
                out.push(next);
            }
            CType::Struct(id) => {
                let s = &self.structs[*id];
                for (i, f) in s.fields.iter().flatten().enumerate() {
                    let mut next = leaf.clone();
                    next.fields.push(i);
                    if let Some(bits) = f.bits {
                        if bits.leader == i {
                            next.ty = bits.cell();
                            next.kind = LeafKind::Run;
                            next.name = format!("{}.{}", leaf.name, s.run(i).join(","));
                            out.push(next);
                        }
                        continue;
                    }
                    next.ty = f.ty.clone();
                    if let CType::Array(of, None) = &f.ty {
                        next.ty = CType::Array(of.clone(), Some(self.flexible));
                    }
                    next.sync |= s.sync;
                    if s.sync {
                        next.kind = LeafKind::Library;
                    }
                    if !f.name.is_empty() {
                        next.name = format!("{}.{}", leaf.name, f.name);
                    }
                    self.collect(next, out);
                }
            }
            _ => out.push(leaf),
        }
    }

    /// The way to a field, through unnamed structs.
    pub fn find_field(&self, id: StructId, name: &str) -> Option<Vec<usize>> {
        let fields = self.structs[id].fields.as_ref()?;
        if let Some(i) = fields.iter().position(|f| f.name == name) {
            return Some(vec![i]);
        }
        fields.iter().enumerate().filter(|(_, f)| f.name.is_empty()).find_map(|(i, f)| match f.ty {
            CType::Struct(inner) => {
                let mut way = vec![i];
                way.extend(self.find_field(inner, name)?);
                Some(way)
            }
            _ => None,
        })
    }

    /// As a C programmer writes it.
    pub fn show(&self, ty: &CType) -> String {
        match ty {
            CType::Void => "void".into(),
            CType::Bool => "_Bool".into(),
            CType::Int { bits, signed } => {
                let name = match bits {
                    8 => "char",
                    16 => "short",
                    32 => "int",
                    _ => "long",
                };
                if *signed { name.into() } else { format!("unsigned {name}") }
            }
            CType::Float(4) => "float".into(),
            CType::Float(_) => "double".into(),
            CType::Pointer(to) => format!("{} *", self.show(to)),
            CType::Array(of, Some(n)) => format!("{}[{n}]", self.show(of)),
            CType::Array(of, None) => format!("{}[]", self.show(of)),
            CType::Struct(id) => {
                let s = &self.structs[*id];
                format!("{} {}", if s.union { "union" } else { "struct" }, s.name)
            }
            CType::Function(_) => "a function".into(),
            CType::Atomic(inner) => format!("_Atomic {}", self.show(inner)),
            CType::Thread => "pthread_t".into(),
            CType::Waiters => "a set of threads".into(),
        }
    }
}

impl Struct {
    /// The names of the bit-fields of a run.
    fn run(&self, leader: usize) -> Vec<&str> {
        let mine = |f: &&Field| f.bits.is_some_and(|b| b.leader == leader);
        self.fields.iter().flatten().filter(mine).map(|f| f.name.as_str()).collect()
    }
}

/// Rounded up to a multiple.
fn up(n: i64, to: i64) -> i64 {
    (n + to - 1) / to * to
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The library's objects: name of the type, their parts.
pub fn library_objects() -> Vec<(&'static str, Vec<(&'static str, CType)>)> {
    vec![
        ("pthread_mutex_t", vec![("holder", CType::Thread), ("depth", INT), ("kind", INT)]),
        ("pthread_cond_t", vec![("waiting", CType::Waiters)]),
        ("pthread_rwlock_t", vec![("writer", CType::Thread), ("readers", INT)]),
        ("pthread_barrier_t", vec![("parties", INT), ("arrived", INT), ("waiting", CType::Waiters)]),
        ("pthread_spinlock_t", vec![("holder", CType::Thread)]),
        ("sem_t", vec![("count", INT)]),
        ("pthread_once_t", vec![("state", INT)]),
        ("pthread_attr_t", vec![]),
        ("pthread_mutexattr_t", vec![("kind", INT)]),
        ("pthread_condattr_t", vec![]),
        ("pthread_rwlockattr_t", vec![]),
        ("pthread_barrierattr_t", vec![]),
    ]
}

/// Types of C11's threads.
const TYPES: [(&str, &str); 4] = [
    ("thrd_t", "pthread_t"),
    ("mtx_t", "pthread_mutex_t"),
    ("cnd_t", "pthread_cond_t"),
    ("once_flag", "pthread_once_t"),
];

/// The type of POSIX that one of these is.
pub fn posix_type(name: &str) -> &str {
    TYPES.iter().find(|(c11, _)| *c11 == name).map_or(name, |(_, posix)| posix)
}
