//! Examples under the help of each command.

pub(super) const TRAIN: &str = "\
Examples:
  kiln train garden                              as large as the card allows, into runs/garden
  kiln train garden --profile 8gb -r 4           plan for an 8 GB card, images at a quarter of their size
  kiln train garden --recipe mip --iterations 7000 -o runs --name mip-7k
  kiln train --resume -o runs/garden             go on from the latest checkpoint

`kiln flags` lists the flags of other trainers that work here too.";

pub(super) const EVAL: &str = "\
Examples:
  kiln eval runs/garden                          the last model against the scene it was trained on
  kiln eval runs/garden --iteration 7000 --json
  kiln eval model.ply garden                     a model of another trainer
  kiln eval garden --mesh garden.glb             a mesh against the same photos
  kiln eval scan --mesh scan.ply --truth laser.ply --distances 0.01,0.05";

pub(super) const RENDER: &str = "\
Examples:
  kiln render runs/garden -o pictures            the held-out views
  kiln render runs/garden -o frames --path fly.json
  kiln render model.ply -o depth --cameras cameras.json --depth
  kiln render garden --mesh garden.obj -o mesh   a mesh from the held-out views";

pub(super) const EXPORT: &str = "\
Examples:
  kiln export runs/garden --format spz           point_cloud.spz beside the run's last model
  kiln export runs/garden --format streamed-sog  a folder with levels of detail, for viewers that stream
  kiln export runs/garden -o garden.glb --max-splats 500000 --sh-degree 1
  kiln export model.ply -o table.compressed.ply --crop -1,-1,-1,1,0.5,1

docs/guide/export.md describes the formats and what each of them rounds.";

pub(super) const MESH: &str = "\
Examples:
  kiln mesh runs/garden                          mesh.ply in runs/garden/mesh
  kiln mesh runs/garden --format ply,glb --set mesh.decimate='{ triangles: 500000 }'
  kiln mesh model.ply --scene garden -o garden-mesh --vram 4GiB
  kiln mesh runs/garden --dry-run                what it would take

docs/meshes.md says which settings suit what.";

pub(super) const SPLIT: &str = "\
Examples:
  kiln split city --profile 8gb -o city-blocks            blocks that each fit an 8 GB card
  kiln split city --profile 8gb -o city-blocks --plan-only what would be made, and nothing written
  kiln split city --profile 24gb -o c --gaussians 60M --recipe quality
  kiln train city-blocks/blocks/b0000                      train a block; again to go on with it
  kiln split city-blocks/blocks/b0000                      in two halves, where training ended with exit code 6

docs/guide/large-scenes.md goes from photos to one model, on one machine and on many.";

pub(super) const MERGE: &str = "\
Examples:
  kiln merge city-blocks                         city-blocks/merged/point_cloud.ply
  kiln merge city-blocks -o city.ply --memory-mib 128";

pub(super) const STATUS: &str = "\
Examples:
  kiln status city-blocks
  kiln status city-blocks --json                 for programs";

pub(super) const PLAN: &str = "\
Examples:
  kiln plan garden                               what a run takes on this machine
  kiln plan garden --profile 8gb                 what it would take on an 8 GB card
  kiln plan garden --explain                     every tensor
  kiln plan garden --json                        for programs";

pub(super) const VIEW: &str = "\
Examples:
  kiln view --open                               the runs below runs, while they train or later
  kiln view runs/garden --port 0                 one run, on a free port
  kiln view runs/garden --export site            a folder for any web server";

pub(super) const PROFILES: &str = "\
Examples:
  kiln profiles list
  kiln profiles show 8gb --recipe mip > my.yaml  a file to start from
  kiln profiles schema > schema.json             for an editor";

pub(super) const INSPECT: &str = "\
Examples:
  kiln inspect garden                            cameras, images, points, what is odd
  kiln inspect runs/garden                       settings, results, files
  kiln inspect model.ply --json";

pub(super) const MEMORY: &str = "\
Examples:
  kiln memory                                    the newest run below runs
  kiln memory runs/garden
  kiln memory runs/garden --json";

pub(super) const DOCTOR: &str = "\
Examples:
  kiln doctor
  kiln doctor --json";

pub(super) const FLAGS: &str = "\
Examples:
  kiln flags | less";

pub(super) const COMPLETIONS: &str = "\
Examples:
  kiln completions bash > ~/.local/share/bash-completion/completions/kiln
  kiln completions zsh > ~/.zfunc/_kiln
  kiln completions fish > ~/.config/fish/completions/kiln.fish";

pub(super) const MAN: &str = "\
Examples:
  kiln man > ~/.local/share/man/man1/kiln.1
  kiln man train | man -l -
  kiln man -o ~/.local/share/man/man1";
