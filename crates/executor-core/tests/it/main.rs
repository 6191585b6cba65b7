//! Tests of the contract from outside, as an author of executors sees it.

#![cfg(test)]

mod active;
mod base;
mod default_provider;
mod independent;
mod panics;
mod payload;
mod provider;
mod registry;
mod stacked;
mod support;
mod worker;
