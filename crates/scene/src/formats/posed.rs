//! What every reader hands over: posed image files with a lens, before any image file is looked at.
//!
//! Owns the checks that poses and names must pass whatever format they came from, and the change of axes of the formats
//! that have OpenGL cameras.

use std::path::Path;

use super::lens::Lens;
use crate::SceneError;
use crate::math::{Mat3, Vec3, cross, dot, norm, rotation};

/// One image as a reader found it.
#[derive(Clone, Debug)]
pub(crate) struct PosedImage {
    /// Relative path with `/` separators, safe to join to the image folder.
    pub(crate) name: String,
    /// World to camera, row-major.
    pub(crate) rotation: [[f64; 3]; 3],
    /// World to camera.
    pub(crate) translation: [f64; 3],
    /// How the camera projects.
    pub(crate) lens: Lens,
}

/// Rotation matrix of a quaternion (w, x, y, z) of any length; `None` when it is zero or not finite.
pub(crate) fn rotation_of(quat: [f64; 4]) -> Option<Mat3<f64>> {
    let length = norm(quat);
    if !length.is_finite() || length < 1e-12 {
        return None;
    }
    Some(rotation(quat.map(|q| q / length)))
}

/// True when every value is finite and stays finite as f32.
pub(crate) fn fits_f32(values: &[f64]) -> bool {
    values.iter().all(|&value| (value as f32).is_finite())
}

/// Turns an image name into a relative path with `/` separators.
///
/// Back slashes count as separators, because models made on Windows hold them. Names that are empty, absolute or
/// climb out of the folder are refused: a data set from elsewhere must not make the engine open other files.
pub(crate) fn safe_name(file: &Path, name: &str) -> Result<String, SceneError> {
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

/// The same for a name that may be the absolute path of the machine that made the model: its drive or first slash goes, and the folders
/// that are left lead nowhere by themselves.
pub(crate) fn listed_name(file: &Path, name: &str) -> Result<String, SceneError> {
    let unified = name.replace('\\', "/");
    let unified = match unified.as_bytes() {
        [drive, b':', b'/', ..] if drive.is_ascii_alphabetic() => &unified[2..],
        _ => &unified,
    };
    match safe_name(file, unified.trim_start_matches('/')) {
        // The whole name says more.
        Err(_) => safe_name(file, name),
        relative => relative,
    }
}

/// Text of bytes in whatever encoding: UTF-8, or else a character a byte, as in Latin-1.
pub(crate) fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| error.into_bytes().into_iter().map(char::from).collect())
}

/// How far a pose's axes may be from unit length and right angles.
const RIGID_TOLERANCE: f64 = 1e-3;

/// Rotation and translation, world to camera, of a camera-to-world matrix with OpenGL axes (x right, y up, z backward);
/// `None` when the matrix is not finite or, but for the length of its axes, not rigid. A fourth row is not looked at.
///
/// The y and z axes are flipped and the result is inverted.
pub(crate) fn from_opengl(matrix: &[[f64; 4]]) -> Option<(Mat3<f64>, Vec3<f64>)> {
    let &[a, b, c] = matrix.first_chunk()?;
    let matrix = [a, b, c];
    if !matrix.iter().all(|row| fits_f32(row)) {
        return None;
    }
    // Axes that are all as long as each other say the same as those of unit length.
    let lengths: [f64; 3] = std::array::from_fn(|axis| norm([matrix[0][axis], matrix[1][axis], matrix[2][axis]]));
    let scale = lengths[0];
    let even = lengths
        .iter()
        .all(|length| (length / scale - 1.0).abs() <= RIGID_TOLERANCE);
    let scale = if even && (scale - 1.0).abs() > RIGID_TOLERANCE {
        scale
    } else {
        1.0
    };
    let flip = [1.0, -1.0, -1.0].map(|sign| sign / scale);
    // the inverse of a rotation is its transpose, so row i of the result is flipped column i
    let rotation: Mat3<f64> = std::array::from_fn(|axis| std::array::from_fn(|row| flip[axis] * matrix[row][axis]));
    for a in 0..3 {
        for b in a..3 {
            let want = if a == b { 1.0 } else { 0.0 };
            if (dot(rotation[a], rotation[b]) - want).abs() > RIGID_TOLERANCE {
                return None;
            }
        }
    }
    let [x, y, z] = rotation;
    if dot(cross(x, y), z) < 0.0 {
        return None;
    }
    let centre = [matrix[0][3], matrix[1][3], matrix[2][3]];
    Some((rotation, rotation.map(|row| -dot(row, centre))))
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
    fn absolute_names_lose_what_leads_out_of_the_folder() {
        let file = Path::new("images.bin");
        for (name, left) in [
            ("a/b.jpg", "a/b.jpg"),
            ("/home/me/scan/a.jpg", "home/me/scan/a.jpg"),
            ("C:\\scan\\a.jpg", "scan/a.jpg"),
            ("\\\\server\\scan\\a.jpg", "server/scan/a.jpg"),
        ] {
            assert_eq!(listed_name(file, name).unwrap(), left);
        }
        for bad in ["", "/", "C:\\", "/a/../../b.jpg", "C:..\\a.jpg", "/a\0b"] {
            assert!(listed_name(file, bad).is_err(), "{bad:?}");
        }
        assert_eq!(text_of(b"caf\xe9.jpg".to_vec()), "café.jpg");
        assert_eq!(text_of("café.jpg".into()), "café.jpg");
    }

    #[test]
    fn opengl_cameras_are_turned_and_inverted() {
        // a camera at (2, -5, 3) that looks along +y with z up
        let look = [[1.0, 0.0, 0.0, 2.0], [0.0, 0.0, -1.0, -5.0], [0.0, 1.0, 0.0, 3.0]];
        let (rotation, translation) = from_opengl(&look).unwrap();
        assert_eq!(rotation, [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]);
        assert_eq!(translation, [-2.0, 3.0, 5.0]);
        let mut mirrored = look;
        mirrored[0][0] = -1.0;
        assert_eq!(from_opengl(&mirrored), None);
        let mut stretched = look;
        stretched[0][0] = 1.1;
        assert_eq!(from_opengl(&stretched), None);
        assert_eq!(from_opengl(&look[..2]), None);
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
