//! What every reader hands over: posed image files with a lens, before any image file is looked at.
//!
//! Owns the checks that poses, lenses and names must pass whatever format they came from.

use std::path::Path;

use super::SceneError;

/// One image as a reader found it.
#[derive(Clone, Debug)]
pub(super) struct PosedImage {
    /// Relative path with `/` separators, safe to join to the image folder.
    pub(super) name: String,
    /// World to camera, row-major.
    pub(super) rotation: [[f64; 3]; 3],
    /// World to camera.
    pub(super) translation: [f64; 3],
    /// How the camera projects.
    pub(super) lens: Lens,
}

/// A projection, in the terms of the format it came from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lens {
    /// Lengths in pixels of an image of the stated size.
    Pinhole {
        width: u64,
        height: u64,
        fx: f64,
        fy: f64,
        cx: f64,
        cy: f64,
    },
    /// Horizontal field of view in radians, square pixels, principal point in the centre.
    FieldOfView { angle_x: f64 },
}

/// Rotation matrix of a quaternion (w, x, y, z) of any length; `None` when it is zero or not finite.
pub(super) fn rotation_of(quat: [f64; 4]) -> Option<[[f64; 3]; 3]> {
    let norm = quat.iter().map(|q| q * q).sum::<f64>().sqrt();
    if !norm.is_finite() || norm < 1e-12 {
        return None;
    }
    let [w, x, y, z] = quat.map(|q| q / norm);
    Some([
        [
            1.0 - 2.0 * (y * y + z * z),
            2.0 * (x * y - w * z),
            2.0 * (x * z + w * y),
        ],
        [
            2.0 * (x * y + w * z),
            1.0 - 2.0 * (x * x + z * z),
            2.0 * (y * z - w * x),
        ],
        [
            2.0 * (x * z - w * y),
            2.0 * (y * z + w * x),
            1.0 - 2.0 * (x * x + y * y),
        ],
    ])
}

/// True when every value is finite and stays finite as f32.
pub(super) fn fits_f32(values: &[f64]) -> bool {
    values.iter().all(|&value| (value as f32).is_finite())
}

/// Turns an image name into a relative path with `/` separators.
///
/// Back slashes count as separators, because models made on Windows hold them. Names that are empty, absolute or
/// climb out of the folder are refused: a data set from elsewhere must not make the engine open other files.
pub(super) fn safe_name(file: &Path, name: &str) -> Result<String, SceneError> {
    let unified = name.replace('\\', "/");
    let absolute = unified.starts_with('/') || unified.as_bytes().get(1) == Some(&b':');
    let parts: Vec<&str> = unified
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    if absolute || parts.is_empty() || parts.contains(&"..") || unified.contains('\0') {
        return Err(SceneError::UnsafeName {
            path: file.to_owned(),
            name: name.chars().take(200).collect(),
        });
    }
    Ok(parts.join("/"))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn names_stay_inside_the_folder() {
        let file = Path::new("images.bin");
        assert_eq!(safe_name(file, "a/b.jpg").unwrap(), "a/b.jpg");
        assert_eq!(safe_name(file, "./train/r_0").unwrap(), "train/r_0");
        assert_eq!(safe_name(file, "left\\1.png").unwrap(), "left/1.png");
        for bad in [
            "",
            ".",
            "/etc/passwd",
            "../a.jpg",
            "a/../../b.jpg",
            "C:\\a.jpg",
            "..\\a.jpg",
            "a\0b",
        ] {
            assert!(
                matches!(safe_name(file, bad), Err(SceneError::UnsafeName { .. })),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn quaternions_of_any_length_rotate() {
        let half = std::f64::consts::FRAC_PI_4;
        let turn = rotation_of([3.0 * half.cos(), 0.0, 0.0, 3.0 * half.sin()]).unwrap();
        let expected = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
        for (row, want) in turn.iter().zip(expected) {
            for (value, want) in row.iter().zip(want) {
                assert!((value - want).abs() < 1e-12);
            }
        }
        assert!(rotation_of([0.0; 4]).is_none());
        assert!(rotation_of([f64::NAN, 0.0, 0.0, 1.0]).is_none());
        assert!(rotation_of([f64::INFINITY, 0.0, 0.0, 1.0]).is_none());
    }
}
