//! Every kind of edit on many containers: afterwards the digest is right, and the other parts are the same bytes.

use unshade_tests::dx_edits::EDITS;

/// How many containers each kind of edit is done to.
const WANTED: usize = 50;

/// Does every kind of edit to so many containers, spread evenly over all; prints the counts and returns the faults.
pub(super) fn check(containers: &[(String, Vec<u8>)]) -> Vec<String> {
    let mut faults = Vec::new();
    println!("\nedit, containers, right digest and untouched parts the same");
    for edit in EDITS {
        // Those that have nothing of the kind are passed over, so that the rest is spread over all folders.
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
