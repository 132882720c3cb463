#!/usr/bin/env bash
# The photos of the bundled scene as the frames of a film.
set -euo pipefail
[[ $1 == -i && -e $2 ]]
folder=$(dirname "${@: -1}")
cp "$KILN_SCENE"/images/* "$folder"
