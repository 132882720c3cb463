//! Models written byte by byte, honest and otherwise.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use super::*;
use kiln_scratch::Scratch;

fn load(folder: &Path) -> Result<Model, SceneError> {
    read(folder, &Fence::open(), 0, None)
}

/// Little-endian bytes of a model file.
#[derive(Clone, Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    fn u64(mut self, value: u64) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    fn f64s(mut self, values: &[f64]) -> Self {
        self.0.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        self
    }

    fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }
}

fn cameras() -> Bytes {
    let first = Bytes::default()
        .u64(2)
        .u32(7)
        .u32(1)
        .u64(64)
        .u64(48)
        .f64s(&[50.0, 51.0, 31.0, 25.0]);
    first.u32(9).u32(0).u64(32).u64(32).f64s(&[40.0, 16.0, 16.0])
}

fn image(bytes: Bytes, id: u32, quat: [f64; 4], camera: u32, name: &str) -> Bytes {
    let bytes = bytes.u32(id).f64s(&quat).f64s(&[1.0, 2.0, 3.0]).u32(camera);
    bytes.raw(name.as_bytes()).raw(&[0]).u64(2).raw(&[0; 48])
}

fn images() -> Bytes {
    let bytes = image(Bytes::default().u64(2), 1, [2.0, 0.0, 0.0, 0.0], 7, "b c.jpg");
    image(bytes, 5, [0.0, 1.0, 0.0, 0.0], 9, "sub/a.jpg")
}

fn point_record(bytes: Bytes, id: u64, x: f64) -> Bytes {
    bytes
        .u64(id)
        .f64s(&[x, 0.5, -1.0])
        .raw(&[10, 20, 30])
        .f64s(&[0.1])
        .u64(1)
        .raw(&[0; 8])
}

fn points() -> Bytes {
    point_record(point_record(Bytes::default().u64(2), 4, 1.5), 3, 2.5)
}

fn write(folder: &Scratch, cameras: &Bytes, images: &Bytes, points: &Bytes) -> PathBuf {
    for (name, bytes) in [("cameras", cameras), ("images", images), ("points3D", points)] {
        folder.write(&format!("sparse/0/{name}.bin"), &bytes.0);
    }
    find(folder.path()).unwrap().0
}

fn fails(cameras: &Bytes, images: &Bytes, points: &Bytes, needles: &[&str]) {
    let folder = Scratch::new();
    let message = load(&write(&folder, cameras, images, points)).unwrap_err().to_string();
    assert!(
        needles.iter().all(|needle| message.contains(needle)),
        "{needles:?} not all in: {message}"
    );
}

const CAMERAS_TXT: &str = "# Number of cameras: 2\n7 PINHOLE 64 48 50 51 31 25\r\n9 SIMPLE_PINHOLE 32 32 40 16 16\n";
const IMAGES_TXT: &str = "# Number of images: 2, mean observations per image: 1\n\
    1 2 0 0 0 1 2 3 7 b c.jpg\n10 20 -1 30 40 3\n5 0 1 0 0 1 2 3 9 sub/a.jpg\n\n";
const POINTS_TXT: &str = "# Number of points: 2, mean track length: 1\n\
    4 1.5 0.5 -1 10 20 30 0.1 1 0\n3 2.5 0.5 -1 10 20 30 0.1 1 1\n";

fn write_text(folder: &Scratch, cameras: &str, images: &str, points: &str) -> PathBuf {
    for (name, text) in [("cameras", cameras), ("images", images), ("points3D", points)] {
        folder.write(&format!("sparse/{name}.txt"), text);
    }
    find(folder.path()).unwrap().0
}

fn check(model: &Model) {
    let [first, second] = &model.images[..] else {
        unreachable!("two images were written")
    };
    assert_eq!((first.name.as_str(), second.name.as_str()), ("b c.jpg", "sub/a.jpg"));
    assert_eq!(first.rotation, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
    assert_eq!(second.rotation, [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]]);
    assert_eq!(first.translation, [1.0, 2.0, 3.0]);
    let lens = |model, size, focal, centre| Lens {
        model,
        size: Some(size),
        focal: Focal::Pixels(focal),
        centre: Some(centre),
        distortion: lens::Distortion::None,
    };
    assert_eq!(first.lens, lens("PINHOLE", [64, 48], [50.0, 51.0], [31.0, 25.0]));
    assert_eq!(
        second.lens,
        lens("SIMPLE_PINHOLE", [32, 32], [40.0, 40.0], [16.0, 16.0])
    );
    assert_eq!(
        model.points[0],
        Point {
            position: [1.5, 0.5, -1.0],
            color: [10, 20, 30]
        }
    );
    assert_eq!(model.points.len(), 2);
}

#[test]
fn binary_and_text_read_the_same() {
    let folder = Scratch::new();
    check(&load(&write(&folder, &cameras(), &images(), &points())).unwrap());
    let folder = Scratch::new();
    check(&load(&write_text(&folder, CAMERAS_TXT, IMAGES_TXT, POINTS_TXT)).unwrap());
    // COLMAP's own files may end without the last, empty line
    check(&load(&write_text(&folder, CAMERAS_TXT, IMAGES_TXT.trim_end(), POINTS_TXT)).unwrap());
}

#[test]
fn every_truncation_is_an_error() {
    let whole = [cameras(), images(), points()];
    for part in 0..3 {
        for length in 0..whole[part].0.len() {
            let mut cut = whole.clone();
            cut[part].0.truncate(length);
            fails(
                &cut[0],
                &cut[1],
                &cut[2],
                &[["cameras.bin", "images.bin", "points3D.bin"][part]],
            );
        }
    }
}

#[test]
fn lying_counts_allocate_nothing() {
    let huge = Bytes::default().u64(u64::MAX);
    fails(
        &huge,
        &images(),
        &points(),
        &["cameras.bin", "18446744073709551615 cameras", "at most 0"],
    );
    fails(&cameras(), &huge, &points(), &["images.bin", "at most 0"]);
    let mut lying = points();
    lying.0[..8].copy_from_slice(&1_000_000_000_000_u64.to_le_bytes());
    fails(
        &cameras(),
        &images(),
        &lying,
        &["points3D.bin", "1000000000000 points", "at most 2"],
    );
    let mut track = points();
    let at = track.0.len() - 16;
    track.0[at..at + 8].copy_from_slice(&(u64::MAX / 4).to_le_bytes());
    fails(&cameras(), &images(), &track, &["points3D.bin", "track elements"]);
    let mut few = points();
    few.0[..8].copy_from_slice(&1_u64.to_le_bytes());
    fails(&cameras(), &images(), &few, &["points3D.bin", "bytes follow"]);
}

#[test]
fn values_that_are_not_finite_are_errors() {
    for bad in [f64::NAN, f64::INFINITY, 1e300] {
        let point = point_record(Bytes::default().u64(1), 8, bad);
        fails(&cameras(), &images(), &point, &["points3D.bin", "point 8", "finite"]);
    }
    for quat in [[f64::NAN, 0.0, 0.0, 0.0], [0.0; 4]] {
        let posed = image(Bytes::default().u64(1), 3, quat, 7, "x.jpg");
        fails(
            &cameras(),
            &posed,
            &points(),
            &["images.bin", "image 3 (x.jpg)", "finite"],
        );
    }
    for params in [[f64::NAN, 1.0, 1.0], [0.0, 1.0, 1.0], [-5.0, 1.0, 1.0]] {
        let camera = Bytes::default().u64(1).u32(7).u32(0).u64(64).u64(48).f64s(&params);
        fails(
            &camera,
            &images(),
            &points(),
            &["cameras.bin", "camera 7", "lens parameters"],
        );
    }
    let camera = Bytes::default()
        .u64(1)
        .u32(7)
        .u32(0)
        .u64(0)
        .u64(48)
        .f64s(&[1.0, 1.0, 1.0]);
    fails(&camera, &images(), &points(), &["cameras.bin", "0x48"]);
}

/// Every model by COLMAP's number with parameters that all differ, and what the lens must be.
#[test]
fn every_camera_model_is_read() {
    use lens::Distortion;
    let fisheye = |radial, tangential, prism| Distortion::Fisheye {
        radial,
        tangential,
        prism,
    };
    let polynomial = Distortion::polynomial;
    let k = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08];
    let models: [(&str, usize, usize, Distortion); 11] = [
        ("SIMPLE_PINHOLE", 1, 0, Distortion::None),
        ("PINHOLE", 2, 0, Distortion::None),
        (
            "SIMPLE_RADIAL",
            1,
            1,
            polynomial([0.01, 0.0, 0.0, 0.0], [0.0; 3], [0.0; 2]),
        ),
        ("RADIAL", 1, 2, polynomial([0.01, 0.02, 0.0, 0.0], [0.0; 3], [0.0; 2])),
        (
            "OPENCV",
            2,
            4,
            polynomial([0.01, 0.02, 0.0, 0.0], [0.0; 3], [0.03, 0.04]),
        ),
        (
            "OPENCV_FISHEYE",
            2,
            4,
            fisheye([0.01, 0.02, 0.03, 0.04], [0.0; 2], [0.0; 2]),
        ),
        (
            "FULL_OPENCV",
            2,
            8,
            polynomial([0.01, 0.02, 0.05, 0.0], [0.06, 0.07, 0.08], [0.03, 0.04]),
        ),
        ("FOV", 2, 1, Distortion::Fov { omega: 0.01 }),
        (
            "SIMPLE_RADIAL_FISHEYE",
            1,
            1,
            fisheye([0.01, 0.0, 0.0, 0.0], [0.0; 2], [0.0; 2]),
        ),
        (
            "RADIAL_FISHEYE",
            1,
            2,
            fisheye([0.01, 0.02, 0.0, 0.0], [0.0; 2], [0.0; 2]),
        ),
        (
            "THIN_PRISM_FISHEYE",
            2,
            8,
            fisheye([0.01, 0.02, 0.05, 0.06], [0.03, 0.04], [0.07, 0.08]),
        ),
    ];
    for (number, (name, focals, coefficients, distortion)) in models.into_iter().enumerate() {
        let params = [&[50.0, 51.0][..focals], &[31.0, 25.0], &k[..coefficients]].concat();
        let number = number as u32;
        let camera = Bytes::default().u64(2).u32(7).u32(number).u64(64).u64(48).f64s(&params);
        let camera = camera.u32(9).u32(0).u64(32).u64(32).f64s(&[40.0, 16.0, 16.0]);
        let folder = Scratch::new();
        let binary = load(&write(&folder, &camera, &images(), &points())).unwrap().images[0].lens;
        let expected = Lens {
            model: name,
            size: Some([64, 48]),
            focal: Focal::Pixels([50.0, [50.0, 51.0][focals - 1]]),
            centre: Some([31.0, 25.0]),
            distortion,
        };
        assert_eq!(binary, expected);
        let words: Vec<String> = params.iter().map(f64::to_string).collect();
        let text = format!("7 {name} 64 48 {}\n9 SIMPLE_PINHOLE 32 32 40 16 16\n", words.join(" "));
        let folder = Scratch::new();
        let text = load(&write_text(&folder, &text, IMAGES_TXT, POINTS_TXT)).unwrap();
        assert_eq!(text.images[0].lens, expected);
    }
}

#[test]
fn unknown_lenses_name_model_and_remedy() {
    let camera = |model| {
        Bytes::default()
            .u64(1)
            .u32(7)
            .u32(model)
            .u64(64)
            .u64(48)
            .f64s(&[1.0; 12])
    };
    let needles = [
        "cameras.bin",
        "camera 7",
        "number 99",
        "THIN_PRISM_FISHEYE",
        "image_undistorter",
    ];
    fails(&camera(99), &images(), &points(), &needles);
    fails(&camera(u32::MAX), &images(), &points(), &["number 4294967295"]);
    let folder = Scratch::new();
    let model = write_text(&folder, "7 GLASS_BALL 64 48 1 1 1 1\n", IMAGES_TXT, POINTS_TXT);
    assert!(matches!(load(&model), Err(SceneError::CameraModel { model, .. }) if model == "GLASS_BALL"));
    for (number, params) in [
        (2, &[9.0, 9.0, 9.0, f64::NAN][..]),
        (2, &[9.0, 9.0, 9.0, 1e300]),
        (7, &[9.0, 9.0, 9.0, 9.0, 4.0]),
    ] {
        let camera = Bytes::default().u64(1).u32(7).u32(number).u64(64).u64(48).f64s(params);
        fails(&camera, &images(), &points(), &["camera 7", "lens parameters"]);
    }
}

#[test]
fn of_several_models_the_one_with_most_images_is_read() {
    let folder = Scratch::new();
    let put = |name: &str, count: u64, extension: &str| {
        folder.write(&format!("sparse/{name}cameras.{extension}"), "");
        let bytes = [&count.to_le_bytes()[..], &vec![0; 73 * count as usize]].concat();
        match extension {
            "bin" => folder.write(&format!("sparse/{name}images.bin"), bytes),
            _ => folder.write(
                &format!("sparse/{name}images.txt"),
                (0..count)
                    .map(|n| format!("{n} 1 0 0 0 0 0 0 1 a{n}.png\n\n"))
                    .collect::<String>(),
            ),
        };
    };
    let found = || {
        let (path, notice) = find(folder.path()).unwrap();
        let name = path
            .strip_prefix(folder.path())
            .unwrap()
            .to_str()
            .unwrap()
            .replace('\\', "/");
        (name, notice.unwrap_or_default())
    };
    assert!(find(folder.path()).is_none());
    put("", 3, "bin");
    assert_eq!(found(), ("sparse".to_owned(), String::new()));
    put("0/", 3, "bin");
    assert_eq!(found().0, "sparse/0");
    put("1/", 12, "txt");
    put("2/", 5, "bin");
    let (name, notice) = found();
    assert_eq!(name, "sparse/1");
    assert_eq!(
        notice,
        "4 models: sparse/0 with 3 images; sparse/1 with 12 images; sparse/2 with 5 images; sparse with 3 images; \
         sparse/1 is used"
    );
    // a count that its file cannot back wins nothing
    folder.write("sparse/2/images.bin", u64::MAX.to_le_bytes());
    let (name, notice) = found();
    assert!(
        name == "sparse/1" && notice.contains("sparse/2, whose images cannot be counted"),
        "{notice}"
    );
}

#[test]
fn repeats_and_dangling_references_are_errors() {
    let identity = [1.0, 0.0, 0.0, 0.0];
    let two = |id, name: &str| {
        let bytes = image(Bytes::default().u64(2), 1, identity, 7, "a.jpg");
        image(bytes, id, identity, 7, name)
    };
    fails(&cameras(), &two(1, "b.jpg"), &points(), &["image id 1 appears twice"]);
    fails(
        &cameras(),
        &two(2, "./a.jpg"),
        &points(),
        &["image name a.jpg appears twice"],
    );
    fails(&cameras(), &two(2, "../b.jpg"), &points(), &["images.bin", "../b.jpg"]);
    let dangling = image(Bytes::default().u64(1), 1, identity, 8, "a.jpg");
    fails(&cameras(), &dangling, &points(), &["images.bin", "camera 8 is not in"]);
    let repeated = point_record(point_record(Bytes::default().u64(2), 6, 0.0), 6, 1.0);
    fails(&cameras(), &images(), &repeated, &["point 6 appears twice"]);
    let camera = |bytes: Bytes| bytes.u32(7).u32(0).u64(64).u64(48).f64s(&[40.0, 1.0, 1.0]);
    fails(
        &camera(camera(Bytes::default().u64(2))),
        &images(),
        &points(),
        &["camera 7 appears twice"],
    );
}

#[test]
fn names_are_bounded_utf8() {
    let long = image(Bytes::default().u64(1), 1, [1.0, 0.0, 0.0, 0.0], 7, &"x".repeat(5000));
    fails(&cameras(), &long, &points(), &["longer than 4096 bytes"]);
    // Other encodings are read a character a byte.
    let mut odd = images();
    odd.0[72] = 0xe9;
    let folder = Scratch::new();
    let model = load(&write(&folder, &cameras(), &odd, &points())).unwrap();
    assert!(model.images.iter().any(|image| image.name.contains('\u{e9}')));
}

#[test]
fn damaged_text_names_file_and_line() {
    let folder = Scratch::new();
    let fails = |cameras: &str, images: &str, points: &str, needles: &[&str]| {
        let message = load(&write_text(&folder, cameras, images, points))
            .unwrap_err()
            .to_string();
        assert!(
            needles.iter().all(|needle| message.contains(needle)),
            "{needles:?} not all in: {message}"
        );
    };
    fails(
        "7 PINHOLE 64 48 50 51 31\n",
        IMAGES_TXT,
        POINTS_TXT,
        &["cameras.txt", "line 1", "ends before"],
    );
    fails(
        "7 PINHOLE 64 x 50 51 31 1\n",
        IMAGES_TXT,
        POINTS_TXT,
        &["cameras.txt", "\"x\"", "height"],
    );
    let cut = IMAGES_TXT.split_inclusive('\n').take(3).collect::<String>();
    fails(
        CAMERAS_TXT,
        &cut,
        POINTS_TXT,
        &["images.txt", "1 records", "announces 2"],
    );
    fails(
        CAMERAS_TXT,
        "1 1 0 0 0 1 2 3 7\n\n",
        POINTS_TXT,
        &["images.txt", "line 1", "image name"],
    );
    fails(
        CAMERAS_TXT,
        IMAGES_TXT,
        "1 nan 0 0 1 2 3 0\n",
        &["points3D.txt", "point 1", "finite"],
    );
    fails(
        CAMERAS_TXT,
        IMAGES_TXT,
        "1 0 0 0 1 2 300 0\n",
        &["points3D.txt", "\"300\"", "colour"],
    );
    let endless = format!("1 0 0 0 1 2 3 0 {}", "9 ".repeat(1 << 20));
    let model = load(&write_text(&folder, CAMERAS_TXT, IMAGES_TXT, &endless)).unwrap();
    assert_eq!(model.points.len(), 1);
}

#[test]
fn random_damage_never_panics() {
    let folder = Scratch::new();
    let mut random = crate::SplitMix64::new(3);
    let whole = [cameras(), images(), points()];
    let text = [CAMERAS_TXT, IMAGES_TXT, POINTS_TXT].map(|text| Bytes(text.as_bytes().to_vec()));
    let mut refused = 0;
    for round in 0..1500 {
        let mut damaged = if round % 2 == 0 { whole.clone() } else { text.clone() };
        for _ in 0..=random.below(3) {
            let file = &mut damaged[random.below(3) as usize].0;
            let at = random.below(file.len() as u32) as usize;
            file[at] = random.next_u64() as u8;
        }
        let kind = if round % 2 == 0 { "bin" } else { "txt" };
        for (name, bytes) in ["cameras", "images", "points3D"].iter().zip(&damaged) {
            folder.write(&format!("{kind}/{name}.{kind}"), &bytes.0);
        }
        refused += u32::from(load(&folder.path().join(kind)).is_err());
    }
    assert!(refused > 300, "{refused} of 1500 damaged models were refused");
}

/// Two photos that list points 4 and 3, one of no point and one that is not in the model; tracks of three and of two.
fn matched() -> [Bytes; 2] {
    let observed = |bytes: Bytes, ids: &[u64]| {
        let bytes = bytes.u64(ids.len() as u64);
        ids.iter().fold(bytes, |bytes, id| bytes.f64s(&[1.0, 2.0]).u64(*id))
    };
    let photo = |bytes: Bytes, id: u32, name: &str, ids: &[u64]| {
        let bytes = bytes.u32(id).f64s(&[1.0, 0.0, 0.0, 0.0]).f64s(&[0.0; 3]).u32(7);
        observed(bytes.raw(name.as_bytes()).raw(&[0]), ids)
    };
    let images = photo(Bytes::default().u64(2), 1, "a b.jpg", &[4, u64::MAX, 3, 77]);
    let images = photo(images, 2, "c.jpg", &[]);
    let point = |bytes: Bytes, id: u64, x: f64, error: f64, track: u64| {
        let bytes = bytes.u64(id).f64s(&[x, 0.0, 5.0]).raw(&[0; 3]).f64s(&[error]);
        (0..track).fold(bytes.u64(track), |bytes, _| bytes.u64(0))
    };
    let points = point(Bytes::default().u64(3), 4, 0.25, 0.5, 3);
    let points = point(point(points, 3, 0.5, 0.7, 2), 5, 0.75, -1.0, 4);
    [images, points]
}

const MATCHED_IMAGES_TXT: &str =
    "1 1 0 0 0 0 0 0 7 a b.jpg\n 1 2 4  1 2 -1 1.5 2e0 3 1 2 77\n2 1 0 0 0 0 0 0 7 c.jpg\n\n";
const MATCHED_POINTS_TXT: &str = "4 0.25 0 5 0 0 0 0.5 1 0 2 0 2 1\n3 0.5 0 5 0 0 0 0.7 1 0 2 0\n\
    5 0.75 0 5 0 0 0 -1 1 0 2 0 2 1 2 2\n";

#[test]
fn photos_name_the_points_they_show() {
    let (binary, text) = (Scratch::new(), Scratch::new());
    let [images, points] = matched();
    let binary = write(&binary, &cameras(), &images, &points);
    let text = write_text(&text, CAMERAS_TXT, MATCHED_IMAGES_TXT, MATCHED_POINTS_TXT);
    for folder in [binary, text] {
        let seen = |most: usize| read(&folder, &Fence::open(), most, None).unwrap().seen;
        assert!(seen(0).is_empty());
        let found = seen(10);
        let found: Vec<_> = found.iter().map(|(name, list)| (name.as_str(), &list[..])).collect();
        let four = crate::SeenPoint {
            position: [0.25, 0.0, 5.0],
            error_px: 0.5,
        };
        assert_eq!(found, [("a b.jpg", &[four][..])], "{}", folder.display());
    }
}

#[test]
fn lists_of_observations_that_are_none_are_errors() {
    for (line, needle) in [
        ("1 2", "x, y"),
        ("1 2 x", "x, y"),
        ("1 2 -3", "x, y"),
        ("1 2 4 5", "x, y"),
    ] {
        let folder = Scratch::new();
        let images = format!("1 1 0 0 0 0 0 0 7 a.jpg\n{line}\n");
        let folder = write_text(&folder, CAMERAS_TXT, &images, MATCHED_POINTS_TXT);
        for most in [5, 0] {
            let message = read(&folder, &Fence::open(), most, None).unwrap_err().to_string();
            assert!(message.contains("line 2") && message.contains(needle), "{message}");
        }
    }
}

#[test]
fn every_truncation_is_an_error_with_observations_too() {
    let [images, points] = matched();
    for length in 0..images.0.len() {
        let mut cut = images.clone();
        cut.0.truncate(length);
        let folder = Scratch::new();
        let folder = write(&folder, &cameras(), &cut, &points);
        let message = read(&folder, &Fence::open(), 5, None).unwrap_err().to_string();
        assert!(message.contains("images.bin"), "{message}");
    }
}

/// Scripts that write one line an image: the second image would be taken for the points of the first.
#[test]
fn text_images_of_one_line_are_an_error() {
    for second in [
        "2 1 0 0 0 0.5 0 0 1 b.png",
        "2 1 0 0 0 0.5 0 0 1 b c d.png",
        "2 1 0 0 0 0.5 0 0 1 0002",
    ] {
        let folder = Scratch::new();
        folder.write("cameras.txt", "1 PINHOLE 64 48 50 51 31 25\n");
        folder.write("images.txt", format!("1 1 0 0 0 0 0 0 1 a.png\n{second}\n"));
        for most in [0, 100] {
            let message = read(folder.path(), &Fence::open(), most, None).unwrap_err().to_string();
            assert!(
                message.contains("line 2: observations") && message.contains("two lines"),
                "{message}"
            );
        }
    }
}

#[test]
fn text_may_begin_with_a_mark_of_its_encoding() {
    let folder = Scratch::new();
    folder.write("cameras.txt", "\u{feff}# Cameras\r\n1 PINHOLE 64 48 50 51 31 25\r\n");
    folder.write("images.txt", "\u{feff}1 1 0 0 0 0 0 0 1 a.png\r\n\r\n");
    assert_eq!(load(folder.path()).unwrap().images.len(), 1);
}
