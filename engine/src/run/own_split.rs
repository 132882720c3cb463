//! The split of a run, on its data set as it is now.
//!
//! Every eighth photo of a data set that has lost one is another photo, so views that a run was trained on would become its test views.
//! What the run wrote of its cameras says which were which; photos that are gone, or new, are named.

use std::collections::BTreeMap;
use std::path::Path;

use super::{RunError, StoredError};
use crate::export::{CameraRecord, read_camera_records};
use crate::record::run_folder::cameras_paths;
use kiln_scene::{SceneIndex, Split, View, listed};

/// Largest difference between numbers of one camera's rotation: they went through a file.
const SAME: f32 = 1e-4;
/// Share of a run's photos that are there when a data set is the run's.
const OWN: f64 = 0.5;

/// Gives the views of `scene` the parts that they had in `run`, when photos came or went since. A scene of other photos stays as it is.
///
/// # Errors
/// [`RunError::Cameras`] when the cameras of the run cannot be read, [`StoredError::PartGone`] when none of its test views, or none of its
/// training views, is there.
pub(super) fn keep(scene: &mut SceneIndex, run: Option<&Path>) -> Result<(), RunError> {
    let file = run.and_then(|run| cameras_paths(run).into_iter().find(|file| file.is_file()));
    let Some(file) = file else { return Ok(()) };
    let records = read_camera_records(&file)?;
    let mut left: BTreeMap<&str, &CameraRecord> = records.iter().map(|record| (&*record.img_name, record)).collect();
    let mut parts = Vec::new();
    for (_, view) in scene.views() {
        let record = left.get(&*view.id).filter(|record| is_of(record, view)).copied();
        if record.is_some() {
            left.remove(&*view.id);
        }
        parts.push(record.map(|record| record.split == Split::Test.name()));
    }
    let known = parts.iter().flatten().count();
    let is_whole = left.is_empty() && known == parts.len();
    if is_whole || (known as f64) < OWN * records.len() as f64 {
        return Ok(());
    }
    let gone = |part: Split| -> Vec<String> {
        let gone = left.values().filter(|record| record.split == part.name());
        gone.map(|record| record.img_name.clone()).collect()
    };
    let count = |part: Split| records.iter().filter(|record| record.split == part.name()).count();
    let mut new = Vec::new();
    let views = std::mem::take(&mut scene.train)
        .into_iter()
        .chain(std::mem::take(&mut scene.test));
    for (view, part) in views.zip(parts) {
        match part {
            Some(true) => scene.test.push(view),
            Some(false) => scene.train.push(view),
            None => new.push(view.id),
        }
    }
    for part in [&mut scene.train, &mut scene.test] {
        part.sort_by(|a, b| a.name.cmp(&b.name));
    }
    for (part, what) in [
        (Split::Test, "figures are means over the others"),
        (Split::Train, "the split stays that of the run"),
    ] {
        let gone = gone(part);
        if !gone.is_empty() {
            let (here, all, names) = (gone.len(), count(part), listed(&gone));
            let message = format!(
                "{here} of the {all} {} views of the run cannot be read any more: {names}; {what}",
                part.name()
            );
            scene.warnings.push(message);
        }
        if scene.views_of(part).is_empty() && count(part) > 0 {
            let scene = scene.root.clone();
            return Err(StoredError::PartGone {
                scene,
                set: part,
                names: listed(&gone),
            }
            .into());
        }
    }
    if !new.is_empty() {
        let message = format!(
            "{} photos were not there when the run was trained, and are left out: {}",
            new.len(),
            listed(&new)
        );
        scene.warnings.push(message);
    }
    Ok(())
}

/// True where the record is of this view: names may go to other photos when some of the same name are gone.
fn is_of(record: &CameraRecord, view: &View) -> bool {
    let (there, here) = (record.camera().rotation, view.camera.rotation);
    let pairs = there.as_flattened().iter().zip(here.as_flattened());
    pairs.into_iter().all(|(a, b)| (a - b).abs() <= SAME)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::path::PathBuf;

    use super::*;
    use crate::export::{camera_records, write_cameras};
    use kiln_scene::SceneOptions;
    use kiln_scratch::Scratch;

    /// The bundled scene without photos, and the run of the whole one.
    fn scene_without(names: &[&str]) -> (SceneIndex, Scratch, PathBuf) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scenes/stilllife");
        let folder = Scratch::new();
        for part in ["sparse/0", "images"] {
            for entry in std::fs::read_dir(root.join(part)).unwrap().flatten() {
                let name = entry.file_name().into_string().unwrap();
                if !names.contains(&&*name) {
                    folder.write(&format!("scene/{part}/{name}"), std::fs::read(entry.path()).unwrap());
                }
            }
        }
        let run = folder.path().join("run");
        let whole = SceneIndex::load(&root, &SceneOptions::default()).unwrap();
        write_cameras(&run.join("cameras.json"), &camera_records(&whole)).unwrap();
        let scene = SceneIndex::load(&folder.path().join("scene"), &SceneOptions::default()).unwrap();
        (scene, folder, run)
    }

    fn ids(views: &[View]) -> Vec<&str> {
        views.iter().map(|view| &*view.id).collect()
    }

    const TEST: [&str; 5] = ["view_000", "view_008", "view_016", "view_024", "view_032"];

    #[test]
    fn the_split_stays_when_a_training_photo_is_gone() {
        let (mut scene, _folder, run) = scene_without(&["view_001.jpg"]);
        assert_ne!(ids(&scene.test), TEST, "every eighth of those that are left");
        keep(&mut scene, Some(&run)).unwrap();
        assert_eq!((ids(&scene.test), scene.train.len()), (TEST.to_vec(), 34));
        let reported = scene.warnings.last().unwrap();
        assert!(
            reported.starts_with("1 of the 35 train views of the run cannot be read any more: view_001;"),
            "{reported}"
        );
    }

    #[test]
    fn test_photos_that_are_gone_are_named_and_none_takes_their_place() {
        let (mut scene, _folder, run) = scene_without(&["view_008.jpg", "view_024.jpg"]);
        keep(&mut scene, Some(&run)).unwrap();
        assert_eq!(ids(&scene.test), ["view_000", "view_016", "view_032"]);
        assert_eq!(scene.train.len(), 35);
        let reported = scene.warnings.last().unwrap();
        assert!(
            reported.contains("2 of the 5 test views") && reported.contains("view_008, view_024"),
            "{reported}"
        );
        let all = TEST.map(|name| format!("{name}.jpg"));
        let (mut scene, _folder, run) = scene_without(&all.each_ref().map(|name| &**name));
        let refused = keep(&mut scene, Some(&run)).unwrap_err().to_string();
        assert!(
            refused.contains("none of the test views") && refused.contains("view_000"),
            "{refused}"
        );
    }

    #[test]
    fn photos_that_are_new_are_left_out() {
        let (mut scene, _folder, run) = scene_without(&[]);
        let before = ids(&scene.train).join(" ");
        keep(&mut scene, Some(&run)).unwrap();
        assert_eq!(
            (ids(&scene.train).join(" "), scene.warnings.len()),
            (before, 0),
            "as it was"
        );
        let known: Vec<_> = camera_records(&scene)
            .into_iter()
            .filter(|record| record.img_name != "view_003")
            .collect();
        write_cameras(&run.join("cameras.json"), &known).unwrap();
        keep(&mut scene, Some(&run)).unwrap();
        assert_eq!((ids(&scene.test), scene.train.len()), (TEST.to_vec(), 34));
        assert!(scene.warnings.last().unwrap().contains("left out: view_003"));
    }

    #[test]
    fn another_scene_keeps_its_own() {
        let (mut scene, _folder, run) = scene_without(&["view_001.jpg"]);
        let mut records = camera_records(&scene);
        for record in records.iter_mut().skip(10) {
            record.img_name.insert(0, 'x');
        }
        write_cameras(&run.join("cameras.json"), &records).unwrap();
        let test = ids(&scene.test).join(" ");
        keep(&mut scene, Some(&run)).unwrap();
        assert_eq!(ids(&scene.test).join(" "), test);
        keep(&mut scene, None).unwrap();
        keep(&mut scene, Some(Path::new("no/such"))).unwrap();
    }
}
