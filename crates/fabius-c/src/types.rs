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
}

/// `int`.
pub const INT: CType = CType::Int { bits: 32, signed: true };
/// An integer of 64 bits, as addresses are reckoned with.
pub const LONG: CType = CType::Int { bits: 64, signed: true };
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

    pub fn is_scalar(&self) -> bool {
        self.is_integer() || self.is_pointer() || matches!(self.plain(), CType::Thread | CType::Waiters)
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

    pub fn align(&self, ty: &CType) -> i64 {
        match ty {
            CType::Array(of, _) => self.align(of),
            CType::Struct(id) => self.structs[*id].align,
            CType::Atomic(inner) => self.align(inner),
            // As on i386.
            CType::Int { bits: 64, .. } if self.model == DataModel::Ilp32 => 4,
            other => self.size(other).unwrap_or(1).clamp(1, 16),
        }
    }

    /// Gives a struct its fields, laid out one after the other (or, in a union, one over the other).
    pub fn define(&mut self, id: StructId, fields: Vec<(String, CType)>) {
        let (mut at, mut align, mut largest) = (0, 1, 0);
        let union = self.structs[id].union;
        let fields = fields.into_iter().map(|(name, ty)| {
            let mine = self.align(&ty);
            let size = self.size(&ty).unwrap_or(0);
            align = align.max(mine);
            at = (at + mine - 1) / mine * mine;
            let offset = if union { 0 } else { at };
            at = offset + size;
            largest = largest.max(at);
            Field { name, ty, offset }
        });
        let fields: Vec<Field> = fields.collect();
        let s = &mut self.structs[id];
        s.size = (largest + align - 1) / align * align;
        s.align = align;
        s.fields = Some(fields);
    }

    /// The scalar parts of a type, in order.
    pub fn leaves(&self, ty: &CType) -> Vec<Leaf> {
        let mut out = Vec::new();
        let start = Leaf { fields: Vec::new(), dims: Vec::new(), ty: ty.clone(), name: String::new(), sync: false };
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
            CType::Struct(id) => {
                let s = &self.structs[*id];
                for (i, f) in s.fields.iter().flatten().enumerate() {
                    let mut next = leaf.clone();
                    next.fields.push(i);
                    next.ty = f.ty.clone();
                    next.sync |= s.sync;
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

/// The library's objects: name of the type, their parts.
pub fn library_objects() -> Vec<(&'static str, Vec<(&'static str, CType)>)> {
    vec![
        ("pthread_mutex_t", vec![("holder", CType::Thread), ("depth", INT), ("kind", INT)]),
        ("pthread_cond_t", vec![("waiting", CType::Waiters)]),
        ("pthread_rwlock_t", vec![("writer", CType::Thread), ("readers", INT)]),
        ("pthread_barrier_t", vec![("parties", INT), ("arrived", INT), ("round", INT)]),
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
