//! The native half of leaflog's package for Node: places with sessions, and sessions, that are asked
//! and answer in JSON texts. Every question is worked on outside the thread that JavaScript runs on.
//! What JavaScript sees is made of this by `lib/`.

#![deny(unsafe_code)]
#![warn(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]

mod answer;
mod failure;
mod header;
mod place;
mod question;
mod session;
mod work;
