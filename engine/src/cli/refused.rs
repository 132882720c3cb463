//! Flags of other 3DGS trainers that mean nothing here, each with what to use instead.

/// Flag, and the answer.
pub(super) const REFUSED: &[(&str, &str)] = &[
    ("--ray_jitter", "the key is `mip.ray_jitter` in the configuration file"),
    (
        "--resample_gt_image",
        "the key is `mip.resample_gt_image` in the configuration file",
    ),
    (
        "--load_allres",
        "training on several image scales at once is not supported; `dataset.resolution` picks one",
    ),
    (
        "--sample_more_highres",
        "training on several image scales at once is not supported; `dataset.resolution` picks one",
    ),
    (
        "--data_device",
        "the key is `dataset.residency` in the configuration file",
    ),
    ("--low_dram", "the key is `dataset.residency` in the configuration file"),
    (
        "--high_dram",
        "the key is `dataset.residency` in the configuration file",
    ),
    ("--enable_lpips", "the key is `eval.lpips` in the configuration file"),
    (
        "--ip",
        "`kiln view` follows the run in a browser, from what `metrics_jsonl` under `sinks` records",
    ),
    (
        "--port",
        "`kiln view` follows the run in a browser, from what `metrics_jsonl` under `sinks` records",
    ),
    ("--debug", "the key is `debug.validation` in the configuration file"),
    (
        "--debug_from",
        "the key is `debug.validation` in the configuration file, for the whole run",
    ),
    (
        "--detect_anomaly",
        "every step is checked for non-finite values; `debug.validation` adds the Vulkan layer",
    ),
    (
        "--convert_SHs_python",
        "colours always come from the device; `model.sh_degree` sets their detail",
    ),
    (
        "--compute_cov3D_python",
        "covariances always come from the device; `debug.validation` checks it",
    ),
    (
        "--optimize_memory",
        "the key is `memory.storage` in the configuration file",
    ),
    (
        "--fragmentation",
        "planned memory does not fragment; `memory.backend` picks the allocator",
    ),
    (
        "--profile_tensors",
        "`memory_jsonl` under `sinks` records memory; `kiln plan` prints the table",
    ),
];

/// The first refused flag among arguments, up to `--`. `kiln view` is no trainer, and `--port` means something there.
pub(super) fn find(args: &[String]) -> Option<(&str, &'static str)> {
    if args.get(1).is_some_and(|command| command == "view") {
        return None;
    }
    args.iter().take_while(|arg| *arg != "--").find_map(|arg| {
        let flag = arg.split_once('=').map_or(arg.as_str(), |(flag, _)| flag);
        REFUSED
            .iter()
            .find(|(refused, _)| *refused == flag)
            .map(|(_, instead)| (flag, *instead))
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::cli::parse;
    use crate::config::{DEFAULT, schema_json};

    #[test]
    fn every_row_is_refused_with_its_answer() {
        for (flag, instead) in REFUSED {
            for typed in [(*flag).to_owned(), format!("{flag}=1")] {
                let error = parse(["kiln", "train", "scene", &typed]).unwrap_err();
                assert_eq!(error.to_string(), format!("`{flag}` is not a flag of Kiln"));
                assert_eq!(error.hint().unwrap(), *instead);
            }
        }
        let known = ["train", "scene", "--", "--ip"].map(str::to_owned);
        assert!(find(&known).is_none());
        assert!(parse(["kiln", "view", "--port", "0"]).is_ok());
    }

    #[test]
    fn every_answer_names_something_that_exists() {
        let schema: serde_json::Value = serde_json::from_str(&schema_json()).unwrap();
        for (flag, instead) in REFUSED {
            let named = instead.split('`').skip(1).step_by(2).any(|word| {
                let section = word.split('.').next().unwrap_or_default();
                schema["properties"].get(section).is_some()
                    && word.split('.').all(|key| DEFAULT.text.contains(&format!("{key}:")))
                    || schema.to_string().contains(&format!("\"{word}\""))
            });
            assert!(named, "{flag}: {instead}");
        }
    }
}
