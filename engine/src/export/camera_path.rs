//! A camera path: keyframes in a JSON file to a camera for every frame.
//!
//! Positions, looked-at points and focal lengths follow a cubic Hermite curve through the keyframes whose tangents are
//! the differences of the neighbours (Catmull and Rom 1974, for keyframes that need not be equally far apart in time).
//! Rotations turn at constant speed between two keyframes, the short way (Shoemake 1985). `docs/guide/camera-paths.md` is the
//! description of the file.

mod nerfstudio;

use std::path::Path;

use kiln_files::read_text;
use serde::Deserialize;

use super::CamerasError;
use super::json::unmarked;
use kiln_scene::Camera;
use kiln_scene::math::{Mat3, cross, dot, norm, quaternion, rotation, sub, transpose};

/// Largest file that is read, bytes.
const MAX_BYTES: u64 = 16 << 20;
/// Most frames of a path.
const MAX_FRAMES: usize = 100_000;
/// Largest image side, pixels.
const MAX_SIDE_PX: u32 = 16_384;

type Vec3 = kiln_scene::math::Vec3<f64>;
/// w, x, y, z.
type Quat = [f64; 4];

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PathFile {
    /// Width and height, pixels.
    size: [u32; 2],
    /// Frames a second.
    #[serde(default = "thirty")]
    fps: f64,
    /// Length; not needed when the keyframes have times.
    seconds: Option<f64>,
    /// Lens of keyframes that have none of their own; see [`Keyframe`].
    fov_x: Option<f64>,
    /// Vertical field of view, degrees.
    fov_y: Option<f64>,
    /// Focal lengths and principal point, pixels.
    fx: Option<f64>,
    fy: Option<f64>,
    cx: Option<f64>,
    cy: Option<f64>,
    /// Which way is up for `look_at`.
    #[serde(default = "up")]
    up: Vec3,
    /// The path goes on from the last keyframe to the first.
    #[serde(default, rename = "loop")]
    closed: bool,
    keyframes: Vec<Keyframe>,
}

/// A moment that the path goes through.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keyframe {
    position: Vec3,
    /// Camera to world, w x y z; camera axes are x right, y down, z forward.
    rotation: Option<Quat>,
    look_at: Option<Vec3>,
    /// Seconds from the start.
    time: Option<f64>,
    /// Horizontal field of view, degrees.
    fov_x: Option<f64>,
    /// Vertical field of view, degrees.
    fov_y: Option<f64>,
    /// Focal lengths and principal point, pixels.
    fx: Option<f64>,
    fy: Option<f64>,
    cx: Option<f64>,
    cy: Option<f64>,
}

/// fov_x, fov_y, fx, fy, cx, cy: one field of view in degrees, or focal lengths in pixels.
type Lens = [Option<f64>; 6];

impl PathFile {
    fn lens(&self) -> Lens {
        [self.fov_x, self.fov_y, self.fx, self.fy, self.cx, self.cy]
    }
}

impl Keyframe {
    fn lens(&self) -> Lens {
        [self.fov_x, self.fov_y, self.fx, self.fy, self.cx, self.cy]
    }
}

fn thirty() -> f64 {
    30.0
}

/// Data sets have y pointing down more often than not.
fn up() -> Vec3 {
    [0.0, -1.0, 0.0]
}

/// Everything about a moment of the path that is interpolated.
#[derive(Clone, Copy)]
struct Key {
    time: f64,
    position: Vec3,
    rotation: Quat,
    look_at: Option<Vec3>,
    /// fx, fy in logarithms, cx, cy.
    lens: [f64; 4],
}

/// Reads a path; gives each frame a stem for its output file.
///
/// # Errors
/// [`CamerasError`] naming the file, the keyframe and what is wrong with it.
pub fn read_camera_path(path: &Path) -> Result<Vec<(String, Camera)>, CamerasError> {
    let fail = |what: String| CamerasError {
        path: path.to_owned(),
        what,
    };
    let text = read_text(path, MAX_BYTES).map_err(|e| fail(e.to_string()))?;
    let expected = "a camera path with `size` and `keyframes`, or nerfstudio's with `camera_path`, is expected";
    let wrong = |e: serde_json::Error| fail(format!("{e}; {expected}"));
    let outline: Outline = serde_json::from_str(unmarked(&text)).map_err(wrong)?;
    if outline.camera_path.is_some() {
        let file: nerfstudio::File = serde_json::from_str(unmarked(&text)).map_err(wrong)?;
        return file.cameras(path).map(named).map_err(fail);
    }
    let file: PathFile = serde_json::from_str(unmarked(&text)).map_err(wrong)?;
    frames(&file).map(named).map_err(fail)
}

/// Distinguishes the two kinds of files.
#[derive(Deserialize)]
struct Outline {
    camera_path: Option<serde::de::IgnoredAny>,
}

/// Each frame with the stem of its picture.
fn named(cameras: Vec<Camera>) -> Vec<(String, Camera)> {
    let digits = cameras.len().saturating_sub(1).to_string().len().max(5);
    let frames = cameras.into_iter().enumerate();
    frames
        .map(|(frame, camera)| (format!("frame_{frame:0digits$}"), camera))
        .collect()
}

fn frames(file: &PathFile) -> Result<Vec<Camera>, String> {
    let [width, height] = file.size;
    let sides = 1..=MAX_SIDE_PX;
    if !sides.contains(&width) || !sides.contains(&height) {
        return Err(format!(
            "`size` is {width} x {height} pixels, sides of 1 to {MAX_SIDE_PX} are drawn"
        ));
    }
    if !(file.fps > 0.0 && file.fps <= 1000.0) {
        return Err(format!("`fps` is {}, allowed: above 0, at most 1000", file.fps));
    }
    let (keys, end) = keys(file)?;
    let start = keys.first().map_or(0.0, |key| key.time);
    let seconds = end - start;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "casts from floats saturate, and the number is checked right below"
    )]
    let count = ((seconds * file.fps).round() as usize).max(1);
    if count > MAX_FRAMES {
        return Err(format!(
            "{count} frames, at most {MAX_FRAMES} are drawn; lower `fps` or `seconds`"
        ));
    }
    // A closed path ends one frame before it begins anew; an open one shows both ends.
    let steps = if file.closed { count } else { (count - 1).max(1) };
    let at = |frame: usize| start + seconds * frame as f64 / steps as f64;
    (0..count)
        .map(|frame| {
            camera(&between(&keys, end, file.closed, at(frame)), file.up, file.size)
                .ok_or_else(|| format!("frame {frame} looks straight along `up`; choose another `up`"))
        })
        .collect()
}

/// The keyframes with their times, and when the path ends.
fn keys(file: &PathFile) -> Result<(Vec<Key>, f64), String> {
    let count = file.keyframes.len();
    if count == 0 {
        return Err("`keyframes` is empty, at least one is needed".to_owned());
    }
    let timed = file.keyframes.iter().filter(|key| key.time.is_some()).count();
    if timed != 0 && timed != count {
        return Err(format!(
            "{timed} of {count} keyframes have a `time`; give it to all or to none"
        ));
    }
    let seconds = match file.seconds {
        Some(seconds) if seconds >= 0.0 && seconds.is_finite() => Some(seconds),
        Some(seconds) => return Err(format!("`seconds` is {seconds}, allowed: 0 or more")),
        None if timed == 0 || file.closed => {
            return Err("`seconds` is missing; it is needed unless all keyframes have a `time`".to_owned());
        }
        None => None,
    };
    let gaps = if file.closed { count } else { (count - 1).max(1) };
    let mut keys: Vec<Key> = Vec::with_capacity(count);
    for (number, keyframe) in file.keyframes.iter().enumerate() {
        let spread = seconds.unwrap_or(0.0) * number as f64 / gaps as f64;
        let time = keyframe.time.unwrap_or(spread);
        let key = key(keyframe, file, time).map_err(|what| format!("keyframe {number}: {what}"))?;
        if keys.last().is_some_and(|before| before.time >= key.time && timed > 0) {
            return Err(format!("keyframe {number}: `time` is {time}, not after the one before"));
        }
        keys.push(key);
    }
    let last = keys.last().map_or(0.0, |key| key.time);
    let end = match seconds {
        Some(seconds) if timed > 0 && seconds < last => {
            return Err(format!("`seconds` is {seconds}, but the last keyframe is at {last}"));
        }
        Some(seconds) => seconds,
        None => last,
    };
    Ok((keys, end))
}

fn key(keyframe: &Keyframe, file: &PathFile, time: f64) -> Result<Key, String> {
    for [fov_x, fov_y, ..] in [keyframe.lens(), file.lens()] {
        for (name, angle) in [("fov_x", fov_x), ("fov_y", fov_y)] {
            if let Some(angle) = angle.filter(|angle| !(*angle > 0.0 && *angle < 180.0)) {
                return Err(format!(
                    "`{name}` is {angle}; a field of view must be above 0 and below 180 degrees"
                ));
            }
        }
    }
    let lens = lens(keyframe.lens(), file.size)
        .or_else(|| lens(file.lens(), file.size))
        .ok_or("no lens; give `fov_x`, `fov_y`, or `fx` and `fy`, to the keyframe or to the path")?;
    let rotation = match (keyframe.rotation, keyframe.look_at) {
        (Some(rotation), None) => {
            let length = norm(rotation);
            if length < 1e-9 {
                return Err("`rotation` has no length".to_owned());
            }
            rotation.map(|value| value / length)
        }
        (None, Some(target)) => {
            let matrix = facing(sub(target, keyframe.position), file.up)
                .ok_or("`look_at` is the position itself or lies straight along `up`")?;
            quaternion(matrix)
        }
        _ => return Err("give either `rotation` or `look_at`".to_owned()),
    };
    let numbers = keyframe.position.iter().chain(&rotation).chain(&lens).chain([&time]);
    if !numbers.copied().all(|value| (value as f32).is_finite()) {
        return Err("all numbers must be finite, and focal lengths above 0".to_owned());
    }
    Ok(Key {
        time,
        position: keyframe.position,
        rotation,
        look_at: keyframe.look_at,
        lens,
    })
}

/// fx and fy as logarithms, cx, cy; `None` when the lens says nothing.
fn lens([fov_x, fov_y, fx, fy, cx, cy]: Lens, [width, height]: [u32; 2]) -> Option<[f64; 4]> {
    let (w, h) = (f64::from(width), f64::from(height));
    let of_angle = |degrees: f64, side: f64| 0.5 * side / (0.5 * degrees).to_radians().tan();
    let (fx, fy) = match (fx, fy, fov_x, fov_y) {
        (Some(fx), fy, ..) => (fx, fy.unwrap_or(fx)),
        (None, Some(fy), ..) => (fy, fy),
        (None, None, Some(x), Some(y)) => (of_angle(x, w), of_angle(y, h)),
        (None, None, Some(x), None) => (of_angle(x, w), of_angle(x, w)),
        (None, None, None, Some(y)) => (of_angle(y, h), of_angle(y, h)),
        (None, None, None, None) => return None,
    };
    Some([fx.ln(), fy.ln(), cx.unwrap_or(0.5 * w), cy.unwrap_or(0.5 * h)])
}

/// The moment at `time`.
fn between(keys: &[Key], end: f64, closed: bool, time: f64) -> Key {
    let count = keys.len();
    let after = keys.iter().position(|key| key.time > time).unwrap_or(count);
    let from = after.saturating_sub(1);
    if count == 1 || (!closed && after == count) {
        return keys[from.min(count - 1)];
    }
    let wrapped = |at: i64| -> Key {
        let turns = at.div_euclid(count as i64);
        let key = keys[at.rem_euclid(count as i64) as usize];
        Key {
            time: key.time + turns as f64 * (end - keys[0].time),
            ..key
        }
    };
    let clamped = |at: i64| keys[at.clamp(0, count as i64 - 1) as usize];
    let at = |offset: i64| {
        let index = from as i64 + offset;
        if closed { wrapped(index) } else { clamped(index) }
    };
    let around = [at(-1), at(0), at(1), at(2)];
    let times = around.map(|key| key.time);
    let u = (time - times[1]) / (times[2] - times[1]).max(1e-12);
    let curve = |values: [f64; 4]| hermite(values, times, u);
    let [_, a, b, _] = &around;
    let look_at = match around.map(|key| key.look_at) {
        [Some(p), Some(q), Some(r), Some(s)] => Some(std::array::from_fn(|i| curve([p[i], q[i], r[i], s[i]]))),
        _ => None,
    };
    Key {
        time,
        position: std::array::from_fn(|i| curve(around.map(|key| key.position[i]))),
        rotation: slerp(a.rotation, b.rotation, u),
        look_at,
        lens: std::array::from_fn(|i| curve(around.map(|key| key.lens[i]))),
    }
}

/// The cubic between the second and the third of four values at `times`, at share `u` of the way.
fn hermite(v: [f64; 4], t: [f64; 4], u: f64) -> f64 {
    let step = t[2] - t[1];
    let slope = |a: usize, b: usize| match t[b] - t[a] {
        gap if gap > 1e-12 => (v[b] - v[a]) / gap * step,
        _ => 0.0,
    };
    let (m1, m2) = (slope(0, 2), slope(1, 3));
    let (u2, u3) = (u * u, u * u * u);
    (2.0 * u3 - 3.0 * u2 + 1.0) * v[1] + (u3 - 2.0 * u2 + u) * m1 + (3.0 * u2 - 2.0 * u3) * v[2] + (u3 - u2) * m2
}

fn slerp(a: Quat, b: Quat, u: f64) -> Quat {
    let cosine: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
    // q and -q are one rotation: the nearer of the two is the short way.
    let (b, cosine) = if cosine < 0.0 {
        (b.map(|v| -v), -cosine)
    } else {
        (b, cosine)
    };
    let angle = cosine.min(1.0).acos();
    let (wa, wb) = if angle < 1e-6 {
        (1.0 - u, u)
    } else {
        let sine = angle.sin();
        (((1.0 - u) * angle).sin() / sine, (u * angle).sin() / sine)
    };
    let mixed: Quat = std::array::from_fn(|i| wa * a[i] + wb * b[i]);
    let length = norm(mixed).max(1e-12);
    mixed.map(|value| value / length)
}

/// The camera at a moment; `None` when it looks along `up`.
fn camera(key: &Key, up: Vec3, [width_px, height_px]: [u32; 2]) -> Option<Camera> {
    let to_world = match key.look_at {
        Some(target) => facing(sub(target, key.position), up)?,
        None => rotation(key.rotation),
    };
    let rotation = transpose(to_world);
    let translation = rotation.map(|row| -dot(row, key.position));
    let [fx, fy, cx, cy] = key.lens;
    Some(Camera {
        width_px,
        height_px,
        fx: fx.exp() as f32,
        fy: fy.exp() as f32,
        cx: cx as f32,
        cy: cy as f32,
        rotation: rotation.map(|row| row.map(|value| value as f32)),
        translation: translation.map(|value| value as f32),
        lens: None,
    })
}

/// Camera-to-world rotation that looks along `forward` with `up` upwards in the picture.
fn facing(forward: Vec3, up: Vec3) -> Option<Mat3<f64>> {
    let z = unit(forward)?;
    let x = unit(cross(z, unit(up)?))?;
    let y = cross(z, x);
    Some(transpose([x, y, z]))
}

fn unit(v: Vec3) -> Option<Vec3> {
    let length = norm(v);
    (length > 1e-9 && length.is_finite()).then(|| v.map(|value| value / length))
}

#[cfg(test)]
mod tests;
