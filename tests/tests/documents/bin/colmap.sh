#!/usr/bin/env bash
# COLMAP as it is called, with the poses of the bundled scene as its result.
set -euo pipefail
step=$1
shift
declare -A given
while (($#)); do
    given[${1#--}]=$2
    shift 2
done
case $step in
    feature_extractor)
        [[ -d ${given[image_path]} ]]
        count=$(find -L "${given[image_path]}" -type f | wc -l)
        echo "Processed file [$count/$count]"
        echo features > "${given[database_path]}"
        ;;
    exhaustive_matcher | sequential_matcher)
        [[ -s ${given[database_path]} ]]
        echo "Matching block [1/1, 1/1]"
        ;;
    mapper)
        [[ -s ${given[database_path]} && -d ${given[image_path]} && -d ${given[output_path]} ]]
        echo "Registering image #1 (2)"
        cp -r "$KILN_SCENE/sparse/0" "${given[output_path]}/0"
        ;;
    automatic_reconstructor)
        [[ -d ${given[image_path]} ]]
        mkdir -p "${given[workspace_path]}/sparse"
        cp -r "$KILN_SCENE/sparse/0" "${given[workspace_path]}/sparse/0"
        ;;
    *)
        echo "no step is called $step" >&2
        exit 1
        ;;
esac
