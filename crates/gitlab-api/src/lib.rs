//! GitLab's REST API as a user's program needs it.
//!
//! [`Instance`] is a GitLab somewhere, [`Token`] tells it who asks, and [`Accounts`] is the port
//! through which a program says which GitLabs and tokens its user has.

mod accounts;
mod instance;
mod token;

pub use accounts::{Accounts, NoAccounts};
pub use instance::{Instance, InstanceError};
pub use token::{Token, TokenKind};
