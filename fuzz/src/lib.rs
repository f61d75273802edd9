//! What the fuzz targets check, as functions from bytes to nothing or a difference. The targets call
//! them, and so does `tests/fuzz_seeds.rs`, which includes this file, for every committed seed.
//! Nothing here knows of a fuzzer.

pub mod answers;
pub mod decoders;
pub mod forge;
pub mod line;
pub mod log;
pub mod mutate;
pub mod operations;
pub mod oversized;
pub mod place;
pub mod recipe;
pub mod reference;
pub mod sidecar;

/// Nothing, or what parts from what was expected.
pub type Checked = Result<(), String>;

/// Fails unless two answers are one.
pub fn same<T: PartialEq + std::fmt::Debug>(what: &str, expected: &T, found: &T) -> Checked {
    if expected == found {
        return Ok(());
    }
    Err(format!(
        "{what}:\n  expected {expected:?}\n  found    {found:?}"
    ))
}
