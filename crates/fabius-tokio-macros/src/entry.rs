//! `#[test]` and `#[main]`.

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Error, Expr, ExprLit, ItemFn, Lit, Meta, Path, ReturnType, Token};

/// What the function becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Test,
    Main,
}

/// The function that explores the body.
pub fn expand(attributes: TokenStream, item: TokenStream, kind: Kind) -> TokenStream {
    let original = item.clone();
    match function(attributes, item, kind) {
        Ok(tokens) => tokens,
        // What is there stays, so that one mistake is not shown as many.
        Err(error) => [error.to_compile_error(), original].into_iter().collect(),
    }
}

fn function(attributes: TokenStream, item: TokenStream, kind: Kind) -> Result<TokenStream, Error> {
    let mut function: ItemFn = syn::parse2(item)?;
    let path = path(attributes)?;
    let signature = &mut function.sig;
    if signature.asyncness.take().is_none() {
        return Err(Error::new_spanned(
            signature.fn_token,
            "the `async` keyword is missing from the function declaration",
        ));
    }
    if !signature.inputs.is_empty() {
        return Err(Error::new_spanned(&signature.inputs, "the function must not have arguments"));
    }
    let output = match std::mem::replace(&mut signature.output, ReturnType::Default) {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, output) => quote!(#output),
    };
    let (attrs, vis, body) = (&function.attrs, &function.vis, &function.block);
    let signature = &function.sig;
    let test = (kind == Kind::Test).then(|| quote!(#[::core::prelude::v1::test]));
    Ok(quote! {
        #test
        #(#attrs)*
        #vis #signature {
            #path::__private::explore(|| {
                let body = async #body;
                #path::__private::returned::<#output>(#path::__private::run(body))
            })
        }
    })
}

/// The crate's path: what `crate = ".."` says, or the name under which the manifest has it.
fn path(attributes: TokenStream) -> Result<Path, Error> {
    let mut named = None;
    for option in Punctuated::<Meta, Token![,]>::parse_terminated.parse2(attributes)? {
        let Meta::NameValue(option) = option else {
            return Err(Error::new_spanned(option, "an option is written `name = value`"));
        };
        let name = option.path.get_ident().map(Ident::to_string).unwrap_or_default();
        match (name.as_str(), &option.value) {
            ("crate", Expr::Lit(ExprLit { lit: Lit::Str(path), .. })) => named = Some(path.parse()?),
            // All executions are explored, whichever threads tokio would take, and time is always virtual.
            ("flavor" | "worker_threads" | "start_paused" | "unhandled_panic", _) => {}
            _ => return Err(Error::new_spanned(option, "an option that `fabius-tokio` does not have")),
        }
    }
    let found = match crate_name("fabius-tokio") {
        Ok(FoundCrate::Name(name)) => name,
        Ok(FoundCrate::Itself) | Err(_) => "fabius_tokio".into(),
    };
    let found = Ident::new(&found, Span::call_site());
    Ok(named.unwrap_or_else(|| syn::parse_quote!(::#found)))
}
