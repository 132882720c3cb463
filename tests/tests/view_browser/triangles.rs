//! Models of triangles: a run's, live and exported, and a file by itself.

use std::fs;
use std::path::Path;

use kiln_tests::browser::Page;
use kiln_tests::runs;
use kiln_tests::static_host;
use kiln_tests::view::View;

use crate::files::middle;
use crate::stage::{Stage, assert_content, change, copy, drawn, ready, status, window};

/// A blue square across the scene, with the properties that a model of triangles has.
fn model() -> Vec<u8> {
    let names = [
        "x", "y", "z", "red", "green", "blue", "f_dc_0", "f_dc_1", "f_dc_2", "opacity",
    ];
    let mut out = b"ply\nformat binary_little_endian 1.0\ncomment iteration 100\ncomment kiln opacity_floor 0.9999\n\
        comment kiln sigma 0.0001\nelement vertex 4\n"
        .to_vec();
    for name in names {
        let scalar = if name.ends_with('e') || name.ends_with('d') || name == "green" {
            "uchar"
        } else {
            "float"
        };
        out.extend(format!("property {scalar} {name}\n").bytes());
    }
    out.extend(b"element face 2\nproperty list uchar int vertex_indices\nend_header\n");
    for [x, y] in [[-50.0_f32, -50.0], [50.0, -50.0], [50.0, 50.0], [-50.0, 50.0]] {
        out.extend([x, y, 0.0].map(f32::to_le_bytes).as_flattened());
        out.extend([0, 0, 255]);
        out.extend([-1.77_f32, -1.77, 1.77, 9.0].map(f32::to_le_bytes).as_flattened());
    }
    for corners in [[0_i32, 1, 2], [0, 2, 3]] {
        out.push(3);
        out.extend(corners.map(i32::to_le_bytes).as_flattened());
    }
    out
}

/// Saves the model as one of the run at its last iteration.
fn save(run: &Path) {
    let file = "point_cloud/iteration_100/triangles.ply";
    let bytes = model();
    fs::write(run.join(file), &bytes).unwrap();
    change(run, |record| {
        record["plys"]
            .as_array_mut()
            .unwrap()
            .retain(|ply| ply["iteration"] == 50);
        record["plys"].as_array_mut().unwrap().push(serde_json::json!({
            "iteration": 100, "kind": "triangles", "path": file, "gaussians": 2, "bytes": bytes.len(),
        }));
    });
}

fn blue(page: &Page, folder: &Path) {
    page.wait("JSON.parse(kiln.status()).triangles === 2 && !JSON.parse(kiln.status()).loading");
    assert_eq!(middle(page, folder), [0, 0, 255]);
    assert_content(page);
}

#[test]
fn triangles_of_a_run_are_its_model() {
    let stage = Stage::shared();
    let root = stage.scratch.join("triangles");
    let run = root.join("ms");
    copy(&stage.run(), &run);
    save(&run);
    // While it trains its first model is one of splats; the next takes its place.
    let saved = fs::read(run.join("run.json")).unwrap();
    change(&run, |record| {
        record["status"] = "running".into();
        record["plys"].as_array_mut().unwrap().truncate(1);
    });
    let view = View::start(&root);
    let page = window();
    page.go(&format!("{}&run=runs/ms", view.url));
    ready(&page);
    drawn(&page);
    assert_eq!(status(&page)["triangles"], 0);
    let saved: serde_json::Value = serde_json::from_slice(&saved).unwrap();
    change(&run, |record| record["plys"] = saved["plys"].clone());
    page.wait("JSON.parse(kiln.status()).triangles === 2");
    blue(&page, &root);
    assert_eq!(
        (&status(&page)["iteration"], &status(&page)["splats"]),
        (&100.into(), &0.into())
    );
    page.wait("document.getElementById('iteration-value').textContent.includes('2 triangles')");
    // An older model takes their place in turn.
    page.go(&format!("{}&run=runs/ms&iter=50", view.url));
    ready(&page);
    drawn(&page);
    assert_eq!(status(&page)["triangles"], 0);
}

#[test]
fn triangles_are_exported_and_open_by_themselves() {
    let stage = Stage::shared();
    let root = stage.scratch.join("exported");
    let run = root.join("ms");
    copy(&stage.run(), &run);
    save(&run);
    let site = stage.scratch.join("triangle-site");
    let (code, text) = runs::outcome(runs::kiln().arg("view").arg(&root).arg("--export").arg(&site));
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(
        fs::read(site.join("runs/ms/point_cloud/iteration_100/triangles.ply")).unwrap(),
        model()
    );
    let alone = View::start(&run.join("point_cloud/iteration_100/triangles.ply"));
    let page = window();
    page.go(&alone.url);
    ready(&page);
    blue(&page, &root);
}

/// What stages made is served, listed and opened; the run of the one that refines is a run.
#[test]
fn stages_of_a_run_are_entries_of_its_page() {
    let stage = Stage::shared();
    let root = stage.scratch.join("stages");
    let run = root.join("sugar");
    copy(&stage.run(), &run);
    copy(&stage.run(), &run.join("refined"));
    fs::create_dir_all(run.join("mesh")).unwrap();
    fs::write(run.join("mesh/mesh.ply"), model()).unwrap();
    fs::copy(
        run.join("point_cloud/iteration_50/point_cloud.ply"),
        run.join("coarse.ply"),
    )
    .unwrap();
    change(&run, |record| {
        for file in ["coarse.ply", "mesh/mesh.ply", "mesh/report.json"] {
            record["files"].as_array_mut().unwrap().push(file.into());
        }
    });
    let site = stage.scratch.join("stages-site");
    let (code, text) = runs::outcome(runs::kiln().arg("view").arg(&root).arg("--export").arg(&site));
    assert_eq!(code, Some(0), "{text}");
    let served = View::start(&root);
    let exported = format!("http://{}/?", static_host::serve(site));
    for url in [served.url.as_str(), exported.as_str()] {
        let page = window();
        page.go(&format!("{url}&run=runs/sugar"));
        ready(&page);
        drawn(&page);
        let entries = page.eval("[...document.querySelectorAll('#parts button')].map(b => b.textContent)");
        assert_eq!(entries, serde_json::json!(["coarse splats", "mesh"]));
        page.click("#parts button:nth-child(2)");
        blue(&page, &root);
        assert_eq!(status(&page)["shown"], "part");
        page.click("#parts button:nth-child(1)");
        page.wait("JSON.parse(kiln.status()).triangles === 0 && JSON.parse(kiln.status()).splats > 0");
        assert_eq!(status(&page)["shown"], "part");
        let names = page.eval("[...document.querySelectorAll('#run option')].map(o => o.value)");
        assert!(names.to_string().contains("runs/sugar/refined"), "{names}");
        page.go(&format!("{url}&run=runs/sugar/refined"));
        ready(&page);
        drawn(&page);
        assert_content(&page);
    }
}
