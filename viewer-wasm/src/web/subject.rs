//! What the model on the screen is: numbers beside it are those of the same iteration, or none.

use wasm_bindgen_futures::spawn_local;

use super::app::App;
use super::loading::Source;
use super::runs::read_evaluation;
use crate::html::{bytes, count};
use crate::run::evaluation::Evaluation;
use crate::run::part_title;

/// A model and where it comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Subject {
    #[default]
    Nothing,
    /// Saved by the run at an iteration.
    Saved(u64),
    /// The snapshot that a run renews while it trains, of an iteration.
    Live(u64),
    /// The points that the run began with.
    Input,
    /// What a stage of the run made, by its path in the run folder.
    Part(String),
    /// A file of the reader: name and bytes.
    File(String, u64),
}

impl Subject {
    pub(super) fn iteration(&self) -> Option<u64> {
        match self {
            Self::Saved(iteration) | Self::Live(iteration) => Some(*iteration),
            Self::Input => Some(0),
            Self::Nothing | Self::Part(_) | Self::File(..) => None,
        }
    }

    /// One word for scripts.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Saved(_) => "saved",
            Self::Live(_) => "live",
            Self::Input => "input",
            Self::Part(_) => "part",
            Self::File(..) => "file",
        }
    }
}

impl App {
    /// The evaluation of the model on the screen, when there is one and it was read.
    pub(super) fn evaluation_shown(&self) -> Option<&Evaluation> {
        let Subject::Saved(iteration) = self.view.subject else {
            return None;
        };
        self.runs.first()?.evaluation(iteration)
    }

    /// What is on the screen, for people.
    pub(super) fn subject_text(&self) -> String {
        let model = self.renderer.as_ref().and_then(|renderer| renderer.model.as_ref());
        let loaded = model.map_or(0, |model| {
            model.streamed.map_or(model.loaded, |streamed| streamed.finest)
        });
        let mesh = self.renderer.as_ref().and_then(|renderer| renderer.mesh.as_ref());
        // What the run has made, in its own word.
        let (loaded, word) = match (model, mesh) {
            (None, Some(mesh)) => (mesh.n_triangles, "triangles"),
            _ => (loaded, "splats"),
        };
        let loaded = count(f64::from(loaded));
        let run = self.runs.first();
        match &self.view.subject {
            Subject::Nothing => "nothing yet".to_owned(),
            Subject::Saved(iteration) => {
                let ply = run.and_then(|run| run.info.plys.iter().find(|ply| ply.iteration == *iteration));
                let size = ply.map_or(String::new(), |ply| format!(" · {}", bytes(ply.bytes as f64)));
                // A model that no run trained has a name only.
                match ply.filter(|_| run.is_some_and(|run| run.info.total == 0)) {
                    Some(ply) => format!("{} · {loaded} {word}{size}", ply.path),
                    None => format!("iteration {iteration} · {loaded} {word}{size}"),
                }
            }
            Subject::Live(iteration) => {
                let live = run
                    .and_then(|run| run.metrics.live)
                    .filter(|live| live.gaussians > live.kept);
                let of = live.map_or(String::new(), |live| format!(" of {}", count(live.gaussians)));
                format!("iteration {iteration}, live · {loaded}{of} {word}")
            }
            Subject::Input => format!("{loaded} points to begin with"),
            Subject::Part(path) => format!("{} · {loaded} {word}", part_title(path)),
            Subject::File(name, size) => format!("{name} · {loaded} {word} · {}", bytes(*size as f64)),
        }
    }

    /// Another model has come onto the screen.
    pub(super) fn subject_changed(&mut self) {
        if let (Subject::Saved(iteration), Some(run)) = (&self.view.subject, self.runs.first()) {
            let known = run.info.evals.iter().any(|(it, _)| it == iteration);
            if known && run.evaluation(*iteration).is_none() {
                spawn_local(read_evaluation(run.path.clone(), Some(*iteration)));
            }
        }
        self.set_frusta();
        self.show_side();
        self.show_evaluation();
    }

    /// The newest that the run has to show: a saved model, the snapshot of its training, or what it began with.
    fn newest(&self) -> Option<Subject> {
        let run = self.runs.first()?;
        let saved = run.info.plys.last().map(|ply| ply.iteration);
        // A run that has ended took its snapshot along.
        let live = run
            .metrics
            .live
            .filter(|_| run.info.is_running())
            .map(|live| live.it as u64);
        match (saved, live) {
            (Some(saved), live) if live.is_none_or(|live| live <= saved) => Some(Subject::Saved(saved)),
            (_, Some(live)) => Some(Subject::Live(live)),
            _ => run.info.has_input.then_some(Subject::Input),
        }
    }

    /// Whether the model on the screen, or on its way there, is the newest.
    pub(super) fn is_newest(&self) -> bool {
        let now = if self.view.is_loading() {
            &self.view.coming
        } else {
            &self.view.subject
        };
        self.newest().is_none_or(|newest| newest == *now)
    }

    /// Shows the newest, unless it is shown or being read.
    pub(super) fn show_newest(&mut self) {
        // A snapshot on a slow way is waited for: the next one is newer still.
        let on_its_way = self.view.is_loading() && matches!(self.view.coming, Subject::Live(_));
        match self.newest() {
            Some(Subject::Live(_)) if on_its_way => {}
            Some(subject) if !self.is_newest() => self.show_subject(subject),
            _ => {}
        }
    }

    /// Begins to read a model of the run.
    pub(super) fn show_subject(&mut self, subject: Subject) {
        let Some(run) = self.runs.first() else {
            return;
        };
        let (file, size) = match &subject {
            Subject::Saved(iteration) => match run.info.plys.iter().find(|ply| ply.iteration == *iteration) {
                Some(ply) => (ply.path.clone(), ply.bytes),
                None => return,
            },
            Subject::Live(_) => ("live.ply".to_owned(), 0),
            Subject::Input => ("input.ply".to_owned(), 0),
            Subject::Part(path) => (path.clone(), 0),
            Subject::Nothing | Subject::File(..) => return,
        };
        let url = self.address.request(&format!("{}/{file}", run.path));
        self.address.iteration = match subject {
            Subject::Saved(iteration) if !self.follows() => Some(iteration),
            _ => None,
        };
        self.sync_address();
        self.open_model(Source::Server {
            subject,
            name: file,
            url,
            bytes: size,
        });
    }

    /// Whether the newest model is shown as it comes.
    pub(super) fn follows(&self) -> bool {
        self.view.follow && self.runs.first().is_some_and(|run| run.info.is_running())
    }

    /// Stays with the model that the reader picked, or goes with the run again.
    pub(super) fn set_follow(&mut self, on: bool) {
        self.view.follow = on;
        if on {
            self.address.iteration = None;
            self.sync_address();
            self.show_newest();
        } else if let Subject::Saved(iteration) = self.view.subject {
            self.address.iteration = Some(iteration);
            self.sync_address();
        }
        self.show_side();
    }
}
