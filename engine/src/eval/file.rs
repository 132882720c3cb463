//! `eval/iteration_N/metrics.json`: an evaluation's sets of views.
//!
//! Promises that what follows from the views is the same in a file that was just made and in one that was read.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::seen::SeenBy;
use super::spread::{NamedView, Spread, spread};
use super::{Means, ViewRow, means};
use crate::export::milliseconds;
use kiln_scene::Split;

/// Version of the file.
const SCHEMA_VERSION: u32 = 1;

/// Largest file that is read: about 100 000 views.
const MOST_BYTES: u64 = 64 << 20;

/// Range that images have when they enter the LPIPS network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LpipsRange {
    /// `[0, 1]`, what the 3DGS papers report, and what runs measure.
    ZeroOne,
    /// `[-1, 1]`, what the network was trained on.
    MinusOneOne,
}

/// Where the cameras of an evaluation are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PoseSource {
    /// Training views where training corrected them to, test views as the data set says.
    Refined,
    /// Training views where training corrected them to, test views moved to their photos with the model held: figures of test views
    /// are not those of poses that were known before.
    Aligned,
}

/// The views of one set, and what follows from them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "StoredSet")]
pub struct SetReport {
    /// Means over `views`.
    pub mean: Means,
    /// What the means hide.
    #[serde(flatten)]
    pub spread: Spread,
    /// Views whose `psnr_image` is [`LOW_DB`](super::spread::LOW_DB) and more under the median, the lowest first.
    pub low_views: Vec<NamedView>,
    /// Each view, in the order of the set.
    pub views: Vec<ViewRow>,
}

/// A set as files have it. What follows from the views is found again, because older files do not have it.
#[derive(Deserialize, JsonSchema)]
struct StoredSet {
    mean: Means,
    views: Vec<ViewRow>,
}

impl From<StoredSet> for SetReport {
    fn from(StoredSet { mean, views }: StoredSet) -> Self {
        let (spread, low_views) = spread(&views);
        Self {
            mean,
            spread,
            low_views,
            views,
        }
    }
}

/// `eval/iteration_N/metrics.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvalFile {
    /// Version of this format; 1.
    pub schema_version: u32,
    /// Iterations done.
    pub iteration: u32,
    /// Gaussians in the model. Of models of triangles the same number as `triangles`, for readers that know no other key.
    pub gaussians: u32,
    /// Triangles in the model; only of models of triangles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub triangles: Option<u32>,
    /// Vertices that these share; likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vertices: Option<u32>,
    /// Mean opacity of the model, 0 to 1: of Gaussians as their file has it, of triangles over their vertices; absent in files of older
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_opacity: Option<f64>,
    /// Seconds of the training loop so far.
    #[serde(serialize_with = "milliseconds")]
    pub t_s: f64,
    /// Range the images had when they entered the LPIPS network.
    pub lpips_range: LpipsRange,
    /// Where cameras are; there when they are not where the data set says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poses: Option<PoseSource>,
    /// Held-out views; null when there are none.
    pub test: Option<SetReport>,
    /// Training views; null when none were evaluated.
    pub train: Option<SetReport>,
    /// Pixels of the held-out views by how many training cameras see what they show; there in evaluations of stored models
    /// (`kiln eval`), for which the model is drawn from all training cameras.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_by: Option<SeenBy>,
}

impl EvalFile {
    /// Reads a file; none where it is not there, too large or damaged.
    #[must_use]
    pub fn read(path: &Path) -> Option<Self> {
        let text = kiln_files::read_text(path, MOST_BYTES).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// A report without views.
    #[must_use]
    pub fn new(iteration: u32, gaussians: u32, t_s: f64, lpips_range: LpipsRange) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            iteration,
            gaussians,
            triangles: None,
            vertices: None,
            mean_opacity: None,
            t_s,
            lpips_range,
            poses: None,
            test: None,
            train: None,
            seen_by: None,
        }
    }

    /// Puts in the views of a set; no views leave it null.
    pub fn put(&mut self, set: Split, views: Vec<ViewRow>) {
        let report = means(&views).map(|mean| StoredSet { mean, views }.into());
        match set {
            Split::Test => self.test = report,
            Split::Train => self.train = report,
        }
    }

    /// A set, when it was evaluated.
    #[must_use]
    pub fn set(&self, set: Split) -> Option<&SetReport> {
        match set {
            Split::Test => self.test.as_ref(),
            Split::Train => self.train.as_ref(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::super::report::tests::view;
    use super::*;

    #[test]
    fn the_file_holds_each_set_and_reads_back() {
        let mut file = EvalFile::new(7, 1000, 1.5, LpipsRange::ZeroOne);
        file.put(Split::Train, Vec::new());
        assert_eq!((file.set(Split::Test), file.set(Split::Train)), (None, None));
        file.put(Split::Train, vec![view("a", 0.1, None, None)]);
        file.put(Split::Test, vec![view("b", 0.2, None, None)]);
        let l1 = |set| file.set(set).map(|report| report.mean.metrics.l1);
        assert_eq!((l1(Split::Test), l1(Split::Train)), (Some(0.2), Some(0.1)));
        let text = serde_json::to_string(&file).unwrap();
        assert_eq!(serde_json::from_str::<EvalFile>(&text).unwrap(), file);
    }

    #[test]
    fn files_of_older_versions_have_a_median_and_a_worst_view_too() {
        let text = r#"{"schema_version":1,"iteration":7,"gaussians":9,"t_s":1.5,"lpips_range":"zero_one","test":{
            "mean":{"n":3,"l1":0.1,"psnr":26.0,"psnr_image":25.5,"ssim":0.5,"ssim_valid":null,"lpips":null},
            "views":[
            {"name":"a","width":16,"height":12,"l1":0.1,"psnr":27.0,"psnr_image":27.0,"ssim":0.5,"ssim_valid":null,
             "lpips":null,"images":true},
            {"name":"b","width":16,"height":12,"l1":0.1,"psnr":20.0,"psnr_image":19.5,"ssim":0.5,"ssim_valid":null,
             "lpips":null,"images":true},
            {"name":"c","width":16,"height":12,"l1":0.1,"psnr":31.0,"psnr_image":null,"ssim":0.5,"ssim_valid":null,
             "lpips":null,"images":true}]},"train":null}"#;
        let file: EvalFile = serde_json::from_str(text).unwrap();
        let test = file.set(Split::Test).unwrap();
        assert_eq!(test.spread.median, Some(23.25));
        assert_eq!(test.spread.worst.as_ref().unwrap().name, "b");
        let low: Vec<&str> = test.low_views.iter().map(|view| view.name.as_str()).collect();
        assert_eq!((low, test.spread.worst_fog_share), (vec!["b"], None));
        let now = serde_json::to_value(&file).unwrap();
        assert_eq!(now["test"]["median"], 23.25);
        let worst = serde_json::json!({ "name": "b", "psnr_image": 19.5 });
        assert_eq!((&now["test"]["worst"], &now["test"]["low_views"][0]), (&worst, &worst));
    }
}
