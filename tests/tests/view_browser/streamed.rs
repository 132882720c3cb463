//! Streamed SOG: levels of detail within a budget of splats, and models without a run.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use kiln_tests::browser::Page;
use kiln_tests::browser::pixels::difference;
use kiln_tests::runs::{kiln, outcome};
use kiln_tests::static_host;
use kiln_tests::view::View;

use crate::view_browser::projects::keep_all;
use crate::view_browser::splats::{picture, renders};
use crate::view_browser::stage::{
    ITERATIONS, Stage, assert_content, copy, drawn, keep, messages, ready, status, window,
};

/// How often the trained model stands in the row, and how far apart, world units: several leaves, all of which the cameras see.
const COPIES: u16 = 6;
const APART: f32 = 0.7;

/// A row of trained models: a run of them as PLY, and the same streamed.
struct Row {
    stage: Arc<Stage>,
    folder: PathBuf,
    view: View,
    camera: String,
    /// Splats of all, and what the page draws of the PLY.
    splats: u64,
    ply: Vec<u8>,
}

impl Row {
    fn shared() -> Arc<Self> {
        static SHARED: Mutex<Weak<Row>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let row = Arc::new(Self::set_up());
            *shared = Arc::downgrade(&row);
            row
        })
    }

    fn set_up() -> Self {
        let stage = Stage::shared();
        let folder = stage.scratch.join("rows");
        fs::create_dir_all(&folder).unwrap();
        let run = folder.join("run");
        copy(&stage.run(), &run);
        let model = run.join("point_cloud/iteration_100/point_cloud.ply");
        let splats = repeat(&model);
        export(&model, &folder.join("row.streamed-sog"));
        fs::copy(run.join("cameras.json"), folder.join("row.streamed-sog/cameras.json")).unwrap();
        let view = View::start(&folder);
        let (camera, _) = renders(&run, ITERATIONS[1], "test").remove(0);
        let page = window();
        page.go(&format!("{}&run=runs/run", view.url));
        ready(&page);
        drawn(&page);
        assert_eq!(status(&page)["splats"], splats);
        let (_, _, ply) = picture(&page, &camera);
        Self {
            stage,
            folder,
            view,
            camera,
            splats,
            ply,
        }
    }

    fn page(&self, more: &str) -> Page {
        let page = window();
        page.go(&format!(
            "{}&run=runs/row.streamed-sog&cam={}{more}",
            self.view.url, self.camera
        ));
        ready(&page);
        drawn(&page);
        page
    }

    /// dB of what the page draws against the PLY.
    fn psnr(&self, page: &Page) -> f64 {
        let difference = difference(&picture(page, &self.camera).2, &self.ply);
        println!("{difference:?}");
        difference.psnr
    }
}

/// Has a model stand in a row of itself; gives the number of splats.
fn repeat(path: &Path) -> u64 {
    let bytes = fs::read(path).unwrap();
    let start = bytes.windows(11).position(|w| w == b"end_header\n").unwrap() + 11;
    let header = String::from_utf8(bytes[..start].to_vec()).unwrap();
    let (before, rest) = header.split_once("element vertex ").unwrap();
    let (count, after) = rest.split_once('\n').unwrap();
    let count: usize = count.parse().unwrap();
    let stride = (bytes.len() - start) / count;
    let all = count * usize::from(COPIES);
    let mut out = format!("{before}element vertex {all}\n{after}").into_bytes();
    for at in 0..COPIES {
        let mut rows = bytes[start..].to_vec();
        for row in rows.chunks_exact_mut(stride) {
            let x = f32::from_le_bytes(row[..4].try_into().unwrap()) + f32::from(at) * APART;
            row[..4].copy_from_slice(&x.to_le_bytes());
        }
        out.extend(rows);
    }
    fs::write(path, out).unwrap();
    all as u64
}

fn export(model: &Path, to: &Path) {
    let (code, text) = outcome(kiln().arg("export").arg(model).arg("-o").arg(to));
    assert_eq!(code, Some(0), "{text}");
}

/// Waits until all that is wanted is there.
pub(crate) fn settled(page: &Page) {
    page.wait("(s => s.streamed?.pending === 0 && s.drawn > 0)(JSON.parse(kiln.status()))");
}

/// Has the page remember the most splats that it ever held.
const WATCH: &str = "window.most = 0; \
    setInterval(() => { window.most = Math.max(window.most, JSON.parse(kiln.status()).splats); }, 5);";

#[test]
fn all_of_a_model_comes_where_the_budget_holds_it() {
    let row = Row::shared();
    let page = row.page("");
    settled(&page);
    let status = status(&page);
    assert_eq!(status["streamed"]["finest"], row.splats);
    assert!(
        status["splats"].as_u64() >= Some(row.splats),
        "with the coarsest level below: {status}"
    );
    assert_eq!(status["sh_degree"], 3);
    let psnr = row.psnr(&page);
    assert!(psnr >= ALL_PSNR, "{psnr}");
    keep_all(&page, "streamed");
    let drawn = format!("{0} of {0} splats", row.splats);
    page.wait(&format!(
        "document.getElementById('hud').textContent.replace(/[^0-9a-z ]/g, '').startsWith({drawn:?})"
    ));
    let said = page.eval("document.getElementById('iteration-value').textContent");
    assert!(said.as_str().unwrap().starts_with("lod-meta.json"), "{said}");
    assert_content(&page);
}

#[test]
fn the_budget_is_kept_and_the_picture_near() {
    let row = Row::shared();
    for (share, least) in [(0.5, HALF_PSNR), (0.2, FIFTH_PSNR)] {
        let budget = (row.splats as f64 * share) as u64;
        let page = row.page(&format!("&budget={budget}"));
        page.run(WATCH);
        settled(&page);
        let psnr = row.psnr(&page);
        assert!(psnr >= least, "{share}: {psnr}");
        // Elsewhere other leaves are near.
        for key in ["a", "d"] {
            for kind in ["keydown", "keyup"] {
                page.run(&format!(
                    "document.body.dispatchEvent(new KeyboardEvent('{kind}', {{ key: '{key}', bubbles: true }}));"
                ));
                let _ = page.eval("new Promise(end => setTimeout(end, 400))");
            }
        }
        settled(&page);
        let most = page.eval("window.most").as_u64().unwrap();
        assert!((1..=budget).contains(&most), "{most} of {budget}");
        assert!(
            page.eval("location.search")
                .as_str()
                .unwrap()
                .contains(&format!("budget={budget}"))
        );
        keep(&page, &format!("streamed-{share}"));
        assert_content(&page);
    }
}

#[test]
fn a_chunk_that_does_not_come_is_named_and_the_coarser_level_stays() {
    let row = Row::shared();
    let folder = row.stage.scratch.join("holed/row");
    copy(&row.folder.join("row.streamed-sog"), &folder);
    fs::remove_file(folder.join("0_0/quats.webp")).unwrap();
    let view = View::start(&folder);
    let page = window();
    page.go(&view.url);
    ready(&page);
    page.wait("document.getElementById('messages').textContent.includes('0_0/meta.json')");
    settled(&page);
    let said = messages(&page).join(" ");
    assert!(said.contains("404") && said.contains("is shown instead"), "{said}");
    assert!(status(&page)["splats"].as_u64() < Some(row.splats));

    // Nothing at all is another matter.
    for level in 0..4 {
        fs::remove_dir_all(folder.join(format!("{level}_0"))).unwrap();
    }
    page.go(&view.url);
    page.wait("document.getElementById('messages').textContent.includes('lod-meta.json: ')");
    assert_eq!(status(&page)["loading"], false);
}

#[test]
fn a_static_copy_is_streamed_too() {
    let row = Row::shared();
    let site = row.stage.scratch.join("streamed-site");
    let mut command = kiln();
    command
        .arg("view")
        .arg(row.folder.join("row.streamed-sog"))
        .arg("--export")
        .arg(&site);
    assert_eq!(outcome(&mut command).0, Some(0));
    let address = static_host::serve(site);
    let page = window();
    page.go(&format!("http://{address}/index.html?cam={}", row.camera));
    ready(&page);
    drawn(&page);
    settled(&page);
    assert!(row.psnr(&page) >= ALL_PSNR);
    assert_content(&page);
}

#[test]
fn a_file_alone_is_shown_and_framed() {
    let row = Row::shared();
    let file = row.stage.scratch.join("alone/row.sog");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    export(&row.folder.join("run/point_cloud/iteration_100/point_cloud.ply"), &file);
    let view = View::start(&file);
    let page = window();
    page.go(&view.url);
    ready(&page);
    drawn(&page);
    let status = status(&page);
    assert_eq!(
        (&status["splats"], &status["streamed"]),
        (&row.splats.into(), &serde_json::Value::Null)
    );
    page.wait("(s => s.drawn > 0.8 * s.splats)(JSON.parse(kiln.status()))");
    keep(&page, "sog");
    assert_content(&page);
}

/// Least dB against the PLY at several budgets: of all levels, and of half and a fifth of the splats.
const ALL_PSNR: f64 = 45.0;
const HALF_PSNR: f64 = 34.0;
const FIFTH_PSNR: f64 = 25.0;
