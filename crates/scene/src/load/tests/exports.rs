//! Data sets as other programs export them, cut down by hand.
use super::*;

fn names(scene: &SceneIndex) -> Vec<&str> {
    scene.train.iter().map(|view| view.name.as_str()).collect()
}

/// RealityScan: all in one folder, a camera for each photo in any order, distorted cameras without distortion, exponents of three
/// digits, blanks in names, Windows line ends, and endings as the photos had them before they were written anew.
#[test]
fn realityscan_in_one_folder() {
    let folder = Scratch::new();
    let cameras = "# Camera list with one line of data per camera:\r\n# Number of cameras: 2\r\n\
        39 FULL_OPENCV 40 30 35.5 35.5 20 15.25 0 0 0 0 0 0 0.0 0.0\r\n\
        36 FULL_OPENCV 40 30 35.25 35.25 20 15.25 0 0 0 0 0 0 0.0 0.0\r\n";
    folder.write("cameras.txt", cameras);
    let images = "# Image list with two lines of data per image:\r\n# Number of images: 2\r\n\
        1 0.9962 8.616498381666671e-002 0 0 1.5e+000 -3.6e-001 7.1 36 A-DJI_0002_V (402).jpg\r\n\
        12.5 7.25 8 20.1 9.5 9\r\n\
        2 1 0 0 0 0 0 5 39 A-DJI_0003_V (403).JPG\r\n\r\n";
    folder.write("images.txt", images);
    folder.write(
        "points3D.txt",
        "8 0 0 1 200 0 0 0.1 1 0\r\n9 0.1 0 1 0 200 0 0.1 1 1\r\n",
    );
    grey(&folder, "A-DJI_0002_V (402).png", 40, 30);
    grey(&folder, "A-DJI_0003_V (403).png", 40, 30);
    let scene = load(folder.path(), &all_views()).unwrap();
    assert_eq!(names(&scene), ["A-DJI_0002_V (402).jpg", "A-DJI_0003_V (403).JPG"]);
    assert_eq!(scene.train[0].camera.fx, 35.25);
    assert!((scene.train[0].camera.translation[1] + 0.36).abs() < 1e-6);
    assert!(
        scene
            .cameras
            .iter()
            .all(|camera| camera.lost.is_none_or(|lost| lost == 0.0))
    );
    assert_eq!((scene.points.len(), picture(&scene, 1).len()), (2, 40 * 30 * 3));
}

/// Metashape: names are labels, which may be without an ending and with dots of their own.
#[test]
fn metashape_labels() {
    let folder = Scratch::new();
    let labels = ["240129-104621-DSC04283_DxO7", "flight.2/DSC.04284"];
    write_model(&folder, "PINHOLE 40 30 35 36 19 16", &labels);
    grey(&folder, "images/240129-104621-DSC04283_DxO7.tif", 40, 30);
    grey(&folder, "images/flight.2/DSC.04284.PNG", 40, 30);
    let scene = load(folder.path(), &all_views()).unwrap();
    assert_eq!(names(&scene), labels);
    assert!(scene.notices.iter().any(|notice| notice.starts_with("2 of 2 images")));
}

/// Polycam and Record3D by way of Nerfstudio: lenses of frames or of all, keys of no interest here, poses in single precision.
#[test]
fn phones_by_way_of_nerfstudio() {
    let pose = "[[0.99999994,0,0,0.25],[0,0.70710677,-0.70710677,0],[0,0.70710677,0.70710677,1],[0.0,0.0,0.0,1.0]]";
    let polycam = Scratch::new();
    let frame = |n: u32| {
        format!(
            r#"{{"fl_x":35.{n},"fl_y":35.{n},"cx":20.1,"cy":15.2,"w":40,"h":30,"file_path":"./images/frame_0000{n}.jpg",
            "depth_file_path":"./depth/frame_0000{n}.png","transform_matrix":{pose}}}"#
        )
    };
    let text = format!(
        r#"{{"camera_model":"OPENCV","orientation_override":"none","frames":[{},{}]}}"#,
        frame(1),
        frame(2)
    );
    polycam.write("transforms.json", text);
    for n in 1..3 {
        polycam.write(&format!("images/frame_0000{n}.jpg"), jpeg_with_orientation(40, 30, 0));
        grey(&polycam, &format!("depth/frame_0000{n}.png"), 8, 6);
    }
    let scene = load(polycam.path(), &all_views()).unwrap();
    assert_eq!(names(&scene), ["images/frame_00001.jpg", "images/frame_00002.jpg"]);
    assert_eq!(
        scene.train.iter().map(|view| view.camera.fx).collect::<Vec<_>>(),
        [35.1, 35.2]
    );
    let record3d = Scratch::new();
    let text = format!(
        r#"{{"fl_x":35.5,"fl_y":35.5,"cx":20.0,"cy":15.0,"w":40,"h":30,"camera_model":"PERSPECTIVE","frames":[
        {{"file_path":"images/frame_00001.png","transform_matrix":{pose}}}]}}"#
    );
    record3d.write("transforms.json", text);
    grey(&record3d, "images/frame_00001.PNG", 40, 30);
    let scene = load(record3d.path(), &all_views()).unwrap();
    assert_eq!(
        (names(&scene), scene.train[0].camera.cx),
        (vec!["images/frame_00001.png"], 20.0)
    );
}
