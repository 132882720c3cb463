//! Boxes in a square, by a skyline.

/// Width and height.
pub(super) type Rectangle = [u32; 2];

/// A step of the skyline.
#[derive(Clone, Copy)]
struct Step {
    x: u32,
    y: u32,
    width: u32,
}

/// Where rectangles lie in a square of side `side`; `None` when they do not fit.
///
/// The highest first, each where its upper edge comes lowest, and of such places the first (bottom-left skyline, Jylanki
/// 2010, "A thousand ways to pack the bin").
pub(super) fn pack(rectangles: &[Rectangle], side: u32) -> Option<Vec<[u32; 2]>> {
    // What cannot fit is known without trying.
    let area: u64 = rectangles.iter().map(|&[w, h]| u64::from(w) * u64::from(h)).sum();
    if area > u64::from(side) * u64::from(side) {
        return None;
    }
    let mut order: Vec<u32> = (0..rectangles.len() as u32).collect();
    order.sort_by_key(|&i| {
        let [w, h] = rectangles[i as usize];
        (std::cmp::Reverse([h, w]), i)
    });
    let mut places = vec![[0; 2]; rectangles.len()];
    let mut skyline = vec![Step {
        x: 0,
        y: 0,
        width: side,
    }];
    for i in order {
        let [w, h] = rectangles[i as usize];
        let (at, y) = lowest(&skyline, w, side)?;
        if h > side - y {
            return None;
        }
        let x = skyline[at].x;
        places[i as usize] = [x, y];
        raise(&mut skyline, at, x, y + h, w);
    }
    Some(places)
}

/// The step from which on a width lies lowest, and how low.
fn lowest(skyline: &[Step], width: u32, side: u32) -> Option<(usize, u32)> {
    let mut best: Option<(usize, u32)> = None;
    for (at, step) in skyline.iter().enumerate() {
        if width > side - step.x {
            break;
        }
        if best.is_some_and(|(_, y)| step.y >= y) {
            continue;
        }
        let spanned = skyline[at..].iter().take_while(|other| other.x < step.x + width);
        let y = spanned.map(|other| other.y).max().unwrap_or(step.y);
        if best.is_none_or(|(_, lowest)| y < lowest) {
            best = Some((at, y));
        }
    }
    best
}

/// Puts a step of this height and width where step `at` begins.
fn raise(skyline: &mut Vec<Step>, at: usize, x: u32, y: u32, width: u32) {
    let end = x + width;
    let spanned = skyline[at..].iter().take_while(|step| step.x < end).count();
    let last = skyline[at + spanned - 1];
    let rest = (last.x + last.width > end).then(|| Step {
        x: end,
        y: last.y,
        width: last.x + last.width - end,
    });
    skyline.splice(at..at + spanned, std::iter::once(Step { x, y, width }).chain(rest));
    // Equal neighbours are one step.
    let mut i = at.max(1);
    while i < skyline.len() && i <= at + 2 {
        if skyline[i - 1].y == skyline[i].y {
            skyline[i - 1].width += skyline[i].width;
            skyline.remove(i);
        } else {
            i += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::random::Random;

    #[test]
    fn rectangles_lie_inside_and_apart() {
        for seed in 0..20 {
            let random = Random::new(seed);
            let side = |i: u64| 1 + (random.unit(i).powi(3) * 30.0) as u32;
            let rectangles: Vec<Rectangle> = (0..150).map(|i| [side(2 * i), side(2 * i + 1)]).collect();
            let area: u32 = rectangles.iter().map(|[w, h]| w * h).sum();
            let edge = (1..).find(|&edge| pack(&rectangles, edge).is_some()).unwrap();
            let places = pack(&rectangles, edge).unwrap();
            let mut covered = vec![false; (edge * edge) as usize];
            for ([x, y], [w, h]) in places.iter().zip(&rectangles) {
                assert!(x + w <= edge && y + h <= edge);
                for at in (*y..y + h).flat_map(|y| (*x..x + w).map(move |x| (y * edge + x) as usize)) {
                    assert!(!covered[at]);
                    covered[at] = true;
                }
            }
            let fill = f64::from(area) / f64::from(edge * edge);
            assert!(fill > 0.8, "{fill}");
        }
    }

    #[test]
    fn exact_fits_fit() {
        assert_eq!(pack(&[[4, 4]], 4), Some(vec![[0, 0]]));
        assert_eq!(pack(&[[5, 1]], 4), None);
        assert_eq!(pack(&[[1, 5]], 4), None);
        assert!(pack(&[[2, 2]; 4], 4).is_some());
        assert_eq!(pack(&[[2, 2]; 5], 4), None);
        assert_eq!(pack(&[], 4), Some(vec![]));
        assert!(pack(&[[1, 1]; 16], 4).is_some());
        assert!(pack(&[[4, 1]; 4], 4).is_some());
    }
}
