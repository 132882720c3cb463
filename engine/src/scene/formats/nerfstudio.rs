//! Nerfstudio and instant-ngp data sets: `transforms.json` with posed frames, lenses and perhaps a point cloud.
//!
//! Lens values (`fl_x, fl_y, cx, cy, w, h, k1..k4, p1, p2`, `camera_angle_x`, `camera_model`) stand at the top for all
//! frames or in a frame for that one. Poses are camera-to-world with OpenGL axes. `applied_transform` needs no action:
//! it says how the exporter turned the world, and both the poses and the points of `ply_file_path` are already turned.
//! Where `test_filenames` or `val_filenames` list frames, those are the held-out views.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::json;
use super::lens::{Distortion, Focal, Lens};
use super::pairing::{ENDINGS, is_photo};
use super::posed::{PosedImage, from_opengl, safe_name};
use crate::scene::SceneError;

/// The file that marks such a data set.
pub(in crate::scene) const FILE: &str = "transforms.json";

/// What the file holds.
#[derive(Debug)]
pub(in crate::scene) struct Frames {
    pub(in crate::scene) images: Vec<PosedImage>,
    /// Names of held-out images; `None` when the file names none.
    pub(in crate::scene) held_out: Option<BTreeSet<String>>,
    /// Relative path of the points, safe to join to the folder.
    pub(in crate::scene) points: Option<String>,
}

/// A record of the file with the lens values beside its own keys. (Flattening them would hold every unknown key of a
/// file in memory.)
macro_rules! with_lens_keys {
    ($name:ident { $($(#[$attribute:meta])* $field:ident: $kind:ty,)* }) => {
        #[derive(Deserialize)]
        struct $name {
            $($(#[$attribute])* $field: $kind,)*
            camera_model: Option<String>,
            is_fisheye: Option<bool>,
            camera_angle_x: Option<f64>,
            fl_x: Option<f64>,
            fl_y: Option<f64>,
            cx: Option<f64>,
            cy: Option<f64>,
            w: Option<f64>,
            h: Option<f64>,
            k1: Option<f64>,
            k2: Option<f64>,
            k3: Option<f64>,
            k4: Option<f64>,
            p1: Option<f64>,
            p2: Option<f64>,
        }

        impl $name {
            fn lens_keys(&self) -> LensKeys<'_> {
                LensKeys {
                    camera_model: self.camera_model.as_deref(),
                    is_fisheye: self.is_fisheye,
                    angle_x: self.camera_angle_x,
                    focal: [self.fl_x, self.fl_y],
                    centre: [self.cx, self.cy],
                    size: [self.w, self.h],
                    radial: [self.k1, self.k2, self.k3, self.k4],
                    tangential: [self.p1, self.p2],
                }
            }
        }
    };
}

with_lens_keys!(Transforms {
    frames: Vec<Frame>,
    ply_file_path: Option<String>,
    test_filenames: Option<Vec<String>>,
    val_filenames: Option<Vec<String>>,
});

with_lens_keys!(Frame {
    file_path: String,
    #[serde(deserialize_with = "json::pose")]
    transform_matrix: Vec<[f64; 4]>,
});

/// Lens values, wherever they stand.
struct LensKeys<'a> {
    camera_model: Option<&'a str>,
    is_fisheye: Option<bool>,
    angle_x: Option<f64>,
    focal: [Option<f64>; 2],
    centre: [Option<f64>; 2],
    size: [Option<f64>; 2],
    radial: [Option<f64>; 4],
    tangential: [Option<f64>; 2],
}

impl LensKeys<'_> {
    /// These values, and those of `shared` where there is none.
    fn or(self, shared: Self) -> Self {
        fn each<const N: usize>(own: [Option<f64>; N], shared: [Option<f64>; N]) -> [Option<f64>; N] {
            std::array::from_fn(|index| own[index].or(shared[index]))
        }
        Self {
            camera_model: self.camera_model.or(shared.camera_model),
            is_fisheye: self.is_fisheye.or(shared.is_fisheye),
            angle_x: self.angle_x.or(shared.angle_x),
            focal: each(self.focal, shared.focal),
            centre: each(self.centre, shared.centre),
            size: each(self.size, shared.size),
            radial: each(self.radial, shared.radial),
            tangential: each(self.tangential, shared.tangential),
        }
    }
}

/// Reads the file. A name without an image extension gets the first of those that is there.
pub(in crate::scene) fn read(path: &Path) -> Result<Frames, SceneError> {
    let transforms: Transforms = json::read(path, "expected frames with file_path and transform_matrix")?;
    let root = path.parent().unwrap_or(Path::new("."));
    let mut images = Vec::with_capacity(transforms.frames.len());
    for (index, frame) in transforms.frames.iter().enumerate() {
        let at = || format!("frame {index}");
        let Some((rotation, translation)) = from_opengl(&frame.transform_matrix) else {
            let found = "a transform_matrix that is not a finite rotation and translation";
            return Err(SceneError::malformed(path, at(), found, "export the cameras again"));
        };
        images.push(PosedImage {
            name: image_name(path, root, &frame.file_path)?,
            rotation,
            translation,
            lens: lens(path, &at(), &frame.lens_keys().or(transforms.lens_keys()))?,
        });
    }
    let held_out = transforms.test_filenames.filter(|names| !names.is_empty());
    let held_out = held_out.or(transforms.val_filenames).filter(|names| !names.is_empty());
    let names = |names: Vec<String>| names.iter().map(|name| image_name(path, root, name)).collect();
    let ply = transforms.ply_file_path.filter(|name| !name.is_empty());
    Ok(Frames {
        images,
        held_out: held_out.map(names).transpose()?,
        points: ply.map(|name| safe_name(path, &name)).transpose()?,
    })
}

fn image_name(file: &Path, root: &Path, name: &str) -> Result<String, SceneError> {
    let name = safe_name(file, name)?;
    if is_photo(Path::new(&name)) {
        return Ok(name);
    }
    let with = |extension: &str| format!("{name}.{extension}");
    let there = ENDINGS.map(with).into_iter();
    let mut there = there.filter(|name| {
        let path: PathBuf = root.join(name);
        path.is_file()
    });
    Ok(there.next().unwrap_or_else(|| with("png")))
}

fn lens(path: &Path, at: &str, keys: &LensKeys<'_>) -> Result<Lens, SceneError> {
    let damaged = |found: String| SceneError::malformed(path, at, found, "export the cameras again");
    let fisheye = keys.is_fisheye.unwrap_or(false);
    let usual = if fisheye { "OPENCV_FISHEYE" } else { "OPENCV" };
    let model = keys.camera_model.unwrap_or(usual);
    let radial = keys.radial.map(Option::unwrap_or_default);
    let tangential = keys.tangential.map(Option::unwrap_or_default);
    let (model, distortion) = match model {
        "SIMPLE_PINHOLE" | "PINHOLE" => ("PINHOLE", Distortion::None),
        "OPENCV" | "PERSPECTIVE" | "SIMPLE_RADIAL" | "RADIAL" => {
            ("OPENCV", Distortion::polynomial(radial, [0.0; 3], tangential))
        }
        "OPENCV_FISHEYE" | "FISHEYE" => {
            let distortion = Distortion::Fisheye {
                radial,
                tangential: [0.0; 2],
                prism: [0.0; 2],
            };
            ("OPENCV_FISHEYE", distortion)
        }
        other => {
            return Err(SceneError::CameraModel {
                path: path.to_owned(),
                camera: format!("of {at}"),
                model: other.chars().take(60).collect(),
            });
        }
    };
    let side = |name: &str, value: f64| {
        let limit = f64::from(crate::scene::resolution::MAX_SIDE_PX);
        let whole = value >= 1.0 && value <= limit && value.fract() == 0.0;
        whole
            .then_some(value as u64)
            .ok_or_else(|| damaged(format!("{name} = {value}")))
    };
    let size = match keys.size {
        [Some(w), Some(h)] => Some([side("w", w)?, side("h", h)?]),
        _ => None,
    };
    let focal = match (keys.focal, keys.angle_x) {
        ([Some(x), y], _) => Focal::Pixels([x, y.unwrap_or(x)]),
        ([None, Some(y)], _) => Focal::Pixels([y, y]),
        ([None, None], Some(angle)) => Focal::AngleX(angle),
        ([None, None], None) => return Err(damaged("neither fl_x nor camera_angle_x".to_owned())),
    };
    let centre = match keys.centre {
        [Some(cx), Some(cy)] => Some([cx, cy]),
        _ => None,
    };
    let lens = Lens {
        model,
        size,
        focal,
        centre,
        distortion,
    };
    match lens.is_sane() {
        true => Ok(lens),
        false => Err(damaged(format!("lens values {focal:?} {centre:?} {distortion:?}"))),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::scene::scratch::Scratch;

    const LOOK: &str = "[[1,0,0,2],[0,0,-1,-5],[0,1,0,3],[0,0,0,1]]";

    fn file(shared: &str, frames: &[(&str, &str)]) -> String {
        let frames: Vec<String> = frames
            .iter()
            .map(|(path, own)| format!(r#"{{"file_path":{path:?},"transform_matrix":{LOOK}{own}}}"#))
            .collect();
        format!(r#"{{{shared}"frames":[{}]}}"#, frames.join(","))
    }

    #[test]
    fn a_frame_overrides_what_all_share() {
        let folder = Scratch::new();
        folder.write("images/2.jpg", "");
        let shared = r#""camera_model":"OPENCV","fl_x":500,"fl_y":490,"cx":31,"cy":25,"w":64,"h":48,"k1":0.1,"k2":-0.02,
            "p1":0.001,"p2":0.002,"aabb_scale":16,"applied_transform":[[0,1,0,0],[1,0,0,0],[0,0,-1,0]],
            "ply_file_path":"./sparse_pc.ply","val_filenames":["./images/2"],"#;
        let own = r#","fl_x":600,"k1":0,"k2":0,"p1":0,"p2":0,"mask_path":"m.png""#;
        let text = file(shared, &[("./images/1.png", ""), ("images/2", own)]);
        let frames = read(&folder.write(FILE, text)).unwrap();
        let [first, second] = &frames.images[..] else {
            unreachable!("two frames were written")
        };
        assert_eq!(
            (first.name.as_str(), second.name.as_str()),
            ("images/1.png", "images/2.jpg")
        );
        assert_eq!(first.translation, [-2.0, 3.0, 5.0]);
        assert_eq!(first.lens.size, Some([64, 48]));
        assert_eq!(first.lens.centre, Some([31.0, 25.0]));
        let distortion = Distortion::polynomial([0.1, -0.02, 0.0, 0.0], [0.0; 3], [0.001, 0.002]);
        assert_eq!(first.lens.distortion, distortion);
        assert_eq!(second.lens.focal, Focal::Pixels([600.0, 490.0]));
        assert_eq!(second.lens.distortion, Distortion::None);
        assert_eq!(frames.points.as_deref(), Some("sparse_pc.ply"));
        assert_eq!(frames.held_out, Some(BTreeSet::from(["images/2.jpg".to_owned()])));
    }

    #[test]
    fn an_angle_is_enough_and_fisheyes_are_known_by_either_key() {
        let folder = Scratch::new();
        let read = |shared: &str| read(&folder.write(FILE, file(shared, &[("a.png", "")]))).unwrap();
        let lens = read(r#""camera_angle_x":0.8,"#).images[0].lens;
        assert_eq!((lens.focal, lens.size, lens.centre), (Focal::AngleX(0.8), None, None));
        for key in [r#""is_fisheye":true"#, r#""camera_model":"OPENCV_FISHEYE""#] {
            let lens = read(&format!(r#"{key},"fl_x":300,"k1":0.03,"#)).images[0].lens;
            assert!(matches!(lens.distortion, Distortion::Fisheye { radial, .. } if radial[0] == 0.03));
        }
    }

    #[test]
    fn damage_is_named() {
        let folder = Scratch::new();
        let fails = |text: String, needle: &str| {
            let message = read(&folder.write(FILE, text)).unwrap_err().to_string();
            assert!(
                message.contains(FILE) && message.contains(needle),
                "{needle}: {message}"
            );
        };
        let one = [("a.png", "")];
        fails("{}".into(), "frames");
        fails("{\"frames\": 7}".into(), "line 1");
        fails(file("", &one), "neither fl_x nor camera_angle_x");
        fails(file(r#""fl_x":"wide","#, &one), "line 1");
        fails(file(r#""fl_x":1e400,"#, &one), "line 1");
        fails(file(r#""fl_x":-3,"#, &one), "frame 0");
        fails(file(r#""fl_x":9,"w":3.5,"h":3,"#, &one), "w = 3.5");
        fails(
            file(r#""fl_x":9,"camera_model":"EQUIRECTANGULAR","#, &one),
            "EQUIRECTANGULAR",
        );
        fails(file(r#""fl_x":9,"#, &[("../a.png", "")]), "leaves the image folder");
        fails(file(r#""fl_x":9,"#, &[("/data/a.png", "")]), "absolute");
        fails(
            file(r#""fl_x":9,"ply_file_path":"../p.ply","#, &one),
            "leaves the image folder",
        );
        fails(
            file(r#""fl_x":9,"#, &one).replace("[1,0,0,2]", "[1,0,0,1e39]"),
            "frame 0",
        );
        fails(file(r#""fl_x":9,"#, &one).replace("[1,0,0,2]", "[1,0,2]"), "line 1");
    }
}
