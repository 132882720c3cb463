//! The photograph of the camera one looks through, laid over the splats: in part, under a wipe, or as the difference.
//!
//! The browser does the work: an image over the canvas that fits its place as the camera's lens does.

use super::app::App;
use super::dom;
use super::runs::Run;
use crate::math::pow;
use crate::run::cameras::Camera;

/// How the photograph lies over the splats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Photo {
    #[default]
    Off,
    Blend,
    Wipe,
    Difference,
}

impl Photo {
    const ALL: [Self; 4] = [Self::Off, Self::Blend, Self::Wipe, Self::Difference];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Blend => "blend",
            Self::Wipe => "wipe",
            Self::Difference => "difference",
        }
    }

    pub(super) fn of_name(name: &str) -> Self {
        Self::ALL
            .into_iter()
            .find(|mode| mode.name() == name)
            .unwrap_or_default()
    }

    /// The one after, for a key that goes round.
    pub(super) fn next(self) -> Self {
        Self::ALL[(self as usize + 1) % Self::ALL.len()]
    }
}

impl Run {
    /// The photograph of a camera, relative to the page, where one was saved.
    pub(super) fn photo(&self, camera: &Camera) -> Option<String> {
        let row =
            |row: &&crate::run::evaluation::ViewRow| row.images && row.name == camera.name && row.test == camera.test;
        let found = self
            .evaluations
            .iter()
            .rev()
            .find_map(|(_, evaluation)| evaluation.views.iter().find(row))?;
        Some(format!("{}/eval/gt/{}/{}.png", self.path, found.set(), found.name))
    }
}

impl App {
    /// Lays the photograph over the splats as chosen, and frames what the camera saw.
    pub(super) fn show_photo(&self) {
        let view = &self.view;
        let camera = view.through.as_ref().and_then(|name| self.camera(name));
        let photo = camera.and_then(|camera| self.runs.first()?.photo(camera));
        dom::show("frame", camera.is_some());
        if let Some(camera) = camera {
            let [width, height] = camera.lens.size;
            dom::style(
                "frame",
                "--aspect",
                &format!("{:.5}", f64::from(width) / f64::from(height)),
            );
        }
        let mode = if photo.is_some() { view.photo } else { Photo::Off };
        dom::show("photo-bar", photo.is_some());
        dom::show("photo", mode != Photo::Off);
        dom::show("photo-amount", mode != Photo::Off);
        for each in Photo::ALL {
            dom::set_attribute(
                &format!("photo-{}", each.name()),
                "aria-pressed",
                &(each == mode).to_string(),
            );
        }
        dom::set_attribute("scene", "data-photo", mode.name());
        let share = view.photo_share;
        dom::style("scene", "--share", &format!("{share:.3}"));
        // From as it is to eight times.
        dom::style(
            "scene",
            "--gain",
            &format!("{:.3}", pow(2.0, 4.0 * share - 1.0).max(1.0)),
        );
        let about = match mode {
            Photo::Difference => "Gain",
            Photo::Wipe => "Wipe",
            Photo::Off | Photo::Blend => "Share of the photo",
        };
        dom::set_attribute("photo-amount", "aria-label", about);
        if let (Some(path), true) = (photo, mode != Photo::Off) {
            let url = self.address.request(&path);
            dom::set_attribute("photo", "src", &url);
        }
    }

    /// Changes how the photograph lies over the splats.
    pub(super) fn set_photo(&mut self, mode: Photo) {
        self.view.photo = mode;
        self.show_photo();
        self.touch();
    }

    /// Takes the share of the photograph, place of the wipe or gain, 0 to 1000.
    pub(super) fn set_photo_share(&mut self, value: &str) {
        self.view.photo_share = crate::number::parse(value).unwrap_or(500.0) / 1000.0;
        self.show_photo();
        self.touch();
    }
}
