//! What is written at the save iterations, below `point_cloud/iteration_N/`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Checker, Options, family::family};

family! {
    /// A model file format.
    Exporter {
        Ply(PlyOptions) = "ply", "point_cloud.ply with the 3D filter fused in, for any 3DGS viewer";
        PlyRaw(PlyRawOptions) = "ply_raw", "point_cloud_raw.ply, parameters as trained plus filter_3D";
        CompressedPly(DeliveryOptions) = "compressed_ply", "point_cloud.compressed.ply, 61 bytes a Gaussian, for web viewers";
        Spz(SpzOptions) = "spz", "point_cloud.spz, 65 bytes a Gaussian before its compression, for web viewers and apps";
        Glb(DeliveryOptions) = "glb", "point_cloud.glb with KHR_gaussian_splatting, nothing lost, for glTF viewers";
        Sog(DeliveryOptions) = "sog", "point_cloud.sog, 28 bytes a Gaussian and fewer, for web viewers";
    }
}

/// Options of `ply`: none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PlyOptions {}

impl Options for PlyOptions {}

/// Options of `ply_raw`: none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PlyRawOptions {}

impl Options for PlyRawOptions {}

/// Options of `compressed_ply`, `glb` and `sog`: what of the model the file gets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DeliveryOptions {
    /// Most Gaussians; those that contribute least are left out. null = all.
    pub max_splats: Option<u32>,
    /// Highest SH degree, 0 to 3. null = the model's.
    pub sh_degree: Option<u32>,
    /// Smallest x, y, z and largest x, y, z of the centres that are kept, world units. null = everywhere.
    pub crop: Option<[f64; 6]>,
}

impl DeliveryOptions {
    /// What of the model the file gets.
    #[must_use]
    pub const fn subset(&self) -> Subset {
        Subset {
            max_splats: self.max_splats,
            sh_degree: self.sh_degree,
            crop: self.crop,
            origin: [0.0; 3],
        }
    }
}

impl Options for DeliveryOptions {
    fn check(&self, checker: &mut Checker) {
        self.subset().check(checker);
    }
}

/// Options of `spz`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SpzOptions {
    /// Version of the format: 3, 2 for old readers, or 4, which new ones read.
    pub version: u32,
    /// Most Gaussians; those that contribute least are left out. null = all.
    pub max_splats: Option<u32>,
    /// Highest SH degree, 0 to 3. null = the model's.
    pub sh_degree: Option<u32>,
    /// Smallest x, y, z and largest x, y, z of the centres that are kept, world units. null = everywhere.
    pub crop: Option<[f64; 6]>,
}

impl Default for SpzOptions {
    fn default() -> Self {
        Self {
            version: 3,
            max_splats: None,
            sh_degree: None,
            crop: None,
        }
    }
}

impl SpzOptions {
    /// What of the model the file gets.
    #[must_use]
    pub const fn subset(&self) -> Subset {
        Subset {
            max_splats: self.max_splats,
            sh_degree: self.sh_degree,
            crop: self.crop,
            origin: [0.0; 3],
        }
    }
}

impl Options for SpzOptions {
    fn check(&self, checker: &mut Checker) {
        checker.range("version", self.version, 2..=4);
        self.subset().check(checker);
    }
}

/// What of a model a file gets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Subset {
    /// Most Gaussians.
    pub max_splats: Option<u32>,
    /// Highest SH degree.
    pub sh_degree: Option<u32>,
    /// Smallest x, y, z and largest x, y, z of the centres, both inside, in the coordinates of the data set.
    pub crop: Option<[f64; 6]>,
    /// What the model's coordinates are relative to, in those of the data set.
    pub origin: [f64; 3],
}

impl Subset {
    fn check(&self, checker: &mut Checker) {
        if let Some(most) = self.max_splats {
            checker.range("max_splats", most, 1..=u32::MAX);
        }
        if let Some(degree) = self.sh_degree {
            checker.range("sh_degree", degree, 0..=3);
        }
        if let Some(crop) = self.crop {
            checker.require("crop", is_box(&crop), format!("{crop:?}"), || {
                "smallest x, y, z, then largest x, y, z, six finite numbers".to_owned()
            });
        }
    }
}

/// Whether six numbers are a box: finite, and none of the smallest above its largest.
#[must_use]
pub fn is_box(crop: &[f64; 6]) -> bool {
    crop.iter().all(|value| value.is_finite()) && (0..3).all(|axis| crop[axis] <= crop[axis + 3])
}

/// The corners of a box in the coordinates of a data set, relative to `origin`.
#[must_use]
pub fn corners([a, b, c, d, e, f]: [f64; 6], origin: [f64; 3]) -> [[f32; 3]; 2] {
    [[a, b, c], [d, e, f]].map(|corner| std::array::from_fn(|axis| (corner[axis] - origin[axis]) as f32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(options: &impl Options) -> Vec<String> {
        let mut checker = Checker::default();
        options.check(&mut checker);
        let reported = checker.problems().iter();
        reported
            .map(|problem| format!("{} {}", problem.path.join("."), problem.found))
            .collect()
    }

    #[test]
    fn versions_degrees_and_boxes_are_checked() {
        let mut spz = SpzOptions::default();
        assert!(problems(&spz).is_empty());
        spz.version = 1;
        spz.max_splats = Some(0);
        spz.sh_degree = Some(4);
        assert_eq!(problems(&spz), ["version 1", "max_splats 0", "sh_degree 4"]);
        let cropped = |crop| DeliveryOptions {
            crop: Some(crop),
            ..DeliveryOptions::default()
        };
        assert!(problems(&cropped([-1.0, 0.0, 0.0, 1.0, 0.0, 5.0])).is_empty());
        for bad in [[1.0, 0.0, 0.0, -1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0, 1.0, f64::NAN]] {
            assert_eq!(problems(&cropped(bad)).len(), 1);
        }
    }
}
