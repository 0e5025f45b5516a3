//! The parts of variables: which member or element lies at an offset, by the types that a program's DWARF describes.

use gimli::{
    AttributeValue, DebuggingInformationEntry, DwAt, Dwarf, EndianRcSlice, LittleEndian, Operation, SectionId, Unit,
    UnitOffset,
};
use object::{Object, ObjectSection};
use std::collections::BTreeMap;
use std::rc::Rc;

type Reader = EndianRcSlice<LittleEndian>;
type Entry = DebuggingInformationEntry<Reader>;

/// What a file says of its variables.
pub struct Fields {
    dwarf: Dwarf<Reader>,
    units: Vec<Unit<Reader>>,
    /// Where they are, and of which type.
    variables: BTreeMap<u64, Type>,
    /// By where they begin.
    functions: BTreeMap<u64, Function>,
}

/// A function whose variables are in its frame.
struct Function {
    end: u64,
    /// From what is called the frame's base to where the address of the caller's frame is kept.
    base: i64,
    /// Where they are from the base, and of which type.
    variables: Vec<(i64, Type)>,
}

/// A type: the unit that describes it, and where in it.
#[derive(Clone, Copy)]
pub struct Type {
    unit: usize,
    at: UnitOffset,
}

/// Types within types that are followed.
const DEPTH: u32 = 32;

impl Fields {
    /// Reads a file; `None` if it says nothing.
    pub fn read(file: &str) -> Option<Fields> {
        let bytes = std::fs::read(file).ok()?;
        let elf = object::File::parse(&*bytes).ok()?;
        let section = |id: SectionId| {
            let data = elf.section_by_name(id.name()).and_then(|s| s.data().ok()).unwrap_or_default();
            Ok::<_, ()>(Reader::new(Rc::from(data), LittleEndian))
        };
        let dwarf = Dwarf::load(section).ok()?;
        let (variables, functions) = (BTreeMap::new(), BTreeMap::new());
        let mut fields = Fields { dwarf, units: Vec::new(), variables, functions };
        let mut headers = fields.dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            let Ok(unit) = fields.dwarf.unit(header) else { continue };
            fields.units.push(unit);
        }
        for number in 0..fields.units.len() {
            let mut entries = fields.units[number].entries();
            let mut function = None;
            while let Ok(Some(entry)) = entries.next_dfs() {
                match entry.tag() {
                    gimli::DW_TAG_subprogram => {
                        fields.functions.extend(function.take());
                        function = fields.function(number, entry);
                    }
                    gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                        let Some(kind) = fields.declared(number, entry) else { continue };
                        match (fields.place(number, entry), &mut function) {
                            (Some(Operation::FrameOffset { offset }), Some((_, function))) => {
                                function.variables.push((offset, kind));
                            }
                            (place, _) => {
                                let at = fields.address(number, place);
                                fields.variables.extend(at.map(|at| (at, kind)));
                            }
                        }
                    }
                    _ => {}
                }
            }
            fields.functions.extend(function.take());
        }
        Some(fields)
    }

    /// The variable that an access to so many bytes at an address belongs to: where it begins, and which part of it is
    /// accessed, as it is written behind the name. No bytes: an object whose size is not known.
    pub fn part(&self, address: u64, bytes: u64) -> Option<(u64, String)> {
        let (begin, kind) = self.variables.range(..=address).next_back()?;
        let offset = address - begin;
        let size = self.size(*kind, 0)?;
        (offset < size.max(1)).then(|| (*begin, self.within(*kind, offset, bytes, 0)))
    }

    /// Where a variable is, if that is always the same.
    fn place(&self, unit: usize, entry: &Entry) -> Option<Operation<Reader>> {
        let AttributeValue::Exprloc(place) = entry.attr_value(gimli::DW_AT_location)? else { return None };
        place.operations(self.units[unit].encoding()).next().ok()?
    }

    /// The same as an address, for what does not move.
    fn address(&self, unit: usize, place: Option<Operation<Reader>>) -> Option<u64> {
        match place? {
            Operation::Address { address } => Some(address),
            Operation::AddressIndex { index } => self.dwarf.address(&self.units[unit], index).ok(),
            _ => None,
        }
    }

    /// A function, and where it begins.
    fn function(&self, unit: usize, entry: &Entry) -> Option<(u64, Function)> {
        let begin = match entry.attr_value(gimli::DW_AT_low_pc)? {
            AttributeValue::Addr(address) => address,
            AttributeValue::DebugAddrIndex(index) => self.dwarf.address(&self.units[unit], index).ok()?,
            _ => return None,
        };
        let end = match entry.attr_value(gimli::DW_AT_high_pc)? {
            AttributeValue::Addr(address) => address,
            length => begin + length.udata_value()?,
        };
        let AttributeValue::Exprloc(base) = entry.attr_value(gimli::DW_AT_frame_base)? else { return None };
        let base = match base.operations(self.units[unit].encoding()).next().ok()?? {
            // The return address and the caller's frame are below it.
            Operation::CallFrameCFA => 16,
            Operation::Register { register: gimli::X86_64::RBP } => 0,
            _ => return None,
        };
        Some((begin, Function { end, base, variables: Vec::new() }))
    }

    /// What a variable points to that is in the frame of the function at an address of code.
    pub fn pointed_by_local(&self, code: u64, offset: i64) -> Option<Type> {
        let (_, function) = self.functions.range(..=code).next_back()?;
        let mut found = function.variables.iter().filter(|_| code < function.end);
        let (_, kind) = found.find(|(at, _)| at + function.base == offset)?;
        self.pointed(*kind)
    }

    /// What a variable that does not move points to.
    pub fn pointed_by(&self, address: u64) -> Option<Type> {
        self.pointed(*self.variables.get(&address)?)
    }

    /// What a pointer or a reference points to.
    fn pointed(&self, pointer: Type) -> Option<Type> {
        let entry = self.entry(self.plain(pointer))?;
        let is_pointer = matches!(entry.tag(), gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type);
        of(pointer.unit, &entry, gimli::DW_AT_type).filter(|_| is_pointer)
    }

    /// A type without other names for it, and without what may not be done with it.
    fn plain(&self, mut kind: Type) -> Type {
        for _ in 0..DEPTH {
            let Some(entry) = self.entry(kind).filter(is_named_only) else { break };
            let Some(inner) = of(kind.unit, &entry, gimli::DW_AT_type) else { break };
            kind = inner;
        }
        kind
    }

    /// What a block of the heap may be called if this type is in it: its name and its size. Bytes say nothing.
    pub fn named(&self, kind: Type) -> Option<(String, u64)> {
        let plain = self.entry(self.plain(kind))?;
        let is_byte = || number(&plain, gimli::DW_AT_byte_size) == Some(1);
        let is_library = self.is_library(self.plain(kind), &plain);
        let says_much = match plain.tag() {
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => !is_library,
            gimli::DW_TAG_base_type => !is_byte(),
            _ => false,
        };
        let unit = &self.units[kind.unit];
        let name = |entry: &Entry| {
            let name = self.dwarf.attr_string(unit, entry.attr_value(gimli::DW_AT_name)?).ok()?;
            String::from_utf8(name.to_vec()).ok()
        };
        let name = name(&plain).or_else(|| name(&self.entry(kind)?))?;
        Some((name, self.size(kind, 0)?)).filter(|_| says_much)
    }

    /// Which part of something of this type an access belongs to.
    pub fn part_of(&self, kind: Type, offset: u64, bytes: u64) -> String {
        self.within(kind, offset, bytes, 0)
    }

    fn entry(&self, kind: Type) -> Option<Entry> {
        self.units[kind.unit].entry(kind.at).ok()
    }

    /// The type of a variable, also where that is said at its declaration.
    fn declared(&self, unit: usize, entry: &Entry) -> Option<Type> {
        of(unit, entry, gimli::DW_AT_type).or_else(|| {
            let elsewhere = of(unit, entry, gimli::DW_AT_specification);
            let declaration = elsewhere.or_else(|| of(unit, entry, gimli::DW_AT_abstract_origin))?;
            of(unit, &self.entry(declaration)?, gimli::DW_AT_type)
        })
    }

    /// Bytes of a type.
    fn size(&self, kind: Type, depth: u32) -> Option<u64> {
        let entry = self.entry(kind).filter(|_| depth < DEPTH)?;
        if let Some(size) = number(&entry, gimli::DW_AT_byte_size) {
            return Some(size);
        }
        let inner = || self.size(of(kind.unit, &entry, gimli::DW_AT_type)?, depth + 1);
        match entry.tag() {
            gimli::DW_TAG_pointer_type => Some(8),
            gimli::DW_TAG_array_type => {
                let count: u64 = self.dimensions(kind).into_iter().map(|n| n.unwrap_or(1)).product();
                Some(inner()? * count)
            }
            _ => inner(),
        }
    }

    /// How many elements an array has, in each dimension.
    fn dimensions(&self, array: Type) -> Vec<Option<u64>> {
        let of_child = |child: &Entry| {
            let most = || number(child, gimli::DW_AT_upper_bound).map(|most| most.wrapping_add(1));
            (child.tag() == gimli::DW_TAG_subrange_type).then(|| number(child, gimli::DW_AT_count).or_else(most))
        };
        self.children(array, of_child)
    }

    /// What is made of the entries directly below another one.
    fn children<T>(&self, parent: Type, make: impl Fn(&Entry) -> Option<T>) -> Vec<T> {
        let mut made = Vec::new();
        let Ok(mut tree) = self.units[parent.unit].entries_tree(Some(parent.at)) else { return made };
        let Ok(root) = tree.root() else { return made };
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            made.extend(make(child.entry()));
        }
        made
    }

    /// Which part of a type an access belongs to.
    fn within(&self, kind: Type, offset: u64, bytes: u64, depth: u32) -> String {
        let whole = || if offset == 0 { String::new() } else { format!("+{offset}") };
        let Some(entry) = self.entry(kind).filter(|_| depth < DEPTH) else { return whole() };
        let inner = of(kind.unit, &entry, gimli::DW_AT_type);
        let part = match (entry.tag(), inner) {
            (_, Some(inner)) if is_named_only(&entry) => return self.within(inner, offset, bytes, depth + 1),
            (gimli::DW_TAG_array_type, Some(element)) => self.element(kind, element, offset, bytes, depth),
            (gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type, _)
                if !self.is_library(kind, &entry) =>
            {
                self.member(kind, offset, bytes, depth)
            }
            _ => None,
        };
        part.unwrap_or_else(whole)
    }

    fn element(&self, array: Type, element: Type, offset: u64, bytes: u64, depth: u32) -> Option<String> {
        let size = self.size(element, 0).filter(|size| *size > 0)?;
        let (mut number, rest) = (offset / size, offset % size);
        if rest + bytes > size {
            return None;
        }
        let mut indices = Vec::new();
        for count in self.dimensions(array).into_iter().skip(1).rev() {
            let count = count.filter(|count| *count > 0)?;
            indices.push(number % count);
            number /= count;
        }
        indices.push(number);
        let indices: String = indices.iter().rev().map(|index| format!("[{index}]")).collect();
        Some(indices + &self.within(element, rest, bytes, depth + 1))
    }

    fn member(&self, parent: Type, offset: u64, bytes: u64, depth: u32) -> Option<String> {
        let unit = &self.units[parent.unit];
        let is_union = self.entry(parent)?.tag() == gimli::DW_TAG_union_type;
        let members = self.children(parent, |child| {
            let is_part = matches!(child.tag(), gimli::DW_TAG_member | gimli::DW_TAG_inheritance);
            // What has no place is a static member, or a few bits.
            let at = number(child, gimli::DW_AT_data_member_location).or(is_union.then_some(0)).filter(|_| is_part)?;
            let kind = of(parent.unit, child, gimli::DW_AT_type)?;
            let size = self.size(kind, 0)?;
            let is_in = at <= offset && offset + bytes.max(1) <= at + size;
            let name = child.attr_value(gimli::DW_AT_name).and_then(|name| self.dwarf.attr_string(unit, name).ok());
            let name = name.and_then(|name| String::from_utf8(name.to_vec()).ok());
            is_in.then_some((at, kind, name))
        });
        let parts = members.into_iter().map(|(at, kind, name)| {
            let inner = self.within(kind, offset - at, bytes, depth + 1);
            name.map_or(inner.clone(), |name| format!(".{name}{inner}"))
        });
        let parts: Vec<String> = parts.collect();
        // Of a union, a member in which something is exactly there.
        parts.iter().find(|part| !part.contains('+')).or(parts.first()).cloned()
    }

    /// Whether a type is a library's, whose members mean nothing to others.
    fn is_library(&self, kind: Type, entry: &Entry) -> bool {
        let unit = &self.units[kind.unit];
        let folder = || {
            let AttributeValue::FileIndex(file) = entry.attr_value(gimli::DW_AT_decl_file)? else { return None };
            let header = unit.line_program.as_ref()?.header();
            let folder = header.file(file)?.directory(header)?;
            let folder = self.dwarf.attr_string(unit, folder).ok()?;
            Some(folder.starts_with(b"/usr/"))
        };
        folder().unwrap_or(false)
    }
}

/// Whether a type is another one by a new name, or with something that may not be done.
fn is_named_only(entry: &Entry) -> bool {
    matches!(
        entry.tag(),
        gimli::DW_TAG_typedef | gimli::DW_TAG_const_type | gimli::DW_TAG_volatile_type | gimli::DW_TAG_atomic_type
    )
}

fn number(entry: &Entry, name: DwAt) -> Option<u64> {
    entry.attr_value(name)?.udata_value()
}

fn of(unit: usize, entry: &Entry, name: DwAt) -> Option<Type> {
    match entry.attr_value(name)? {
        AttributeValue::UnitRef(at) => Some(Type { unit, at }),
        _ => None,
    }
}
