//! `dataset.normals`: normal maps of the training photos.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::named::{self, Named};

/// `dataset.normals`: the folder alone where `axes` are `opengl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
#[schemars(transform = or_path)]
pub struct NormalMaps {
    /// Folder of the maps, inside the scene.
    pub path: String,
    /// What their normals are along; of the camera that took the photo.
    #[serde(default)]
    pub axes: NormalsAxes,
}

/// `dataset.normals.axes`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NormalsAxes {
    /// x to the right, y up, z towards the camera, as `kiln render --normals` writes them.
    #[default]
    Opengl,
    /// x to the right, y down, z into the scene.
    Opencv,
    /// x to the left, y up, z towards the camera.
    Lub,
    /// x to the right, y down, z towards the camera.
    Rdb,
}

fn or_path(schema: &mut schemars::Schema) {
    named::or_name(schema, &[]);
}

impl Named for NormalMaps {
    type Name = String;
    const EXPECTED: &'static str = "null, a folder or a block of keys";

    fn named(path: String) -> Self {
        Self {
            path,
            axes: NormalsAxes::default(),
        }
    }

    fn block<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

impl<'de> Deserialize<'de> for NormalMaps {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        named::read(deserializer)
    }
}

impl Serialize for NormalMaps {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.axes {
            NormalsAxes::Opengl => serializer.serialize_str(&self.path),
            _ => Self::serialize(self, serializer),
        }
    }
}
