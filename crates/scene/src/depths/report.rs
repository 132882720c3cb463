//! What is said of the scales that are given for depth maps.

use super::params::{Counts, FILE};
use super::{Source, off};
use crate::error::listed;

/// Says where lines of maps come from: of each photo with its name, in order.
pub(super) fn given(sources: &[(&str, &Source)], notices: &mut Vec<String>, warnings: &mut Vec<String>) {
    let (mut contradicted, mut errors, mut instead) = (Vec::new(), Vec::new(), Vec::new());
    let (mut taken, mut unchecked, mut of_65536) = (0, 0, 0);
    for (name, source) in sources {
        match source {
            Source::Points => {}
            Source::Contradicted(error) => {
                contradicted.push(format!("{name} ({})", off(*error)));
                errors.push(*error);
            }
            Source::Instead(why) => instead.push(format!("{name} ({why})")),
            Source::Given { is_checked, counts } => {
                taken += 1;
                unchecked += usize::from(!is_checked);
                of_65536 += usize::from(*counts == Counts::Of65536);
            }
        }
    }
    errors.sort_unstable_by(f64::total_cmp);
    let remedy = "make the file again from these maps, or delete it";
    match errors.get(errors.len() / 2) {
        Some(error) if taken == unchecked => warnings.push(format!(
            "{FILE} belongs to other depth maps (of another number of bits, or another network): with its scales {}, in each of {} \
             photos; their maps are fitted to the sparse points instead. To be rid of this, {remedy}",
            off(*error),
            errors.len()
        )),
        Some(_) => warnings.push(format!(
            "scales of {} of {} depth maps in {FILE} contradict the sparse points, and their maps are fitted to these instead: {}",
            errors.len(),
            sources.len(),
            listed(&contradicted)
        )),
        None => {}
    }
    if !instead.is_empty() {
        warnings.push(format!(
            "{} of {} depth maps have no scale in {FILE} that could be taken, and are fitted to the sparse points instead: {}",
            instead.len(),
            sources.len(),
            listed(&instead)
        ));
    }
    if unchecked > 0 {
        notices.push(format!(
            "scales of {unchecked} depth maps are taken from {FILE} unchecked: their photos show too few sparse points"
        ));
    }
    if of_65536 > 0 {
        notices.push(format!(
            "scales of {of_65536} depth maps in {FILE} count stored values divided by 65536, as INRIA's trainer does whatever their type"
        ));
    }
}
