//! What the flags of other trainers mean here: one table, from which refusals and `docs/guide/flags.md` are made.
//!
//! Every flag that people know from the Mip-Splatting and 3DGS trainers, and from the mesh pipeline that follows them,
//! has a row: it sets a key, does something that is no key, or is refused with what to use instead.

/// A flag of another trainer.
pub(super) struct Row {
    /// Its spellings.
    pub(super) flags: &'static [&'static str],
    /// Values that the row is limited to; empty = whatever follows.
    pub(super) only: &'static [&'static str],
    /// An example, as typed.
    pub(super) typed: &'static str,
    /// What it means here.
    pub(super) answer: Answer,
}

/// What a flag means here.
pub(super) enum Answer {
    /// The example sets this key to this YAML value.
    Key(&'static str, &'static str),
    /// It is a flag here too, and no key.
    Flag(&'static str),
    /// It ends with exit code 2 and these words.
    Refused(&'static str),
}

use Answer::{Flag, Key, Refused};

const fn row(flags: &'static [&'static str], typed: &'static str, answer: Answer) -> Row {
    Row {
        flags,
        only: &[],
        typed,
        answer,
    }
}

const SCALES: &str = "training on several image scales at once is not supported; `dataset.resolution` picks one";
const NO_VIEWER: &str = "there is no network viewer during training; `metrics_jsonl` under `sinks` records the run";
const NO_MESH: &str = "surface extraction is not part of Kiln yet; `kiln train SCENE` trains Gaussians and writes \
                       `point_cloud.ply`, and `kiln render RUN --depth` writes depth maps";

/// Flags of the Mip-Splatting trainer and of the 3DGS trainer under it.
pub(super) const GAUSSIANS: &[Row] = &[
    row(
        &["-s", "--source_path", "--source-path"],
        "-s garden",
        Key("dataset.path", "\"garden\""),
    ),
    row(
        &["-m", "--model_path", "--model-path"],
        "-m out",
        Key("run.output", "\"out\""),
    ),
    row(
        &["-i", "--images"],
        "-i images_4",
        Key("dataset.images", "\"images_4\""),
    ),
    row(&["-r", "--resolution"], "-r 4", Key("dataset.resolution", "4")),
    row(&["--eval"], "--eval", Key("dataset.eval", "true")),
    row(
        &["--test_iterations", "--test-iterations"],
        "--test_iterations 1000 5000 10000",
        Key("schedule.test", "[1000, 5000, 10000]"),
    ),
    row(
        &["--save_iterations", "--save-iterations"],
        "--save_iterations 5000 10000",
        Key("schedule.save", "[5000, 10000]"),
    ),
    row(
        &["--checkpoint_iterations", "--checkpoint-iterations"],
        "--checkpoint_iterations 5000 10000",
        Key("schedule.checkpoint", "[5000, 10000]"),
    ),
    row(
        &["--start_checkpoint", "--start-checkpoint"],
        "--start_checkpoint run/checkpoints/checkpoint_00003000.kiln",
        Flag("goes on from that checkpoint of Kiln, the same as `--resume=FILE`"),
    ),
    row(
        &["--experiment_name", "--experiment-name"],
        "--experiment_name garden-1",
        Key("run.name", "\"garden-1\""),
    ),
    row(
        &["--iterations"],
        "--iterations 7000",
        Key("schedule.iterations", "7000"),
    ),
    row(
        &["--sh_degree", "--sh-degree"],
        "--sh_degree 2",
        Key("model.sh_degree", "2"),
    ),
    row(
        &["-w", "--white_background", "--white-background"],
        "--white_background",
        Key("model.background", "white"),
    ),
    row(
        &["--kernel_size", "--kernel-size"],
        "--kernel_size 0.1",
        Key("mip.kernel_size", "0.1"),
    ),
    row(
        &["--ray_jitter", "--ray-jitter"],
        "--ray_jitter",
        Key("mip.ray_jitter", "true"),
    ),
    row(
        &["--resample_gt_image", "--resample-gt-image"],
        "--resample_gt_image",
        Key("mip.resample_gt_image", "true"),
    ),
    row(&["--load_allres"], "--load_allres", Refused(SCALES)),
    row(&["--sample_more_highres"], "--sample_more_highres", Refused(SCALES)),
    row(
        &["--data_device", "--data-device"],
        "--data_device cuda",
        Key("dataset.residency", "device"),
    ),
    row(
        &["--data_device", "--data-device"],
        "--data_device cpu",
        Key("dataset.residency", "host"),
    ),
    row(
        &["--low_dram", "--low-dram"],
        "--low_dram",
        Key("dataset.residency", "stream"),
    ),
    row(
        &["--high_dram", "--high-dram"],
        "--high_dram",
        Key("dataset.residency", "host"),
    ),
    row(
        &["--enable_lpips", "--enable-lpips"],
        "--enable_lpips False",
        Key("eval.lpips", "false"),
    ),
    row(
        &["--quiet"],
        "--quiet",
        Flag("no progress line; errors are still printed"),
    ),
    row(&["--debug"], "--debug", Key("debug.validation", "true")),
    row(
        &["--debug_from"],
        "--debug_from 1000",
        Refused("`debug.validation` checks the whole run; `--debug` turns it on"),
    ),
    row(
        &["--detect_anomaly"],
        "--detect_anomaly",
        Refused("every step is checked for non-finite values; `debug.validation` adds the Vulkan layer"),
    ),
    row(&["--ip"], "--ip 127.0.0.1", Refused(NO_VIEWER)),
    row(&["--port"], "--port 6009", Refused(NO_VIEWER)),
    row(
        &["--convert_SHs_python"],
        "--convert_SHs_python",
        Refused("colours always come from the device; `model.sh_degree` sets their detail"),
    ),
    row(
        &["--compute_cov3D_python"],
        "--compute_cov3D_python",
        Refused("covariances always come from the device; `debug.validation` checks its use"),
    ),
    row(
        &["--random_background", "--random-background"],
        "--random_background",
        Key("model.background", "random"),
    ),
    row(
        &[
            "--position_lr_init",
            "--position_lr_final",
            "--position_lr_delay_mult",
            "--position_lr_max_steps",
            "--feature_lr",
            "--opacity_lr",
            "--scaling_lr",
            "--rotation_lr",
        ],
        "--opacity_lr 0.05",
        Refused("learning rates are set by `--set optimizer.lr.NAME=VALUE`; `kiln profiles show default` lists them"),
    ),
    row(
        &["--lambda_dssim"],
        "--lambda_dssim 0.2",
        Refused("the terms of the loss and their weights are listed under `losses` in the configuration file"),
    ),
    row(
        &["--densify_grad_threshold"],
        "--densify_grad_threshold 0.0004",
        Refused("the key is `strategy.densify.grad_threshold`; `--set KEY=VALUE` sets it"),
    ),
    row(
        &["--densification_interval"],
        "--densification_interval 200",
        Refused("the key is `strategy.densify.every`; `--set KEY=VALUE` sets it"),
    ),
    row(
        &["--densify_from_iter"],
        "--densify_from_iter 500",
        Refused("the key is `strategy.densify.from`; `--set KEY=VALUE` sets it"),
    ),
    row(
        &["--densify_until_iter"],
        "--densify_until_iter 15000",
        Refused("the key is `strategy.densify.until`; `--set KEY=VALUE` sets it"),
    ),
    row(
        &["--percent_dense"],
        "--percent_dense 0.01",
        Refused("the key is `strategy.densify.percent_dense`; `--set KEY=VALUE` sets it"),
    ),
    row(
        &["--opacity_reset_interval"],
        "--opacity_reset_interval 3000",
        Refused("the key is `strategy.reset.every`; `--set KEY=VALUE` sets it"),
    ),
];

/// Flags of the mesh pipeline and of its memory options.
pub(super) const MESHES: &[Row] = &[
    row(
        &["--scene_path"],
        "--scene_path garden",
        Key("dataset.path", "\"garden\""),
    ),
    row(
        &["--resolution_scale", "--resolution-scale"],
        "--resolution_scale 0.9",
        Key("train.resolution_scale", "0.9"),
    ),
    row(&["--gpu"], "--gpu 0", Key("device.index", "0")),
    row(
        &["--optimize_memory"],
        "--optimize_memory True",
        Refused("the key is `memory.storage`: exact, half or compact; `--set KEY=VALUE` sets it"),
    ),
    row(
        &["--fragmentation"],
        "--fragmentation aggressive",
        Refused(
            "nothing is left to choose: every byte is planned before the first step, and there is no cache to empty; \
             `kiln memory RUN` shows what is used",
        ),
    ),
    row(
        &["--profile_tensors"],
        "--profile_tensors True",
        Refused("`memory_jsonl` under `sinks` always records it; `kiln memory RUN` shows it"),
    ),
    row(&["-c", "--checkpoint_path"], "-c output/garden", Refused(NO_MESH)),
    row(&["--iteration_to_load"], "--iteration_to_load 7000", Refused(NO_MESH)),
    Row {
        flags: &["-r", "--resolution", "--regularization_type"],
        only: &["density", "dn_consistency", "sdf", "refinement"],
        typed: "-r dn_consistency",
        answer: Refused(NO_MESH),
    },
    row(&["--skip_coarse"], "--skip_coarse True", Refused(NO_MESH)),
    row(
        &["--coarse_checkpoint"],
        "--coarse_checkpoint coarse.pt",
        Refused(NO_MESH),
    ),
    row(&["--refinement_time"], "--refinement_time short", Refused(NO_MESH)),
    row(&["-f", "--refinement_iterations"], "-f 15000", Refused(NO_MESH)),
    row(&["-l", "--surface_level"], "-l 0.3", Refused(NO_MESH)),
    row(&["-v", "--n_vertices_in_mesh"], "-v 1000000", Refused(NO_MESH)),
    row(&["-g", "--gaussians_per_triangle"], "-g 1", Refused(NO_MESH)),
    row(&["-b", "--bboxmin"], "-b (-1,-1,-1)", Refused(NO_MESH)),
    row(&["-B", "--bboxmax"], "-B (1,1,1)", Refused(NO_MESH)),
    row(&["--center_bbox"], "--center_bbox True", Refused(NO_MESH)),
    row(&["--low_poly"], "--low_poly True", Refused(NO_MESH)),
    row(&["--high_poly"], "--high_poly True", Refused(NO_MESH)),
    row(&["--square_size"], "--square_size 10", Refused(NO_MESH)),
    row(
        &[
            "--postprocess_mesh",
            "--postprocess_density_threshold",
            "--postprocess_iterations",
        ],
        "--postprocess_mesh True",
        Refused(NO_MESH),
    ),
    row(&["--export_ply"], "--export_ply True", Refused(NO_MESH)),
    row(&["-t", "--export_uv_textured_mesh"], "-t True", Refused(NO_MESH)),
    row(
        &["--project_mesh_on_surface_points"],
        "--project_mesh_on_surface_points True",
        Refused(NO_MESH),
    ),
];

/// The first refused flag of a command line, as typed, up to `--`. Only training and planning have such flags; other
/// commands are free to use the same letters.
pub(super) fn find_refused(args: &[String]) -> Option<(&str, &'static str)> {
    if !matches!(args.get(1).map(String::as_str), Some("train" | "plan")) {
        return None;
    }
    let args = args.get(2..).unwrap_or_default();
    args.iter()
        .enumerate()
        .take_while(|(_, arg)| *arg != "--")
        .find_map(|(at, arg)| {
            let rows = GAUSSIANS.iter().chain(MESHES);
            let mut rows = rows.flat_map(|row| row.flags.iter().map(move |flag| (row, *flag)));
            rows.find_map(|(row, flag)| {
                let Refused(instead) = row.answer else { return None };
                let attached = attached(arg, flag)?;
                let value = attached.or_else(|| args.get(at + 1).map(String::as_str));
                let applies = row.only.is_empty() || value.is_some_and(|value| row.only.contains(&value));
                applies.then_some((flag, instead))
            })
        })
}

/// Whether an argument is this flag, and the value that is attached to it: `--flag=V`, `-fV`.
fn attached<'a>(arg: &'a str, flag: &str) -> Option<Option<&'a str>> {
    let rest = arg.strip_prefix(flag)?;
    if rest.is_empty() {
        return Some(None);
    }
    match rest.strip_prefix('=') {
        Some(value) => Some(Some(value)),
        None => (!flag.starts_with("--")).then_some(Some(rest)),
    }
}

/// A long training command of the Mip-Splatting trainer, after `train.py`.
const KNOWN_COMMAND: &str = "-s garden -m output/garden -r 4 --eval --iterations 30000 \
     --test_iterations 1000 5000 10000 15000 30000 --save_iterations 5000 10000 15000 20000 30000 \
     --checkpoint_iterations 5000 10000 20000 --experiment_name full_res30k --high_dram --enable_lpips True";

fn table(rows: &[Row]) -> String {
    let mut text = "| flag | for example | in Kiln |\n|---|---|---|\n".to_owned();
    for row in rows {
        let flags: Vec<String> = row.flags.iter().map(|flag| format!("`{flag}`")).collect();
        let meaning = match row.answer {
            Key(key, value) => format!("sets `{key}` to `{value}`"),
            Flag(what) => what.to_owned(),
            Refused(instead) => format!("refused: {instead}"),
        };
        text += &format!("| {} | `{}` | {meaning} |\n", flags.join(", "), row.typed);
    }
    text
}

/// The table as a Markdown page: `kiln flags` and `docs/guide/flags.md`.
pub(super) fn page() -> String {
    format!(
        "# Flags of other trainers\n\n\
         `kiln train` and `kiln plan` understand the flags of the Mip-Splatting and 3DGS trainers. A command such as\n\n\
         ```sh\npython train.py {KNOWN_COMMAND}\n```\n\n\
         is `kiln train` with the same flags. Each flag below either sets a key of the configuration, which a file or\n\
         `--set KEY=VALUE` can set too, or is refused with exit code 2 and the words shown. Underscores and hyphens mean\n\
         the same in every flag that sets something.\n\n\
         `kiln flags` prints this page. It is made from the table in `engine/src/cli/flags.rs`, and a test holds the two\n\
         against each other: `KILN_BLESS=1 cargo test -p kiln flags` writes it anew.\n\n\
         ## Mip-Splatting and 3DGS\n\n{}\n\
         ## Mesh extraction and memory options\n\n\
         In that pipeline `-i` is the iteration to start from and `-r` the kind of regularisation; here they are image\n\
         folder and resolution, as in the trainers above.\n\n{}",
        table(GAUSSIANS),
        table(MESHES)
    )
}

#[cfg(test)]
mod tests;
