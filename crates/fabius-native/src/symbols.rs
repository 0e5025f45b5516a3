//! From addresses to functions, lines and variables.

use crate::fields::{Fields, Type};
use addr2line::Loader;
use fabius_native_protocol::Module;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

/// What is known of a program and its libraries.
pub struct Symbols {
    modules: Vec<(Module, Option<Binary>)>,
    /// What was asked for: an execution comes to the same places again and again, and names of C++ take long to be read.
    places: RefCell<HashMap<u64, Vec<Place>>>,
    variables: RefCell<HashMap<(u64, u64), Option<String>>>,
}

/// What a file says.
struct Binary {
    loader: Loader,
    /// Read when it is asked for.
    fields: OnceCell<Option<Fields>>,
}

impl Binary {
    fn read(file: &str) -> Option<Binary> {
        Some(Binary { loader: Loader::new(file).ok()?, fields: OnceCell::new() })
    }
}

/// A place in the source.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The file.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
    /// The function, as written in the source where that is known.
    pub function: String,
}

/// What a pointer points to.
#[derive(Clone, Copy)]
pub struct Pointed<'a> {
    fields: &'a Fields,
    kind: Type,
}

impl Pointed<'_> {
    /// The name of the type and its size, if it says something of what it is.
    pub fn named(&self) -> Option<(String, u64)> {
        self.fields.named(self.kind)
    }

    /// Which part of it an access belongs to.
    pub fn part(&self, offset: u64, bytes: u64) -> String {
        self.fields.part_of(self.kind, offset, bytes)
    }
}

impl Symbols {
    /// Reads what the files say.
    pub fn read(modules: &[Module]) -> Symbols {
        let modules = modules.iter().map(|m| (m.clone(), Binary::read(&m.file))).collect();
        Symbols { modules, places: RefCell::default(), variables: RefCell::default() }
    }

    fn find(&self, address: u64) -> Option<(&Module, &Binary, u64)> {
        // What is not initialized follows the mapped part of a file.
        let module = self.modules.iter().filter(|(m, _)| m.begin <= address && address < m.end + (1 << 30));
        let (module, binary) = module.max_by_key(|(m, _)| m.begin)?;
        let binary = binary.as_ref()?;
        // A program that is not position independent is where its file says.
        let relative =
            if module.begin < 0x1_0000_0000 && module.base == 0x40_0000 { address } else { address - module.base };
        Some((module, binary, relative))
    }

    /// The functions that an address of code is in, innermost first; more than one where they are inlined. `after` is
    /// behind a call.
    /// Our own functions are none.
    pub fn places(&self, after: u64) -> Vec<Place> {
        let mut known = self.places.borrow_mut();
        let places = known.entry(after).or_insert_with(|| {
            let mut places = self.all_places(after);
            places.retain(|p| !p.function.starts_with("fabius_"));
            places
        });
        places.clone()
    }

    fn all_places(&self, after: u64) -> Vec<Place> {
        let Some((_, Binary { loader, .. }, address)) = self.find(after.saturating_sub(1)) else { return Vec::new() };
        let mut places = Vec::new();
        if let Ok(mut frames) = loader.find_frames(address) {
            while let Ok(Some(frame)) = frames.next() {
                let name = frame.function.as_ref().and_then(|f| f.raw_name().ok().map(|n| demangled(&n)));
                let location = frame.location;
                places.push(Place {
                    file: location.as_ref().and_then(|l| l.file).unwrap_or_default().to_string(),
                    line: location.as_ref().and_then(|l| l.line).unwrap_or(0),
                    column: location.as_ref().and_then(|l| l.column).unwrap_or(0),
                    function: name.unwrap_or_default(),
                });
            }
        }
        if places.is_empty()
            && let Some(name) = loader.find_symbol(address)
        {
            places.push(Place { function: demangled(name), ..Place::default() });
        }
        places
    }

    /// The name of so many bytes at an address of data: a variable, and which part of it. No bytes: it is not known how many.
    pub fn variable(&self, address: u64, bytes: u64) -> Option<String> {
        let mut known = self.variables.borrow_mut();
        known.entry((address, bytes)).or_insert_with(|| self.read_variable(address, bytes)).clone()
    }

    fn read_variable(&self, address: u64, bytes: u64) -> Option<String> {
        let (module, binary, relative) = self.find(address)?;
        let symbol = binary.loader.find_symbol_info(relative)?;
        let offset = relative - symbol.address();
        // Behind `@` is the version of a library.
        let name = demangled(symbol.name().split('@').next().unwrap_or_default());
        let fields = binary.fields.get_or_init(|| Fields::read(&module.file));
        let part = fields.as_ref().and_then(|fields| fields.part(relative, bytes));
        if let Some((_, part)) = part.filter(|(begin, _)| *begin == symbol.address()) {
            return Some(name + &part);
        }
        // Far behind a symbol is something else.
        (offset < 1 << 26).then(|| if offset == 0 { name.clone() } else { format!("{name}+{offset}") })
    }

    /// What a variable points to that is in the frame of the function that a call goes back to.
    pub fn pointed_by_local(&self, after: u64, offset: i64) -> Option<Pointed<'_>> {
        let (fields, address) = self.fields(after.saturating_sub(1))?;
        Some(Pointed { fields, kind: fields.pointed_by_local(address, offset)? })
    }

    /// What the variable at an address of data points to.
    pub fn pointed_by(&self, address: u64) -> Option<Pointed<'_>> {
        let (fields, address) = self.fields(address)?;
        Some(Pointed { fields, kind: fields.pointed_by(address)? })
    }

    fn fields(&self, address: u64) -> Option<(&Fields, u64)> {
        let (module, binary, relative) = self.find(address)?;
        let fields = binary.fields.get_or_init(|| Fields::read(&module.file));
        Some((fields.as_ref()?, relative))
    }

    /// The name of the function at an address.
    pub fn function(&self, address: u64) -> Option<String> {
        self.places(address + 1).last().map(|p| p.function.clone()).filter(|n| !n.is_empty())
    }
}

/// A name as in the source.
pub fn demangled(name: &str) -> String {
    let is_mangled = name.starts_with("_Z") || name.starts_with("_R");
    if is_mangled { addr2line::demangle_auto(name.into(), None).into_owned() } else { name.into() }
}
