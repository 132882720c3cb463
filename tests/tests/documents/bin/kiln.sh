#!/usr/bin/env bash
# The program, made quick: a few steps on small images, on whatever driver there is.
set -euo pipefail
command=$1
shift
arguments=()
while (($#)); do
    case $1 in
        --profile | --device) shift ;;
        --gpus | --open) ;;
        *) arguments+=("$1") ;;
    esac
    shift
done
quick=(--set device.allow_cpu=true --set dataset.resolution=80)
case $command in
    train | plan)
        quick+=(--set schedule.iterations=3 --set "schedule.test=[]" --set "schedule.save=[]")
        quick+=(--set "schedule.checkpoint=[]" --set eval.views_logged=1)
        case " ${arguments[*]} " in
            # As many as the mesh has triangles.
            *" --init-mesh "*) ;;
            *) quick+=(--set memory.max_gaussians=8000) ;;
        esac
        exec "$KILN_PROGRAM" "$command" "${arguments[@]}" "${quick[@]}"
        ;;
    eval | render)
        exec "$KILN_PROGRAM" "$command" "${arguments[@]}" "${quick[@]}"
        ;;
    view)
        case " ${arguments[*]} " in
            *" --export "*) exec "$KILN_PROGRAM" view "${arguments[@]}" ;;
        esac
        # It serves until it is told to end; that it serves is seen by the address.
        said=$(timeout -s INT 3 "$KILN_PROGRAM" view --port 0 "${arguments[@]}" 2>&1) || true
        echo "$said"
        [[ $said == *http://127.0.0.1:* ]]
        ;;
    *)
        exec "$KILN_PROGRAM" "$command" "${arguments[@]}"
        ;;
esac
