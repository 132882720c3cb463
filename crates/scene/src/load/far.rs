//! What is done about cameras and points far from all others.

use super::Loader;
use super::notices::stray_warning;
use crate::strays::{Middle, Stray};
use crate::view::View;
use crate::{Camera, Point};

/// Most cameras far from all others that a warning names.
const MOST_STRAYS: usize = 16;

/// How far a camera is from the middle of the others, which are within `reach` of it.
fn how_far(distance: f64, reach: f64) -> String {
    let times = distance / reach;
    match times.is_finite() {
        true => format!(
            "{distance:.4} away, {times:.*} times as far",
            usize::from(times < 100.0)
        ),
        // All others are at one place.
        false => format!("{distance:.4} away"),
    }
}

impl Loader<'_> {
    /// Marks cameras that are far from all others and leaves those out that show nothing of the scene, of which the first `trained` views
    /// are for training; leaves out points that are beyond everything. Gives how many views for training are left, and the points.
    pub(super) fn without_strays(
        &mut self,
        views: &mut Vec<View>,
        trained: usize,
        points: Vec<Point>,
    ) -> (usize, Vec<Point>) {
        let cameras: Vec<&Camera> = views.iter().map(|view| &view.camera).collect();
        let middle = Middle::of(&cameras, &points);
        let (strays, reach) = middle.strays(&cameras, &points);
        let (blind, seeing): (Vec<Stray>, Vec<Stray>) = strays.into_iter().partition(|stray| stray.is_blind);
        let reported = |strays: &[Stray]| {
            let reported = strays
                .iter()
                .map(|stray| format!("{} ({})", views[stray.index].name, how_far(stray.distance, reach)));
            let more = match strays.len().saturating_sub(MOST_STRAYS) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            reported.take(MOST_STRAYS).collect::<Vec<_>>().join(", ") + &more
        };
        let [far, left_out] =
            [&seeing, &blind].map(|strays| stray_warning(strays.len(), views.len(), reach, &reported(strays)));
        if !seeing.is_empty() {
            self.warnings.push(format!(
                "{far}; the scene's size is that of the others, and the photo is used all the same: delete it if its pose is wrong"
            ));
        }
        if !blind.is_empty() {
            self.warnings.push(format!(
                "{left_out}; hardly a sparse point is in view there, so the pose is taken for wrong and the photo left out: correct the \
                 pose, and it is used again"
            ));
        }
        for stray in &seeing {
            views[stray.index].is_stray = true;
        }
        let mut trained = trained;
        for stray in blind.iter().rev() {
            trained -= usize::from(stray.index < trained);
            self.strays.push(views.remove(stray.index).name);
        }
        self.strays.sort();
        let (count, is_kept) = (points.len(), |place: [f32; 3]| !middle.is_beyond(place));
        let points: Vec<Point> = points.into_iter().filter(|point| is_kept(point.position)).collect();
        if points.len() < count {
            self.warnings.push(format!(
                "{} of {count} sparse points are more than a thousand times as far away as the others and left out",
                count - points.len()
            ));
            for view in views.iter_mut().filter(|view| !view.seen.is_empty()) {
                view.seen = view
                    .seen
                    .iter()
                    .filter(|point| is_kept(point.position))
                    .copied()
                    .collect();
            }
        }
        (trained, points)
    }
}

#[cfg(test)]
mod tests {
    use super::how_far;

    #[test]
    fn distances_are_compared_with_those_of_others() {
        assert_eq!(how_far(31.25, 2.5), "31.2500 away, 12.5 times as far");
        assert_eq!(how_far(3000.0, 2.5), "3000.0000 away, 1200 times as far");
        assert_eq!(how_far(3.0, 0.0), "3.0000 away");
    }
}
