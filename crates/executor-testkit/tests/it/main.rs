//! Tests of the doubles and of the conformance suite.

#![cfg(test)]

mod abilities;
mod broken_executors;
mod correct_executor;
mod doubles;
mod options;
mod reference;
