//! From the bytes of a file to splats on the screen.

use wasm_bindgen_futures::spawn_local;
use web_sys::File;

use super::app::{App, with};
use super::dom;
use super::model::GpuModel;
use super::net::{ByteStream, NetError};
use super::subject::Subject;
use super::surfaces;
use crate::formats::Reader;
use crate::framing::Sample;
use crate::html::count;
use crate::ply::{self, Batch, Model};
use crate::surface::Surface;

/// Above this many bytes the old model goes before the new one comes.
const BOTH_BYTES: u64 = 512 << 20;

/// Where a model comes from.
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

    fn subject(&self) -> Subject {
        match self {
            Self::Server { subject, .. } => subject.clone(),
            Self::Local(file, _) => Subject::File(file.name(), file.size() as u64),
        }
    }

    async fn open(&self) -> Result<ByteStream, NetError> {
        match self {
            Self::Server { url, subject, .. } => ByteStream::open(url, matches!(subject, Subject::Live(_))).await,
            Self::Local(file, _) => ByteStream::of_file(file).await,
        }
    }
}

impl App {
    /// Begins to read a model; one that is still being read is given up.
    pub(super) fn open_model(&mut self, source: Source) {
        self.view.reading += 1;
        self.view.coming = source.subject();
        self.view.progress = Some(0.0);
        self.view.next_look = 0;
        self.view.began_ms = dom::now_ms();
        (self.view.first_frame_ms, self.view.loaded_ms) = (None, None);
        self.show_progress();
        let generation = self.view.reading;
        spawn_local(async move {
            let name = source.name();
            let mut result = read(generation, &source).await;
            let surface = result.as_mut().ok().and_then(|outcome| outcome.surface.take());
            if let Some(surface) = surface {
                with(|app| app.end_reading(generation));
                let beside = match &source {
                    Source::Local(_, beside) => beside.as_slice(),
                    Source::Server { .. } => &[],
                };
                surfaces::show(generation, &name, surface, beside).await;
            } else {
                with(|app| app.finish_model(generation, &name, result));
            }
        });
    }

    fn begin_model(&mut self, model: Model) -> Result<(), String> {
        let view = &mut self.view;
        let Some(renderer) = &mut self.renderer else {
            return Err("nothing can be drawn in this browser".to_owned());
        };
        if let Some(given_up) = view.incoming.take() {
            given_up.delete(&renderer.gl);
        }
        let held = renderer.model.as_ref().map_or(0, |old| old.layout.gpu_bytes());
        let needed = crate::pack::Layout::new(model.count, model.degree).gpu_bytes();
        if held + needed > BOTH_BYTES
            && let Some(old) = renderer.model.take()
        {
            old.delete(&renderer.gl);
        }
        let fresh = GpuModel::new(&renderer.gl, model)?;
        view.sample = Sample::new(model.count);
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
        if let Some(sorter) = &view.sorter {
            sorter.begin(view.reading, model.count, view.shown);
        }
        Ok(())
    }

    fn add_batch(&mut self, batch: &Batch) {
        let Some(renderer) = &mut self.renderer else {
            return;
        };
        self.view.sample.add(&batch.positions);
        let slot = self.view.incoming.as_mut().or(renderer.model.as_mut());
        if let Some(model) = slot {
            model.upload(&renderer.gl, batch);
        }
        if let Some(sorter) = &self.view.sorter
            && !batch.positions.is_empty()
        {
            sorter.add(self.view.reading, &batch.positions);
        }
        // Each picture on the way shows twice what the last one did, so that drawing never outweighs reading.
        let loaded = batch.first + batch.len() as u32;
        if loaded >= self.view.next_look {
            self.view.next_look = loaded.saturating_mul(2);
            self.view.resort();
        }
    }

    /// What was read is no model: the one on the screen stays.
    fn end_reading(&mut self, generation: u32) {
        if generation == self.view.reading {
            self.view.progress = None;
            self.view.coming = self.view.subject.clone();
            self.show_progress();
        }
    }

    fn finish_model(&mut self, generation: u32, name: &str, result: Result<Outcome, String>) {
        if generation != self.view.reading {
            return;
        }
        self.view.progress = None;
        match result {
            Ok(outcome) => {
                self.view.loaded_ms = Some(dom::now_ms() - self.view.began_ms);
                self.view.skipped = outcome.skipped;
                self.frame_model();
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
        self.show_progress();
        self.subject_changed();
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
            .is_none_or(|renderer| renderer.model.is_none() && renderer.mesh.is_none());
        let waits = self.runs.first().is_some_and(|run| run.info.is_running());
        dom::show("empty", nothing && !self.view.is_loading());
        dom::show("choose", !waits);
        dom::show("waiting", waits);
    }
}

struct Outcome {
    splats: u32,
    skipped: u32,
    warning: Option<String>,
    surface: Option<Surface>,
}

async fn read(generation: u32, source: &Source) -> Result<Outcome, String> {
    let current = || with(|app| app.view.reading == generation).unwrap_or(true);
    let stated = match source {
        Source::Server { bytes, .. } => *bytes,
        Source::Local(file, _) => file.size() as u64,
    };
    if stated > ply::MAX_BYTES {
        return Err(ply::too_large(stated));
    }
    let plain = |error: NetError| match error {
        NetError::Absent => "the file is missing".to_owned(),
        NetError::Forbidden => error.about(""),
        NetError::Silent => "the server does not answer".to_owned(),
        NetError::Other(what) => what,
    };
    let stream = source.open().await.map_err(plain)?;
    let total = stream.total.unwrap_or(stated);
    let mut reader = Reader::new(&source.name());
    let mut begun = false;
    let mut got = 0_u64;
    while let Some(piece) = stream.next().await.map_err(plain)? {
        got += piece.len() as u64;
        if got > ply::MAX_BYTES || !current() {
            stream.cancel();
            return Err(ply::too_large(got));
        }
        if let Err(why) = reader.push(&piece) {
            stream.cancel();
            return Err(why);
        }
        take_ready(&mut reader, &mut begun)?;
        with(|app| {
            app.view.progress = Some(if total > 0 {
                (got as f64 / total as f64).min(1.0)
            } else {
                0.5
            });
            app.show_progress();
        });
    }
    let warning = reader.finish()?;
    if current() {
        take_ready(&mut reader, &mut begun)?;
    }
    Ok(Outcome {
        splats: reader.len(),
        skipped: reader.skipped(),
        warning,
        surface: reader.take_surface(),
    })
}

/// Hands on what was read, after the model it belongs to.
fn take_ready(reader: &mut Reader, begun: &mut bool) -> Result<(), String> {
    let Some(model) = reader.model() else {
        return Ok(());
    };
    if !std::mem::replace(begun, true) {
        with(|app| app.begin_model(model)).unwrap_or(Ok(()))?;
    }
    let ready = reader.take_ready();
    with(|app| ready.iter().for_each(|batch| app.add_batch(batch)));
    Ok(())
}
