//! Projects of blocks: a map of the blocks, and a table that says the same in words.
//!
//! Owns what becomes of an entry of `projects.json`. States are those of `kiln status`, by which the style sheet colours them.

use crate::html::{count, duration, escape, put};
use crate::json::Value;

/// States in the order of the legend.
const STATES: [&str; 6] = ["done", "running", "stopped", "failed", "damaged", "waiting"];
/// Least width and height of a block that its name and its state are written into, pixels.
const LEAST_PX: [f64; 2] = [58.0, 38.0];
/// Highest map, pixels.
const HIGHEST_PX: f64 = 420.0;

/// A text of an entry, made safe.
#[inline(never)]
fn text(value: &Value, key: &str) -> String {
    escape(value.text(key).unwrap_or_default())
}

#[inline(never)]
fn short(value: f64) -> String {
    format!("{value:.1}")
}

/// What opens a run from a button or a block on the map, where there is one.
fn opens(path: &str) -> String {
    let mut out = String::from(" disabled");
    if !path.is_empty() {
        out.clear();
        put(&mut out, &[" data-act=\"open-run\" data-value=\"", path, "\""]);
    }
    out
}

/// Numbers of an entry times `scale`.
#[inline(never)]
fn numbers(value: &Value, key: &str, scale: f64) -> Vec<f64> {
    let numbers = value.items(key).iter().filter_map(Value::as_number);
    numbers.map(|number| number * scale).collect()
}

/// The project as HTML, its map at most `width` pixels wide; `open` is the run that is shown.
pub(crate) fn section(project: &Value, width: f64, open: &str) -> String {
    let blocks = project.items("blocks");
    let (mut map, mut rows, mut scale) = (String::new(), String::new(), 1.0);
    if let [wide, high] = numbers(project, "map", 1.0)[..] {
        scale = width.min(HIGHEST_PX / high);
        map += "<svg class=\"map\" role=\"img\" aria-label=\"Map of the blocks\" width=\"";
        put(
            &mut map,
            &[&short(wide * scale), "\" height=\"", &short(high * scale), "\">"],
        );
    }
    for each in blocks {
        block(each, &mut map, &mut rows, open, scale);
    }
    let mut out = String::from("<section class=\"project\"><h2>");
    put(&mut out, &[&text(project, "name"), "</h2><p class=\"legend\">"]);
    for state in STATES {
        let n = blocks.iter().filter(|block| block.text("state") == Some(state)).count();
        if n > 0 {
            put(
                &mut out,
                &[
                    "<span><i class=\"key ",
                    state,
                    "\"></i>",
                    &count(n as f64),
                    " ",
                    state,
                    "</span>",
                ],
            );
        }
    }
    let merged = text(project, "merged");
    if !merged.is_empty() {
        put(
            &mut out,
            &["<button type=\"button\"", &opens(&merged), ">Merged model</button>"],
        );
    }
    for problem in project.items("problems") {
        put(&mut out, &["</p><p class=\"bad\">", &escape(&problem.plain())]);
    }
    out += "</p>";
    if !map.is_empty() {
        put(&mut out, &[&map, "</svg>"]);
    }
    if !rows.is_empty() {
        put(
            &mut out,
            &[
                "<div class=\"scroll\"><table><thead><tr><th class=\"text\">Block</th><th class=\"text\">State</th><th>Iterations</th>\
                 <th>it/s</th><th>Time left</th><th>Gaussians</th></tr></thead><tbody>",
                &rows,
                "</tbody></table></div>",
            ],
        );
    }
    out + "</section>"
}

/// A block on the map, where it is known where it lies, and in the table.
fn block(block: &Value, map: &mut String, rows: &mut String, open: &str, scale: f64) {
    let number = |key: &str, print: fn(f64) -> String| block.number(key).map_or("-".to_owned(), print);
    let [name, state, run, whole] = ["name", "state", "run", "half_of"].map(|key| text(block, key));
    let opens = opens(&run);
    let is_open = block.text("run") == Some(open);
    let current = if is_open { " aria-current=\"true\"" } else { "" };
    let share = 100.0 * block.number("iteration").unwrap_or(0.0) / block.number("iterations").unwrap_or(f64::INFINITY);
    let percent = format!("{share:.0} %");
    let word = if state == "running" { &percent } else { &state };
    let half = if whole.is_empty() { "" } else { " half" };
    if let [left, top, wide, high] = numbers(block, "area", scale)[..] {
        let [x, y, width, height] = [left, top, wide, high].map(short);
        put(
            map,
            &[
                "<svg class=\"",
                &state,
                half,
                "\"",
                &opens,
                current,
                " x=\"",
                &x,
                "\" y=\"",
                &y,
                "\" width=\"",
                &width,
                "\" height=\"",
                &height,
                "\"><title>",
                &name,
                " · ",
                word,
                "</title><rect class=\"share\" width=\"",
                &short(share.min(100.0)),
                "%\" height=\"100%\"></rect><rect width=\"100%\" height=\"100%\"></rect>",
            ],
        );
        if wide >= LEAST_PX[0] && high >= LEAST_PX[1] {
            put(
                map,
                &[
                    "<text x=\"8\" y=\"18\">",
                    &name,
                    "</text><text x=\"8\" y=\"33\">",
                    word,
                    "</text>",
                ],
            );
        }
        *map += "</svg>";
    }
    put(
        rows,
        &[
            "<tr",
            current,
            "><th scope=\"row\"><i class=\"key ",
            &state,
            "\"></i><button type=\"button\" class=\"quiet\"",
            &opens,
            ">",
            &name,
            "</button><small>",
            half,
            if whole.is_empty() { "" } else { " of " },
            &whole,
            "</small></th><td class=\"text\">",
            &state,
        ],
    );
    if block.text("message").is_some() {
        put(rows, &[": ", &text(block, "message")]);
    }
    let mut steps = number("iterations", count);
    if steps != "-" {
        steps = [number("iteration", count), steps].join(" of ");
    }
    for cell in [
        &steps,
        &number("its", short),
        &number("eta_s", duration),
        &number("gaussians", count),
    ] {
        put(rows, &["</td><td>", cell]);
    }
    *rows += "</td></tr>";
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::json;

    fn project() -> Value {
        json::parse(
            "{\"name\": \"<city>\", \"path\": \"runs/city\", \"problems\": [\"a & b\"], \"map\": [1, 0.5], \"blocks\": [\
             {\"name\": \"b0000\", \"state\": \"running\", \"iteration\": 300, \"iterations\": 1200, \"its\": 12.34, \
              \"eta_s\": 73, \"gaussians\": 12345, \"area\": [0, 0, 0.5, 0.5], \"run\": \"runs/city/blocks/b0000/run\"}, \
             {\"name\": \"b0001a\", \"half_of\": \"b0001\", \"state\": \"waiting\", \"iteration\": 0, \"iterations\": null, \"area\": [0.5, 0, 0.5, 0.05]}, \
             {\"name\": \"b0002\", \"state\": \"damaged\", \"message\": \"x <y\", \"area\": null}]}",
        )
        .unwrap()
    }

    #[test]
    fn a_map_to_scale_and_a_table_say_how_far_blocks_are() {
        let html = section(&project(), 400.0, "");
        assert!(
            html.contains("&lt;city&gt;") && html.contains("a &amp; b") && html.contains("x &lt;y"),
            "{html}"
        );
        assert!(html.contains("width=\"400.0\" height=\"200.0\""), "{html}");
        assert!(
            html.contains("x=\"0.0\" y=\"0.0\" width=\"200.0\" height=\"200.0\""),
            "{html}"
        );
        assert!(
            html.contains("x=\"200.0\" y=\"0.0\" width=\"200.0\" height=\"20.0\""),
            "{html}"
        );
        assert!(
            html.contains("<title>b0000 · 25 %</title>") && html.contains("width=\"25.0%\""),
            "{html}"
        );
        assert!(
            html.contains("300 of 1\u{202f}200</td><td>12.3</td><td>1 min 13 s</td><td>12\u{202f}345"),
            "{html}"
        );
        assert!(
            html.contains("half of b0001<") && html.contains("waiting half"),
            "{html}"
        );
        // Three rows, of which two are drawn, and one of these has room for words and a run to open, twice.
        assert_eq!(html.matches("<th scope=\"row\">").count(), 3);
        assert_eq!(html.matches("<rect class=\"share\"").count(), 2);
        assert_eq!(html.matches("<text ").count(), 2);
        assert_eq!(html.matches("data-act=\"open-run\"").count(), 2);
        assert_eq!(html.matches("current").count(), 0);
        let open = section(&project(), 400.0, "runs/city/blocks/b0000/run");
        assert_eq!(open.matches("current").count(), 2);
    }

    #[test]
    fn what_is_no_project_is_drawn_as_far_as_it_goes() {
        for text in [
            "{}",
            "[]",
            "{\"blocks\": [{}, 3], \"map\": [0, 0]}",
            "{\"map\": \"x\", \"blocks\": {}}",
        ] {
            let html = section(&json::parse(text).unwrap(), 400.0, "");
            assert!(
                html.starts_with("<section") && !html.contains("NaN") && !html.contains("inf"),
                "{html}"
            );
        }
    }
}
