//! Disks that fail, and disks that lose what was not flushed: histories of calls are run again and
//! again, each time with something else going wrong, and what is left is compared with the calls that
//! were acknowledged. Tests only.

mod check;
mod faulty;
mod histories;
#[cfg(unix)]
mod images;
mod inject;
mod named;
#[cfg(unix)]
mod power;
#[cfg(unix)]
mod record;
mod run;
