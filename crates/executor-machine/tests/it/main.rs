//! The pool and the layer, with a driver whose machines are entries of a list and whose time is virtual; and the drivers.

mod driver;
mod drivers;
mod journal;
mod layer;
mod observed;
mod pool;
mod random;
