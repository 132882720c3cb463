#!/usr/bin/env bash
# Makes a release archive: the program, its licences, completions, man pages, profiles, recipes and schemas.
#   tools/release.sh [FOLDER]     writes FOLDER/kiln-VERSION-TARGET.tar.gz and its SHA-256; FOLDER is `target/release-archive` unless given
# The archive of a commit is the same bytes whenever it is made from the same build: names are sorted, times are the commit's.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:-target/release-archive}")
if [ -n "$(git status --porcelain)" ]; then
  echo "error: the working tree has changes; a release is made of a commit" >&2
  exit 1
fi

cargo build --release --locked -p kiln
kiln="${CARGO_TARGET_DIR:-target}/release/kiln"
version=$("$kiln" --version | cut -d' ' -f2)
target=$(rustc -vV | sed -n 's/^host: //p')
name="kiln-$version-$target"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
top="$folder/$name"
mkdir -p "$top"/{completions,man,configs,docs}

install -m 755 "$kiln" "$top/kiln"
strip "$top/kiln"
# What Ubuntu 22.04 has; a build on a newer system may ask for more.
floor=$(objdump -T "$top/kiln" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -1)
if [ "$(printf '%s\nGLIBC_2.35\n' "$floor" | sort -V | tail -1)" != GLIBC_2.35 ]; then
  echo "error: the program needs $floor, releases run with GLIBC_2.35; build on Debian 12 or Ubuntu 22.04" >&2
  exit 1
fi
cp README.md CHANGELOG.md SECURITY.md LICENSE-MIT LICENSE-APACHE "$top/"
cp -r docs/guide docs/README.md "$top/docs/"
cp engine/assets/README.md "$top/docs/weights.md"
cp -r configs/default.yaml configs/profiles configs/recipes configs/schema.json configs/schema "$top/configs/"
"$kiln" completions bash > "$top/completions/kiln.bash"
"$kiln" completions zsh > "$top/completions/_kiln"
"$kiln" completions fish > "$top/completions/kiln.fish"
"$kiln" man > "$top/man/kiln.1"
# The verbs as the program lists them, one page each.
commands=$("$kiln" --help | sed -n '/^Commands:$/,/^$/s/^  \([a-z][a-z-]*\)  .*/\1/p')
for command in $commands; do
  [ "$command" = help ] || "$kiln" man "$command" > "$top/man/kiln-$command.1"
done
if [ "$(find "$top/man" -type f | wc -l)" -lt 10 ]; then
  echo "error: $kiln --help lists fewer verbs than there are; see how this script reads it" >&2
  exit 1
fi

mkdir -p "$out"
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git log -1 --format=%ct)" -C "$folder" -cf - "$name" | gzip -n9 > "$out/$name.tar.gz"
(cd "$out" && sha256sum "$name.tar.gz" > "$name.tar.gz.sha256")
echo "$out/$name.tar.gz"
