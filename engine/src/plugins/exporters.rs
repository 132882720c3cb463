//! What is written at the save iterations, below `point_cloud/iteration_N/`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Options, family::family};

family! {
    /// A model file format.
    Exporter {
        Ply(PlyOptions) = "ply", "point_cloud.ply with the 3D filter fused in, for any 3DGS viewer";
        PlyRaw(PlyRawOptions) = "ply_raw", "point_cloud_raw.ply, parameters as trained plus filter_3D";
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
