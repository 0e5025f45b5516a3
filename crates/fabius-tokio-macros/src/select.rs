//! `select!`.

use crate::pattern::without_bindings;
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Error, Expr, Pat, Token};

mod keyword {
    syn::custom_keyword!(biased);
}

/// `pattern = future, if condition => handler`.
struct Branch {
    pattern: Pat,
    future: Expr,
    condition: Option<Expr>,
    handler: Expr,
}

struct Select {
    path: TokenTree,
    biased: bool,
    branches: Vec<Branch>,
    otherwise: Option<Expr>,
}

/// As the body of an arm of `match`: a comma follows unless it is a block.
fn handler(input: ParseStream<'_>) -> syn::Result<Expr> {
    input.parse::<Token![=>]>()?;
    let handler = Expr::parse_with_earlier_boundary_rule(input)?;
    let comma: Option<Token![,]> = input.parse()?;
    let is_block = matches!(handler, Expr::Block(_) | Expr::If(_) | Expr::Match(_) | Expr::Loop(_) | Expr::ForLoop(_))
        || matches!(handler, Expr::While(_) | Expr::Unsafe(_));
    if comma.is_none() && !is_block && !input.is_empty() {
        return Err(input.error("expected `,`"));
    }
    Ok(handler)
}

impl Parse for Branch {
    fn parse(input: ParseStream<'_>) -> syn::Result<Branch> {
        let pattern = Pat::parse_multi_with_leading_vert(input)?;
        input.parse::<Token![=]>()?;
        let future = input.parse()?;
        let mut condition = None;
        if input.peek(Token![,]) {
            input.parse::<Token![,]>()?;
            input.parse::<Token![if]>()?;
            condition = Some(input.parse()?);
        }
        Ok(Branch { pattern, future, condition, handler: handler(input)? })
    }
}

impl Parse for Select {
    fn parse(input: ParseStream<'_>) -> syn::Result<Select> {
        let path = input.parse()?;
        let biased = input.parse::<Option<keyword::biased>>()?.is_some();
        if biased {
            input.parse::<Token![;]>()?;
        }
        let (mut branches, mut otherwise) = (Vec::new(), None);
        while !input.is_empty() {
            if input.peek(Token![else]) {
                input.parse::<Token![else]>()?;
                otherwise = Some(handler(input)?);
                if !input.is_empty() {
                    return Err(input.error("`else` is the last branch"));
                }
            } else {
                branches.push(input.parse()?);
            }
        }
        match branches.is_empty() && otherwise.is_none() {
            true => Err(Error::new(Span::call_site(), "select! requires at least one branch.")),
            false => Ok(Select { path, biased, branches, otherwise }),
        }
    }
}

/// The expression that it stands for.
pub fn expand(input: TokenStream) -> TokenStream {
    syn::parse2(input).map_or_else(|error: Error| error.to_compile_error(), |select: Select| select.tokens())
}

/// A name that the user's code cannot see.
fn hidden(name: &str, number: usize) -> Ident {
    format_ident!("{name}{number}", span = Span::mixed_site())
}

impl Select {
    fn tokens(&self) -> TokenStream {
        let (path, biased) = (&self.path, self.biased);
        let numbers: Vec<usize> = (0..self.branches.len()).collect();
        let [disabled, cx, output, any, chosen] =
            ["disabled", "cx", "output", "any", "chosen"].map(|name| Ident::new(name, Span::mixed_site()));
        let futures: Vec<Ident> = numbers.iter().map(|n| hidden("future", *n)).collect();
        let variants: Vec<Ident> = numbers.iter().map(|n| hidden("Branch", *n)).collect();
        let types: Vec<Ident> = numbers.iter().map(|n| hidden("T", *n)).collect();
        let expressions = self.branches.iter().map(|b| &b.future);
        let conditions = self.branches.iter().map(|b| match &b.condition {
            Some(condition) => quote!(!(#condition)),
            None => quote!(false),
        });
        let polls = self.branches.iter().zip(&numbers).map(|(branch, number)| {
            let (future, variant) = (&futures[*number], &variants[*number]);
            let pattern = without_bindings(branch.pattern.clone());
            quote! {
                #number => match ::core::future::Future::poll(::core::pin::Pin::as_mut(&mut #future), #cx) {
                    ::core::task::Poll::Pending => #any = true,
                    ::core::task::Poll::Ready(#output) => {
                        #disabled[#number] = true;
                        #[allow(unused_variables, unreachable_patterns, clippy::all)]
                        match &#output {
                            #pattern => {}
                            _ => continue,
                        }
                        return ::core::task::Poll::Ready(__Selected::#variant(#output));
                    }
                },
            }
        });
        let arms = self.branches.iter().zip(&variants).map(|(Branch { pattern, handler, .. }, variant)| {
            quote! { __Selected::#variant(#pattern) => #handler, }
        });
        let otherwise = match &self.otherwise {
            Some(otherwise) => quote!(#otherwise),
            None => quote!(::core::panic!("all branches are disabled and there is no else branch")),
        };
        let count = numbers.len();
        quote! {{
            #[allow(dead_code)]
            enum __Selected<#(#types),*> { #(#variants(#types),)* None }
            #[allow(unused_mut)]
            let mut #chosen = {
                #[allow(unused_mut)]
                let mut #disabled: [bool; #count] = [#(#conditions),*];
                // In two steps: what the first borrows from lives as long as its name.
                #(
                    let #futures = #expressions;
                )*
                #(
                    let #futures = ::core::future::IntoFuture::into_future(#futures);
                )*
                #(
                    let mut #futures = ::core::pin::pin!(#futures);
                )*
                ::core::future::poll_fn(|#cx| {
                    #[allow(unused_mut)]
                    let mut #any = false;
                    #[allow(clippy::never_loop)]
                    for #output in #path::__private::order(&#disabled, #biased) {
                        match #output {
                            #(#polls)*
                            _ => ::core::unreachable!(),
                        }
                    }
                    if #any { ::core::task::Poll::Pending } else { ::core::task::Poll::Ready(__Selected::None) }
                })
                .await
            };
            #[allow(unreachable_patterns)]
            match #chosen {
                #(#arms)*
                __Selected::None => #otherwise,
                _ => ::core::unreachable!("the pattern has matched before"),
            }
        }}
    }
}
