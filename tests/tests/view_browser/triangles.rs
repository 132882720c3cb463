//! What runs of triangles, of SuGaR and with `--mesh` make, as the page shows it: while they train, served and exported.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kiln_tests::browser::Page;
use kiln_tests::runs::{self, QUICK, Scratch, json, outcome, train_command};
use kiln_tests::setup::fault;
use kiln_tests::static_host;
use kiln_tests::view::View;

use crate::view_browser::stage::{assert_content, drawn, keep, ready, status, window};

/// Triangles on pictures 80 pixels wide, with a snapshot as often as it may be.
const TRIANGLES: [(&str, &str); 8] = [
    ("dataset.resolution", "80"),
    ("init", "{ kind: sfm_points, scale: 2, background: 0 }"),
    ("schedule.test", "[]"),
    ("schedule.save", "[]"),
    ("schedule.live_seconds", "0.5"),
    ("eval.lpips", "false"),
    ("mesh_splatting.max_points", "3000"),
    ("mesh_splatting.length", "300"),
];

/// All four stages of SuGaR on pictures 80 pixels wide.
const SUGAR: [(&str, &str); 22] = [
    ("dataset.resolution", "80"),
    ("schedule.live_seconds", "0.5"),
    ("schedule.iterations", "60"),
    ("schedule.test", "[]"),
    ("schedule.save", "[]"),
    ("sugar.start", "20"),
    ("memory.max_gaussians", "6000"),
    (
        "strategy.densify",
        "{ from: 2, until: 18, every: 8, grad_threshold: 0.002 }",
    ),
    ("losses.2.from", "40"),
    ("regularizers.0.from", "21"),
    ("regularizers.0.until", "38"),
    ("regularizers.1.from", "40"),
    ("regularizers.1.samples", "2000"),
    ("regularizers.1.k", "8"),
    ("regularizers.1.rebuild", "10"),
    ("regularizers.1.prune", "0.05"),
    ("fault.points", "20000"),
    ("fault.poisson_depth", "5"),
    ("mesh.decimate", "{ triangles: 400 }"),
    ("bound.per_triangle", "3"),
    ("bound.iterations", "30"),
    ("eval.lpips", "false"),
];

fn command(run: &Path, recipe: &str, settings: &[(&str, &str)]) -> Command {
    let mut command = runs::kiln();
    command.arg("train").arg(runs::scene()).arg("-o").arg(run);
    command.args(["--profile", "cpu", "--recipe", recipe]);
    for (key, value) in settings {
        match fault(key) {
            Some(name) => command.args(["--fault", &format!("{name}={value}")]),
            None => command.args(["--set", &format!("{key}={value}")]),
        };
    }
    command
}

/// Mean colour of some pixels.
fn mean(pixels: impl Iterator<Item = [u8; 3]>) -> [f64; 3] {
    let (mut sum, mut count) = ([0.0; 3], 0.0_f64);
    for pixel in pixels {
        sum = std::array::from_fn(|c| sum[c] + f64::from(pixel[c]));
        count += 1.0;
    }
    sum.map(|sum| sum / count.max(1.0))
}

/// The stage shows something in the colours of the photos, and is not black.
fn assert_scene(page: &Page, folder: &Path, name: &str) {
    assert_colors(page, folder, name, &runs::scene().join("images"), 70.0);
}

/// The same in the colours of the first of some pictures, no channel of whose mean is further off than `most`.
fn assert_colors(page: &Page, folder: &Path, name: &str, pictures: &Path, most: f64) {
    let place =
        page.eval("(r => [r.left, r.top, r.width, r.height])(document.getElementById('view').getBoundingClientRect())");
    let [left, top, width, height]: [f64; 4] = serde_json::from_value(place).unwrap();
    let _ =
        page.eval("new Promise(end => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(end, 300))))");
    let file = folder.join("stage.png");
    page.screenshot(&file);
    let shot = image::open(file).unwrap().to_rgb8();
    // The middle, where no words stand.
    let (columns, rows) = (
        (left + 0.25 * width) as u32..(left + 0.75 * width) as u32,
        (top + 0.25 * height) as u32..(top + 0.75 * height) as u32,
    );
    let pixels = || {
        rows.clone()
            .flat_map(|y| columns.clone().map(move |x| (x, y)))
            .map(|(x, y)| shot.get_pixel(x, y).0)
    };
    keep(page, name);
    let is_lit = |pixel: &[u8; 3]| pixel.iter().any(|channel| *channel > 40);
    let lit = || pixels().filter(is_lit);
    let share = lit().count() as f64 / pixels().count() as f64;
    assert!(share > 0.3, "{name}: {share} of the stage is lit");
    let pictures = fs::read_dir(pictures).unwrap();
    let picture = pictures.map(|entry| entry.unwrap().path()).min().unwrap();
    let picture = image::open(picture).unwrap().to_rgb8();
    let taken = mean(picture.pixels().map(|pixel| pixel.0).filter(is_lit));
    let shown = mean(lit());
    let off = (0..3).map(|c| (shown[c] - taken[c]).abs()).fold(0.0, f64::max);
    assert!(off < most, "{name}: {shown:?} where pictures have {taken:?}");
}

fn export(root: &Path, site: &Path) -> String {
    let (code, text) = outcome(runs::kiln().arg("view").arg(root).arg("--export").arg(site));
    assert_eq!(code, Some(0), "{text}");
    format!("http://{}/?", static_host::serve(site.to_owned()))
}

/// Waits for something of another process.
fn wait(what: &str, is_there: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_there() {
        assert!(begun.elapsed() < Duration::from_secs(240), "{what} does not come");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn triangles_are_shown_while_they_train_and_when_they_end() {
    let scratch = Scratch::new("live-triangles");
    let root = scratch.join("runs");
    let run = root.join("ms");
    fs::create_dir_all(&root).unwrap();
    let more = [("schedule.iterations", "100000")];
    let mut command = command(&run, "meshsplatting", &[&TRIANGLES[..], &more].concat());
    let mut training = command.arg("--quiet").stdin(Stdio::null()).spawn().unwrap();
    wait("run.json", || run.join("run.json").is_file());
    let view = View::start(&root);
    let page = window();
    page.go(&view.url);
    ready(&page);
    page.wait("(s => s.shown === 'live' && s.triangles > 0 && !s.loading)(JSON.parse(kiln.status()))");
    assert_scene(&page, &scratch.join(""), "live-triangles");
    let first = status(&page)["iteration"].as_u64().unwrap();
    page.wait(&format!("JSON.parse(kiln.status()).iteration > {first}"));
    let texts = "['iteration-value', 'hud'].map(id => document.getElementById(id).textContent)";
    let texts: [String; 2] = serde_json::from_value(page.eval(texts)).unwrap();
    assert!(
        texts
            .iter()
            .all(|text| text.contains(" triangles") && !text.contains("splats")),
        "{texts:?}"
    );

    // Asked to end, it leaves its last model, which comes by itself.
    let id = training.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    training.wait().unwrap();
    page.wait("(s => s.shown === 'saved' && s.triangles > 0 && !s.loading)(JSON.parse(kiln.status()))");
    assert_scene(&page, &scratch.join(""), "saved-triangles");
    assert_content(&page);
    let saved = json(&run.join("run.json"))["plys"][0].clone();
    assert_eq!(
        (&status(&page)["iteration"], &status(&page)["triangles"]),
        (&saved["iteration"], &saved["gaussians"])
    );
    assert!(!run.join("live.ply").exists());
    let row = runs::rows(&run.join("metrics.jsonl"))
        .into_iter()
        .rfind(|row| row["type"] == "train")
        .unwrap();
    assert!(
        row["vertices"].as_u64() > Some(0) && row["triangles"] == row["gaussians"],
        "{row}"
    );

    // The table has its own word, and what made the run.
    page.click("#tab-runs");
    page.wait("document.getElementById('runs-table').textContent.includes(' triangles')");
    let table = page.eval("document.getElementById('runs-table').textContent");
    assert!(table.as_str().unwrap().contains("meshsplatting"), "{table}");

    let exported = export(&root, &scratch.join("site"));
    let alone = View::start(&run.join(saved["path"].as_str().unwrap()));
    for (url, name) in [
        (exported.as_str(), "exported-triangles"),
        (&alone.url, "triangles-alone"),
    ] {
        page.go(url);
        ready(&page);
        page.wait("(s => s.triangles > 0 && !s.loading)(JSON.parse(kiln.status()))");
        assert_scene(&page, &scratch.join(""), name);
        assert_content(&page);
    }
}

/// Opens the entry of a run that has this title.
fn open_part(page: &Page, title: &str) {
    page.run(&format!(
        "[...document.querySelectorAll('#parts button')].find(b => b.textContent === {title:?}).click()"
    ));
    page.wait("(s => s.shown === 'part' && !s.loading)(JSON.parse(kiln.status()))");
}

fn parts(page: &Page) -> Vec<String> {
    let titles = page.eval("[...document.querySelectorAll('#parts button')].map(b => b.textContent)");
    serde_json::from_value(titles).unwrap()
}

#[test]
fn what_stages_and_meshes_leave_are_entries_of_a_run() {
    let scratch = Scratch::new("stages-seen");
    let root = scratch.join("runs");
    let (sugar, meshed): (PathBuf, PathBuf) = (root.join("sugar"), root.join("meshed"));
    fs::create_dir_all(&root).unwrap();
    let mut training = command(&sugar, "sugar", &SUGAR);
    training
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let training = training.spawn().unwrap();
    let id = training.id().to_string();
    let signal = |name: &str| assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    let is_live = |rows: String| rows.contains(r#""kind":"live""#);
    wait("a live model", || {
        fs::read_to_string(sugar.join("metrics.jsonl")).is_ok_and(is_live)
    });
    // It waits while it is looked at: a machine in a hurry would be over before.
    signal("-STOP");
    let served = View::start(&root);
    let page = window();
    page.go(&format!("{}&run=runs/sugar", served.url));
    ready(&page);
    page.wait("(s => s.shown === 'live' && s.splats > 0 && !s.loading)(JSON.parse(kiln.status()))");
    // After its first steps it is dark yet.
    assert_colors(
        &page,
        &scratch.join(""),
        "live-sugar",
        &runs::scene().join("images"),
        110.0,
    );
    signal("-CONT");
    let ended = training.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
    assert!(ended.status.success(), "{said}");
    // What its stages made comes by itself.
    page.wait("[...document.querySelectorAll('#parts button')].some(b => b.textContent === 'mesh')");
    drop(page);
    assert!(
        said.contains("\ncoarse [") && said.contains("\nrefine [") && !said.contains("\ntrain ["),
        "{said}"
    );
    let last: Vec<&str> = said.lines().rev().take(8).collect();
    let names = |words: &[&str]| last.iter().any(|line| words.iter().all(|word| line.contains(word)));
    assert!(
        last[0].starts_with("`kiln view ") && last[0].ends_with("sugar` shows them"),
        "{last:?}"
    );
    assert!(
        names(&["mesh  ", "sugar/mesh/mesh.ply"]) && names(&["refined model", "sugar/refined/point_cloud"]),
        "{last:?}"
    );
    let meshing = [
        ("schedule.iterations", "40"),
        ("mesh.method", "poisson"),
        ("fault.points", "20000"),
        ("fault.poisson_depth", "5"),
    ];
    let (code, said) = outcome(train_command(&meshed, &[QUICK, &meshing]).arg("--mesh"));
    assert_eq!(code, Some(0), "{said}");

    let exported = export(&root, &scratch.join("site"));
    for (url, at) in [(served.url.as_str(), "served"), (exported.as_str(), "exported")] {
        let page = window();
        page.go(&format!("{url}&run=runs/sugar"));
        ready(&page);
        drawn(&page);
        let titles = parts(&page);
        assert!(titles.iter().any(|title| title == "coarse splats"), "{titles:?}");
        open_part(&page, "mesh");
        assert!(status(&page)["triangles"].as_u64() > Some(100));
        assert_scene(&page, &scratch.join(""), &format!("{at}-mesh"));
        open_part(&page, "coarse splats");
        page.wait("(s => s.triangles === 0 && s.splats > 0)(JSON.parse(kiln.status()))");
        assert_scene(&page, &scratch.join(""), &format!("{at}-coarse"));
        page.go(&format!("{url}&run=runs/sugar/refined"));
        ready(&page);
        drawn(&page);
        // So short a refinement is dark yet: as the run itself sees it.
        let renders = sugar.join("refined/eval/iteration_30/render/test");
        assert_colors(&page, &scratch.join(""), &format!("{at}-refined"), &renders, 70.0);
        // Its pictures are of the photos.
        let titles = parts(&page);
        let title = titles.iter().find(|title| title.starts_with("mesh")).unwrap();
        open_part(&page, title);
        assert_scene(&page, &scratch.join(""), &format!("{at}-textured"));
        page.go(&format!("{url}&run=runs/meshed"));
        ready(&page);
        drawn(&page);
        open_part(&page, "mesh");
        assert_scene(&page, &scratch.join(""), &format!("{at}-meshed"));
        assert_content(&page);
    }
    // Where things lie on this machine is nobody's business.
    let index = served.get("/runs/sugar/run.json", &[]).text();
    assert!(
        index.contains("\"recipe\"") && !index.contains("command") && !index.contains(&*root.to_string_lossy()),
        "{index}"
    );
}
