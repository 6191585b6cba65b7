//! HTTP requests to addresses that a stranger may have chosen.
//!
//! A pipeline file names addresses, and its author is not always trusted. So every request goes
//! through one [`Web`], which holds the rules: [`Reach`] says which servers may be reached, and
//! [`Limits`] what a request may cost. A [`Credential`] is sent to its own server and to no other,
//! wherever that server redirects.
//!
//! [`Waiter`] is for callers that cannot await.
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

mod addresses;
mod attempt;
mod body;
mod check;
mod clients;
mod credential;
mod error;
mod fault;
mod hosts;
mod incoming;
mod limits;
mod options;
mod origin;
mod proxies;
mod reach;
mod redirect;
mod request;
mod resolver;
mod response;
mod retry;
mod route;
mod rules;
mod send;
mod trust;
mod waiter;

pub use body::{Body, Content};
pub use credential::Credential;
pub use error::WebError;
pub use hosts::names_hosts;
pub use incoming::Incoming;
pub use limits::Limits;
pub use options::WebOptions;
pub use origin::Origin;
pub use proxies::Proxies;
pub use reach::Reach;
pub use request::{Method, Request};
pub use resolver::{Resolver, SystemResolver};
pub use response::Response;
pub use send::Web;
pub use waiter::Waiter;

#[doc(no_inline)]
pub use url::Url;
