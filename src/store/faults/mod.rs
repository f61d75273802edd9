//! Disks that fail: a history of calls is run again and again, each time with one call of the disk
//! failing in one way, and what is left is compared with the calls that were acknowledged. Tests only.

mod check;
mod faulty;
mod histories;
mod inject;
mod run;
