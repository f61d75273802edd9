//! leaflog (draft)
mod error;
mod format;
mod index;
mod json;
mod log;
mod model;
mod snapshot;
pub use error::{Code, Error, Result};
pub use model::*;
