//! From the bytes of a file to splats on the screen.

use wasm_bindgen_futures::spawn_local;
use web_sys::File;

use super::app::App;
use super::dom;
use super::model::GpuModel;
use super::net::NetError;
use super::streaming::Streamed;
use super::subject::Subject;
use super::surfaces;
use super::worker::{Failure, Outcome, Piece, Said};
use crate::framing::Sample;
use crate::html::count;
use crate::ply::{self, Model};

/// Above this many bytes the old model goes before the new one comes.
const BOTH_BYTES: u64 = 512 << 20;

/// Where a model comes from.
#[derive(Clone)]
pub(super) enum Source {
    /// A file of the server: what it is, its name for people and its address; bytes as the run states them, or 0.
    Server {
        subject: Subject,
        name: String,
        url: String,
        bytes: u64,
    },
    /// A file that was dropped or chosen, and what came with it.
    Local(File, Vec<File>),
}

impl Source {
    fn name(&self) -> String {
        match self {
            Self::Server { name, .. } => name.clone(),
            Self::Local(file, _) => file.name(),
        }
    }

    pub(super) fn subject(&self) -> Subject {
        match self {
            Self::Server { subject, .. } => subject.clone(),
            Self::Local(file, _) => Subject::File(file.name(), file.size() as u64),
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::Server { bytes, .. } => *bytes,
            Self::Local(file, _) => file.size() as u64,
        }
    }
}

impl App {
    /// Begins to read a model; one that is still being read is given up.
    pub(super) fn open_model(&mut self, source: Source) {
        let budget = self.budget();
        let view = &mut self.view;
        view.reading += 1;
        view.coming = source.subject();
        view.progress = Some(0.0);
        view.next_look = 0;
        view.began_ms = dom::now_ms();
        (view.first_frame_ms, view.loaded_ms) = (None, None);
        if let Some(worker) = &view.worker {
            let from = match &source {
                Source::Server { url, subject, .. } => Ok((url.as_str(), matches!(subject, Subject::Live(_)))),
                Source::Local(file, _) => Err(file),
            };
            let kept = [view.shown, view.kept.number];
            worker.read(view.reading, &source.name(), source.bytes(), from, &kept, budget);
        }
        view.source = Some(source);
        self.show_progress();
    }

    /// Takes what the worker says of a model.
    pub(super) fn hear(&mut self, number: u32, said: Said, share: Option<f64>) {
        if let (Said::Model(..) | Said::Piece(_), Some(worker)) = (&said, &self.view.worker) {
            worker.taken();
        }
        if let Said::Order { id, order, ms } = &said {
            self.take_order(number, *id, order, *ms);
            return;
        }
        if matches!(said, Said::Broke) {
            let why = "The worker that reads and sorts splats ended; reload the page, and open a model with fewer.";
            self.say("sort", why);
            return;
        }
        let is_read = number == self.view.reading && self.view.is_loading();
        // News of a streamed model have its progress.
        if is_read && share.is_some() {
            self.view.progress = share;
            self.show_progress();
        }
        match said {
            Said::News(news) => return self.take_news(number, news),
            Said::Lost(lost) => return self.take_lost(lost),
            _ if is_read => {}
            Said::Piece(piece) => return self.add_later(number, &piece),
            _ => return,
        }
        match said {
            Said::Model(model, finest) => {
                let begun = if self
                    .view
                    .source
                    .as_ref()
                    .is_some_and(|source| source.bytes() > ply::MAX_BYTES)
                {
                    Err(ply::too_large(self.view.source.as_ref().map_or(0, Source::bytes)))
                } else {
                    self.begin_model(model, finest)
                };
                if let Err(why) = begun {
                    if let Some(worker) = &self.view.worker {
                        worker.keep(&[self.view.shown, self.view.kept.number]);
                    }
                    self.finish_model(Err(why));
                }
            }
            Said::Piece(piece) => self.add_piece(&piece),
            Said::End(Ok(mut outcome)) => match (outcome.surface.take(), self.view.source.clone()) {
                (Some(surface), Some(source)) => {
                    // Models of the run are being read until they are on the screen.
                    if matches!(source, Source::Local(..)) {
                        self.end_reading();
                    }
                    spawn_local(async move {
                        let beside = match &source {
                            Source::Local(_, beside) => beside.as_slice(),
                            Source::Server { .. } => &[],
                        };
                        surfaces::show(number, &source.name(), surface, beside).await;
                    });
                }
                _ => self.finish_model(Ok(outcome)),
            },
            Said::End(Err(failure)) => self.finish_model(Err(match failure {
                Failure::Reason(reason) => reason,
                Failure::Status(0) => "the server does not answer".to_owned(),
                Failure::Status(404 | 410) => "the file is missing".to_owned(),
                Failure::Status(401 | 403) => NetError::Forbidden.about(""),
                Failure::Status(status) => format!("the server answers {status}"),
            })),
            _ => {}
        }
    }

    fn begin_model(&mut self, model: Model, finest: Option<u32>) -> Result<(), String> {
        let view = &mut self.view;
        let Some(renderer) = &mut self.renderer else {
            return Err("nothing can be drawn in this browser".to_owned());
        };
        if let Some(given_up) = view.incoming.take() {
            given_up.delete(&renderer.gl);
        }
        let there = [&renderer.model, &renderer.kept.model].into_iter().flatten();
        let held: u64 = there.map(|model| model.layout.gpu_bytes()).sum();
        let needed = crate::pack::Layout::new(model.count, model.degree).gpu_bytes();
        if held + needed > BOTH_BYTES
            && let Some(old) = renderer.model.take()
        {
            old.delete(&renderer.gl);
        }
        let mut fresh = GpuModel::new(&renderer.gl, view.reading, model)?;
        fresh.streamed = finest.map(|finest| Streamed {
            finest,
            ..Streamed::default()
        });
        (view.sample, view.framed_by) = (Sample::default(), 0);
        if let (Subject::Live(iteration), Some(stated)) = (&mut view.coming, model.iteration) {
            // The file may be newer than the word of it.
            *iteration = stated;
        }
        if renderer.model.as_ref().is_some_and(|old| old.loaded > 0) {
            view.incoming = Some(fresh);
        } else {
            if let Some(old) = renderer.model.replace(fresh) {
                old.delete(&renderer.gl);
            }
            view.shown = view.reading;
            view.subject = view.coming.clone();
        }
        Ok(())
    }

    fn add_piece(&mut self, piece: &Piece) {
        let Some(renderer) = &mut self.renderer else {
            return;
        };
        self.view.sample.add(&piece.sample);
        let slot = self.view.incoming.as_mut().or(renderer.model.as_mut());
        let Some(model) = slot else {
            return;
        };
        model.upload(&renderer.gl, piece);
        // Each picture on the way shows twice what the last one did, so that drawing never outweighs reading.
        let (loaded, streams) = (model.loaded, model.streamed.is_some());
        if loaded >= self.view.next_look {
            self.view.next_look = loaded.saturating_mul(2);
            self.view.resort();
        }
        // What is on the screen stays where it is until the next model is whole.
        if streams && self.view.incoming.is_none() && self.view.framed_by == 0 {
            self.frame_model();
        }
    }

    /// What was read is no model: the one on the screen stays.
    fn end_reading(&mut self) {
        self.view.progress = None;
        self.view.coming = self.view.subject.clone();
        self.show_progress();
    }

    fn finish_model(&mut self, result: Result<Outcome, String>) {
        let name = self.view.source.as_ref().map_or(String::new(), Source::name);
        let is_there = result.is_ok();
        self.view.progress = None;
        match result {
            Ok(outcome) => {
                self.drop_run_mesh();
                self.view.loaded_ms = Some(dom::now_ms() - self.view.began_ms);
                self.view.skipped = outcome.skipped;
                // One that was framed already may have been left since.
                if self.view.framed_by != self.view.sample.len() {
                    self.frame_model();
                }
                self.unsay("model");
                let mut remarks = Vec::new();
                remarks.extend(outcome.warning);
                if outcome.skipped > 0 {
                    let text = match outcome.skipped {
                        1 => "1 splat holds a value that is no number and is left out".to_owned(),
                        n => format!(
                            "{} splats hold values that are no numbers and are left out",
                            count(f64::from(n))
                        ),
                    };
                    remarks.push(text);
                }
                if outcome.splats == 0 {
                    remarks.push("the model has no splats, so there is nothing to see".to_owned());
                }
                if !remarks.is_empty() {
                    self.say("model", &format!("{name}: {}.", remarks.join("; ")));
                }
                self.view.resort();
            }
            // The run has just ended and took its snapshot along: its last model is on the way.
            Err(_) if matches!(self.view.coming, Subject::Live(_)) => self.give_up_model(),
            Err(why) => {
                self.give_up_model();
                self.say("model", &format!("{name}: {why}."));
            }
        }
        self.model_ended(is_there);
    }

    /// A model is on the screen, or does not come.
    pub(super) fn model_ended(&mut self, is_there: bool) {
        self.show_progress();
        self.subject_changed();
        if self.view.elsewhere.is_some() {
            // The model that a link wants kept; then comes what it wants shown.
            if is_there {
                self.keep_scene();
            }
            self.view.elsewhere = None;
            self.show_first_model();
        }
    }

    /// What could not be read leaves the model on the screen as it was.
    fn give_up_model(&mut self) {
        if let (Some(model), Some(renderer)) = (self.view.incoming.take(), &self.renderer) {
            model.delete(&renderer.gl);
        }
        self.view.coming = self.view.subject.clone();
    }

    pub(super) fn show_progress(&mut self) {
        dom::show("progress", self.view.is_loading());
        let share = self.view.progress.unwrap_or(0.0);
        dom::style("progress-bar", "width", &format!("{:.1}%", share * 100.0));
        let nothing = self
            .renderer
            .as_ref()
            .is_none_or(|renderer| renderer.model.is_none() && renderer.mesh.is_none() && !renderer.kept.is_there());
        let waits = self.runs.first().is_some_and(|run| run.info.is_running());
        dom::show("empty", nothing && !self.view.is_loading());
        dom::show("choose", !waits);
        dom::show("waiting", waits);
    }
}
