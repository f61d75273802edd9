//! leaflog (draft)
mod error;
mod json;
mod log;
mod model;
pub use error::{Code, Error, Result};
pub use model::*;
