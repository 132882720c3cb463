//! A chart as SVG text. Colours are classes, so that the theme has the last word.

use std::fmt::Write as _;

use super::board::{Chart, Mark, MarkKind, Unit};
use super::curve::{nearest, thinned, within};
use super::scale::{Scale, short};
use crate::html::{bytes, count, escape};
use crate::math::{log2, pow};

/// Pixels around the plot: left, right, top, bottom.
const LEFT: f64 = 62.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 36.0;

/// What a dot reaches beyond its place.
const DOT: f64 = 3.0;
/// Half the width of a long number under the axis.
const LABEL_HALF: f64 = 20.0;

/// What the reader chose for a chart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Window {
    /// Width and height, pixels.
    pub(crate) size: [f64; 2],
    /// Iterations shown; all when `None`.
    pub(crate) zoom: Option<[f64; 2]>,
    pub(crate) log: bool,
}

/// A drawn chart: its text and the scale that turns pixels back into iterations.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Drawn {
    pub(crate) svg: String,
    pub(crate) x: Scale,
}

/// The value of a series as people read it.
pub(crate) fn value_text(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Plain if value.abs() < 1.0 => format!("{value:.4}"),
        Unit::Plain => format!("{value:.2}"),
        Unit::Count => count(value),
        Unit::Bytes => bytes(value),
    }
}

/// Bytes without needless zeros.
fn short_bytes(value: f64) -> String {
    let text = bytes(value);
    let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
    let number = if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    };
    format!("{number} {unit}")
}

fn tick_text(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Bytes => short_bytes(value),
        _ => short(value),
    }
}

/// Values of each series at an iteration, in order.
pub(crate) fn values_at(chart: &Chart, it: Option<f64>) -> Vec<String> {
    let text = |points: &[(f64, f64)]| {
        let point = it.map_or_else(|| points.last().copied(), |it| nearest(points, it));
        point.map_or("-".to_owned(), |(_, value)| value_text(chart.unit, value))
    };
    chart.series.iter().map(|series| text(&series.points)).collect()
}

/// First and last iteration of the charts together.
pub(crate) fn extent(charts: &[Chart]) -> [f64; 2] {
    let all = charts
        .iter()
        .flat_map(|chart| &chart.series)
        .flat_map(|series| &series.points);
    let high = all.fold(1.0_f64, |high, point| high.max(point.0));
    [0.0, high]
}

/// Draws a chart over the iterations of `extent`, or those of the zoom.
pub(crate) fn draw(chart: &Chart, marks: &[Mark], extent: [f64; 2], window: &Window) -> Drawn {
    let [width, height] = window.size;
    let x = Scale {
        domain: window.zoom.unwrap_or(extent),
        range: [LEFT, width - RIGHT],
        log: false,
    };
    let layers = if chart.stacked { stacked(chart) } else { Vec::new() };
    let shown: Vec<&[(f64, f64)]> = if chart.stacked {
        layers.iter().map(|layer| within(layer, x.domain)).collect()
    } else {
        chart
            .series
            .iter()
            .map(|series| within(&series.points, x.domain))
            .collect()
    };
    let floor = (chart.stacked && !window.log).then_some(0.0);
    let raw = chart.series.iter().filter_map(|series| series.raw.as_deref());
    let shown = shown.into_iter().chain(raw.map(|raw| within(raw, x.domain)));
    let values = shown.flatten().map(|point| point.1);
    let levels = chart.levels.iter().map(|level| level.1);
    let y = Scale::around(values.chain(levels).chain(floor), [height - BOTTOM, TOP], window.log);

    let mut svg = String::new();
    let _ = write!(
        svg,
        "<svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{}\">",
        escape(chart.title)
    );
    grid(&mut svg, chart, &x, &y, [width, height]);
    draw_marks(&mut svg, marks, &x, height);
    // A picture of its own cuts off what a zoom puts beside the plot, but for half a dot.
    let (left, plot) = (LEFT - DOT, width - LEFT - RIGHT + 2.0 * DOT);
    let _ = write!(
        svg,
        "<svg class=\"inside\" x=\"{left}\" y=\"0\" width=\"{plot}\" height=\"{height}\" viewBox=\"{left} 0 {plot} {height}\">"
    );
    let columns = (width - LEFT - RIGHT).max(1.0) as usize;
    if chart.stacked {
        // From the top layer down, each to the floor: the lower ones cover it.
        for (series, layer) in chart.series.iter().zip(&layers).rev() {
            let points = thinned(within(layer, x.domain), columns);
            let path = path(&points, &x, &y);
            if let (Some(first), Some(last)) = (points.first(), points.last()) {
                let (left, right, bottom) = (x.px(first.0), x.px(last.0), height - BOTTOM);
                let color = series.color % 8;
                let _ = write!(
                    svg,
                    "<path class=\"curve area layer{color}\" d=\"{path}L{right:.1} {bottom:.1}L{left:.1} {bottom:.1}Z\"/>"
                );
            }
        }
    } else {
        for series in &chart.series {
            let color = series.color % 4;
            if let Some(raw) = &series.raw {
                let path = path(&thinned(within(raw, x.domain), columns), &x, &y);
                let _ = write!(svg, "<path class=\"raw run{color}\" d=\"{path}\"/>");
            }
            let points = thinned(within(&series.points, x.domain), columns);
            let dashed = if series.dashed { " dashed" } else { "" };
            let _ = write!(
                svg,
                "<path class=\"curve run{color}{dashed}\" d=\"{}\"/>",
                path(&points, &x, &y)
            );
            if points.len() <= 24 {
                for (px, py) in points.iter().map(|point| (x.px(point.0), y.px(point.1))) {
                    let _ = write!(
                        svg,
                        "<circle class=\"dot run{color}\" cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"2\"/>"
                    );
                }
            }
        }
    }
    svg += "</svg>";
    for (label, value) in &chart.levels {
        let at = y.px(*value);
        let _ = write!(
            svg,
            "<path class=\"level\" d=\"M{LEFT} {at:.1}H{:.1}\"/><text class=\"level\" x=\"{:.1}\" y=\"{:.1}\" \
             text-anchor=\"end\">{label} {}</text>",
            width - RIGHT,
            width - RIGHT,
            at - 4.0,
            value_text(chart.unit, *value)
        );
    }
    let _ = write!(
        svg,
        "<path class=\"cursor\" d=\"\"/><rect class=\"brush\" x=\"0\" y=\"{TOP}\" width=\"0\" height=\"{:.1}\"/></svg>",
        height - BOTTOM - TOP
    );
    Drawn { svg, x }
}

/// The line of the pointer at an iteration, as path data.
pub(crate) fn cursor(x: &Scale, it: f64, height: f64) -> String {
    format!("M{:.1} {TOP}V{:.1}", x.px(it), height - BOTTOM)
}

fn path(points: &[(f64, f64)], x: &Scale, y: &Scale) -> String {
    let mut out = String::new();
    for (px, py) in points.iter().map(|point| (x.px(point.0), y.px(point.1))) {
        if px.is_finite() && py.is_finite() {
            let pen = if out.is_empty() { 'M' } else { 'L' };
            let _ = write!(out, "{pen}{px:.1} {py:.1}");
        }
    }
    out
}

/// Layers added up from the first on.
fn stacked(chart: &Chart) -> Vec<Vec<(f64, f64)>> {
    let mut below: Vec<(f64, f64)> = Vec::new();
    let mut out = Vec::new();
    for series in &chart.series {
        let sum = |&(it, value): &(f64, f64)| (it, value + nearest(&below, it).map_or(0.0, |point| point.1));
        below = series.points.iter().map(sum).collect();
        out.push(below.clone());
    }
    out
}

/// Round numbers of the unit that people read.
fn y_ticks(unit: Unit, y: &Scale) -> Vec<f64> {
    if unit != Unit::Bytes || y.log {
        return y.ticks(4);
    }
    let [low, high] = y.domain;
    let step = pow(2.0, log2((high - low).max(4.0) / 4.0).ceil());
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    (first..=last).map(|k| k as f64 * step).collect()
}

fn grid(svg: &mut String, chart: &Chart, x: &Scale, y: &Scale, [width, height]: [f64; 2]) {
    let (right, bottom) = (width - RIGHT, height - BOTTOM);
    let mut last = String::new();
    for value in y_ticks(chart.unit, y) {
        let at = y.px(value);
        let text = tick_text(chart.unit, value);
        // Lines closer than the digits distinguish have one number between them.
        let number = if text == last { "" } else { text.as_str() };
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{right:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\" \
             text-anchor=\"end\">{number}</text>",
            LEFT - 8.0,
            at + 3.5,
        );
        last = text;
    }
    for value in x.ticks(((width - LEFT) / 90.0) as usize) {
        // The number at the right end would be cut off if it stood under its middle.
        let (at, anchor) = match x.px(value) {
            at if at > width - LABEL_HALF => (width - 2.0, "end"),
            at => (at, "middle"),
        };
        let _ = write!(
            svg,
            "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
            bottom + 15.0,
            short(value)
        );
    }
    let _ = write!(
        svg,
        "<path class=\"axis\" d=\"M{LEFT} {bottom:.1}H{right:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\" \
         text-anchor=\"middle\">iteration</text>",
        0.5 * (LEFT + right),
        height - 4.0
    );
}

fn draw_marks(svg: &mut String, marks: &[Mark], x: &Scale, height: f64) {
    let bottom = height - BOTTOM;
    let inside = |mark: &&Mark| {
        let end = match mark.kind {
            MarkKind::Capped(until) => until as f64,
            _ => mark.it,
        };
        end >= x.domain[0] && mark.it <= x.domain[1]
    };
    for mark in marks.iter().filter(inside) {
        let at = x.px(mark.it);
        let text = escape(&mark.text);
        let _ = match mark.kind {
            MarkKind::Densify => write!(svg, "<path class=\"mark densify\" d=\"M{at:.1} {bottom:.1}v-4\"/>"),
            MarkKind::Reset => write!(
                svg,
                "<path class=\"mark reset\" d=\"M{at:.1} {TOP}V{bottom:.1}\"><title>{text}</title></path>"
            ),
            MarkKind::Evaluation => write!(
                svg,
                "<path class=\"mark evaluation\" d=\"M{at:.1} {:.1}l3 5h-6z\"><title>{text}</title></path>",
                bottom + 1.0
            ),
            MarkKind::Capped(until) => {
                let [from, to] = [mark.it, until as f64].map(|it| x.px(it.clamp(x.domain[0], x.domain[1])));
                write!(
                    svg,
                    "<rect class=\"mark capped\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"5\"><title>{text}\
                     </title></rect>",
                    bottom - 5.0,
                    (to - from).max(2.0)
                )
            }
            MarkKind::Warning => write!(
                svg,
                "<path class=\"mark warning\" d=\"M{at:.1} {TOP}V{bottom:.1}\"/><circle class=\"mark warning\" \
                 cx=\"{at:.1}\" cy=\"{TOP}\" r=\"3.5\"><title>{text}</title></circle>"
            ),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::board::{Source, board, golden_parts, marks};
    use super::*;

    fn charts() -> (Vec<Chart>, Vec<Mark>) {
        let (metrics, memory, config) = golden_parts();
        let source = Source {
            name: "<b>",
            color: 0,
            metrics: &metrics,
            memory: &memory,
            config: &config,
        };
        (board(&[source], 0.0), marks(&metrics))
    }

    const WINDOW: Window = Window {
        size: [400.0, 200.0],
        zoom: None,
        log: false,
    };

    #[test]
    fn curves_levels_and_marks_are_in_the_text() {
        let (charts, marks) = charts();
        let extent = extent(&charts);
        assert_eq!(extent, [0.0, 40.0]);
        let psnr = draw(&charts[1], &marks, extent, &WINDOW).svg;
        assert_eq!(psnr.matches("class=\"curve").count(), 2, "test and train");
        assert_eq!(psnr.matches("mark densify").count(), 1);
        assert_eq!(psnr.matches("mark evaluation").count(), 2);
        assert!(psnr.contains("dashed") && !psnr.contains("NaN"));
        let memory = draw(&charts[6], &marks, extent, &WINDOW).svg;
        assert!(
            memory.contains("cap 1.00 GiB") && memory.contains(">512 MiB<") && memory.contains(">1 GiB<"),
            "{memory}"
        );
        let stack = draw(&charts[7], &marks, extent, &Window { log: true, ..WINDOW }).svg;
        assert_eq!(stack.matches("area layer").count(), 2);
        for chart in &charts {
            let svg = draw(chart, &marks, extent, &WINDOW).svg;
            assert!(svg.contains(">iteration</text>"), "{}: what the axis counts", chart.id);
        }
        let empty = draw(&charts[3], &[], extent, &WINDOW);
        assert!(!empty.svg.contains("class=\"curve"));
    }

    #[test]
    fn zoom_and_pointer_share_the_scale() {
        let (charts, marks) = charts();
        let zoomed = draw(
            &charts[4],
            &marks,
            [0.0, 40.0],
            &Window {
                zoom: Some([25.0, 40.0]),
                ..WINDOW
            },
        );
        assert_eq!(zoomed.x.value(LEFT), 25.0);
        assert_eq!(zoomed.svg.matches("mark evaluation").count(), 1);
        assert!(cursor(&zoomed.x, 40.0, 200.0).starts_with("M388.0 "));
        assert_eq!(values_at(&charts[4], Some(31.0)), ["5"]);
        assert_eq!(values_at(&charts[1], None)[0], "30.66");
        assert_eq!(values_at(&charts[3], None).len(), 0);
    }

    #[test]
    fn values_before_smoothing_stay_in_the_plot() {
        let (mut charts, _) = charts();
        charts[0].series[0].points = vec![(0.0, 5.0), (40.0, 5.0)];
        charts[0].series[0].raw = Some(vec![(0.0, 0.0), (40.0, 100.0)]);
        let svg = draw(&charts[0], &[], [0.0, 40.0], &WINDOW).svg;
        let path = svg
            .split("raw run0\" d=\"")
            .nth(1)
            .and_then(|rest| rest.split('"').next());
        let ends = path.into_iter().flat_map(|path| path.split(['M', 'L']));
        let heights: Vec<f64> = ends
            .filter_map(|end| crate::number::parse(end.split_once(' ')?.1))
            .collect();
        assert_eq!(heights.len(), 2);
        assert!(
            heights.iter().all(|y| (TOP..=WINDOW.size[1] - BOTTOM).contains(y)),
            "{heights:?}"
        );
    }

    #[test]
    fn layers_add_up() {
        let (charts, _) = charts();
        let layers = stacked(&charts[7]);
        assert_eq!((layers[0][0].1, layers[1][0].1), (400_000.0, 600_000.0));
    }
}
