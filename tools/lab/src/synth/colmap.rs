//! The scene as COLMAP's binary model: cameras, poses, points and which photo shows which.

use std::io::{self, Write};
use std::path::Path;

use kiln::export::{ExportError, write_atomic};

use super::pose::Pose;
use super::scene::name;
use super::{Synthetic, SyntheticKind, solids};

/// Which photos show which points; empty for sheets, where all would show all, and behind a fisheye.
#[derive(Default)]
pub(super) struct Tracks {
    /// Points of each photo: id and where it is, px.
    photos: Vec<Vec<(u32, [f64; 2])>>,
    /// Photos of each point: photo, and place in its list.
    points: Vec<Vec<[u32; 2]>>,
}

/// A point as `points3D.bin` has it.
pub(super) struct Point {
    pub(super) position: [f64; 3],
    pub(super) color: [u8; 3],
}

impl Synthetic {
    pub(super) fn cameras(&self, path: &Path) -> Result<(), ExportError> {
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

    pub(super) fn images(&self, path: &Path, tracks: &Tracks) -> Result<(), ExportError> {
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

    pub(super) fn points(&self, path: &Path, tracks: &Tracks) -> Result<(), ExportError> {
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

    pub(super) fn tracks(&self) -> Tracks {
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
        self.sheets_point(id)
    }
}

fn floats(out: &mut impl Write, values: &[f64]) -> io::Result<()> {
    values.iter().try_for_each(|value| out.write_all(&value.to_le_bytes()))
}
