//! leaflog (draft)
mod error;
mod json;
mod model;
pub use error::{Code, Error, Result};
pub use model::*;
