//! All edits on many containers: afterwards the digest is correct and the other parts are unchanged.

use unshade_tests::dx_edits::EDITS;

/// Number of containers per edit.
const WANTED: usize = 50;

/// Performs all edits, each on containers spread evenly over all. Prints the counts and returns the faults.
pub(super) fn check(containers: &[(String, Vec<u8>)]) -> Vec<String> {
    let mut faults = Vec::new();
    println!("\nedit, containers, correct digest and other parts unchanged");
    for edit in EDITS {
        // Containers that can't be edited this way are skipped, so that the others are spread over all folders.
        let step = (containers.len() / WANTED).max(1);
        let order = (0..step).flat_map(|start| containers.iter().skip(start).step_by(step));
        let (mut done, mut right) = (0, 0);
        for (name, data) in order {
            let Some(found) = edit.check(data) else { continue };
            done += 1;
            right += usize::from(found.is_empty());
            faults.extend(found.iter().map(|fault| format!("{name}: {}: {fault}", edit.name)));
            if done == WANTED {
                break;
            }
        }
        println!("  {:<26} {done:>4} {right:>4}", edit.name);
    }
    faults
}
