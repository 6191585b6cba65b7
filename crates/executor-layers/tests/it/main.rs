//! Layers, each on its own and stacked around real and scripted executors.

mod concurrency_limit;
