//! `cameras.json`: the scene's cameras, and what follows from all of them together.

use crate::camera::{Lens, Pose};
use crate::json::{self, Value};
use crate::math::{Mat3, Vec3, add, cross, dot, length, normalized_or, scale, sub, transpose};

/// A camera of the scene.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Camera {
    /// Stem of its pictures.
    pub(crate) name: String,
    /// Whether it was held out.
    pub(crate) test: bool,
    pub(crate) pose: Pose,
    pub(crate) lens: Lens,
}

/// Reads the file; records that are no camera are left out.
///
/// # Errors
/// A sentence for the page.
pub(crate) fn parse(text: &str) -> Result<Vec<Camera>, String> {
    let value = json::parse(text).map_err(|e| format!("cameras.json is {e}"))?;
    Ok(value.as_items().iter().filter_map(camera).collect())
}

fn numbers<const N: usize>(value: &Value) -> Option<[f32; N]> {
    let items = value.as_items();
    let mut out = [0.0; N];
    for (slot, item) in out.iter_mut().zip(items) {
        *slot = item.as_number()? as f32;
    }
    (items.len() == N && out.iter().all(|v| v.is_finite())).then_some(out)
}

fn camera(row: &Value) -> Option<Camera> {
    let rows = row.items("rotation");
    let mut to_world: Mat3 = [[0.0; 3]; 3];
    for (slot, item) in to_world.iter_mut().zip(rows) {
        *slot = numbers(item)?;
    }
    let size = [row.whole("width")?, row.whole("height")?].map(|side| u32::try_from(side).unwrap_or(0));
    let side = |axis: usize| 0.5 * size[axis] as f32;
    let number = |key: &str| row.number(key).map(|v| v as f32).filter(|v| v.is_finite());
    let lens = Lens {
        size,
        focal: [number("fx")?, number("fy")?],
        centre: [number("cx").unwrap_or(side(0)), number("cy").unwrap_or(side(1))],
    };
    let drawable = size.iter().all(|side| (1..=16_384).contains(side)) && lens.focal.iter().all(|f| *f > 0.0);
    (rows.len() == 3 && drawable).then_some(Camera {
        name: row.text("img_name")?.to_owned(),
        test: row.text("split") == Some("test"),
        pose: Pose {
            rotation: transpose(to_world),
            position: numbers(row.get("position")?)?,
        },
        lens,
    })
}

/// Where the cameras look, which way is up and how far apart they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Arrangement {
    /// The point nearest to all optical axes.
    pub(crate) target: Vec3,
    /// Unit vector.
    pub(crate) up: Vec3,
    /// Mean distance from the cameras to the target, world units.
    pub(crate) radius: f32,
}

/// The arrangement of cameras; `None` without any.
pub(crate) fn arrangement(poses: &[Pose]) -> Option<Arrangement> {
    if poses.is_empty() {
        return None;
    }
    let n = poses.len() as f32;
    let sum = |of: &dyn Fn(&Pose) -> Vec3| poses.iter().map(of).fold([0.0; 3], add);
    let up = normalized_or(sum(&|pose| scale(pose.rotation[1], -1.0)), [0.0, -1.0, 0.0]);
    let middle = scale(sum(&|pose| pose.position), 1.0 / n);
    let spread = poses.iter().map(|pose| length(sub(pose.position, middle))).sum::<f32>() / n;
    let target = nearest_point(poses).filter(|target| {
        // Parallel axes meet anywhere; a target far outside the cameras' own extent is none.
        let reach = length(sub(*target, middle));
        reach.is_finite() && reach < 10.0 * spread.max(1e-3)
    });
    let forward = normalized_or(sum(&Pose::forward), [0.0, 0.0, 1.0]);
    let target = target.unwrap_or_else(|| add(middle, scale(forward, spread.max(1.0) * 2.0)));
    let distance = poses.iter().map(|pose| length(sub(pose.position, target))).sum::<f32>() / n;
    Some(Arrangement {
        target,
        up,
        radius: distance.max(1e-3),
    })
}

/// The camera to begin with: one of the better half by PSNR, where that is known, that looks as most of them do; where
/// they look everywhere, the best.
pub(crate) fn home(cameras: &[Camera], psnr: impl Fn(&Camera) -> Option<f64>) -> Option<usize> {
    let known: Vec<(usize, f64)> = cameras
        .iter()
        .enumerate()
        .filter_map(|(at, camera)| Some((at, psnr(camera)?)))
        .collect();
    let sum = cameras.iter().map(|camera| camera.pose.forward()).fold([0.0; 3], add);
    let common = scale(sum, 1.0 / cameras.len().max(1) as f32);
    let together = length(common) > COMMON_SHARE;
    let along = |at: usize| f64::from(dot(cameras[at].pose.forward(), common));
    let known = crate::order::rising(known, |(_, psnr)| -psnr);
    let better = &known[..known.len().div_ceil(2)];
    let first = match (better.first(), together) {
        (Some(_), true) => crate::order::rising(better.to_vec(), |(at, _)| -along(*at))
            .first()
            .map(|(at, _)| *at),
        (Some((best, _)), false) => Some(*best),
        (None, true) => crate::order::rising((0..cameras.len()).collect(), |at| -along(*at))
            .first()
            .copied(),
        (None, false) => None,
    };
    first
        .or_else(|| cameras.iter().position(|camera| camera.test))
        .or((!cameras.is_empty()).then_some(0))
}

/// Mean of the unit viewing directions above which cameras look the same way: those of a ring cancel out.
const COMMON_SHARE: f32 = 0.3;

/// Least squares over the axes: sum of (I - d d^T) (p - c) = 0.
fn nearest_point(poses: &[Pose]) -> Option<Vec3> {
    let mut matrix: Mat3 = [[0.0; 3]; 3];
    let mut right = [0.0; 3];
    for pose in poses {
        let d = pose.forward();
        for i in 0..3 {
            for j in 0..3 {
                let share = f32::from(u8::from(i == j)) - d[i] * d[j];
                matrix[i][j] += share;
                right[i] += share * pose.position[j];
            }
        }
    }
    let [a, b, c] = matrix;
    let det = dot(a, cross(b, c));
    if det.abs() < 1e-4 * poses.len() as f32 {
        return None;
    }
    let inverse_columns = [cross(b, c), cross(c, a), cross(a, b)];
    let sum = (0..3).fold([0.0; 3], |sum, i| add(sum, scale(inverse_columns[i], right[i])));
    Some(scale(sum, 1.0 / det))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::math::close;
    use crate::run::golden;

    #[test]
    fn the_fixtures_cameras_are_read() {
        let cameras = parse(&golden("cameras.json")).unwrap();
        assert_eq!(cameras.len(), 2);
        assert_eq!((cameras[1].name.as_str(), cameras[1].test), ("test_view", true));
        assert_eq!(cameras[0].lens.centre, [8.0, 6.0]);
        // Seen from (0, 0, 3) looking down -z, the origin is 3 ahead.
        assert!(close(&cameras[0].pose.to_camera([0.0; 3]), &[0.0, 0.0, 3.0], 1e-6));
    }

    #[test]
    fn records_that_are_no_camera_are_left_out() {
        let good = "{\"img_name\":\"a\",\"width\":4,\"height\":3,\"position\":[0,0,0],\
                    \"rotation\":[[1,0,0],[0,1,0],[0,0,1]],\"fx\":5,\"fy\":5}";
        let text = format!(
            "[{good}, 7, {}, {}]",
            good.replace(":4", ":0"),
            good.replace("[0,0,0],", "[0,0],")
        );
        let cameras = parse(&text).unwrap();
        assert_eq!((cameras.len(), cameras[0].lens.centre), (1, [2.0, 1.5]));
        assert!(parse("[").unwrap_err().contains("cameras.json"));
    }

    #[test]
    fn one_begins_with_a_good_view_from_where_most_look() {
        let golden = parse(&golden("cameras.json")).unwrap().remove(0);
        let at = |x: f32| Camera {
            name: format!("{x}"),
            pose: Pose::looking_at([x, 0.0, -5.0], [0.0; 3], [0.0, -1.0, 0.0]),
            ..golden.clone()
        };
        let row: Vec<_> = [-4.0, -1.0, 0.5, 6.0].map(at).to_vec();
        let figures = |values: [f64; 4]| {
            let row = &row;
            move |camera: &Camera| {
                row.iter()
                    .position(|each| each.name == camera.name)
                    .map(|at| values[at])
            }
        };
        assert_eq!(home(&row, figures([20.0, 25.0, 15.0, 30.0])), Some(1));
        assert_eq!(home(&row, |_| None), Some(2));
        let mut ring = row[..2].to_vec();
        ring[0].pose = Pose::looking_at([0.0, 0.0, 5.0], [0.0; 3], [0.0, -1.0, 0.0]);
        ring[1].pose = Pose::looking_at([0.0, 0.0, -5.0], [0.0; 3], [0.0, -1.0, 0.0]);
        assert_eq!(home(&ring, figures([20.0, 25.0, 0.0, 0.0])), Some(1));
        assert_eq!(home(&[], |_| None), None);
    }

    #[test]
    fn a_ring_of_cameras_looks_at_its_middle() {
        let up = [0.0, 0.0, 1.0];
        let ring: Vec<_> = (0..8)
            .map(|i| {
                let (s, c) = (i as f32 * 0.785).sin_cos();
                Pose::looking_at([5.0 + 3.0 * c, 3.0 * s, 1.0], [5.0, 0.0, 0.0], up)
            })
            .collect();
        let found = arrangement(&ring).unwrap();
        assert!(close(&found.target, &[5.0, 0.0, 0.0], 1e-3), "{found:?}");
        assert!(close(&found.up, &up, 1e-2));
        assert!((found.radius - 10.0_f32.sqrt()).abs() < 1e-3);
        let one = arrangement(&ring[..1]).unwrap();
        assert!(one.target.iter().all(|v| v.is_finite()));
        assert_eq!(arrangement(&[]), None);
    }
}
