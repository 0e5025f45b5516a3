//! Whether a pattern matches what is only borrowed.

use syn::Pat;

/// The same pattern without `mut` and `ref`, which decide nothing.
pub fn without_bindings(mut pattern: Pat) -> Pat {
    clean(&mut pattern);
    pattern
}

fn clean(pattern: &mut Pat) {
    match pattern {
        Pat::Ident(ident) => {
            ident.by_ref = None;
            ident.mutability = None;
            if let Some((_, inner)) = &mut ident.subpat {
                clean(inner);
            }
        }
        Pat::Or(or) => or.cases.iter_mut().for_each(clean),
        Pat::Paren(paren) => clean(&mut paren.pat),
        Pat::Reference(reference) => {
            reference.mutability = None;
            clean(&mut reference.pat);
        }
        Pat::Slice(slice) => slice.elems.iter_mut().for_each(clean),
        Pat::Struct(all) => all.fields.iter_mut().for_each(|field| clean(&mut field.pat)),
        Pat::Tuple(tuple) => tuple.elems.iter_mut().for_each(clean),
        Pat::TupleStruct(tuple) => tuple.elems.iter_mut().for_each(clean),
        Pat::Type(typed) => clean(&mut typed.pat),
        _ => {}
    }
}
