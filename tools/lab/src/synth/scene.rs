//! Synthetic scenes with any number of points and pixels, as COLMAP models.
//!
//! `sheets` has exactly as many points in view as requested. Points lie on four wavy sheets in front of a small grid of
//! cameras that all look the same way, so a trained model has the overlap of surfaces and not that of fog. Points outside
//! every view lie behind the cameras in the same way. Photos and points share one smooth colour field with a finer pattern
//! in it, so that a loss has something to learn. All photos are the same, so they say nothing about shapes; the photos of
//! `solids` show one world.

use std::io::{self, Write};
use std::path::Path;

use clap::{Args, ValueEnum, value_parser};
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder as _};
use kiln::export::{AtomicFile, ExportError, write_atomic};
use kiln_twins::rng::uniform;

use kiln_mesh::solids::{Kind, TRUTH_FILE};

use super::lens::Optics;
use super::solids::{self, DISTANCE, NEAR_DISTANCE, Pose};

/// Sheets of points.
const SHEETS: u32 = 4;
/// Distance of the first sheet, world units; the others follow one unit apart.
const NEAREST: f64 = 2.5;
/// Height of a sheet's waves, world units.
const WAVES: f64 = 0.2;
/// Share of the image on every side where no point lies, so that all cameras see all of them.
const MARGIN: f64 = 0.06;
/// Focal length over image width.
const FOCAL: f64 = 0.9;
/// One photo of so many is held out, as `kiln train` does where nothing else is asked for.
const HELD_OUT: u32 = 8;

/// Kinds of scene.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SyntheticKind {
    /// Wavy sheets of points, for speed and memory
    #[default]
    Sheets,
    /// Solid things in photos that agree with each other, for quality
    Solids,
}

/// What to make.
#[derive(Args, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synthetic {
    /// What to show: sheets for speed and memory, solids for quality
    #[arg(long, value_enum, default_value_t)]
    pub kind: SyntheticKind,
    /// Points, which become Gaussians
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = value_parser!(u32).range(1..))]
    pub gaussians: u32,
    /// Points of sheets that every view sees; the others lie behind the cameras [default: all]
    #[arg(long, value_name = "N")]
    pub visible: Option<u32>,
    /// Width and height of the photos, px
    #[arg(long = "size", value_name = "WxH", default_value = "1297x840", value_parser = size)]
    pub size_px: [u32; 2],
    /// Take the photos of solids to train on with a fisheye of so many degrees, from nearby, and those that are held out with a
    /// pinhole of its focal length; without depth maps, normal maps and truth.ply
    #[arg(long, value_name = "DEGREES", value_parser = value_parser!(u32).range(40..=170))]
    pub fisheye: Option<u32>,
    /// Take them with the pinhole that sees the largest rectangle of what the fisheye would
    #[arg(long, requires = "fisheye")]
    pub flattened: bool,
    /// Photos
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = value_parser!(u32).range(1..=10_000))]
    pub views: u32,
    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u32,
    /// Points on all things of solids; those that two photos see become truth.ply
    #[arg(long, value_name = "N", default_value_t = 300_000)]
    pub truth: u32,
    /// Rays along each side of a pixel of solids
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = value_parser!(u32).range(1..=64))]
    pub samples: u32,
}

impl Default for Synthetic {
    /// What the program makes where nothing else is asked for.
    fn default() -> Self {
        Self {
            kind: SyntheticKind::Sheets,
            gaussians: 100_000,
            visible: None,
            size_px: [1297, 840],
            fisheye: None,
            flattened: false,
            views: 24,
            seed: 0,
            truth: 300_000,
            samples: 8,
        }
    }
}

/// Width and height, `1297x840`.
fn size(text: &str) -> Result<[u32; 2], String> {
    let sides = text
        .split_once('x')
        .and_then(|(width, height)| Some([width.parse().ok()?, height.parse().ok()?]));
    let fits = |sides: &[u32; 2]| sides.iter().all(|side| (16..=16_384).contains(side));
    sides
        .filter(fits)
        .ok_or_else(|| "width and height from 16 to 16384 are expected, for example 1297x840".to_owned())
}

/// Which photos show which points; empty for sheets, where all would show all, and behind a fisheye.
#[derive(Default)]
struct Tracks {
    /// Points of each photo: id and where it is, px.
    photos: Vec<Vec<(u32, [f64; 2])>>,
    /// Photos of each point: photo, and place in its list.
    points: Vec<Vec<[u32; 2]>>,
}

/// A point as `points3D.bin` has it.
struct Point {
    position: [f64; 3],
    color: [u8; 3],
}

impl Synthetic {
    /// Writes the scene as a COLMAP model with PNG photos.
    ///
    /// # Errors
    /// [`ExportError`] when `folder` holds something already or cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), ExportError> {
        let refuse = |what: &str| {
            Err(ExportError::new(
                folder,
                io::Error::new(io::ErrorKind::InvalidInput, what),
            ))
        };
        if self.fisheye.is_some() && self.kind != SyntheticKind::Solids {
            return refuse("--fisheye takes photos of solids; add `--kind solids`");
        }
        let tall = f64::from(self.size_px[1]) / f64::from(self.size_px[0]);
        if self
            .fisheye
            .is_some_and(|degrees| f64::from(degrees) * tall.max(1.0) > 175.0)
        {
            return refuse(
                "a fisheye as high as that sees more than 175 degrees; name fewer degrees, or photos that are wider",
            );
        }
        let is_empty = match std::fs::read_dir(folder) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            Err(error) => return Err(ExportError::new(folder, error)),
        };
        if !is_empty {
            let taken = io::Error::new(io::ErrorKind::AlreadyExists, "the folder is not empty; name a new one");
            return Err(ExportError::new(folder, taken));
        }
        let model = folder.join("sparse").join("0");
        self.cameras(&model.join("cameras.bin"))?;
        let tracks = self.tracks();
        self.images(&model.join("images.bin"), &tracks)?;
        self.points(&model.join("points3D.bin"), &tracks)?;
        let is_solids = self.kind == SyntheticKind::Solids;
        let has_maps = is_solids && self.fisheye.is_none();
        if has_maps {
            self.truth(&folder.join(TRUTH_FILE))?;
        }
        let mut photo = self.sheets_photo();
        for view in 0..self.views {
            let optics = self.optics(view);
            if is_solids {
                photo = solids::photo(&self.solids_pose(view), &optics, self.samples);
            }
            if has_maps {
                self.depths(view, &folder.join("depths").join(name(view)).with_extension("npy"))?;
                self.normals(view, &folder.join("normals").join(name(view)))?;
            }
            write_atomic(&folder.join("images").join(name(view)), |out: &mut AtomicFile| {
                let [width, height] = optics.size_px;
                PngEncoder::new_with_quality(out, CompressionType::Fast, FilterType::Adaptive)
                    .write_image(&photo, width, height, ExtendedColorType::Rgb8)
                    .map_err(io::Error::other)
            })?;
        }
        Ok(())
    }

    fn focal(&self) -> f64 {
        FOCAL * f64::from(self.size_px[0])
    }

    /// How a view is taken.
    fn optics(&self, view: u32) -> Optics {
        let Some(degrees) = self.fisheye else {
            return Optics::pinhole(self.focal(), self.size_px);
        };
        let lens = Optics::fisheye(degrees, self.size_px);
        if view.is_multiple_of(HELD_OUT) {
            Optics::pinhole(lens.focal, self.size_px)
        } else if self.flattened {
            lens.flattened()
        } else {
            lens
        }
    }

    /// Number of the camera of a view: held-out views have the first.
    fn camera(&self, view: u32) -> u32 {
        1 + u32::from(self.fisheye.is_some() && !view.is_multiple_of(HELD_OUT))
    }

    fn distance(&self) -> f64 {
        if self.fisheye.is_some() {
            NEAR_DISTANCE
        } else {
            DISTANCE
        }
    }

    fn solids_pose(&self, view: u32) -> Pose {
        Pose::at(view, self.distance())
    }

    fn cameras(&self, path: &Path) -> Result<(), ExportError> {
        let first_two = 0..self.views.min(2);
        let mut cameras: Vec<u32> = first_two.map(|view| self.camera(view)).collect();
        cameras.dedup();
        write_atomic(path, |out| {
            out.write_all(&(cameras.len() as u64).to_le_bytes())?;
            for camera in &cameras {
                let optics = self.optics(camera - 1);
                let (model, values) = optics.colmap();
                out.write_all(&camera.to_le_bytes())?;
                out.write_all(&model.to_le_bytes())?;
                for side in optics.size_px {
                    out.write_all(&u64::from(side).to_le_bytes())?;
                }
                floats(out, &values)?;
            }
            Ok(())
        })
    }

    fn images(&self, path: &Path, tracks: &Tracks) -> Result<(), ExportError> {
        write_atomic(path, |out| {
            out.write_all(&u64::from(self.views).to_le_bytes())?;
            for view in 0..self.views {
                out.write_all(&(view + 1).to_le_bytes())?;
                floats(out, &self.pose(view))?;
                out.write_all(&self.camera(view).to_le_bytes())?;
                out.write_all(name(view).as_bytes())?;
                out.write_all(&[0])?;
                let seen = tracks.photos.get(view as usize).map_or(&[][..], |seen| seen);
                out.write_all(&(seen.len() as u64).to_le_bytes())?;
                for (id, at) in seen {
                    floats(out, at)?;
                    out.write_all(&u64::from(id + 1).to_le_bytes())?;
                }
            }
            Ok(())
        })
    }

    /// Rotation quaternion, real part first, and translation of a view.
    fn pose(&self, view: u32) -> [f64; 7] {
        match self.kind {
            SyntheticKind::Sheets => {
                let [x, y] = self.place(view);
                [1.0, 0.0, 0.0, 0.0, -x, -y, 0.0]
            }
            SyntheticKind::Solids => {
                let pose = self.solids_pose(view);
                let ([w, i, j, k], [x, y, z]) = (pose.quaternion(), pose.translation);
                [w, i, j, k, x, y, z]
            }
        }
    }

    /// Centre of a view of sheets: on a square grid, so far out at most that the nearest points stay in the image.
    fn place(&self, view: u32) -> [f64; 2] {
        let side = f64::from(self.views).sqrt().ceil().max(2.0);
        let smaller = f64::from(self.size_px[0].min(self.size_px[1]));
        let farthest = 0.8 * MARGIN * smaller * (NEAREST - WAVES) / self.focal();
        let at = |index: f64| (2.0 * index / (side - 1.0) - 1.0) * farthest;
        [at(f64::from(view) % side), at((f64::from(view) / side).floor())]
    }

    fn points(&self, path: &Path, tracks: &Tracks) -> Result<(), ExportError> {
        write_atomic(path, |out| {
            out.write_all(&u64::from(self.gaussians).to_le_bytes())?;
            for id in 0..self.gaussians {
                let Point { position, color } = self.point(id);
                out.write_all(&u64::from(id + 1).to_le_bytes())?;
                floats(out, &position)?;
                out.write_all(&color)?;
                floats(out, &[0.5])?;
                let track = tracks.points.get(id as usize).map_or(&[][..], |track| track);
                out.write_all(&(track.len() as u64).to_le_bytes())?;
                for [view, place] in track {
                    out.write_all(&(view + 1).to_le_bytes())?;
                    out.write_all(&place.to_le_bytes())?;
                }
            }
            Ok(())
        })
    }

    /// The exact depth map of a view, as a `NumPy` array of `f32`.
    fn depths(&self, view: u32, path: &Path) -> Result<(), ExportError> {
        let [width, height] = self.size_px;
        let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({height}, {width}), }}");
        write_atomic(path, |out| {
            // NPY 1.0: values begin at a multiple of 64 bytes.
            out.write_all(b"\x93NUMPY\x01\x00\x76\x00")?;
            writeln!(out, "{header:117}")?;
            let depths = solids::depths(&Pose::of(view), self.size_px, self.focal());
            depths.iter().try_for_each(|depth| out.write_all(&depth.to_le_bytes()))
        })
    }

    /// The exact normal map of a view, as a picture of 16 bits a channel.
    fn normals(&self, view: u32, path: &Path) -> Result<(), ExportError> {
        let [width, height] = self.size_px;
        let normals = solids::normals(&Pose::of(view), self.size_px, self.focal());
        let bytes: Vec<u8> = normals.iter().flat_map(|value| value.to_ne_bytes()).collect();
        write_atomic(path, |out: &mut AtomicFile| {
            PngEncoder::new_with_quality(out, CompressionType::Fast, FilterType::Adaptive)
                .write_image(&bytes, width, height, ExtendedColorType::Rgb16)
                .map_err(io::Error::other)
        })
    }

    /// Points on what at least two photos see: position, normal, and the kind of thing by its number.
    fn truth(&self, path: &Path) -> Result<(), ExportError> {
        let places = solids::truth(self.seed, self.truth, self.views, self.size_px, self.focal());
        write_atomic(path, |out| {
            let kinds: Vec<String> = (0..).zip(Kind::ALL).map(|(i, k)| format!("{i} {}", k.name())).collect();
            let floats = ["x", "y", "z", "nx", "ny", "nz"].map(|name| format!("property float {name}\n"));
            write!(
                out,
                "ply\nformat binary_little_endian 1.0\ncomment things: {}\nelement vertex {}\n{}property uchar thing\nend_header\n",
                kinds.join(", "),
                places.len(),
                floats.concat()
            )?;
            places.iter().try_for_each(|place| {
                for value in place.at.iter().chain(&place.normal) {
                    #[expect(clippy::cast_possible_truncation, reason = "files hold f32")]
                    out.write_all(&(*value as f32).to_le_bytes())?;
                }
                out.write_all(&[place.kind as u8])
            })
        })
    }

    fn tracks(&self) -> Tracks {
        if self.kind != SyntheticKind::Solids || self.fisheye.is_some() {
            return Tracks::default();
        }
        let positions: Vec<[f64; 3]> = (0..self.gaussians).map(|id| self.point(id).position).collect();
        let mut points = vec![Vec::new(); positions.len()];
        let photo = |view: u32| {
            let pose = Pose::of(view);
            let mut seen = Vec::new();
            for (id, (position, track)) in (0..).zip(positions.iter().zip(&mut points)) {
                if let Some(at) = solids::seen_at(&pose, *position, self.size_px, self.focal()) {
                    track.push([view, u32::try_from(seen.len()).unwrap_or(u32::MAX)]);
                    seen.push((id, at));
                }
            }
            seen
        };
        let photos = (0..self.views).map(photo).collect();
        Tracks { photos, points }
    }

    fn point(&self, id: u32) -> Point {
        if self.kind == SyntheticKind::Solids {
            let slopes = self.size_px.map(|side| 0.5 * f64::from(side) / self.focal());
            let (position, color) = solids::point(self.seed, id, (self.views, self.distance()), slopes);
            return Point { position, color };
        }
        let [x, y]: [f64; 2] =
            [0, 1].map(|channel| MARGIN + (1.0 - 2.0 * MARGIN) * uniform::<f64>(self.seed, 1, id, channel));
        let wave = (9.0 * x).sin() * (7.0 * y).cos();
        let depth = NEAREST + f64::from(id % SHEETS) + WAVES * wave;
        let [width, height] = self.size_px.map(f64::from);
        let in_view = self.visible.is_none_or(|visible| id < visible);
        let side = if in_view { depth } else { -depth };
        Point {
            position: [
                (x - 0.5) * width / self.focal() * depth,
                (y - 0.5) * height / self.focal() * depth,
                side,
            ],
            color: color([x, y]),
        }
    }

    /// Red, green, blue of every pixel of sheets, row by row.
    fn sheets_photo(&self) -> Vec<u8> {
        let [width, height] = self.size_px;
        let at = |index: u32, side: u32| (f64::from(index) + 0.5) / f64::from(side);
        (0..height)
            .flat_map(|row| (0..width).flat_map(move |column| color([at(column, width), at(row, height)])))
            .collect()
    }
}

/// The colour at a place of the image, both coordinates from 0 to 1.
fn color([x, y]: [f64; 2]) -> [u8; 3] {
    let fine = (61.0 * x).sin() * (47.0 * y).sin();
    [0.0, 2.1, 4.2].map(|phase| {
        let value = 0.5 + 0.28 * (5.0 * x + 3.0 * y + phase).sin() + 0.14 * fine;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0.08 and 0.92"
        )]
        let byte = (255.0 * value) as u8;
        byte
    })
}

fn name(view: u32) -> String {
    format!("view_{view:04}.png")
}

fn floats(out: &mut impl Write, values: &[f64]) -> io::Result<()> {
    values.iter().try_for_each(|value| out.write_all(&value.to_le_bytes()))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::path::PathBuf;

    use kiln_scene::{Axes, SceneIndex, SceneOptions, Split, ViewId, decode};

    use super::*;

    fn scratch(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("kiln-lab-{name}-{}", std::process::id()))
    }

    #[test]
    fn a_scene_is_read_back_and_as_many_points_are_in_view_as_asked_for() {
        let root = scratch("sheets");
        let made = Synthetic {
            gaussians: 2000,
            visible: Some(700),
            size_px: [160, 90],
            views: 9,
            seed: 3,
            ..Synthetic::default()
        };
        made.write(&root).unwrap();
        let scene = SceneIndex::load(&root, &SceneOptions::default()).unwrap();
        assert_eq!(scene.points.len(), 2000);
        assert_eq!(scene.views().count(), 9);
        for (_, view) in scene.views() {
            let camera = &view.camera;
            let seen = scene.points.iter().filter(|point| {
                let [x, y, z] = [0, 1, 2].map(|i| f64::from(point.position[i]) + f64::from(camera.translation[i]));
                let u = f64::from(camera.fx) * x / z + f64::from(camera.cx);
                let v = f64::from(camera.fy) * y / z + f64::from(camera.cy);
                z > 0.0 && (0.0..160.0).contains(&u) && (0.0..90.0).contains(&v)
            });
            assert_eq!(seen.count(), 700, "{}", view.name);
        }
        let again = made.write(&root).unwrap_err().to_string();
        assert!(again.contains("the folder is not empty"), "{again}");
        std::fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn solids_are_seen_where_their_points_lie() {
        let root = scratch("solids");
        let made = Synthetic {
            kind: SyntheticKind::Solids,
            gaussians: 300,
            size_px: [320, 240],
            views: 4,
            seed: 3,
            samples: 1,
            truth: 3000,
            ..Synthetic::default()
        };
        made.write(&root).unwrap();
        let scene = SceneIndex::load(&root, &SceneOptions::default()).unwrap();
        let (_, view) = scene.views().next().unwrap();
        let photo = image::open(&view.image_path).unwrap().into_rgb8();
        let camera = &view.camera;
        let (mut seen, mut alike) = (0, 0);
        for point in &scene.points {
            let at: [f32; 3] = std::array::from_fn(|row| {
                let turned: f32 = (0..3)
                    .map(|axis| camera.rotation[row][axis] * point.position[axis])
                    .sum();
                turned + camera.translation[row]
            });
            let (u, v) = (
                camera.fx * at[0] / at[2] + camera.cx,
                camera.fy * at[1] / at[2] + camera.cy,
            );
            if at[2] > 0.0 && (0.0..320.0).contains(&u) && (0.0..240.0).contains(&v) {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "inside the image"
                )]
                let pixel = photo.get_pixel(u as u32, v as u32).0;
                seen += 1;
                let off: i32 = (0..3)
                    .map(|c| (i32::from(pixel[c]) - i32::from(point.color[c])).abs())
                    .sum();
                alike += i32::from(off < 150);
            }
        }
        // Some are hidden, and some lie beside an edge.
        assert!(seen > 200 && 10 * alike > 6 * seen, "{alike} of {seen} of 300");
        let options = SceneOptions {
            seen_points: 1000,
            eval: false,
            ..SceneOptions::default()
        };
        let scene = SceneIndex::load(&root, &options).unwrap();
        let listed: Vec<usize> = scene.train.iter().map(|view| view.seen.len()).collect();
        assert!(listed.iter().all(|n| (50..300).contains(n)), "{listed:?}");
        assert!(scene.seen_bytes() > 200 * 16);
        let with_depths = SceneOptions {
            depths: Some("depths".into()),
            eval: false,
            ..SceneOptions::default()
        };
        let deep = SceneIndex::load(&root, &with_depths).unwrap();
        assert!(deep.train.iter().all(|view| view.depth.is_some()));
        for (axes, right) in [(Axes::Opengl, true), (Axes::Rdb, false)] {
            let with_normals = SceneOptions {
                normals: Some(("normals".into(), axes)),
                eval: false,
                ..SceneOptions::default()
            };
            let told = SceneIndex::load(&root, &with_normals).unwrap();
            assert!(told.train.iter().all(|view| view.normal.is_some()));
            let warned = told
                .warnings
                .iter()
                .any(|told| told.contains("dataset.normals.axes=opengl"));
            assert_eq!(warned, !right, "{:?}", told.warnings);
        }
        let truth = kiln_mesh::ply::read(&std::fs::read(root.join(TRUTH_FILE)).unwrap()[..]).unwrap();
        let (count, normals) = (truth.positions().len(), truth.normals().unwrap());
        assert!((1000..3000).contains(&count) && truth.triangles().is_empty(), "{count}");
        for (place, normal) in truth.positions().iter().zip(normals) {
            assert!(kiln_mesh::solids::distance(*place).0 < 1e-6, "{place:?} {normal:?}");
        }
        std::fs::remove_dir_all(root).unwrap();
    }

    /// What Kiln makes of a fisheye's photos is what the pinhole that it chooses would have taken.
    #[test]
    fn a_fisheye_is_undistorted_to_what_a_pinhole_takes() {
        let made = |flattened: bool| {
            let root = scratch(if flattened { "flattened" } else { "fisheye" });
            let made = Synthetic {
                kind: SyntheticKind::Solids,
                gaussians: 300,
                size_px: [320, 240],
                views: 2,
                samples: 4,
                fisheye: Some(110),
                flattened,
                ..Synthetic::default()
            };
            made.write(&root).unwrap();
            let scene = SceneIndex::load(&root, &SceneOptions::default()).unwrap();
            let id = ViewId {
                split: Split::Train,
                index: 0,
            };
            let photo = decode(&scene, id, [0.0; 3]).unwrap();
            let camera = scene.train[0].camera.clone();
            std::fs::remove_dir_all(root).unwrap();
            (camera, photo)
        };
        let ((bent, found), (flat, wanted)) = (made(false), made(true));
        assert_eq!((bent.width_px, bent.height_px), (flat.width_px, flat.height_px));
        assert!(
            (bent.fx - flat.fx).abs() < 1e-3 && (bent.cx - flat.cx).abs() < 1.0,
            "{bent:?} {flat:?}"
        );
        let (found, wanted) = (found.bytes(), wanted.bytes());
        let squares = found
            .iter()
            .zip(wanted)
            .map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2));
        let psnr = 10.0 * (255.0_f64.powi(2) * wanted.len() as f64 / squares.sum::<f64>()).log10();
        assert!(psnr > 25.0, "{psnr}");
    }

    #[test]
    fn sizes_are_checked() {
        assert_eq!(size("64x48"), Ok([64, 48]));
        for wrong in ["64", "64x", "8x48", "64x20000", "-64x48", "axb"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
