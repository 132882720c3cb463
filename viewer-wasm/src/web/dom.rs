//! Thin words for the document.

use wasm_bindgen::prelude::*;
use web_sys::{
    Document, Element, EventTarget, HtmlCanvasElement, HtmlElement, HtmlImageElement, HtmlInputElement, Window,
};

/// The window; a page always has one.
pub(super) fn window() -> Option<Window> {
    web_sys::window()
}

pub(super) fn document() -> Option<Document> {
    window()?.document()
}

pub(super) fn by_id(id: &str) -> Option<Element> {
    document()?.get_element_by_id(id)
}

pub(super) fn html_by_id(id: &str) -> Option<HtmlElement> {
    by_id(id)?.dyn_into().ok()
}

pub(super) fn input_by_id(id: &str) -> Option<HtmlInputElement> {
    by_id(id)?.dyn_into().ok()
}

/// Replaces what an element holds; leaves it alone when it is the same, so that nothing flickers. The focus stays with
/// the button of the same action and value.
pub(super) fn set_html(id: &str, html: &str) {
    let Some(element) = by_id(id).filter(|element| element.inner_html() != html) else {
        return;
    };
    let focused = document().and_then(|document| document.active_element());
    let focused = focused.filter(|focused| element.contains(Some(focused)));
    element.set_inner_html(html);
    let Some(focused) = focused else {
        return;
    };
    let named = |each: &Element| ["data-act", "data-value"].map(|name| each.get_attribute(name));
    let Ok(buttons) = element.query_selector_all("button") else {
        return;
    };
    let same = (0..buttons.length())
        .filter_map(|at| buttons.item(at)?.dyn_into::<HtmlElement>().ok())
        .find(|each| named(each) == named(&focused));
    if let Some(same) = same {
        let _ = same.focus();
    }
}

pub(super) fn set_text(id: &str, text: &str) {
    if let Some(element) = by_id(id)
        && element.text_content().as_deref() != Some(text)
    {
        element.set_text_content(Some(text));
    }
}

/// Chooses an entry of a list.
pub(super) fn select(id: &str, value: &str) {
    if let Some(list) = by_id(id).and_then(|list| list.dyn_into::<web_sys::HtmlSelectElement>().ok()) {
        list.set_value(value);
    }
}

/// Sets an attribute; leaves it alone when it is the same.
pub(super) fn set_attribute(id: &str, name: &str, value: &str) {
    if let Some(element) = by_id(id)
        && element.get_attribute(name).as_deref() != Some(value)
    {
        let _ = element.set_attribute(name, value);
    }
}

pub(super) fn show(id: &str, visible: bool) {
    if let Some(element) = by_id(id) {
        let _ = element.toggle_attribute_with_force("hidden", !visible);
    }
}

/// Sets a style by script, which a strict content policy allows.
pub(super) fn style(id: &str, property: &str, value: &str) {
    if let Some(element) = html_by_id(id) {
        let _ = element.style().set_property(property, value);
    }
}

/// Listens for as long as the page lives.
pub(super) fn on<E: JsCast + 'static>(target: &EventTarget, event: &str, mut act: impl FnMut(E) + 'static) {
    let closure = Closure::<dyn FnMut(web_sys::Event)>::new(move |event: web_sys::Event| {
        if let Ok(event) = event.dyn_into::<E>() {
            act(event);
        }
    });
    let options = web_sys::AddEventListenerOptions::new();
    options.set_passive(false);
    let function = closure.as_ref().unchecked_ref();
    let _ = target.add_event_listener_with_callback_and_add_event_listener_options(event, function, &options);
    closure.forget();
}

/// Whether what has the focus is meant by a selector.
pub(super) fn is_focused(selector: &str) -> bool {
    let focused = document().and_then(|document| document.active_element());
    focused.is_some_and(|focused| focused.matches(selector).unwrap_or(false))
}

/// Milliseconds since the page began.
pub(super) fn now_ms() -> f64 {
    window().and_then(|w| w.performance()).map_or(0.0, |p| p.now())
}

fn is_media(query: &str) -> bool {
    let query = window().and_then(|window| window.match_media(query).ok().flatten());
    query.is_some_and(|query| query.matches())
}

/// Whether the reader prefers things not to move.
pub(super) fn calm() -> bool {
    is_media("(prefers-reduced-motion: reduce)")
}

/// Whether the page has one column, as the style sheet says.
pub(super) fn is_narrow() -> bool {
    is_media("(max-width: 760px)")
}

/// Whether fingers point at the page, as on phones.
pub(super) fn is_handheld() -> bool {
    is_media("(pointer: coarse)")
}

/// Whether the reader's other programs are dark.
pub(super) fn is_dark() -> bool {
    is_media("(prefers-color-scheme: dark)")
}

/// An image drawn into a square canvas.
pub(super) fn shrunk(image: &HtmlImageElement, side: u32) -> Result<HtmlCanvasElement, String> {
    let missing = || "the browser gave no canvas".to_owned();
    let canvas = document()
        .and_then(|d| d.create_element("canvas").ok())
        .ok_or_else(missing)?;
    let canvas: HtmlCanvasElement = canvas.dyn_into().map_err(|_| missing())?;
    canvas.set_width(side);
    canvas.set_height(side);
    let context = canvas.get_context("2d").ok().flatten().ok_or_else(missing)?;
    let context: web_sys::CanvasRenderingContext2d = context.dyn_into().map_err(|_| missing())?;
    let side = f64::from(side);
    let drawn = context.draw_image_with_html_image_element_and_dw_and_dh(image, 0.0, 0.0, side, side);
    drawn.map_err(|_| "a photograph could not be drawn".to_owned())?;
    Ok(canvas)
}

/// Hands a file to the reader's downloads.
pub(super) fn save(name: &str, url: &str) {
    let link = document().and_then(|d| d.create_element("a").ok());
    if let Some(link) = link.and_then(|link| link.dyn_into::<web_sys::HtmlAnchorElement>().ok()) {
        link.set_href(url);
        link.set_download(name);
        link.click();
    }
}
