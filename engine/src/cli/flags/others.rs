//! What the flags of other trainers mean here: rows from which refusals and `docs/guide/flags.md` are made.
//!
//! Every flag that people know from the Mip-Splatting and 3DGS trainers, and from the mesh pipeline that follows them,
//! has a row: it is a flag of the table, does something that is no key, or is refused with what to use instead.

use super::arguments::list;
use super::{DEVICE, Flag, SETTINGS, Value};

/// A flag of another trainer.
pub(super) enum Row {
    /// It sets a key; an example, as typed.
    Sets(&'static str),
    /// It does something here too that is no key: spellings, example, what it does.
    Does(&'static [&'static str], &'static str, &'static str),
    /// It ends with exit code 2: spellings, example, what to use instead.
    Refused(&'static [&'static str], &'static str, &'static str),
    /// The same with these values only: spellings, values, example, what to use instead.
    RefusedWith(
        &'static [&'static str],
        &'static [&'static str],
        &'static str,
        &'static str,
    ),
}

use Row::{Does, Refused, RefusedWith, Sets};

const SCALES: &str = "training on several image scales at once is not supported; `dataset.resolution` picks one";
const DEPTH_WEIGHT: &str = "`losses: [..., { kind: depth, weight: 5, weight_end: 0.05 }]` in the configuration file sets it; see the guide `recipes`";
const EXPOSURE: &str = "photos whose colours differ get an affine map each by themselves; `train.photo_colors` is \
                        auto, on or off; see the guide `methods`";
const NO_JITTER: &str =
    "photos are sampled at pixel centres; `mip.kernel_size` and `mip.filter_3d` are what there is against aliasing";
const NO_VIEWER: &str = "there is no network viewer during training; `metrics_jsonl` under `sinks` records the run";
const NO_BATCHES: &str = "a step sees one photo: its gradients go into the model at once and take no memory that waiting for more photos could \
                          save; `optimizer.lr` has the rates, which lower are as calm as averages of several photos";
/// Stands for all values that are whole numbers.
pub(super) const NUMBER: &str = "N";
const REGULARIZER: &str = "the key is `sugar.regularizer`, with `--recipe sugar`; `--set KEY=VALUE` sets it";

/// Flags of the Mip-Splatting trainer and of the 3DGS trainer under it.
pub(super) const GAUSSIANS: &[Row] = &[
    Sets("-s garden"),
    Sets("-m out"),
    Sets("-i images_4"),
    Sets("-r 4"),
    Sets("--eval"),
    RefusedWith(
        &["--eval"],
        &["True", "true", "False", "false"],
        "--eval True",
        "`--eval` takes no value, and holding out is the default; `--no-eval` trains on all views",
    ),
    Sets("--llffhold 8"),
    Sets("--test_iterations 1000 5000 10000"),
    Sets("--save_iterations 5000 10000"),
    Sets("--checkpoint_iterations 5000 10000"),
    Does(
        &["--start_checkpoint", "--start-checkpoint"],
        "--start_checkpoint run/checkpoints/checkpoint_00003000.kiln",
        "goes on from that checkpoint of Kiln, the same as `--resume=FILE`",
    ),
    Sets("--experiment_name garden-1"),
    Sets("--iterations 7000"),
    Sets("--sh_degree 2"),
    Sets("--white_background"),
    Sets("--kernel_size 0.1"),
    Sets("--antialiasing"),
    Sets("-d depths"),
    Refused(
        &["--depth_l1_weight_init", "--depth_l1_weight_final"],
        "--depth_l1_weight_init 0.5",
        DEPTH_WEIGHT,
    ),
    Refused(
        &[
            "--train_test_exp",
            "--exposure_lr_init",
            "--exposure_lr_final",
            "--exposure_lr_delay_steps",
            "--exposure_lr_delay_mult",
        ],
        "--train_test_exp",
        EXPOSURE,
    ),
    Refused(
        &["--optimizer_type"],
        "--optimizer_type sparse_adam",
        "there is one optimiser, which passes Gaussians by that a view does not see; leave the flag out, or see `optimizer`",
    ),
    Refused(
        &["--disable_viewer"],
        "--disable_viewer",
        "there is no network viewer during training that could be turned off; leave the flag out, or use `--quiet`",
    ),
    Refused(&["--ray_jitter", "--ray-jitter"], "--ray_jitter", NO_JITTER),
    Refused(
        &["--resample_gt_image", "--resample-gt-image"],
        "--resample_gt_image",
        NO_JITTER,
    ),
    Refused(&["--load_allres", "--sample_more_highres"], "--load_allres", SCALES),
    Sets("--data_device cuda"),
    Sets("--data_device cpu"),
    Sets("--low_dram"),
    Sets("--high_dram"),
    Sets("--enable_lpips False"),
    Does(&["--quiet"], "--quiet", "no progress line; errors are still printed"),
    Sets("--debug"),
    Refused(
        &["--debug_from"],
        "--debug_from 1000",
        "`diagnose.validation` checks the whole run; `--debug` turns it on",
    ),
    Refused(
        &["--detect_anomaly"],
        "--detect_anomaly",
        "every step is checked for non-finite values; `diagnose.validation` adds the Vulkan layer",
    ),
    Refused(&["--ip", "--port"], "--port 6009", NO_VIEWER),
    Refused(
        &["--convert_SHs_python"],
        "--convert_SHs_python",
        "colours always come from the device; `model.sh_degree` sets their detail",
    ),
    Refused(
        &["--compute_cov3D_python"],
        "--compute_cov3D_python",
        "covariances always come from the device; `diagnose.validation` checks its use",
    ),
    Sets("--random_background"),
    Refused(
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
        "learning rates are set by `--set optimizer.lr.NAME=VALUE`; `kiln profiles show default` lists them",
    ),
    Refused(
        &["--lambda_dssim"],
        "--lambda_dssim 0.2",
        "the terms of the loss and their weights are listed under `losses` in the configuration file",
    ),
    Refused(
        &["--densify_grad_threshold"],
        "--densify_grad_threshold 0.0004",
        "the key is `strategy.densify.grad_threshold`; `--set KEY=VALUE` sets it",
    ),
    Refused(
        &["--densification_interval"],
        "--densification_interval 200",
        "the key is `strategy.densify.every`; `--set KEY=VALUE` sets it",
    ),
    Refused(
        &["--densify_from_iter"],
        "--densify_from_iter 500",
        "the key is `strategy.densify.from`; `--set KEY=VALUE` sets it",
    ),
    Refused(
        &["--densify_until_iter"],
        "--densify_until_iter 15000",
        "the key is `strategy.densify.until`; `--set KEY=VALUE` sets it",
    ),
    Refused(
        &["--percent_dense"],
        "--percent_dense 0.01",
        "it is a constant, 0.01; `strategy.densify.grad_threshold` decides how many are densified",
    ),
    Refused(
        &["--opacity_reset_interval"],
        "--opacity_reset_interval 3000",
        "the key is `strategy.reset.every`; `--set KEY=VALUE` sets it",
    ),
];

/// Flags of 3DGS-MCMC, gsplat, LichtFeld Studio and Brush.
pub(super) const OTHERS: &[Row] = &[
    Sets("--cap_max 1000000"),
    Sets("--data_dir garden"),
    Sets("--result_dir out"),
    Sets("--data_factor 4"),
    Sets("--max_steps 7000"),
    Sets("--test_every 8"),
    Refused(
        &[
            "--batch_size",
            "--batch-size",
            "--accumulate",
            "--accumulation_steps",
            "--gradient_accumulation_steps",
        ],
        "--batch_size 4",
        NO_BATCHES,
    ),
    Refused(
        &["--strategy"],
        "--strategy mcmc",
        "recipes choose it: `--recipe mcmc` trains 3DGS-MCMC, `--recipe mip` densifies by gradients; `kiln profiles list` has more",
    ),
];

/// Flags of the mesh pipeline and of its memory options.
pub(super) const MESHES: &[Row] = &[
    Sets("--scene_path garden"),
    Refused(
        &["--resolution_scale", "--resolution-scale"],
        "--resolution_scale 0.9",
        "photos are divided by whole numbers, or drawn at any width: `--resolution 1440` is 0.9 of 1600 pixels",
    ),
    Sets("--gpu 0"),
    Sets("--optimize_memory True"),
    Refused(
        &["--fragmentation"],
        "--fragmentation aggressive",
        "nothing is left to choose: every byte is planned before the first step, and there is no cache to empty; \
             `kiln memory RUN` shows what is used",
    ),
    Refused(
        &["--profile_tensors"],
        "--profile_tensors True",
        "`memory_jsonl` under `sinks` always records it; `kiln memory RUN` shows it",
    ),
    Refused(
        &["-c", "--checkpoint_path", "--gs_output_dir"],
        "-c output/garden",
        "`sugar.from` names the trained model that `--recipe sugar` begins with; `--set KEY=VALUE` sets it",
    ),
    RefusedWith(
        &["-i", "--images"],
        &[NUMBER],
        "-i 7000",
        "here it names the folder of photos (`./7000` where that is its name); SuGaR's iteration to start from is `sugar.start`, with \
         `--recipe sugar`; `--set KEY=VALUE` sets it",
    ),
    Refused(
        &["--iteration_to_load"],
        "--iteration_to_load 7000",
        "the key is `sugar.start`, with `--recipe sugar`; `--set KEY=VALUE` sets it",
    ),
    RefusedWith(
        &["-r", "--resolution"],
        &["density", "dn_consistency", "sdf"],
        "-r dn_consistency",
        REGULARIZER,
    ),
    Refused(&["--regularization_type"], "--regularization_type sdf", REGULARIZER),
    RefusedWith(
        &["-r", "--resolution"],
        &["refinement"],
        "-r refinement",
        "it never was one of the kinds; `sugar.regularizer` is density, sdf or dn_consistency",
    ),
    Refused(
        &["-e", "--estimation_factor"],
        "--estimation_factor 0.2",
        "it is `weight` of the regularizer `density`: `--set regularizers.1.weight=0.2` sets it in `--recipe sugar`",
    ),
    Refused(
        &["-n", "--normal_factor"],
        "--normal_factor 0.2",
        "it is `normal` of the regularizer `density`: `--set regularizers.1.normal=0.2` sets it in `--recipe sugar`",
    ),
    Refused(
        &["-l", "--surface_level"],
        "--surface_level 0.3",
        "points lie where the density is 0.3; `mesh.method` poisson_depths takes the depths of pixels instead",
    ),
    Sets("-v 1000000"),
    Refused(
        &["-b", "--bboxmin", "-B", "--bboxmax", "--center_bbox"],
        "--bboxmin (-1,-1,-1)",
        "the key is `mesh.box`, world coordinates of both corners; `--set KEY=VALUE` sets it",
    ),
    Sets("--project_mesh_on_surface_points True"),
    Refused(
        &[
            "--use_centers_to_extract_mesh",
            "--use_marching_cubes",
            "--use_vanilla_3dgs",
        ],
        "--use_marching_cubes True",
        "points lie on a level of the density, and the surface is Poisson's; `mesh.method` fusion is the other way",
    ),
    Refused(
        &["--low_poly"],
        "--low_poly True",
        "`--recipe sugar_light` has a mesh of 200 000 triangles with six Gaussians each",
    ),
    Refused(
        &["--high_poly"],
        "--high_poly True",
        "`--recipe sugar` has a mesh of a million triangles with a Gaussian each",
    ),
    Sets("--gaussians_per_triangle 6"),
    Sets("--refinement_iterations 7000"),
    Sets("--refinement_time short"),
    Sets("--normal_consistency_factor 0.1"),
    Refused(
        &["-t", "--export_uv_textured_mesh"],
        "-t True",
        "the keys are `mesh.texture` and `mesh.formats`, which lists obj; `--set KEY=VALUE` sets them",
    ),
    Refused(
        &["--square_size"],
        "--square_size 8",
        "it is a constant, 8 texels, of `mesh.texture` squares; charts have the size of `mesh.texture.size`",
    ),
    Refused(
        &[
            "--postprocess_mesh",
            "--postprocess_density_threshold",
            "--postprocess_iterations",
        ],
        "--postprocess_mesh True",
        "the key is `mesh.peel`: `--set mesh.peel={}` takes borders off five times and brings back what is denser than 0.1",
    ),
    Refused(
        &["--export_ply"],
        "--export_ply True",
        "the model of every stage is always written; `exporters` lists its files",
    ),
    Refused(
        &["--skip_coarse", "--coarse_checkpoint", "--coarse_model_path"],
        "--skip_coarse True",
        "`sugar.from` names the model of the coarse stage and `sugar.stages` is [extract, refine, texture]; `--resume` skips what a \
         run has done",
    ),
    Refused(
        &["--mesh_path"],
        "--mesh_path mesh.ply",
        "`--recipe bound --init-mesh FILE` refines an existing mesh",
    ),
    Refused(
        &["--refined_model_path", "--mesh_output_dir"],
        "--refined_model_path 15000.pt",
        "`kiln mesh RUN/refined -o DIR` makes the picture of a refined model again; the keys under `mesh` are its settings",
    ),
    Refused(
        &["--img_resolution", "--img_size_limit"],
        "--img_size_limit 1920",
        "`--resolution N` says it all: a divisor, or the width in pixels",
    ),
];

/// Flags of the MeshSplatting trainer that say nothing there either.
pub(super) const TRIANGLES: &[Row] = &[
    Sets("--indoor"),
    Sets("--max_points 8000000"),
    Refused(
        &["--add_percentage"],
        "--add_percentage 1.23",
        "it is a constant, 1.23 outdoors and 1.27 indoors; `mesh_splatting.scene` chooses",
    ),
    Refused(
        &["--splitt_large_triangles"],
        "--splitt_large_triangles 100",
        "it is a constant, 100 outdoors and 500 indoors; `mesh_splatting.scene` chooses",
    ),
    Refused(
        &["--size_probs_zero", "--size_probs_zero_image_space"],
        "--size_probs_zero 0.000075",
        "it is a constant, 0.000075 outdoors and 0 indoors, and 0 on images; `mesh_splatting.scene` chooses",
    ),
    Refused(
        &["--start_pruning"],
        "--start_pruning 4000",
        "it is a constant, 4000 outdoors and 3000 indoors; `mesh_splatting.scene` chooses",
    ),
    Refused(
        &["--prune_triangles_threshold"],
        "--prune_triangles_threshold 0.235",
        "it is a constant, 0.235 in both; `mesh_splatting.scene` chooses",
    ),
    Refused(
        &["--prune_size"],
        "--prune_size 1400",
        "it is a constant, 1400 outdoors and 1300 indoors; `mesh_splatting.scene` chooses",
    ),
    Refused(
        &["--start_opacity_floor"],
        "--start_opacity_floor 5000",
        "it is a constant, 5000 in both; `mesh_splatting.scene` chooses",
    ),
    Refused(
        &["--final_opacity_iter"],
        "--final_opacity_iter 24000",
        "it is a constant, 24000 in both; `mesh_splatting.scene` chooses",
    ),
    Refused(
        &["--sigma_start", "--sigma_until", "--set_sigma"],
        "--set_sigma 1.0",
        "the window goes from 1 to 0.0001 over the whole run in both; `mesh_splatting.scene` chooses",
    ),
    Refused(
        &["--set_weight"],
        "--set_weight 0.28",
        "it is a constant, 0.28 in both; `mesh_splatting.scene` chooses",
    ),
    Refused(
        &["--start_upsampling", "--upscaling_factor"],
        "--start_upsampling 20000",
        "the key is `mesh_splatting.supersample`, a list of iterations and samples; `--set KEY=VALUE` sets it",
    ),
    Refused(
        &["--lr_triangles_points_init"],
        "--lr_triangles_points_init 0.0015",
        "it is a constant, 0.0015 in both, and a hundredth at the end; `mesh_splatting.scene` chooses",
    ),
    Refused(
        &["--weight_lr"],
        "--weight_lr 0.03",
        "it is a constant, 0.03 outdoors and 0.05 indoors; that of colours, there `--feature_lr`, is 0.0016 and 0.004; `mesh_splatting.scene` chooses",
    ),
    Refused(
        &["--lambda_weight"],
        "--lambda_weight 0.0000019",
        "it is a constant, 0.0000019 outdoors and 0 indoors; `mesh_splatting.scene` chooses",
    ),
    Refused(
        &["--lambda_vertex", "--start_vertex_opt", "--max_diff_threshold"],
        "--lambda_vertex 0.00025",
        "they are constants, 0.00025, 12000 and 0.5 in both; `mesh_splatting.scene` chooses",
    ),
    Refused(
        &["--lambda_normals", "--iteration_mesh"],
        "--lambda_normals 0.00005",
        "they are constants, 0.00005 from 5000 on outdoors and 0.00001 from 12000 on indoors; `mesh_splatting.scene` chooses",
    ),
    Refused(
        &["--lambda_normals_super", "--depth_lambda_init", "--depth_lambda_final"],
        "--depth_lambda_init 0.01",
        "triangles are trained without depth and normal maps; `--recipe meshsplatting` compares depths and normals with each other",
    ),
    Refused(
        &["--lamba_depth", "--depth_ratio"],
        "--depth_ratio 1.0",
        "MeshSplatting reads it nowhere; leave it out, or weigh depth maps by `losses: [..., { kind: depth, weight: 1 }]`",
    ),
    Refused(
        &["--intervall_add_triangles"],
        "--intervall_add_triangles 500",
        "MeshSplatting reads it nowhere; leave it out. There it is `--densification_interval` that counts",
    ),
    Refused(
        &["--wandb_name"],
        "--wandb_name garden",
        "MeshSplatting reads it nowhere; `--name` names the run, `sinks` say where its figures go",
    ),
    Refused(
        &["--use_sparse_adam"],
        "--use_sparse_adam",
        "MeshSplatting imports that optimiser and never uses it; leave it out, or see `optimizer`",
    ),
];

/// A long training command of the Mip-Splatting trainer, after `train.py`.
pub(super) const KNOWN_COMMAND: &str = "-s garden -m output/garden -r 4 --eval --iterations 30000 \
     --test_iterations 1000 5000 10000 15000 30000 --save_iterations 5000 10000 15000 20000 30000 \
     --checkpoint_iterations 5000 10000 20000 --experiment_name full_res30k --high_dram --enable_lpips True";

/// The flag of the table that an example begins with, and the YAML value that the example sets.
pub(super) fn example(typed: &str) -> Option<(&'static Flag, String)> {
    let (name, values) = typed.split_once(' ').unwrap_or((typed, ""));
    let name = name.trim_start_matches('-').replace('_', "-");
    let mut flags = SETTINGS.iter().chain(DEVICE);
    let flag = flags.find(|flag| flag.names.contains(&name.as_str()))?;
    let value = match flag.value {
        Value::Switch(value) => value.to_owned(),
        Value::One(_, read) | Value::Optional(_, read, _) => read(values).ok()?,
        Value::List => list(values.split(' ')),
    };
    Some((flag, value))
}

impl Row {
    /// Its example.
    pub(super) const fn typed(&self) -> &'static str {
        match self {
            Sets(typed) | Does(_, typed, _) | Refused(_, typed, _) | RefusedWith(_, _, typed, _) => typed,
        }
    }

    /// Every spelling.
    pub(super) fn spellings(&self) -> Vec<String> {
        match self {
            Does(flags, ..) | Refused(flags, ..) | RefusedWith(flags, ..) => {
                flags.iter().map(|flag| (*flag).to_owned()).collect()
            }
            Sets(typed) => example(typed).map_or_else(Vec::new, |(flag, _)| flag.spellings().collect()),
        }
    }

    /// What it means here.
    fn meaning(&self) -> String {
        match *self {
            Sets(typed) => {
                example(typed).map_or_else(String::new, |(flag, value)| format!("sets `{}` to `{value}`", flag.key))
            }
            Does(_, _, what) => what.to_owned(),
            Refused(_, _, instead) | RefusedWith(_, _, _, instead) => format!("refused: {instead}"),
        }
    }
}

fn table(rows: &[Row]) -> String {
    let mut text = "| flag | for example | in Kiln |\n|---|---|---|\n".to_owned();
    for row in rows {
        let flags: Vec<String> = row.spellings().iter().map(|flag| format!("`{flag}`")).collect();
        let only = match row {
            RefusedWith(_, [NUMBER], ..) => " with a number".to_owned(),
            RefusedWith(_, only, ..) => format!(" with {}", only.join(", ")),
            _ => String::new(),
        };
        text += &format!(
            "| {}{only} | `{}` | {} |\n",
            flags.join(", "),
            row.typed(),
            row.meaning()
        );
    }
    text
}

/// The rows as a Markdown page: `kiln flags` and `docs/guide/flags.md`.
pub(in crate::cli) fn page() -> String {
    format!(
        "# Flags of other trainers\n\n\
         `kiln train` and `kiln plan` understand the flags of the Mip-Splatting and 3DGS trainers. A command such as\n\n\
         ```sh\npython train.py {KNOWN_COMMAND}\n```\n\n\
         is `kiln train` with the same flags. Each flag below either sets a key of the configuration, which a file or\n\
         `--set KEY=VALUE` can set too, or is refused with exit code 2 and the words shown. Underscores and hyphens mean\n\
         the same in every flag that sets something. With `--experiment_name NAME` beside `-m M` the run goes to `M/NAME`.\n\n\
         `kiln flags` prints this page. It is made from the tables in `engine/src/cli/flags`, and a test holds the two\n\
         against each other: `KILN_BLESS=1 cargo test -p kiln flags` writes it anew.\n\n\
         ## Mip-Splatting and 3DGS\n\n{}\n\
         ## 3DGS-MCMC, gsplat, LichtFeld Studio, Brush\n\n{}\n\
         ## Mesh extraction and memory options\n\n\
         SuGaR's `train_full_pipeline.py`, `train.py` and the scripts of its stages are `kiln train --recipe sugar`. There `-i` is\n\
         the iteration to start from, `-r` the kind of regularisation and `-o` the folder of the first model; here they are\n\
         image folder, resolution and run folder, as in the trainers above.\n\n{}\n\
         ## MeshSplatting\n\n\
         `kiln train --recipe meshsplatting`, and `meshsplatting_indoor` for its `--indoor`. Those that the trainer has in common with\n\
         the ones above are there; the last four are without effect in it.\n\n{}",
        table(GAUSSIANS),
        table(OTHERS),
        table(MESHES),
        table(TRIANGLES)
    )
}
