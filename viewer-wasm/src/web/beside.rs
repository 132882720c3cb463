//! A scene that is kept beside the one shown: two models, or two meshes, through one camera, and their difference.

use super::app::App;
use super::dom;
use super::loading::Source;
use super::orders::Asked;
use super::sidebar::button;
use super::subject::Subject;
use crate::html::count;

/// How what is kept and what is shown share the canvas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Beside {
    Kept,
    /// What is kept on the left of a line.
    #[default]
    Wipe,
    /// Mean absolute difference of the models, as a colour.
    Difference,
    Shown,
}

impl Beside {
    const ALL: [(Self, &'static str, &'static str); 4] = [
        (Self::Kept, "kept", "Kept"),
        (Self::Wipe, "wipe", "Wipe"),
        (Self::Difference, "difference", "Difference"),
        (Self::Shown, "shown", "Shown"),
    ];

    pub(super) fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    pub(super) fn of_name(name: &str) -> Self {
        let found = Self::ALL.into_iter().find(|(_, known, _)| *known == name);
        found.map_or(Self::default(), |(beside, ..)| beside)
    }
}

/// What is known of the scene that is kept.
#[derive(Default)]
pub(super) struct KeptScene {
    /// Number of its model.
    pub(super) number: u32,
    pub(super) asked: Asked,
    /// For people.
    label: String,
    /// Run and iteration, where a link can name them.
    pub(super) link: Option<String>,
    /// What the page's address wants kept, until it is read.
    pub(super) wanted: Option<String>,
    pub(super) beside: Beside,
    /// Place of the line, or binary logarithm of the gain as a share.
    pub(super) share: f64,
}

impl KeptScene {
    /// Whether splats are kept.
    pub(super) fn is_there(&self) -> bool {
        self.number > 0
    }
}

impl App {
    pub(super) fn kept_is_there(&self) -> bool {
        self.renderer.as_ref().is_some_and(|renderer| renderer.kept.is_there())
    }

    /// Keeps what is shown, in place of what was kept before; what comes next is seen beside it.
    pub(super) fn keep_scene(&mut self) {
        let label = self.scene_label();
        let Some(renderer) = &mut self.renderer else {
            return;
        };
        let nothing = renderer.model.is_none() && renderer.mesh.is_none();
        if nothing || self.view.is_loading() || self.view.incoming.is_some() {
            return;
        }
        self.let_go();
        let run = self.runs.first().map(|run| run.path.clone());
        let view = &mut self.view;
        let iteration = match view.subject {
            Subject::Saved(iteration) => Some(iteration),
            _ => None,
        };
        view.kept.number = std::mem::take(&mut view.shown);
        view.kept.asked = std::mem::take(&mut view.asked);
        view.kept.label = label;
        // What a link says of the line is kept too.
        if view.elsewhere.is_none() {
            view.kept.share = 0.5;
        }
        view.kept.link = view
            .elsewhere
            .take()
            .or(run.zip(iteration).map(|(run, it)| format!("{run}@{it}")));
        view.subject = Subject::Nothing;
        if let Some(renderer) = &mut self.renderer {
            renderer.kept.model = renderer.model.take();
            renderer.kept.mesh = renderer.mesh.take();
            renderer.kept.background = view.look.background;
        }
        view.resort();
        self.touch();
        self.show_progress();
        self.subject_changed();
    }

    /// Lets go of what is kept; where nothing else is shown it is shown again.
    pub(super) fn let_go(&mut self) {
        let Some(renderer) = &mut self.renderer else {
            return;
        };
        let (model, mesh) = (renderer.kept.model.take(), renderer.kept.mesh.take());
        if let Some(model) = model {
            model.delete(&renderer.gl);
        }
        if let Some(mesh) = mesh {
            mesh.delete(&renderer.gl);
        }
        let view = &mut self.view;
        view.kept.number = 0;
        view.kept.link = None;
        view.dirty = true;
        self.touch();
        self.show_beside();
    }

    /// Lets go of what is kept, and shows the run's newest model where nothing else is shown.
    pub(super) fn release(&mut self) {
        self.let_go();
        if self.view.subject == Subject::Nothing {
            self.show_newest();
        }
        self.show_progress();
    }

    fn scene_label(&self) -> String {
        let renderer = self.renderer.as_ref();
        let mesh = renderer.and_then(|renderer| renderer.mesh.as_ref());
        // The run's own triangles are the model.
        let mesh = mesh.filter(|mesh| !mesh.of_run);
        let mesh = mesh.map(|mesh| format!("{} · {} triangles", self.view.mesh_name, count(mesh.n_triangles.into())));
        let model = (self.view.subject != Subject::Nothing).then(|| self.subject_text());
        let run = self
            .runs
            .first()
            .filter(|_| !matches!(self.view.subject, Subject::File(..)));
        let run = run
            .filter(|_| model.is_some())
            .map(|run| self.name_of(&run.path).to_owned());
        let named = self
            .view
            .elsewhere
            .clone()
            .map(|link| link.replace('@', " · iteration "));
        let parts = match named {
            Some(named) => vec![named],
            None => run.into_iter().chain(model).chain(mesh).collect(),
        };
        parts.join(" · ")
    }

    /// Draws the bar over the canvas anew.
    pub(super) fn show_beside(&self) {
        let there = self.kept_is_there();
        let renderer = self.renderer.as_ref();
        let shown = renderer.is_some_and(|renderer| renderer.model.is_some() || renderer.mesh.is_some());
        let kept = &self.view.kept;
        dom::show("beside-bar", there);
        dom::set_attribute("keep", "aria-pressed", &there.to_string());
        let both = there && shown;
        let wipe = both && kept.beside == Beside::Wipe;
        let only_kept = there && (!shown || kept.beside == Beside::Kept);
        dom::show("label-kept", wipe || only_kept);
        dom::show("label-shown", wipe);
        dom::show("beside-share", wipe || both && kept.beside == Beside::Difference);
        if !there {
            return;
        }
        let on = |each| each == if shown { kept.beside } else { Beside::Kept };
        let off = if shown { "" } else { " disabled" };
        let buttons = Beside::ALL.map(|(each, id, title)| button("beside", id, title, on(each), off));
        dom::set_html("beside", &buttons.concat());
        dom::set_text("label-kept", &kept.label);
        dom::set_text("label-shown", &self.scene_label());
        let about = if kept.beside == Beside::Difference {
            "Gain"
        } else {
            "Wipe"
        };
        dom::set_attribute("beside-share", "aria-label", about);
        if let Some(input) = dom::input_by_id("beside-share") {
            input.set_value(&format!("{:.0}", kept.share * 1000.0));
        }
    }

    pub(super) fn set_beside(&mut self, name: &str) {
        let kept = &mut self.view.kept;
        kept.beside = Beside::of_name(name);
        kept.share = 0.5;
        self.view.dirty = true;
        self.touch();
        self.show_beside();
    }

    /// The next way to share the canvas, for a key that goes round.
    pub(super) fn next_beside(&mut self) {
        let next = (self.view.kept.beside as usize + 1) % Beside::ALL.len();
        self.set_beside(Beside::ALL[next].1);
    }

    /// Takes the place of the line or the gain, 0 to 1000.
    pub(super) fn set_beside_share(&mut self, value: &str) {
        self.view.kept.share = crate::number::parse(value).unwrap_or(500.0) / 1000.0;
        self.view.dirty = true;
        self.touch();
    }

    /// Reads the model that a link wants kept, `RUN@ITERATION`; says whether there is one.
    pub(super) fn read_kept(&mut self) -> bool {
        let Some(link) = self.view.kept.wanted.take() else {
            return false;
        };
        let named = link.rsplit_once('@').and_then(|(run, iteration)| {
            let run = crate::run::safe_path(run)?;
            Some((run, iteration.parse::<u64>().ok()?))
        });
        let Some((run, iteration)) = named else {
            return false;
        };
        let name = format!("{run}/point_cloud/iteration_{iteration}/point_cloud.ply");
        let url = self.address.request(&name);
        self.view.elsewhere = Some(link);
        self.open_model(Source::Server {
            subject: Subject::Saved(iteration),
            name,
            url,
            bytes: 0,
        });
        true
    }
}
