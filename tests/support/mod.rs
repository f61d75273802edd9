#![allow(dead_code, reason = "each test program uses a part of it")]
pub mod agree;
pub mod disk;
pub mod logs;
pub mod steps;
