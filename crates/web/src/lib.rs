//! HTTP requests to addresses that a stranger may have chosen.
//!
//! A pipeline file names addresses, and its author is not always trusted. So every request goes
//! through one [`Web`], which holds the rules: [`Reach`] says which servers may be reached, and
//! [`Limits`] what a request may cost. A [`Credential`] is sent to its own server and to no other,
//! wherever that server redirects.
//!
//! [`Waiter`] is for callers that cannot await.
//!
//! The feature `client`, on by default, brings HTTP and TLS. Without it the types are the same, and
//! each request fails with [`WebError::NoClient`].
//!
//! ```no_run
//! use web::{Proxies, Request, Url, Waiter, Web, WebOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let web = Web::new(WebOptions {
//!     proxies: Proxies::from_variables(|name| std::env::var(name).ok()),
//!     ..WebOptions::default()
//! })?;
//! let request = Request::get(Url::parse("https://gitlab.com/api/v4/version")?);
//! let answer = Waiter::new().wait(web.send(&request))??;
//! assert_eq!(answer.status, 401);
//! # Ok(())
//! # }
//! ```
//!
//! `docs/design/remote.md` gives the reasons for the rules.

mod body;
mod error;
mod options;
mod origin;
mod proxies;
mod request;
mod response;
mod waiter;

#[cfg(feature = "client")]
mod addresses;
#[cfg(feature = "client")]
mod attempt;
#[cfg(feature = "client")]
mod clients;
#[cfg(feature = "client")]
mod fault;
#[cfg(feature = "client")]
mod hosts;
#[cfg(feature = "client")]
mod incoming;
#[cfg(not(feature = "client"))]
mod no_client;
#[cfg(feature = "client")]
mod redirect;
#[cfg(feature = "client")]
mod resolver;
#[cfg(feature = "client")]
mod retry;
#[cfg(feature = "client")]
mod route;
#[cfg(feature = "client")]
mod rules;
#[cfg(feature = "client")]
mod send;
#[cfg(feature = "client")]
mod trust;

pub use body::{Body, Content};
pub use error::WebError;
pub use options::{Identity, Limits, Reach, WebOptions};
pub use origin::Origin;
pub use proxies::Proxies;
pub use request::{Credential, Method, Request};
pub use response::Response;
pub use waiter::Waiter;

#[cfg(feature = "client")]
pub use self::{
    hosts::names_hosts,
    incoming::Incoming,
    resolver::{Resolver, SystemResolver},
    send::Web,
};
#[cfg(not(feature = "client"))]
pub use no_client::{Incoming, Web, names_hosts};

#[doc(no_inline)]
pub use url::Url;
