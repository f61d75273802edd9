//! The sidecar: for every entry and record of a log where it stands, what it is and who its parent
//! is. Derived from the log and never trusted where that can be checked; a wrong one costs time,
//! never a wrong answer. Reads logs through `log` and `format`; never writes one.

mod blocks;
mod build;
mod chunk;
mod columns;
mod draft;
mod files;
mod frame;
#[cfg(test)]
mod golden_tests;
mod ids;
mod links;
mod merge;
mod operations;
mod pages;
mod scan;
mod segment;
mod sidecar;
mod summary;
mod view;

#[cfg(feature = "fuzzing")]
pub(crate) use build::build_seeded;
pub(crate) use build::{Built, How, Progress, build, extend};
pub(crate) use columns::{Flags, NONE, ROOT, ROW_WIDTH};
pub(crate) use files::{Replacement, hashed_name};
pub(crate) use frame::{LAYOUT, format_number, format_of, settings};
pub(crate) use ids::{Class, random_seed};
pub(crate) use merge::{MOST_SEGMENTS, merge};
pub(crate) use segment::Backing;
pub(crate) use sidecar::{Loaded, OnDisk, Sidecar, Why, is_suspicious, read_backing, same_bytes};
pub(crate) use summary::{Details, Summary};
pub(crate) use view::{Answer, Index, Slot, SlotColumns, Trouble, class_of};
