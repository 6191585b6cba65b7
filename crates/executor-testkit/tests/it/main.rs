//! Tests of the doubles and of the conformance suite.

#![cfg(test)]

mod abilities;
mod broken;
mod doubles;
mod honest;
mod options;
mod reference;
