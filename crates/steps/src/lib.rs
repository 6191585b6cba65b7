//! The step-runner service: runs steps inside an environment, and the client that reaches it from outside.
//!
//! `docs/design/steps.md` tells the shapes and why.
