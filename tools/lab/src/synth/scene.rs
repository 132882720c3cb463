//! Writing a scene: a COLMAP model with photos, and for solids what is known of them exactly.

use std::io;
use std::path::Path;

use image::ExtendedColorType;
use kiln::export::ExportError;
use kiln_mesh::solids::TRUTH_FILE;

use super::faults::{CLEAN, MOVERS, TRUTH, shots};
use super::lens::Optics;
use super::pictures::png;
use super::pose::{DISTANCE, NEAR_DISTANCE, Pose};
use super::{Synthetic, SyntheticKind, solids};

/// Focal length over image width.
const FOCAL: f64 = 0.9;
/// One photo of so many is held out, as `kiln train` does where nothing else is asked for.
const HELD_OUT: u32 = 8;

impl Synthetic {
    /// Writes the scene as a COLMAP model with PNG photos.
    ///
    /// # Errors
    /// [`ExportError`] when `folder` holds something already or cannot be written, and for settings that exclude each other.
    pub fn write(&self, folder: &Path) -> Result<(), ExportError> {
        self.check(folder)?;
        let model = folder.join("sparse").join("0");
        self.cameras(&model.join("cameras.bin"))?;
        let tracks = self.tracks();
        self.images(&model.join("images.bin"), &tracks)?;
        self.points(&model.join("points3D.bin"), &tracks)?;
        let has_maps = self.kind == SyntheticKind::Solids && self.fisheye.is_none();
        if has_maps {
            self.truth(&folder.join(TRUTH_FILE))?;
            for view in 0..self.views {
                self.depths(view, &folder.join("depths").join(name(view)).with_extension("npy"))?;
                self.normals(view, &folder.join("normals").join(name(view)))?;
            }
        }
        if self.faults.is_none() {
            self.photos(folder)
        } else {
            self.faulty_photos(folder)
        }
    }

    /// Refuses settings that exclude each other, and a folder that is taken.
    fn check(&self, folder: &Path) -> Result<(), ExportError> {
        let refuse = |kind, what: &str| Err(ExportError::new(folder, io::Error::new(kind, what)));
        if self.fisheye.is_some() && self.kind != SyntheticKind::Solids {
            return refuse(
                io::ErrorKind::InvalidInput,
                "--fisheye takes photos of solids; add `--kind solids`",
            );
        }
        if !self.faults.is_none() && self.kind != SyntheticKind::Solids {
            return refuse(
                io::ErrorKind::InvalidInput,
                "--movers, --drift, --vignetting, --response and --blur change photos of solids; add `--kind solids`",
            );
        }
        let tall = f64::from(self.size_px[1]) / f64::from(self.size_px[0]);
        if self
            .fisheye
            .is_some_and(|degrees| f64::from(degrees) * tall.max(1.0) > 175.0)
        {
            return refuse(
                io::ErrorKind::InvalidInput,
                "a fisheye as high as that sees more than 175 degrees; name fewer degrees, or photos that are wider",
            );
        }
        let is_empty = match std::fs::read_dir(folder) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            Err(error) => return Err(ExportError::new(folder, error)),
        };
        if !is_empty {
            return refuse(io::ErrorKind::AlreadyExists, "the folder is not empty; name a new one");
        }
        Ok(())
    }

    /// Photos of a camera and a world without faults.
    fn photos(&self, folder: &Path) -> Result<(), ExportError> {
        let is_solids = self.kind == SyntheticKind::Solids;
        let mut photo = self.sheets_photo();
        for view in 0..self.views {
            let optics = self.optics(view);
            if is_solids {
                photo = solids::photo(&self.solids_pose(view), &optics, self.samples);
            }
            let picture = (optics.size_px, ExtendedColorType::Rgb8);
            png(&folder.join("images").join(name(view)), &photo, picture, None)?;
        }
        Ok(())
    }

    /// Photos with faults, what they would be without, and the truth of each.
    fn faulty_photos(&self, folder: &Path) -> Result<(), ExportError> {
        let mut shots = shots(self);
        for (view, shot) in (0..).zip(&mut shots) {
            let drawn = shot.draw(self.samples);
            let size_px = shot.optics.size_px;
            let write = |part: &str, bytes: &[u8], color, exif| {
                png(&folder.join(part).join(name(view)), bytes, (size_px, color), exif)
            };
            write("images", &drawn.photo, ExtendedColorType::Rgb8, shot.exif())?;
            write(CLEAN, &drawn.clean, ExtendedColorType::Rgb8, None)?;
            if self.faults.movers.is_some() {
                write(MOVERS, &drawn.still, ExtendedColorType::L8, None)?;
            }
        }
        super::faults::write_truth(&folder.join(TRUTH), self, &shots)
    }

    pub(super) fn focal(&self) -> f64 {
        FOCAL * f64::from(self.size_px[0])
    }

    /// How a view is taken.
    pub(super) fn optics(&self, view: u32) -> Optics {
        let Some(degrees) = self.fisheye else {
            return Optics::pinhole(self.focal(), self.size_px);
        };
        let lens = Optics::fisheye(degrees, self.size_px);
        if Self::is_held_out(view) {
            Optics::pinhole(lens.focal, self.size_px)
        } else if self.flattened {
            lens.flattened()
        } else {
            lens
        }
    }

    /// Number of the camera of a view: held-out views have the first.
    pub(super) fn camera(&self, view: u32) -> u32 {
        1 + u32::from(self.fisheye.is_some() && !Self::is_held_out(view))
    }

    pub(super) fn distance(&self) -> f64 {
        if self.fisheye.is_some() {
            NEAR_DISTANCE
        } else {
            DISTANCE
        }
    }

    pub(super) fn solids_pose(&self, view: u32) -> Pose {
        Pose::at(view, self.distance())
    }

    /// Rotation quaternion, real part first, and translation of a view.
    pub(super) fn pose(&self, view: u32) -> [f64; 7] {
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

    /// True for a view that `kiln train` holds out where nothing else is asked for.
    pub(super) const fn is_held_out(view: u32) -> bool {
        view.is_multiple_of(HELD_OUT)
    }
}

pub(super) fn name(view: u32) -> String {
    format!("view_{view:04}.png")
}
