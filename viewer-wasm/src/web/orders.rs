//! The order that splats are drawn in: asked of the worker for a camera, and taken when it comes.

use js_sys::{Function, Object, Promise, Reflect, Uint32Array};
use wasm_bindgen::prelude::*;

use super::app::{App, with};
use super::renderer::{Look, Shot};
use crate::style::Style;

/// A picture that is waited for.
pub(super) struct Order {
    sort: u32,
    shot: Shot,
    pub(super) done: Box<dyn FnOnce(Result<JsValue, JsValue>)>,
}

/// The order that was asked for last: for which camera, lens and size of splats, and the number it will carry.
#[derive(Default)]
pub(super) struct Asked {
    of: Option<(Shot, f32)>,
    waits: Option<u32>,
}

impl Asked {
    /// Has the order made again, as after new splats.
    pub(super) fn forget(&mut self) {
        self.of = None;
    }

    /// An order is on its way.
    pub(super) fn is_expected(&self) -> bool {
        self.waits.is_some()
    }

    /// Whether another order is needed for a camera.
    fn is_stale(&self, shot: &Shot, scale: f32, reach: f32) -> bool {
        let serves = |(of, of_scale): &(Shot, f32)| {
            !of.pose.differs(&shot.pose, reach) && of.lens == shot.lens && *of_scale == scale
        };
        self.waits.is_none() && !self.of.as_ref().is_some_and(serves)
    }
}

impl App {
    pub(super) fn ask_for_order(&mut self) {
        let Some(shot) = self.shot() else {
            return;
        };
        let view = &mut self.view;
        let (reach, scale) = (view.navigator.reach(), view.look.scale.max(1.0));
        let model = if view.incoming.is_some() {
            view.reading
        } else {
            view.shown
        };
        let Some(worker) = &mut view.worker else {
            return;
        };
        for (number, asked) in [(model, &mut view.asked), (view.kept.number, &mut view.kept.asked)] {
            if number > 0 && asked.is_stale(&shot, scale, reach) {
                asked.waits = Some(worker.sort(number, &shot.pose.sight(&shot.lens, scale)));
                asked.of = Some((shot, scale));
            }
        }
    }

    /// Takes an order that the worker made for a model.
    pub(super) fn take_order(&mut self, number: u32, id: u32, order: &Uint32Array, ms: f64) {
        let view = &mut self.view;
        for asked in [&mut view.asked, &mut view.kept.asked] {
            if asked.waits == Some(id) {
                asked.waits = None;
            }
        }
        view.sorts += 1;
        view.sort_ms = Some(ms);
        let mut replaced = false;
        let Some(renderer) = &mut self.renderer else {
            return;
        };
        if number == view.kept.number {
            if let Some(model) = &mut renderer.kept.model {
                model.set_order(&renderer.gl, order);
                view.dirty = true;
            }
            return;
        }
        if number == view.reading
            && !view.is_loading()
            && let Some(model) = view.incoming.take()
        {
            // The next model is whole and in order: it takes the place of the last.
            if let Some(old) = renderer.model.replace(model) {
                old.delete(&renderer.gl);
            }
            view.shown = view.reading;
            view.subject = view.coming.clone();
            replaced = true;
        }
        if number != view.shown {
            // Nothing on the screen has changed.
            view.asked.forget();
            return;
        }
        if let Some(model) = &mut renderer.model {
            model.set_order(&renderer.gl, order);
            view.pace.order_came();
            view.dirty = true;
        }
        let waiting = std::mem::take(&mut view.orders);
        let (ready, later): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|order| order.sort <= id);
        view.orders = later;
        view.strayed = !ready.is_empty();
        for order in ready {
            let look = Look {
                scale: 1.0,
                style: Style::Splats,
                ..view.look
            };
            let picture = renderer.picture(&order.shot, &look);
            let result = picture.map_err(|why| JsValue::from_str(&why)).map(|rgba| {
                let out = Object::new();
                let size = order.shot.lens.size;
                for (key, value) in [
                    ("width", size[0].into()),
                    ("height", size[1].into()),
                    ("rgba", rgba.into()),
                ] {
                    let _ = Reflect::set(&out, &key.into(), &value);
                }
                out.into()
            });
            (order.done)(result);
            view.resort();
        }
        if replaced {
            self.subject_changed();
        }
    }

    /// Draws a picture as soon as an order for its camera is there.
    pub(super) fn order_picture(&mut self, shot: Shot, done: Box<dyn FnOnce(Result<JsValue, JsValue>)>) {
        let view = &mut self.view;
        match &mut view.worker {
            Some(worker) if view.shown > 0 && view.incoming.is_none() => {
                let sort = worker.sort(view.shown, &shot.pose.sight(&shot.lens, 1.0));
                view.orders.push(Order { sort, shot, done });
            }
            _ => done(Err("no model is on the screen yet".into())),
        }
    }
}

/// See [`super::picture`].
pub(super) fn picture_promise(name: &str) -> Promise {
    Promise::new(&mut |resolve: Function, reject: Function| {
        let absent = reject.clone();
        let done = Box::new(move |result: Result<JsValue, JsValue>| {
            let _ = match result {
                Ok(value) => resolve.call1(&JsValue::NULL, &value),
                Err(why) => reject.call1(&JsValue::NULL, &why),
            };
        });
        let ordered = with(|app| {
            let camera = app.camera(name)?;
            let shot = Shot {
                pose: camera.pose,
                lens: camera.lens,
            };
            app.order_picture(shot, done);
            Some(())
        });
        if ordered.flatten().is_none() {
            let why = format!("the run has no camera `{name}`");
            let _ = absent.call1(&JsValue::NULL, &why.into());
        }
    })
}
