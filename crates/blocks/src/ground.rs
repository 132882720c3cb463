//! The plane that a scene lies on.
//!
//! Up is against the mean viewing direction where photos look one way, as from the air, else the direction in which the points
//! spread least, on the side of the cameras. Within ten degrees of an axis of the scene it is that axis, so that blocks of
//! scenes in metres have sides in metres, north and east.

/// Length of the mean of unit viewing directions from which on photos look one way.
const ONE_WAY: f64 = 0.8;
/// Cosine of the angle to an axis within which up is that axis.
const NEAR_AXIS: f64 = 0.984_807_753_012_208;
/// Rounds of the iteration that finds principal axes; each turns away all of three pairs.
const SWEEPS: u32 = 16;

/// Two axes in a plane and the one that stands on it, unit vectors of a right-handed frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ground {
    /// The axes in the plane.
    pub axes: [[f64; 3]; 2],
    /// Away from the ground.
    pub up: [f64; 3],
}

impl Ground {
    /// The plane of a scene whose photos look along `directions`, unit vectors, from `cameras` at `points`.
    #[must_use]
    pub fn of(directions: &[[f64; 3]], cameras: &[[f64; 3]], points: &[[f64; 3]]) -> Self {
        let looking = mean(directions);
        if length(looking) >= ONE_WAY {
            return Self::with_up(looking.map(|x| -x));
        }
        let axis = least_spread(points);
        let (above, middle) = (mean(cameras), mean(points));
        let side: f64 = (0..3).map(|i| (above[i] - middle[i]) * axis[i]).sum();
        Self::with_up(if side < 0.0 { axis.map(|x| -x) } else { axis })
    }

    /// The plane under `up`, which need not be a unit vector; one without direction counts as z.
    #[must_use]
    pub fn with_up(up: [f64; 3]) -> Self {
        let size = length(up);
        let up = if size > 0.0 && size.is_finite() {
            up.map(|x| x / size)
        } else {
            [0.0, 0.0, 1.0]
        };
        let snapped = (0..3).find(|&axis| up[axis].abs() >= NEAR_AXIS).map(|axis| {
            let mut on_axis = [0.0; 3];
            on_axis[axis] = up[axis].signum();
            on_axis
        });
        let up = snapped.unwrap_or(up);
        // The axis that lies flattest, the first of equals.
        let mut flattest = 0;
        for axis in 1..3 {
            if up[axis].abs() < up[flattest].abs() {
                flattest = axis;
            }
        }
        let mut first: [f64; 3] = std::array::from_fn(|i| -up[flattest] * up[i]);
        first[flattest] += 1.0;
        let size = length(first);
        let first = first.map(|x| x / size);
        let second = cross(up, first);
        Self {
            axes: [first, second],
            up,
        }
    }

    /// Where a place is in the plane.
    #[must_use]
    pub fn flat(&self, place: [f64; 3]) -> [f64; 2] {
        self.axes.map(|axis| dot(axis, place))
    }

    /// How high a place is.
    #[must_use]
    pub fn height(&self, place: [f64; 3]) -> f64 {
        dot(self.up, place)
    }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|i| a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3])
}

fn length(a: [f64; 3]) -> f64 {
    dot(a, a).sqrt()
}

fn mean(places: &[[f64; 3]]) -> [f64; 3] {
    let mut sum = [0.0; 3];
    for place in places {
        sum = std::array::from_fn(|axis| sum[axis] + place[axis]);
    }
    sum.map(|total| total / places.len().max(1) as f64)
}

/// The direction in which places differ least: the eigenvector of the smallest eigenvalue of their covariance (Jacobi 1846).
fn least_spread(places: &[[f64; 3]]) -> [f64; 3] {
    let middle = mean(places);
    let mut a = [[0.0; 3]; 3];
    for place in places {
        let offset: [f64; 3] = std::array::from_fn(|i| place[i] - middle[i]);
        a = std::array::from_fn(|i| std::array::from_fn(|j| a[i][j] + offset[i] * offset[j]));
    }
    let mut vectors = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    for _ in 0..SWEEPS {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            if a[p][q] == 0.0 {
                continue;
            }
            let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
            let c = 1.0 / t.hypot(1.0);
            let s = t * c;
            for row in &mut a {
                (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
            }
            let (low, high) = (a[p], a[q]);
            a[p] = std::array::from_fn(|i| c * low[i] - s * high[i]);
            a[q] = std::array::from_fn(|i| s * low[i] + c * high[i]);
            for row in &mut vectors {
                (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
            }
        }
    }
    let mut least = 0;
    for axis in 1..3 {
        if a[axis][axis] < a[least][least] {
            least = axis;
        }
    }
    vectors.map(|row| row[least])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: [f64; 3], b: [f64; 3]) -> bool {
        (0..3).all(|i| (a[i] - b[i]).abs() < 1e-9)
    }

    #[test]
    fn photos_from_the_air_say_what_is_up() {
        let directions = [[0.05, 0.0, -0.998_7], [-0.05, 0.0, -0.998_7]];
        let ground = Ground::of(&directions, &[], &[]);
        assert_eq!(ground.up, [0.0, 0.0, 1.0]);
        assert_eq!(ground.axes, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
        assert_eq!(ground.flat([3.0, 4.0, 5.0]), [3.0, 4.0]);
        assert_eq!(ground.height([3.0, 4.0, 5.0]), 5.0);
    }

    #[test]
    fn photos_all_around_leave_it_to_the_points() {
        let directions = [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]];
        // A plane that leans by 45 degrees, cameras under it in world terms.
        let points: Vec<[f64; 3]> = (0..20)
            .flat_map(|x| (0..20).map(move |y| [f64::from(x), f64::from(y), f64::from(x)]))
            .collect();
        let ground = Ground::of(&directions, &[[12.0, 10.0, 6.0]], &points);
        let half = std::f64::consts::FRAC_1_SQRT_2;
        assert!(near(ground.up, [half, 0.0, -half]), "{:?}", ground.up);
        for axis in ground.axes {
            assert!(dot(axis, ground.up).abs() < 1e-12 && (length(axis) - 1.0).abs() < 1e-12);
        }
        assert!(near(cross(ground.axes[0], ground.axes[1]), ground.up));
    }

    #[test]
    fn no_direction_is_z() {
        assert_eq!(Ground::with_up([0.0; 3]).up, [0.0, 0.0, 1.0]);
        assert_eq!(Ground::with_up([f64::NAN, 0.0, 0.0]).up, [0.0, 0.0, 1.0]);
    }
}
