//! Starts process trees and ends them, whatever happens.
