//! The metrics tab: charts with a shared pointer and zoom, tables below.

use std::cell::RefCell;

use web_sys::{Element, MouseEvent, PointerEvent};

use super::app::{App, with};
use super::dom;
use crate::address::{Address, Tab};
use crate::chart::board::{Chart, MarkKind, Source, board, marks};
use crate::chart::svg::{Drawn, Window, cursor, draw, extent, values_at};
use crate::html::{count, escape};
use crate::report;

/// Most runs that have a button each.
const MOST_BUTTONS: usize = 6;
/// Height of a chart, pixels.
const HEIGHT: f64 = 224.0;

/// What the reader chose, and what is drawn.
#[derive(Default)]
pub(super) struct Curves {
    smoothing: f64,
    zoom: Option<[f64; 2]>,
    /// Charts with a logarithmic axis.
    log: Vec<String>,
    charts: Vec<Chart>,
    drawn: Vec<Drawn>,
    listening: bool,
}

thread_local! {
    /// Where a drag over a chart began, in pixels of the chart.
    static BRUSH: RefCell<Option<f64>> = const { RefCell::new(None) };
}

impl Curves {
    /// Sets up what the address says.
    pub(super) fn restore(&mut self, address: &Address) {
        self.smoothing = address.number("smooth").map_or(0.0, |share| share.clamp(0.0, 0.98));
        if let Some(input) = dom::input_by_id("smooth") {
            input.set_value(&self.smoothing.to_string());
        }
        dom::set_text("smooth-value", &format!("{:.2}", self.smoothing));
        let logs = address.look("log").unwrap_or_default().split(',');
        self.log = logs.filter(|id| !id.is_empty()).map(str::to_owned).collect();
        let ends = address.look("span").and_then(|span| span.split_once(','));
        let ends = ends.and_then(|(from, to)| Some([crate::number::parse(from)?, crate::number::parse(to)?]));
        self.zoom = ends.filter(|[from, to]| from.is_finite() && to.is_finite() && to - from >= 1.0);
    }

    /// What the address is to say.
    pub(super) fn looks(&self, add: &mut impl FnMut(&'static str, String, bool)) {
        add("smooth", format!("{:.2}", self.smoothing), self.smoothing > 0.0);
        add("log", self.log.join(","), !self.log.is_empty());
        let [from, to] = self.zoom.unwrap_or_default();
        add("span", format!("{from:.0},{to:.0}"), self.zoom.is_some());
    }

    /// What stays when another run is shown.
    pub(super) fn of_another_run(&self) -> Self {
        Self {
            smoothing: self.smoothing,
            log: self.log.clone(),
            listening: self.listening,
            ..Self::default()
        }
    }
}

impl App {
    fn sources(&self) -> Vec<Source<'_>> {
        self.runs
            .iter()
            .map(|run| Source {
                name: self.name_of(&run.path),
                color: run.color,
                metrics: &run.metrics,
                memory: &run.memory,
                config: &run.config,
            })
            .collect()
    }

    /// Draws the tab anew when it is in front.
    pub(super) fn draw_charts(&mut self) {
        // What is being marked stays under the pointer.
        if self.address.tab != Tab::Metrics || BRUSH.with_borrow(Option::is_some) {
            return;
        }
        let sources = self.sources();
        let charts = board(&sources, self.curves.smoothing);
        let marks = sources.first().map_or(Vec::new(), |run| marks(run.metrics));
        let width = dom::by_id("charts").map_or(1000.0, |element| f64::from(element.client_width()));
        let columns = (width / 420.0).floor().clamp(1.0, 4.0);
        let each = ((width - (columns - 1.0) * 28.0) / columns).floor().max(240.0);
        dom::style("charts", "--columns", &columns.to_string());
        let extent = extent(&charts);
        let mut html = String::new();
        let mut drawn = Vec::new();
        let (charts, empty): (Vec<_>, Vec<_>) = charts.into_iter().partition(|chart| !chart.is_empty());
        for (index, chart) in charts.iter().enumerate() {
            let log = self.curves.log.iter().any(|id| id == chart.id);
            let window = Window {
                size: [each, HEIGHT],
                zoom: self.curves.zoom,
                log,
            };
            let one = draw(chart, &marks, extent, &window);
            html += &figure(chart, index, log, &one.svg);
            drawn.push(one);
        }
        if !empty.is_empty() && !charts.is_empty() {
            let names: Vec<_> = empty.iter().map(|chart| chart.title).collect();
            html += &format!("<p class=\"faint none\">Not recorded: {}.</p>", names.join(", "));
        }
        if charts.is_empty() && !sources.is_empty() {
            html = "<p class=\"faint none\">No measurements yet.</p>".to_owned();
        }
        let shown: Vec<_> = [
            MarkKind::Densify,
            MarkKind::Reset,
            MarkKind::Evaluation,
            MarkKind::Warning,
        ]
        .into_iter()
        .chain(
            marks
                .iter()
                .map(|mark| mark.kind)
                .filter(|kind| matches!(kind, MarkKind::Capped(_))),
        )
        .filter(|kind| marks.iter().any(|mark| mark.kind == *kind))
        .map(legend)
        .collect();
        let figures = report::figures(&sources);
        let warnings = report::warnings(&sources);
        let leaves =
            |of: fn(&super::runs::Run) -> &crate::run::config::Leaves| self.runs.iter().map(of).collect::<Vec<_>>();
        let config = report::comparison(&sources, &leaves(|run| &run.config));
        let env = report::comparison(&sources, &leaves(|run| &run.env));
        let what = if sources.len() > 1 { "differences" } else { "values" };
        let tables = if sources.is_empty() {
            "<p class=\"faint none\">No run is open.</p>".to_owned()
        } else {
            format!(
                "<section><h2>Figures</h2><div class=\"scroll\">{figures}</div></section><section>{warnings}</section>\
             <section><h2>Configuration <small>{what}</small></h2><div class=\"scroll\">{config}</div></section>\
             <section><h2>Environment <small>{what}</small></h2><div class=\"scroll\">{env}</div></section>"
            )
        };
        let ended = self.runs.iter().filter_map(|run| {
            let name = (self.runs.len() > 1).then(|| format!("{} ", escape(self.name_of(&run.path))));
            Some(format!("<p>{}{}</p>", name.unwrap_or_default(), run.ending()?))
        });
        dom::set_html("ended", &ended.collect::<String>());
        dom::set_html("charts", &html);
        dom::set_html("marks", &shown.concat());
        dom::set_html("tables", &tables);
        dom::set_html("overlays", &self.overlay_buttons());
        dom::show("zoom-out", self.curves.zoom.is_some());
        self.curves.charts = charts;
        self.curves.drawn = drawn;
        self.show_values(None);
        if !std::mem::replace(&mut self.curves.listening, true) {
            listen();
        }
    }

    /// A button for each other run that can be laid over, or for those that are when there are many.
    fn overlay_buttons(&self) -> String {
        let Some(first) = self.runs.first() else {
            return String::new();
        };
        let button = |path: &String| {
            let at = self.runs.iter().find(|run| run.path == *path).map(|run| run.color);
            let key = at.map_or(String::new(), |color| format!("<i class=\"key run{color}\"></i>"));
            format!(
                "<button type=\"button\" data-act=\"overlay\" data-value=\"{}\" aria-pressed=\"{}\">{key}{}</button>",
                escape(path),
                at.is_some(),
                escape(self.name_of(path))
            )
        };
        let open = self.runs.iter().map(|run| &run.path);
        let many = self.index.len() > MOST_BUTTONS;
        let listed = self
            .index
            .iter()
            .filter(|path| !many && self.runs.iter().all(|run| run.path != **path));
        let others = open.chain(listed).filter(|path| **path != first.path);
        let mut buttons: String = others.map(button).collect();
        if many {
            buttons += "<button type=\"button\" data-act=\"tab\" data-value=\"runs\">Choose…</button>";
        }
        if buttons.is_empty() {
            buttons
        } else {
            format!("<span class=\"faint\">Compare with</span>{buttons}")
        }
    }

    /// Writes each curve's value at an iteration, or its last, beside its name.
    fn show_values(&self, it: Option<f64>) {
        for (index, chart) in self.curves.charts.iter().enumerate() {
            for (series, text) in values_at(chart, it).iter().enumerate() {
                dom::set_text(&format!("value-{index}-{series}"), text);
            }
            let path = match (it, self.curves.drawn.get(index)) {
                (Some(it), Some(drawn)) => cursor(&drawn.x, it, HEIGHT),
                _ => String::new(),
            };
            if let Some(line) = dom::by_id(&format!("plot-{index}")).and_then(|p| p.query_selector(".cursor").ok()?) {
                let _ = line.set_attribute("d", &path);
            }
        }
        dom::set_text(
            "at",
            &it.map_or(String::new(), |it| format!("iteration {}", count(it.max(0.0)))),
        );
    }

    pub(super) fn chart_action(&mut self, act: &str, value: &str) {
        if act == "chart-reset" {
            self.curves.zoom = None;
        } else if let Some(at) = self.curves.log.iter().position(|id| id == value) {
            self.curves.log.remove(at);
        } else {
            self.curves.log.push(value.to_owned());
        }
        self.touch();
        self.draw_charts();
    }

    pub(super) fn set_smoothing(&mut self, value: &str) {
        self.curves.smoothing = crate::number::parse(value).unwrap_or(0.0).clamp(0.0, 0.99);
        dom::set_text("smooth-value", &format!("{:.2}", self.curves.smoothing));
        self.touch();
        self.draw_charts();
    }

    /// The pointer is over a chart at a pixel.
    fn hover(&mut self, index: usize, px: f64) {
        let Some(drawn) = self.curves.drawn.get(index) else {
            return;
        };
        let [low, high] = drawn.x.domain;
        let it = drawn.x.value(px).clamp(low, high);
        if let Some(from) = BRUSH.with_borrow(|brush| *brush) {
            let brush = dom::by_id(&format!("plot-{index}")).and_then(|plot| plot.query_selector(".brush").ok()?);
            if let Some(brush) = brush {
                let _ = brush.set_attribute("x", &format!("{:.1}", from.min(px)));
                let _ = brush.set_attribute("width", &format!("{:.1}", (px - from).abs()));
            }
        }
        self.show_values(Some(it));
    }

    /// A drag over a chart ended: what lies between becomes the window.
    fn brushed(&mut self, index: usize, from: f64, to: f64) {
        if let Some(drawn) = self.curves.drawn.get(index).filter(|_| (to - from).abs() > 6.0) {
            let [low, high] = drawn.x.domain;
            let mut ends = [drawn.x.value(from), drawn.x.value(to)].map(|it| it.clamp(low, high));
            ends = [ends[0].min(ends[1]), ends[0].max(ends[1])];
            if ends[1] - ends[0] >= 1.0 {
                self.curves.zoom = Some(ends);
                self.touch();
            }
        }
        self.draw_charts();
    }
}

fn legend(kind: MarkKind) -> &'static str {
    match kind {
        MarkKind::Densify => "<span><i class=\"sign densify\"></i>densify</span>",
        MarkKind::Reset => "<span><i class=\"sign reset\"></i>opacity reset</span>",
        MarkKind::Evaluation => "<span><i class=\"sign evaluation\"></i>evaluation</span>",
        MarkKind::Warning => "<span><i class=\"sign warning\"></i>warning</span>",
        MarkKind::Capped(_) => "<span><i class=\"sign capped\"></i>at the cap</span>",
    }
}

fn figure(chart: &Chart, index: usize, log: bool, svg: &str) -> String {
    let keys = chart.series.iter().enumerate().map(|(series, one)| {
        let kind = if chart.stacked {
            format!("layer{}", one.color % 8)
        } else {
            format!("run{}", one.color % 4)
        };
        let dashed = if one.dashed { " dashed" } else { "" };
        format!(
            "<span><i class=\"key {kind}{dashed}\"></i>{} <b id=\"value-{index}-{series}\"></b></span>",
            escape(&one.label)
        )
    });
    format!(
        "<figure data-chart=\"{}\"><figcaption><h2>{}</h2><button type=\"button\" class=\"quiet\" data-act=\"chart-log\" \
         data-value=\"{}\" aria-pressed=\"{log}\" title=\"Logarithmic axis\">log</button></figcaption>\
         <div class=\"keys\">{}</div><div class=\"plot\" id=\"plot-{index}\" data-plot=\"{index}\" role=\"img\" aria-label=\"{} over iterations\">{svg}</div></figure>",
        chart.id,
        chart.title,
        chart.id,
        keys.collect::<String>(),
        chart.title
    )
}

/// Chart and pixel under an event.
fn plot_at(event: &MouseEvent) -> Option<(usize, f64)> {
    use wasm_bindgen::JsCast as _;
    let element = event.target()?.dyn_into::<Element>().ok()?;
    let plot = element.closest("[data-plot]").ok()??;
    let index = plot.get_attribute("data-plot")?.parse().ok()?;
    Some((
        index,
        f64::from(event.client_x()) - plot.get_bounding_client_rect().left(),
    ))
}

fn listen() {
    let Some(charts) = dom::by_id("charts") else {
        return;
    };
    dom::on(&charts, "pointermove", |event: PointerEvent| {
        match plot_at(&event) {
            Some((index, px)) => with(|app| app.hover(index, px)),
            None => with(|app| app.show_values(None)),
        };
    });
    dom::on(&charts, "pointerleave", |_: PointerEvent| {
        BRUSH.set(None);
        with(|app| app.show_values(None));
    });
    dom::on(&charts, "pointerdown", |event: PointerEvent| {
        if let Some((_, px)) = plot_at(&event) {
            event.prevent_default();
            BRUSH.set(Some(px));
        }
    });
    dom::on(&charts, "pointerup", |event: PointerEvent| {
        if let (Some((index, px)), Some(from)) = (plot_at(&event), BRUSH.take()) {
            with(|app| app.brushed(index, from, px));
        }
    });
    dom::on(&charts, "dblclick", |_: MouseEvent| {
        with(|app| app.chart_action("chart-reset", ""));
    });
}
