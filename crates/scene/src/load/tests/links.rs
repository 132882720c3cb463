//! Links in data sets, and out of them.

use super::*;

#[test]
fn links_out_of_the_data_set_are_refused_unless_allowed() {
    use std::os::unix::fs::symlink;
    let elsewhere = Scratch::new();
    grey(&elsewhere, "a.png", 40, 30);
    let allowed = SceneOptions {
        follow_links: true,
        ..all_views()
    };
    let refused = |folder: &Scratch, name: &str| {
        let error = message(folder);
        let needles = [name, "outside", "--set dataset.follow_links=true"];
        assert!(needles.iter().all(|needle| error.contains(needle)), "{error}");
        assert!(load(folder.path(), &allowed).is_ok());
    };
    // an image, a folder of images below the image folder, and a file of the model
    let folder = Scratch::new();
    write_model(&folder, "PINHOLE 40 30 35 36 19 16", &["a.png"]);
    folder.write("images/x", "");
    symlink(elsewhere.path().join("a.png"), folder.path().join("images/a.png")).unwrap();
    refused(&folder, "images/a.png");
    let folder = Scratch::new();
    write_model(&folder, "PINHOLE 40 30 35 36 19 16", &["left/a.png"]);
    folder.write("images/x", "");
    symlink(elsewhere.path(), folder.path().join("images/left")).unwrap();
    refused(&folder, "images/left/a.png");
    let folder = Scratch::new();
    grey(&folder, "images/a.png", 40, 30);
    write_model(&folder, "PINHOLE 40 30 35 36 19 16", &["a.png"]);
    let cameras = folder.path().join("sparse/0/cameras.txt");
    std::fs::rename(&cameras, elsewhere.path().join("cameras.txt")).unwrap();
    symlink(elsewhere.path().join("cameras.txt"), cameras).unwrap();
    refused(&folder, "cameras.txt");
}

#[test]
fn folders_that_are_links_in_the_data_set_are_named_by_it() {
    use std::os::unix::fs::symlink;
    let (elsewhere, far) = (Scratch::new(), Scratch::new());
    grey(&elsewhere, "photos/a.png", 40, 30);
    write_model(&elsewhere, "PINHOLE 40 30 35 36 19 16", &["a.png"]);
    let link = |target: &str, name: &str| {
        let folder = Scratch::new();
        let at = folder.path().join(name);
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        symlink(elsewhere.path().join(target), at).unwrap();
        folder
    };
    let images = link("photos", "images");
    write_model(&images, "PINHOLE 40 30 35 36 19 16", &["a.png"]);
    let [sparse, zero] = [("sparse", "sparse"), ("sparse/0", "sparse/0")].map(|(target, name)| link(target, name));
    for folder in [&sparse, &zero] {
        grey(folder, "images/a.png", 40, 30);
    }
    for folder in [&images, &sparse, &zero] {
        assert_eq!(load(folder.path(), &all_views()).unwrap().train.len(), 1);
    }
    // what a link behind such a folder leads to is not named by anybody
    grey(&far, "b.png", 40, 30);
    std::fs::remove_file(elsewhere.path().join("photos/a.png")).unwrap();
    symlink(far.path().join("b.png"), elsewhere.path().join("photos/a.png")).unwrap();
    assert!(message(&images).contains("outside of the data set"));
    // but naming the folder's place on the command line is as good
    let named = SceneOptions {
        images: Some(far.path().display().to_string()),
        ..all_views()
    };
    write_model(&images, "PINHOLE 40 30 35 36 19 16", &["b.png"]);
    assert!(load(images.path(), &named).is_ok());
    // links that stay inside, and a link to the data set itself, are fine
    let folder = Scratch::new();
    write_model(&folder, "PINHOLE 40 30 35 36 19 16", &["a.png"]);
    grey(&folder, "photos/a.png", 40, 30);
    symlink(folder.path().join("photos"), folder.path().join("images")).unwrap();
    symlink(folder.path(), elsewhere.path().join("scene")).unwrap();
    assert!(load(&elsewhere.path().join("scene"), &all_views()).is_ok());
}

/// A data set as mirrors lay it out: every file is a link into the mirror's store.
#[test]
fn data_sets_of_a_mirror_are_read_through_their_links() {
    use std::os::unix::fs::symlink;
    for (root, store) in [
        ("datasets--a/snapshots/1f/garden", "datasets--a/blobs"),
        ("repository/data/garden", "repository/.git/annex/objects/0a"),
        ("repository/data/garden", "repository/.dvc/cache/files/md5/0a"),
    ] {
        let folder = Scratch::new();
        let linked = |name: &str| {
            let [file, blob] = [root, store].map(|at| folder.path().join(at));
            let (file, blob) = (file.join(name), blob.join(name.replace('/', "-")));
            std::fs::create_dir_all(blob.parent().unwrap()).unwrap();
            std::fs::rename(&file, &blob).unwrap();
            symlink(blob, file).unwrap();
        };
        let scene = folder.path().join(root);
        grey(&folder, &format!("{root}/images/a.png"), 40, 30);
        let inner = Scratch::new();
        write_model(&inner, "PINHOLE 40 30 35 36 19 16", &["a.png"]);
        std::fs::create_dir_all(scene.join("sparse")).unwrap();
        std::fs::rename(inner.path().join("sparse/0"), scene.join("sparse/0")).unwrap();
        for name in ["images/a.png", "sparse/0/cameras.txt", "sparse/0/images.txt"] {
            linked(name);
        }
        assert_eq!(load(&scene, &all_views()).unwrap().train.len(), 1, "{root}");
    }
}
