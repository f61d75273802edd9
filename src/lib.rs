//! leaflog (draft)
mod error;
mod format;
mod json;
mod log;
mod model;
pub use error::{Code, Error, Result};
pub use model::*;
