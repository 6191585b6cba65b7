//! The service, over a real socket and through nothing but the generated client.

mod run;
mod support;
