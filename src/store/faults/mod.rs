//! Disks that fail at any call, and power cuts at any moment: what was acknowledged is there, what
//! was refused is not, and the next one goes on. Tests only.

mod calls;
mod images;
mod power;
mod world;

use crate::disk::faulty::{Fault, Faulty};
use crate::model::Format;
use crate::store::Durability;

use calls::calls;
use world::World;

/// Runs the calls on a disk that fails at one of its own, and checks after each.
fn run(format: Format, durability: Durability, at: usize, fault: Fault) -> (usize, bool) {
    let disk = Faulty::at(at, fault);
    let mut world = World::new(format, durability, disk.shared());
    for (name, call) in calls(format) {
        // The last line that a test prints tells where it failed.
        println!("{format}, {durability:?}, {fault:?} at call {at} of the disk: {name}");
        let outcome = call(&mut world);
        world.check(&outcome, fault == Fault::AllGone, || {
            format!("{format}, {durability:?}, {fault:?} at call {at} of the disk: {name}")
        });
    }
    world.finish(&format!(
        "{format}, {durability:?}, {fault:?} at call {at} of the disk"
    ));
    (disk.calls(), disk.has_failed())
}

fn fail_everywhere(format: Format) {
    let (mut runs, mut failed, mut places) = (0, 0, 0);
    for durability in [Durability::Process, Durability::Disk] {
        let (calls, _) = run(format, durability, usize::MAX, Fault::Broken);
        places += calls;
        for at in 0..calls {
            for fault in Fault::ALL {
                let (_, has_failed) = run(format, durability, at, fault);
                runs += 1;
                failed += usize::from(has_failed);
            }
        }
    }
    println!(
        "{format}: {} calls of a session, {places} of its disk, {runs} runs, {failed} with a fault",
        calls(format).len()
    );
    // How often an index is written depends a little on the clock.
    assert!(failed * 100 > runs * 95, "{failed} of {runs}");
    assert!(runs > 400, "{runs}");
}

#[test]
fn a_pi_v4_session_outlives_a_fault_at_any_call_of_its_disk() {
    assert!(calls(Format::PiV4).len() >= 60);
    fail_everywhere(Format::PiV4);
}

#[test]
fn a_pi_v3_session_outlives_a_fault_at_any_call_of_its_disk() {
    fail_everywhere(Format::PiV3);
}

#[test]
fn a_codebot_session_outlives_a_fault_at_any_call_of_its_disk() {
    fail_everywhere(Format::CodebotV3);
}
