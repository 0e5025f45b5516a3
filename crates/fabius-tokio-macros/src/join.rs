//! `join!` and `try_join!`.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, Token};

mod keyword {
    syn::custom_keyword!(biased);
}

/// When it is over.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Until {
    All,
    FirstError,
}

struct Join {
    path: TokenTree,
    biased: bool,
    futures: Vec<Expr>,
}

impl Parse for Join {
    fn parse(input: ParseStream<'_>) -> syn::Result<Join> {
        let path = input.parse()?;
        let biased = input.peek(keyword::biased) && input.peek2(Token![;]);
        if biased {
            input.parse::<keyword::biased>()?;
            input.parse::<Token![;]>()?;
        }
        let futures = Punctuated::<Expr, Token![,]>::parse_terminated(input)?.into_iter().collect();
        Ok(Join { path, biased, futures })
    }
}

/// The expression that it stands for.
pub fn expand(input: TokenStream, until: Until) -> TokenStream {
    syn::parse2(input).map_or_else(|error: Error| error.to_compile_error(), |join: Join| join.tokens(until))
}

impl Join {
    fn tokens(&self, until: Until) -> TokenStream {
        let (path, expressions, count) = (&self.path, &self.futures, self.futures.len());
        let numbers = 0..count;
        let futures: Vec<Ident> =
            numbers.clone().map(|n| format_ident!("future{n}", span = Span::mixed_site())).collect();
        let [cx, first, done, number] =
            ["cx", "first", "done", "number"].map(|name| Ident::new(name, Span::mixed_site()));
        let poll = |future: &Ident| match until {
            Until::All => quote!(#done &= #future.poll(#cx),),
            Until::FirstError => quote! {{
                #done &= #future.poll(#cx);
                if let ::core::option::Option::Some(error) = #future.error() {
                    return ::core::task::Poll::Ready(::core::result::Result::Err(error));
                }
            }},
        };
        let polls = futures.iter().map(poll);
        let outputs = match until {
            Until::All => quote!((#(#futures.output(),)*)),
            Until::FirstError => quote!(::core::result::Result::Ok((#(#futures.value(),)*))),
        };
        // Who is polled first moves on by one each time, as in tokio.
        let moves_on = (!self.biased).then(|| quote!(#first = (#first + 1) % usize::max(#count, 1);));
        quote! {{
            #(
                let mut #futures = #path::__private::Joined::new(#expressions);
            )*
            #[allow(unused_mut)]
            let mut #first = 0usize;
            ::core::future::poll_fn(move |#cx| {
                #[allow(unused_mut)]
                let mut #done = true;
                for #number in 0..#count {
                    match (#first + #number) % #count {
                        #(#numbers => #polls)*
                        _ => ::core::unreachable!(),
                    }
                }
                #moves_on
                if #done { ::core::task::Poll::Ready(#outputs) } else { ::core::task::Poll::Pending }
            })
            .await
        }}
    }
}
