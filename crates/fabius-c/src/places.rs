//! Places: variables, their parts, and what pointers mean.
//!
//! What a pointer points to is one of the objects of its type whose address is taken somewhere. An access compares the
//! address with theirs, which touches nothing shared, and then makes one access to the one that it is.
//!
//! Length: one function for each way to say where something is.

use crate::birth::Use;
use crate::core::*;
use crate::lower::Lower;
use crate::memory::*;
use crate::property::Property;
use crate::refusal::{Refusal, Result, unsupported, wrong};
use crate::types::{BYTE, CType};
use fabius_lang::program::*;
use fabius_trace::Span;

/// An object, and a part of it, that a pointer may mean.
pub(crate) type Home = (ObjectId, Vec<Way>);

/// A byte or a scalar among many: when an address means it, and its place.
pub(crate) type View = (Expr, Direct);

/// A place of a C program.
#[derive(Clone, Debug)]
pub(crate) struct Lvalue {
    pub at: At,
    pub ty: CType,
    /// Of a bit-field.
    pub width: Option<u8>,
    pub span: Span,
}

/// Where it is.
#[derive(Clone, Debug)]
pub(crate) enum At {
    Direct(Direct),
    /// What an address means: of this type, and then these parts of it.
    Deref {
        address: Expr,
        root: CType,
        parts: Vec<Part>,
    },
}

/// A value: its scalars in order, one for each scalar part of the type. They read nothing shared.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub parts: Vec<Expr>,
    pub ty: CType,
}

impl Value {
    pub fn scalar(e: Expr, ty: CType) -> Value {
        Value { parts: vec![e], ty }
    }

    pub fn void() -> Value {
        Value { parts: Vec::new(), ty: CType::Void }
    }
}

impl Lower<'_, '_> {
    /// The whole of an object.
    pub fn whole(&mut self, object: ObjectId, span: Span) -> Lvalue {
        let o = &self.objects[object];
        let (ty, has_slots) = (o.ty.clone(), o.pool.is_some());
        let slot = has_slots.then(|| self.thread_number(span));
        Lvalue { at: At::Direct(Direct { object, slot, element: None, parts: Vec::new() }), ty, width: None, span }
    }

    /// A part of a place.
    pub fn part(&self, mut lv: Lvalue, part: Part, span: Span) -> Result<Lvalue> {
        lv.width = None;
        lv.ty = match (&part, lv.ty.plain()) {
            (Part::Field(i), CType::Struct(id)) => match &self.types().structs[*id].fields {
                Some(fields) => {
                    lv.width = fields[*i].bits.map(|b| b.width);
                    fields[*i].ty.clone()
                }
                None => return wrong(span, "the struct is declared, but not defined"),
            },
            (Part::Run(i), CType::Struct(id)) => {
                let fields = self.types().structs[*id].fields.as_ref().expect("it is defined");
                fields[*i].bits.expect("it leads a run").cell()
            }
            (Part::Byte(_), CType::Int { .. }) => BYTE,
            (Part::Cell(_), CType::Struct(id)) => self.types().structs[*id].cells.expect("it is a union").cell(),
            (Part::Index(_), CType::Array(_, Some(0))) => {
                return unsupported(span, "an element of an array without a length is not taken")
                    .map_err(|e: Refusal| e.help("give it a length: as many as there are at most"));
            }
            (Part::Index(_), CType::Array(of, _)) => (**of).clone(),
            _ => return wrong(span, format!("`{}` has no such part", self.types().show(&lv.ty))),
        };
        lv.span = span;
        match &mut lv.at {
            At::Direct(d) => d.parts.push(part),
            At::Deref { parts, .. } => parts.push(part),
        }
        Ok(lv)
    }

    /// A field by name.
    pub fn field(&self, mut lv: Lvalue, name: &str, span: Span) -> Result<Lvalue> {
        let CType::Struct(id) = lv.ty.plain() else {
            return wrong(span, format!("`{}` has no fields", self.types().show(&lv.ty)));
        };
        let Some(way) = self.types().find_field(*id, name) else {
            return wrong(span, format!("`{}` has no field `{name}`", self.types().show(&lv.ty)));
        };
        for i in way {
            lv = self.part(lv, Part::Field(i), span)?;
        }
        Ok(lv)
    }

    /// What a pointer points to.
    pub fn deref(&mut self, pointer: Value, span: Span) -> Result<Lvalue> {
        let Some(to) = pointer.ty.pointee().cloned() else {
            return wrong(span, format!("`{}` is no pointer", self.types().show(&pointer.ty)));
        };
        let address = self.simple(pointer.parts[0].clone());
        Ok(Lvalue { at: At::Deref { address, root: to.clone(), parts: Vec::new() }, ty: to, width: None, span })
    }

    /// The address of a place, which from now on pointers may mean.
    pub fn address_of(&mut self, lv: &Lvalue) -> Result<Expr> {
        if lv.width.is_some() {
            return wrong(lv.span, "a bit-field has no address");
        }
        let (mut e, mut ty, parts) = match &lv.at {
            At::Direct(d) => {
                self.has_addresses(d.object, lv.span)?;
                let o = &self.objects[d.object];
                if let Parts::Locals(_) = o.parts {
                    // It lives in memory in the next pass.
                    self.found.escaped.insert((o.key.clone(), ways(&d.parts)));
                    return Ok(constant(FIRST, ADDRESS, lv.span));
                }
                if let Parts::Globals(ids) = &o.parts
                    && let Some(true) = ids.first().map(|g| self.globals[*g].per_thread)
                {
                    // Each thread has one of its own in memory in the next pass.
                    self.found.escaped.insert((o.key.clone(), ways(&d.parts)));
                    return Ok(constant(FIRST, ADDRESS, lv.span));
                }
                self.found.escaped.insert((o.key.clone(), ways(&d.parts)));
                let mut e = constant(o.base, ADDRESS, lv.span);
                let size = self.types().size(&o.ty).unwrap_or(1);
                if let (Some(p), Some(slot)) = (o.pool, &d.slot) {
                    e = add(e, scaled(slot.clone(), p.stride));
                }
                if let Some(element) = &d.element {
                    e = add(e, scaled(element.clone(), size));
                }
                (e, o.ty.clone(), d.parts.clone())
            }
            At::Deref { address, root, parts } => {
                self.found.offsets |= value_of(address).is_some() && !parts.is_empty();
                if !parts.is_empty() {
                    self.found.derived.insert((root.clone(), ways(parts)));
                }
                (address.clone(), root.clone(), parts.clone())
            }
        };
        for part in parts {
            match (part, ty.plain().clone()) {
                (Part::Field(i), CType::Struct(id)) => {
                    let f = &self.types().structs[id].fields.as_ref().expect("it is defined")[i];
                    e = add(e, constant(f.offset, ADDRESS, lv.span));
                    ty = f.ty.clone();
                }
                (Part::Index(index), CType::Array(of, _)) => {
                    let size = self.types().size(&of).unwrap_or(1);
                    e = add(e, scaled(index, size));
                    ty = (*of).clone();
                }
                _ => unreachable!("parts fit their types, and raw parts have no address"),
            }
        }
        Ok(e)
    }

    /// The type of a part.
    pub fn type_at(&self, ty: &CType, way: &[Way]) -> Option<CType> {
        way.iter().try_fold(ty.clone(), |ty, w| match (w, ty.plain()) {
            (Way::Field(i), CType::Struct(id)) => Some(self.types().structs[*id].fields.as_ref()?.get(*i)?.ty.clone()),
            (Way::Element, CType::Array(of, _)) => Some((**of).clone()),
            _ => None,
        })
    }

    /// Whether what is so many elements further is in the same array, or in none: behind the end of a row the next one begins.
    pub fn stays_in_array(&self, d: &Direct, by: &Expr) -> bool {
        let Some((Part::Index(e), before)) = d.parts.split_last() else { return false };
        if !matches!(before.last(), Some(Part::Index(_))) {
            return true;
        }
        match (value_of(e), value_of(by), self.type_at(&self.objects[d.object].ty, &ways(before))) {
            (Some(e), Some(by), Some(CType::Array(_, Some(n)))) => (0..i64::from(n)).contains(&(e + by)),
            _ => false,
        }
    }

    /// Whether what a way leads to is where the type begins: a struct around its first field.
    fn begins_with(&self, ty: &CType, way: &[Way]) -> bool {
        let mut ty = ty.clone();
        for step in way {
            let (Way::Field(i), CType::Struct(id)) = (step, ty.plain()) else { return false };
            let Some(f) = self.types().structs[*id].fields.as_ref().and_then(|f| f.get(*i)) else { return false };
            if f.offset != 0 || f.bits.is_some() {
                return false;
            }
            ty = f.ty.clone();
        }
        true
    }

    /// The way to a struct that another one begins with.
    fn beginning(&self, of: &CType, wanted: &CType) -> Option<Vec<Way>> {
        matches!(wanted.plain(), CType::Struct(_)).then(|| self.first_part(of, wanted))?
    }

    /// The way to a part of this type that another one begins with.
    pub fn first_part(&self, of: &CType, wanted: &CType) -> Option<Vec<Way>> {
        let CType::Struct(id) = of.plain() else { return None };
        let fields = self.types().structs[*id].fields.as_ref()?;
        fields.iter().enumerate().filter(|(_, f)| f.offset == 0 && f.bits.is_none()).find_map(|(i, f)| {
            let way = match f.ty.same_layout(wanted) {
                true => Vec::new(),
                false => self.first_part(&f.ty, wanted)?,
            };
            Some([vec![Way::Field(i)], way].concat())
        })
    }

    /// All places of a type that pointers may mean.
    pub fn homes(&self, ty: &CType) -> Vec<Home> {
        let mut homes: Vec<Home> = Vec::new();
        let mut add = |home: Home| {
            if !homes.contains(&home) {
                homes.push(home);
            }
        };
        for (key, way) in &self.session.facts.escaped {
            let Some(id) = self.by_key.get(key) else { continue };
            if self.type_at(&self.objects[*id].ty, way).is_some_and(|t| t.same_layout(ty)) {
                add((*id, way.clone()));
            }
        }
        // From a field to its struct, and from a struct to the one that it begins with.
        for (key, way) in &self.session.facts.escaped {
            let Some(id) = self.by_key.get(key) else { continue };
            for n in 0..way.len() {
                let around = self.type_at(&self.objects[*id].ty, &way[..n]).filter(|t| t.same_layout(ty));
                if around.is_some_and(|t| self.session.facts.offsets || self.begins_with(&t, &way[n..])) {
                    add((*id, way[..n].to_vec()));
                }
            }
            let inner = self.type_at(&self.objects[*id].ty, way).and_then(|t| self.beginning(&t, ty));
            if let Some(more) = inner {
                add((*id, [way.clone(), more].concat()));
            }
        }
        for (id, o) in self.objects.iter().enumerate().filter(|(_, o)| o.key.starts_with("heap ")) {
            if o.ty.same_layout(ty) {
                add((id, Vec::new()));
            } else if let Some(way) = self.beginning(&o.ty, ty) {
                add((id, way));
            }
        }
        for (root, way) in &self.session.facts.derived {
            if !way.is_empty() && self.type_at(root, way).is_some_and(|t| t.same_layout(ty)) {
                for (id, mut first) in self.homes(root) {
                    first.extend(way);
                    add((id, first));
                }
            }
            // From a field to the struct in a struct that it is in.
            for n in 1..way.len() {
                let around = self.type_at(root, &way[..n]).filter(|t| t.same_layout(ty));
                if around.is_some_and(|t| self.session.facts.offsets || self.begins_with(&t, &way[n..])) {
                    for (id, mut first) in self.homes(root) {
                        first.extend(&way[..n]);
                        add((id, first));
                    }
                }
            }
        }
        homes.sort();
        homes
    }

    /// Whether an address is that of this home, and the place that it then is.
    pub fn resolve(&self, address: &Expr, home: &Home) -> (Expr, Direct) {
        let span = address.span;
        let (object, way) = home;
        let o = &self.objects[*object];
        let number = |n: i64| constant(n, ADDRESS, span);
        let size = o.size(self.types());
        let total = o.pool.map_or(size, |p| p.stride * i64::from(p.slots));
        let mut direct = Direct { object: *object, slot: None, element: None, parts: Vec::new() };
        // Without an array on the way there is one address.
        let fixed = o.pool.is_none() && !way.contains(&Way::Element);
        let mut conditions = Vec::new();
        let mut rest = binary(BinaryOp::Sub, address.clone(), number(o.base));
        let (mut ty, mut offset) = (o.ty.clone(), 0);
        if fixed {
            for w in way {
                let (Way::Field(i), CType::Struct(id)) = (w, ty.plain().clone()) else { unreachable!("fields only") };
                let f = &self.types().structs[id].fields.as_ref().expect("it is defined")[*i];
                offset += f.offset;
                ty = f.ty.clone();
                direct.parts.push(Part::Field(*i));
            }
            return (binary(BinaryOp::Eq, address.clone(), number(o.base + offset)), direct);
        }
        conditions.push(binary(BinaryOp::Le, number(o.base), address.clone()));
        conditions.push(binary(BinaryOp::Lt, address.clone(), number(o.base + total)));
        if let Some(p) = o.pool {
            if p.slots == 1 {
                direct.slot = Some(number(0));
            } else {
                direct.slot = Some(binary(BinaryOp::Div, rest.clone(), number(p.stride)));
                rest = binary(BinaryOp::Rem, rest, number(p.stride));
            }
            if let Some(n) = p.elements {
                let one = self.types().size(&o.ty).unwrap_or(1).max(1);
                let element = binary(BinaryOp::Div, rest.clone(), number(one));
                conditions.push(binary(BinaryOp::Lt, element.clone(), number(i64::from(n))));
                direct.element = Some(element);
                rest = binary(BinaryOp::Rem, rest, number(one));
            }
        }
        for w in way {
            match (w, ty.plain().clone()) {
                (Way::Field(i), CType::Struct(id)) => {
                    let f = &self.types().structs[id].fields.as_ref().expect("it is defined")[*i];
                    rest = binary(BinaryOp::Sub, rest, number(f.offset));
                    ty = f.ty.clone();
                    direct.parts.push(Part::Field(*i));
                }
                (Way::Element, CType::Array(of, n)) => {
                    let size = self.types().size(&of).unwrap_or(1).max(1);
                    conditions.push(binary(BinaryOp::Le, number(0), rest.clone()));
                    let index = binary(BinaryOp::Div, rest.clone(), number(size));
                    conditions.push(binary(
                        BinaryOp::Lt,
                        index.clone(),
                        number(i64::from(n.unwrap_or(self.types().flexible))),
                    ));
                    direct.parts.push(Part::Index(index));
                    rest = binary(BinaryOp::Rem, rest, number(size));
                    ty = (*of).clone();
                }
                _ => unreachable!("the way fits the type"),
            }
        }
        if !matches!(&rest.kind, ExprKind::Binary(BinaryOp::Rem, _, n) if value_of(n) == Some(1)) {
            conditions.push(binary(BinaryOp::Eq, rest, number(0)));
        }
        let all = conditions.into_iter().reduce(and).expect("there is a condition");
        (all, direct)
    }

    /// Does `work` for the place, whichever it is. What `work` appends must be the same but for the place.
    pub fn at(&mut self, lv: &Lvalue, work: &mut dyn FnMut(&mut Self, &Direct) -> Result<()>) -> Result<()> {
        self.at_or(lv, Vec::new(), work)
    }

    /// The same where it may be a byte of something else.
    pub fn at_or(
        &mut self,
        lv: &Lvalue,
        views: Vec<View>,
        work: &mut dyn FnMut(&mut Self, &Direct) -> Result<()>,
    ) -> Result<()> {
        let (address, root, parts) = match &lv.at {
            At::Direct(d) => return work(self, d),
            At::Deref { address, root, parts } => (address.clone(), root.clone(), parts.clone()),
        };
        let homes = self.homes(&root);
        let mut branches = Vec::new();
        let own = homes.iter().map(|home| {
            let (condition, mut direct) = self.resolve(&address, home);
            direct.parts.extend(parts.clone());
            (condition, direct)
        });
        let all: Vec<_> = own.chain(views).collect();
        for (condition, direct) in all {
            match value_of(&condition) {
                Some(0) => continue,
                Some(_) => {
                    self.still_lives(&direct, lv.span);
                    return work(self, &direct);
                }
                None => {}
            }
            let (block, ()) = self.block(|s| {
                s.still_lives(&direct, lv.span);
                work(s, &direct)
            })?;
            branches.push((condition, block));
        }
        let (mut rest, ()) = self.block(|s| {
            s.astray(&address, &root, &homes, lv.span);
            Ok(())
        })?;
        for (condition, block) in branches.into_iter().rev() {
            rest = vec![stmt(StmtKind::If(Guard::Expr(condition), block, rest), lv.span)];
        }
        self.body.out.extend(rest);
        Ok(())
    }

    /// An address that means nothing of the type.
    fn astray(&mut self, address: &Expr, root: &CType, homes: &[Home], span: Span) {
        let number = |n: i64| constant(n, ADDRESS, span);
        let low = binary(BinaryOp::Lt, number(FUNCTIONS), address.clone());
        self.check(low, Check::Null, "null is no object", span);
        if self.session.facts.environment {
            let above = binary(BinaryOp::Lt, address.clone(), number(ENVIRONMENT));
            let elsewhere = binary(BinaryOp::Or, above, binary(BinaryOp::Le, number(FIRST), address.clone()));
            self.check(elsewhere, Check::Bound, "what a variable of the environment holds is not known", span);
        }
        // Inside of an object that has nothing of the type that pointers may mean, or of one whose bytes are looked at: what that
        // means is not known.
        let seen = self.seen_as_bytes(root);
        let inside: Vec<Expr> = (self.objects.iter())
            .enumerate()
            .filter(|(id, o)| o.base != 0 && (seen.contains(id) || !homes.iter().any(|(home, _)| home == id)))
            .map(|(_, o)| {
                let size = o.size(self.types());
                let total = o.pool.map_or(size, |p| p.stride * i64::from(p.slots));
                let above = binary(BinaryOp::Le, number(o.base), address.clone());
                and(above, binary(BinaryOp::Lt, address.clone(), number(o.base + total)))
            })
            .collect();
        if let Some(other) = inside.into_iter().reduce(|a, b| binary(BinaryOp::Or, a, b)) {
            let words = format!("memory is used as `{}` that has another type", self.types().show(root));
            self.check(not(other), Check::Bound, &words, span);
        }
        let words = format!("no `{}` is there", self.types().show(root));
        self.check(boolean(false, span), Check::Memory, &words, span);
    }

    /// An assertion of ours.
    pub fn check(&mut self, e: Expr, check: Check, words: &str, span: Span) {
        if value_of(&e) != Some(1) {
            self.push(StmtKind::Assert(Expr { span, ..e }, check, Some(words.into())), span);
        }
    }

    /// Whether reading a place is no access to shared state.
    pub fn is_private(&self, place: &Place) -> bool {
        match place.base {
            Base::Local(_) => true,
            Base::Global(g) => self.globals[g].per_thread,
            Base::Heap(..) => false,
        }
    }

    /// Accesses that are one step, together with the checks that belong to it.
    pub fn access(&mut self, d: &Direct, accesses: Block) {
        let span = accesses.first().map_or(Span::default(), |s| s.span);
        let mut block = self.allocated(d, span);
        block.extend(accesses);
        match block.len() {
            1 => self.body.out.extend(block),
            _ => self.push(StmtKind::Atomic(block), span),
        }
    }

    /// Reads a scalar; what is left reads nothing shared.
    pub fn load_scalar(&mut self, lv: &Lvalue) -> Result<Expr> {
        self.load_for(lv, Use::Value)
    }

    /// The same to copy it as it is, perhaps.
    pub fn load_for(&mut self, lv: &Lvalue, how: Use) -> Result<Expr> {
        self.is_used_atomically(lv, lv.span);
        if let At::Direct(d) = &lv.at {
            let stored = self.stored(d, lv.span)?;
            if stored.cells.iter().all(|p| self.is_private(p)) {
                self.is_within(d, lv.span);
                if let ([one], true, Use::Copy, None) = (stored.cells.as_slice(), stored.open, how, stored.bits) {
                    return Ok(read(one.clone()));
                }
                if self.is_looked_at(&stored) {
                    let cells: Vec<Expr> = stored.cells.iter().cloned().map(read).collect();
                    match self.may_choose(&stored) {
                        true => {
                            let block = self.choose(&stored, lv.span)?;
                            self.body.out.extend(block);
                        }
                        false => self.is_written(&stored, &cells, lv.span),
                    }
                }
                let seen = stored.seen(stored.cells.iter().cloned().map(read).collect());
                return if stored.is_short_float() { self.float_of_bits(seen, lv.span) } else { Ok(seen) };
            }
        }
        let views = self.views(lv, lv.span)?;
        self.load_from(lv, views, how)
    }

    /// The same where it may be in something else.
    pub fn load_from(&mut self, lv: &Lvalue, views: Vec<View>, how: Use) -> Result<Expr> {
        let ty = match how {
            Use::Value => lv.ty.core(),
            Use::Copy => self.copied_type(&lv.ty),
        };
        let id = self.temp(ty);
        let span = lv.span;
        self.at_or(lv, views, &mut |s, d| {
            s.is_plain(lv, d, span);
            let stored = s.stored(d, span)?;
            // A pointer may be to a type of the other sign.
            let target = s.local(id, span);
            s.read_stored(d, &stored, &target, how)?;
            if stored.is_short_float() {
                let e = s.float_of_bits(read(target.clone()), span)?;
                s.push(StmtKind::Assign(target, e), span);
            }
            Ok(())
        })?;
        Ok(self.read_local(id, span))
    }

    /// Writes a scalar that is of the type of the place.
    pub fn store_scalar(&mut self, lv: &Lvalue, e: Expr, span: Span) -> Result<()> {
        self.store_for(lv, e, Use::Value, span)
    }

    /// The same of what was read for this.
    pub fn store_for(&mut self, lv: &Lvalue, e: Expr, how: Use, span: Span) -> Result<()> {
        let views = self.views(lv, span)?;
        self.store_to(lv, views, e, how, span)
    }

    /// The same where it may be in something else.
    pub fn store_to(&mut self, lv: &Lvalue, views: Vec<View>, e: Expr, how: Use, span: Span) -> Result<()> {
        self.is_used_atomically(lv, span);
        let e = if matches!(lv.at, At::Deref { .. }) { self.simple(e) } else { e };
        self.at_or(lv, views, &mut |s, d| {
            s.is_plain(lv, d, span);
            s.is_changeable(lv, d, span);
            if matches!(d.parts.last(), Some(Part::Byte(_))) {
                return s.write_byte(d, e.clone(), span);
            }
            let stored = s.stored(d, span)?;
            let e = if stored.is_short_float() { s.bits_of_float(e.clone(), span)? } else { e.clone() };
            s.write_stored(d, &stored, e, how, span)
        })
    }

    /// What is written through a pointer is no text of the program, and no constant (C11 6.4.5, 6.7.3).
    pub fn is_changeable(&mut self, lv: &Lvalue, d: &Direct, span: Span) {
        if matches!(lv.at, At::Direct(_)) {
            return;
        }
        let key = &self.objects[d.object].key;
        if key.starts_with('"') {
            self.check(boolean(false, span), Check::Memory, "a string literal is written to", span);
        } else if self.session.facts.constants.contains(key) {
            let words = format!("`{}` is written to, which is `const`", self.objects[d.object].name);
            self.check(boolean(false, span), Check::Memory, &words, span);
        }
    }

    /// A plain access is to no atomic variable: it would race with others, and is a step as theirs.
    fn is_plain(&mut self, lv: &Lvalue, d: &Direct, span: Span) {
        if matches!(lv.ty, CType::Atomic(_)) || matches!(lv.at, At::Direct(_)) || !self.looks_for_races() {
            return;
        }
        let ty = self.type_at(&self.objects[d.object].ty, &ways(&d.parts));
        if matches!(ty, Some(CType::Atomic(_))) {
            let words = "an atomic variable is used through a pointer to a type that is not";
            self.check(boolean(false, span), Check::Bound, words, span);
        }
    }

    /// Whether data races are looked for, and there may be some.
    pub fn looks_for_races(&self) -> bool {
        let are_bugs = self.options.property.is_none_or(|p| p == Property::NoDataRace);
        are_bugs && !self.session.facts.roots.is_empty()
    }

    /// The scalar parts of a type as ways into it, elements of arrays one by one.
    pub fn scalars(&self, ty: &CType, span: Span) -> Result<Vec<(Vec<Part>, CType)>> {
        let mut out = Vec::new();
        self.collect_scalars(ty, Vec::new(), span, &mut out)?;
        Ok(out)
    }

    fn collect_scalars(&self, ty: &CType, way: Vec<Part>, span: Span, out: &mut Vec<(Vec<Part>, CType)>) -> Result<()> {
        match ty.plain() {
            CType::Array(of, n) => {
                for i in 0..n.unwrap_or(0) {
                    let mut next = way.clone();
                    next.push(Part::Index(constant(i64::from(i), ADDRESS, span)));
                    self.collect_scalars(of, next, span, out)?;
                }
            }
            CType::Struct(id) if self.types().structs[*id].cells.is_some() => {
                let cells = self.types().structs[*id].cells.expect("it was asked");
                for i in 0..cells.count {
                    let mut next = way.clone();
                    next.push(Part::Cell(i));
                    out.push((next, cells.cell()));
                }
            }
            CType::Struct(id) => {
                for (i, f) in self.types().structs[*id].fields.iter().flatten().enumerate() {
                    let mut next = way.clone();
                    match f.bits {
                        Some(bits) if bits.leader == i => {
                            next.push(Part::Run(i));
                            out.push((next, bits.cell()));
                        }
                        Some(_) => {}
                        None => {
                            next.push(Part::Field(i));
                            self.collect_scalars(&f.ty, next, span, out)?;
                        }
                    }
                }
            }
            CType::Void => {}
            _ => out.push((way, ty.clone())),
        }
        if out.len() > 1024 {
            return unsupported(span, "more than 1024 values at once are not copied");
        }
        Ok(())
    }

    /// The value of a place.
    pub fn load(&mut self, lv: &Lvalue) -> Result<Value> {
        match lv.ty.plain().clone() {
            CType::Array(of, _) => {
                let first = self.part(lv.clone(), Part::Index(constant(0, ADDRESS, lv.span)), lv.span)?;
                let address = self.address_of(&first)?;
                Ok(Value::scalar(address, CType::Pointer(of)))
            }
            CType::Struct(_) => {
                let mut parts = Vec::new();
                for (way, _) in self.scalars(&lv.ty, lv.span)? {
                    let mut part = lv.clone();
                    for step in way {
                        part = self.part(part, step, lv.span)?;
                    }
                    let e = self.load_for(&part, Use::Copy)?;
                    parts.push(e);
                }
                Ok(Value { parts, ty: lv.ty.plain().clone() })
            }
            ty if ty.is_scalar() => {
                let e = self.load_scalar(lv)?;
                self.of_width(Value::scalar(e, ty), lv)
            }
            CType::Void => Ok(Value::void()),
            CType::Function(_)
                if let At::Deref { address, parts, .. } = &lv.at
                    && parts.is_empty() =>
            {
                Ok(Value::scalar(address.clone(), lv.ty.clone().pointer()))
            }
            ty => unsupported(lv.span, format!("a value of type `{}` is not taken", self.types().show(&ty))),
        }
    }

    /// A value as a place holds it: the type of a bit-field is the one that its values are promoted to.
    fn of_width(&self, v: Value, lv: &Lvalue) -> Result<Value> {
        let (Some(width), CType::Int { bits, .. }) = (lv.width, &v.ty) else { return Ok(v) };
        match (width, bits) {
            (..32, _) => Ok(Value::scalar(cast(v.parts[0].clone(), &INT), crate::types::INT)),
            (32, 32) | (64, 64) => Ok(v),
            // Compilers do not agree on its type.
            _ => unsupported(lv.span, "the value of a bit-field of 32 to 63 bits of a `long` is not taken"),
        }
    }

    /// A value converted to the type of a place, and to its bits if it is a bit-field.
    pub fn fitted(&mut self, v: Value, lv: &Lvalue, span: Span) -> Result<Value> {
        let v = self.convert(v, &lv.ty, span)?;
        let (Some(width), CType::Int { signed, .. }) = (lv.width, &v.ty) else { return Ok(v) };
        let e = narrowed(v.parts[0].clone(), width, *signed);
        let v = Value::scalar(cast(e, &v.ty.core()), v.ty.clone());
        // Where its type is not clear, nobody may look at the value of the assignment.
        Ok(self.of_width(v.clone(), lv).unwrap_or(Value { ty: CType::Void, ..v }))
    }

    /// Stores a value of the type of the place.
    pub fn store(&mut self, lv: &Lvalue, value: &Value, span: Span) -> Result<()> {
        if lv.ty.is_scalar() {
            return self.store_scalar(lv, value.parts[0].clone(), span);
        }
        let scalars = self.scalars(&lv.ty, span)?;
        // The value of an array is where it is, which is not what it holds.
        if scalars.len() != value.parts.len() {
            return unsupported(span, format!("a value is not stored as `{}`", self.types().show(&lv.ty)));
        }
        // The value may read locals that are overwritten on the way.
        let kept: Vec<Expr> = value.parts.iter().map(|e| self.keep(e.clone())).collect();
        for ((way, _), e) in scalars.into_iter().zip(kept) {
            let mut part = lv.clone();
            for step in way {
                part = self.part(part, step, span)?;
            }
            self.store_for(&part, e, Use::Copy, span)?;
        }
        Ok(())
    }
}
