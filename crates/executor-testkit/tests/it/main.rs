//! Tests of the doubles and of the conformance suite.

#![cfg(test)]

mod doubles;
