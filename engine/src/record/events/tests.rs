#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
use super::*;
use crate::eval::NamedView;
use crate::record::findings::{Response, Verdict};

fn train() -> TrainRow {
    TrainRow {
        it: 491,
        loss: 0.214,
        l1: 0.1,
        normals: None,
        density: None,
        density_normals: None,
        neighbour_geometry: None,
        neighbour_photometric: None,
        gaussians: 7000,
        triangles: None,
        vertices: None,
        visible: 900,
        intersections: 5000,
        its: Some(12.5),
        t_s: 39.281_234,
    }
}

fn line(row: &MetricsRow) -> String {
    let text = serde_json::to_string(row).unwrap();
    let back: MetricsRow = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&back).unwrap(), text);
    text
}

#[test]
fn training_rows_have_the_published_keys_in_order() {
    assert_eq!(
        line(&MetricsRow::Train(train())),
        r#"{"type":"train","it":491,"loss":0.214,"l1":0.1,"gaussians":7000,"visible":900,"intersections":5000,"its":12.5,"t_s":39.281}"#
    );
}

#[test]
fn rows_of_triangles_count_triangles_and_vertices() {
    let row = TrainRow {
        triangles: Some(7000),
        vertices: Some(4000),
        ..train()
    };
    let text = line(&MetricsRow::Train(row));
    assert!(
        text.contains(r#""gaussians":7000,"triangles":7000,"vertices":4000,"visible":900"#),
        "{text}"
    );
}

#[test]
fn numbers_that_are_not_finite_become_null_and_come_back() {
    let row = TrainRow {
        loss: f32::NAN,
        l1: f32::INFINITY,
        normals: None,
        density: None,
        density_normals: None,
        neighbour_geometry: None,
        neighbour_photometric: None,
        its: None,
        ..train()
    };
    let text = line(&MetricsRow::Train(row));
    assert!(
        text.contains(r#""loss":null,"l1":null"#) && text.contains(r#""its":null"#),
        "{text}"
    );
    let MetricsRow::Train(back) = serde_json::from_str(&text).unwrap() else {
        unreachable!()
    };
    assert!(back.loss.is_nan());
}

#[test]
fn evaluation_rows() {
    let row = EvalRow {
        it: 3100,
        set: Split::Test,
        n: 20,
        l1: 0.02,
        psnr: 27.5,
        psnr_image: 27.25,
        ssim: 0.875,
        ssim_valid: None,
        lpips: None,
        psnr_fitted_half: None,
        lpips_range: LpipsRange::ZeroOne,
        poses: None,
        spread: Spread {
            median: Some(28.0),
            worst: Some(NamedView {
                name: "a".to_owned(),
                psnr_image: 20.5,
                fog_share: None,
            }),
            worst_fog_share: Some(0.5),
        },
        gaussians: 4,
        triangles: None,
        vertices: None,
        mean_opacity: None,
        t_s: 1.0,
    };
    assert_eq!(
        line(&MetricsRow::Eval(row)),
        r#"{"type":"eval","it":3100,"set":"test","n":20,"l1":0.02,"psnr":27.5,"psnr_image":27.25,"ssim":0.875,"ssim_valid":null,"lpips":null,"lpips_range":"zero_one","median":28.0,"worst":{"name":"a","psnr_image":20.5},"worst_fog_share":0.5,"gaussians":4,"t_s":1.0}"#
    );
    let old = r#"{"type":"eval","it":1,"set":"train","n":1,"l1":0.1,"psnr":27.5,"psnr_image":27.25,"ssim":0.5,"ssim_valid":null,"lpips":null,"lpips_range":"zero_one","gaussians":4,"t_s":1.0}"#;
    let MetricsRow::Eval(row) = serde_json::from_str(old).unwrap() else {
        unreachable!()
    };
    assert_eq!(row.spread, Spread::default());
}

#[test]
fn every_event_has_a_kind_and_a_detail() {
    let text = String::from;
    let events = [
        (
            "densify",
            Event::Densify {
                clones: 1,
                splits: 2,
                deaths: 3,
                gaussians: 4,
            },
        ),
        ("densify_capped", Event::DensifyCapped { dropped: 5, n_cap: 6 }),
        (
            "cull",
            Event::Cull {
                removed: 5,
                gaussians: 6,
            },
        ),
        ("reset", Event::Reset { opacity: 0.01 }),
        ("filter", Event::Filter { views: 7 }),
        ("live", Event::Live { kept: 3, gaussians: 9 }),
        (
            "stall",
            Event::Stall {
                buffer: StallBuffer::Visible,
                wanted: 9,
                capacity: 8,
            },
        ),
        (
            "nonfinite",
            Event::Nonfinite {
                pass: text("p"),
                tensor: text("t"),
                index: 1,
                count: 2,
            },
        ),
        (
            "spill",
            Event::Spill(SpillEvidence::HostHeap {
                host_heap_usage: 9 << 20,
                baseline: 1 << 20,
            }),
        ),
        (
            "spill",
            Event::Spill(SpillEvidence::Probe {
                block: text("block 1 (arena)"),
                gb_s: 12.5,
                reference_gb_s: 400.0,
            }),
        ),
        (
            "residency",
            Event::Residency(MemoryPlace {
                verdict: Verdict::Resident,
                reason: None,
                reference_gb_s: Some(400.0),
                slowest_gb_s: Some(380.0),
                slowest: Some(text("block 0 (persistent)")),
                blocks: 7,
            }),
        ),
        (
            "pressure",
            Event::Pressure(PressureChange {
                response: Response::MoreBands,
                active: true,
                bands: Some(2),
                heap_usage: 9 << 20,
                heap_budget: 8 << 20,
            }),
        ),
        (
            "slow_step",
            Event::SlowStep {
                ms: 50.0,
                usual_ms: 5.0,
            },
        ),
        (
            "budget_shrunk",
            Event::BudgetShrunk {
                from: 9 << 20,
                to: 8 << 20,
            },
        ),
        (
            "early_stop",
            Event::EarlyStop {
                metric: PlateauMetric::Psnr,
                best: Some(25.5),
                best_it: 3000,
                evaluations: 4,
                min_delta: 0.5,
            },
        ),
        ("resume", Event::Resume { checkpoint: text("c") }),
        (
            "save",
            Event::Save {
                files: vec![text("a.ply")],
            },
        ),
        (
            "mesh_stage",
            Event::MeshStage(MeshStageRow {
                stage: text("march"),
                seconds: 0.5,
                bricks: 4,
                points: 0,
                vertices: 30,
                triangles: 56,
            }),
        ),
        (
            "chosen",
            Event::Chosen {
                message: text("background points: none"),
            },
        ),
        ("warning", Event::Warning { message: text("odd") }),
    ];
    for (kind, event) in events {
        assert!(!event.to_string().is_empty());
        let row = MetricsRow::Event(EventRow { it: 3, event });
        let text = line(&row);
        let head = format!(r#"{{"type":"event","it":3,"kind":"{kind}","detail":{{"#);
        assert!(text.starts_with(&head), "{text}");
        assert_eq!(serde_json::from_str::<MetricsRow>(&text).unwrap(), row);
    }
}

#[test]
fn capacities_are_there_or_not() {
    let mut row = MemoryRow {
        it: 1,
        ..MemoryRow::default()
    };
    let text = serde_json::to_string(&row).unwrap();
    assert!(!text.contains("n_cap") && !text.contains("gpu"), "{text}");
    assert_eq!(serde_json::from_str::<MemoryRow>(&text).unwrap(), row);
    row.capacities = Some(Capacities {
        n_cap: 1,
        v_cap: 2,
        i_cap: 3,
    });
    let text = serde_json::to_string(&row).unwrap();
    assert!(text.ends_with(r#""n_cap":1,"v_cap":2,"i_cap":3}"#), "{text}");
    assert_eq!(serde_json::from_str::<MemoryRow>(&text).unwrap(), row);
}

#[test]
fn rows_of_older_runs_can_be_read() {
    let text = r#"{"it":1,"allocated":2,"reserved":3,"peak_allocated":2,"peak_reserved":3,"heap_budget":null,
        "heap_usage":null,"host_heap_usage":null,"tags":{},"overhead":0.25}"#;
    let row: MemoryRow = serde_json::from_str(text).unwrap();
    assert_eq!((row.vram_creep, row.large_tensors, row.gpu), (0, 0, None));
}

#[test]
fn device_stalls_map_to_buffers() {
    assert_eq!(StallBuffer::of(Stall::Intersections), Some(StallBuffer::Intersections));
    assert_eq!(StallBuffer::of(Stall::NonFinite), None);
}
