//! Layers to a profile: defaults < profile < recipe < its rules < file < command line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::adapt::{self, Adaptation, Facts, Rule};
use super::error::{At, ConfigError, nearest};
use super::profile::Profile;
use super::read::read;
use super::short_run::ShortRun;
use super::tree::{MAX_BYTES, Node, Value};
use super::{losses, rules, sugar};
use crate::plugins::Checker;

/// A configuration file compiled into the program.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// `profiles/16gb`, `recipes/mip`, ...
    pub name: &'static str,
    /// YAML text.
    pub text: &'static str,
}

impl Shipped {
    /// The first comment line of the file.
    #[must_use]
    pub fn summary(&self) -> &'static str {
        self.text
            .lines()
            .next()
            .unwrap_or_default()
            .trim_start_matches(['#', ' '])
    }

    /// The name without its folder.
    #[must_use]
    pub fn short_name(&self) -> &'static str {
        self.name.rsplit('/').next().unwrap_or(self.name)
    }
}

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        [$(Shipped { name: $name, text: include_str!(concat!("../../../configs/", $name, ".yaml")) }),*]
    };
}

/// The bottom layer: every key with its default.
pub const DEFAULT: Shipped = Shipped {
    name: "default",
    text: include_str!("../../../configs/default.yaml"),
};
/// Shipped profiles: budgets and capacities, smallest card first.
pub const PROFILES: [Shipped; 4] = shipped!["profiles/8gb", "profiles/16gb", "profiles/24gb", "profiles/cpu"];
/// Shipped recipes: training settings.
pub const RECIPES: [Shipped; 13] = shipped![
    "recipes/default",
    "recipes/mip",
    "recipes/quality",
    "recipes/fast",
    "recipes/draft",
    "recipes/mcmc",
    "recipes/surface",
    "recipes/sugar",
    "recipes/sugar_light",
    "recipes/bound",
    "recipes/meshsplatting",
    "recipes/meshsplatting_indoor",
    "recipes/demo"
];
/// The recipe used when none is named.
pub const DEFAULT_RECIPE: &str = "default";

/// A setting from the command line: its key path, its value as YAML text, and the flag that errors name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// Key path, e.g. `memory.cap_gib`.
    pub key: String,
    /// Value as YAML.
    pub value: String,
    /// The flag it came from, e.g. `--set` or `--iterations`.
    pub flag: String,
}

impl Override {
    /// A key, its value as YAML, and the flag that errors name.
    #[must_use]
    pub fn new(key: &str, value: String, flag: &str) -> Self {
        Self {
            key: key.to_owned(),
            value,
            flag: flag.to_owned(),
        }
    }

    /// The same of a text, whatever YAML would take it for.
    #[must_use]
    pub fn text(key: &str, text: &str, flag: &str) -> Self {
        Self::new(key, quoted(text), flag)
    }
}

/// A text as YAML. JSON's quoting is YAML's double quoting.
#[must_use]
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// What the layers are made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inputs {
    /// Shipped profile name or path of a profile file; none = the configuration file's `extends`, else no profile layer.
    pub profile: Option<String>,
    /// Shipped recipe name or path of a recipe file; none = [`DEFAULT_RECIPE`].
    pub recipe: Option<String>,
    /// Configuration file.
    pub file: Option<PathBuf>,
    /// Command-line settings; later ones win.
    pub overrides: Vec<Override>,
    /// Multiplies every step number, wherever it was set.
    pub steps_scaler: Option<f64>,
}

/// Reads, layers, checks and freezes a profile, as it is without a scene: rules of the recipe are checked and not applied.
///
/// # Errors
/// A [`ConfigError`] for the first thing that is wrong.
pub fn resolve(inputs: &Inputs) -> Result<Profile, ConfigError> {
    finished(&Layers::read(inputs)?, &[], inputs)
}

/// The profile for a scene with these facts, and what the recipe's rules changed for it, in their order. A rule that does not go
/// together with what is set by hand is left out and reported.
///
/// # Errors
/// A [`ConfigError`] for the first thing that is wrong.
pub fn resolve_for(inputs: &Inputs, facts: &Facts) -> Result<(Profile, Vec<Adaptation>), ConfigError> {
    let layers = Layers::read(inputs)?;
    let first = finished(&layers, &[], inputs)?;
    let holding: Vec<&Rule> = layers.rules.iter().filter(|rule| rule.holds(facts)).collect();
    let (profile, _, left_out) = applied(&layers, &holding, first.clone(), inputs);
    // What a later rule sets anew is its choice: a value that is gone again is not reported.
    let reported = holding
        .iter()
        .enumerate()
        .filter_map(|(at, rule)| match left_out.contains(&at) {
            true => Some(rule.left_out(facts)),
            false => {
                let later: Vec<&Rule> = (at + 1..holding.len())
                    .filter(|later| !left_out.contains(later))
                    .map(|later| holding[later])
                    .collect();
                rule.reported(facts, &later, &first, &profile)
            }
        });
    let reported = reported.collect();
    Ok((profile, reported))
}

/// The profile with those of the rules that go together with what is set by hand, these rules, and the places of the others.
fn applied<'a>(
    layers: &Layers,
    holding: &[&'a Rule],
    mut profile: Profile,
    inputs: &Inputs,
) -> (Profile, Vec<&'a Rule>, Vec<usize>) {
    let (mut applied, mut left_out) = (Vec::new(), Vec::new());
    for (at, rule) in holding.iter().enumerate() {
        applied.push(*rule);
        // Without the rule all was well: what people set, keys of another strategy say, has no place beside it, and wins.
        match finished(layers, &applied, inputs) {
            Ok(adapted) => profile = adapted,
            Err(_) => {
                applied.pop();
                left_out.push(at);
            }
        }
    }
    (profile, applied, left_out)
}

/// What is to say where `--iterations` makes a run shorter than its recipe's schedule needs, in a scene with these facts.
///
/// # Errors
/// A [`ConfigError`] for the first thing that is wrong.
pub fn short_run(inputs: &Inputs, facts: &Facts) -> Result<Option<ShortRun>, ConfigError> {
    let layers = Layers::read(inputs)?;
    let first = finished(&layers, &[], inputs)?;
    let holding: Vec<&Rule> = layers.rules.iter().filter(|rule| rule.holds(facts)).collect();
    let (_, applied, _) = applied(&layers, &holding, first, inputs);
    let (profile, recipe) = (read(&layers.tree(&applied))?, layers.recipe_iterations(&applied)?);
    Ok(ShortRun::of(&profile, recipe, inputs))
}

/// The rules of the recipe, a line each for people; none for most recipes.
///
/// # Errors
/// A [`ConfigError`] for the first thing that is wrong with the layers.
pub fn rules_of(inputs: &Inputs) -> Result<Vec<String>, ConfigError> {
    Ok(Layers::read(inputs)?.rules.iter().map(Rule::describe).collect())
}

/// All layers with those of `rules` to a frozen profile.
fn finished(layers: &Layers, rules: &[&Rule], inputs: &Inputs) -> Result<Profile, ConfigError> {
    let tree = layers.tree(rules);
    let mut profile: Profile = read(&tree).map_err(named_elsewhere)?;
    losses::add_of_maps(&mut profile);
    sugar::apply(&mut profile);
    rules::add_sections(&mut profile);
    let short = ShortRun::of(&profile, layers.recipe_iterations(rules)?, inputs);
    if let Some(short) = short.filter(|short| short.is_scaled) {
        short.scale(&mut profile, inputs);
    }
    reject_problems(&profile, &tree)?;
    if let Some(factor) = inputs.steps_scaler {
        if !(factor > 0.0 && factor <= 1000.0) {
            return Err(ConfigError::Range {
                at: At::whole("command line"),
                key: "--steps-scaler".to_owned(),
                found: factor.to_string(),
                allowed: "above 0, at most 1000".to_owned(),
            });
        }
        rules::scale_steps(&mut profile, factor);
        reject_problems(&profile, &Node::empty("--steps-scaler"))?;
    }
    rules::freeze_schedule(&mut profile.schedule);
    Ok(profile)
}

/// More keys of one name than these say nothing about what was meant.
const MOST_ELSEWHERE: usize = 2;

/// People write at the top what they know from a command line: `iterations: 7000`. Names the key that is meant.
fn named_elsewhere(error: ConfigError) -> ConfigError {
    match error {
        ConfigError::UnknownKey { at, key, known } => {
            let found = if key.contains('.') {
                Vec::new()
            } else {
                keys_named(&key)
            };
            let known = if (1..=MOST_ELSEWHERE).contains(&found.len()) {
                found
            } else {
                known
            };
            ConfigError::UnknownKey { at, key, known }
        }
        other => other,
    }
}

/// Paths of the keys whose last part is `name`, as the defaults have them.
fn keys_named(name: &str) -> Vec<String> {
    fn search(node: &Node, path: &str, name: &str, found: &mut Vec<String>) {
        if let Value::Map(entries) = &node.value {
            for entry in entries {
                let path = match path {
                    "" => entry.key.clone(),
                    path => format!("{path}.{}", entry.key),
                };
                search(&entry.node, &path, name, found);
                if entry.key == name {
                    found.push(path);
                }
            }
        }
    }
    let mut found = Vec::new();
    if let Ok(tree) = shipped_layer(&DEFAULT, "default.yaml") {
        search(&tree, "", name, &mut found);
    }
    found
}

/// The profile that a configuration file names in `extends`, so that `auto` is not needed.
///
/// # Errors
/// When the file cannot be read or is not YAML.
pub fn extended_profile(file: &Path) -> Result<Option<String>, ConfigError> {
    let node = read_file(file)?;
    Ok(extends(&node)?.and_then(|(base, _)| base.strip_prefix("profiles/").map(str::to_owned)))
}

/// What a memory profile says of budgets and the device, as settings of the command line by this flag: a run that goes on has all
/// settings of its own, and these may change.
///
/// # Errors
/// When there is no such profile, or its file cannot be read.
pub fn budgets_of(profile: &str, flag: &str) -> Result<Vec<Override>, ConfigError> {
    let node = named("profile", profile, &PROFILES)?;
    let sections = ["memory", "device"]
        .into_iter()
        .filter_map(|name| Some((name, node.get(name)?)));
    let mut budgets = Vec::new();
    for (section, node) in sections {
        let Value::Map(entries) = &node.value else { continue };
        budgets.extend(entries.iter().map(|entry| Override {
            key: format!("{section}.{}", entry.key),
            value: entry.node.value.plain(),
            flag: flag.to_owned(),
        }));
    }
    Ok(budgets)
}

/// YAML of a resolved profile, the content of `config.resolved.yaml`.
///
/// # Errors
/// [`ConfigError::Write`] when the writer refuses.
pub fn to_yaml(profile: &Profile) -> Result<String, ConfigError> {
    serde_saphyr::to_string(profile).map_err(|error| ConfigError::Write {
        message: error.to_string(),
    })
}

/// The layers of a profile, lowest first.
struct Layers {
    /// Defaults, profile and recipe.
    below: Node,
    /// Rules of the recipe, sound on top of those.
    rules: Vec<Rule>,
    /// What people set: files and the command line.
    above: Vec<Node>,
}

impl Layers {
    fn read(inputs: &Inputs) -> Result<Self, ConfigError> {
        let layers = layers(inputs)?;
        for rule in &layers.rules {
            let mut tree = layers.below.clone();
            tree.overlay(rule.layer.clone());
            let profile = read(&tree)?;
            reject_problems(&profile, &tree)?;
        }
        Ok(layers)
    }

    /// All of them with those of `rules`.
    fn tree(&self, rules: &[&Rule]) -> Node {
        let mut tree = self.below.clone();
        let rules = rules.iter().map(|rule| &rule.layer);
        for node in rules.chain(&self.above) {
            tree.overlay(node.clone());
        }
        tree.take("extends");
        tree
    }

    /// Iterations of the recipe with these rules, whatever people set.
    fn recipe_iterations(&self, rules: &[&Rule]) -> Result<u32, ConfigError> {
        let mut tree = self.below.clone();
        rules.iter().for_each(|rule| tree.overlay(rule.layer.clone()));
        tree.take("extends");
        let profile: Profile = read(&tree)?;
        Ok(profile.schedule.iterations)
    }
}

fn layers(inputs: &Inputs) -> Result<Layers, ConfigError> {
    let mut tree = shipped_layer(&DEFAULT, "default.yaml")?;
    let file = inputs.file.as_deref().map(read_layer_file).transpose()?;
    let base = match &file {
        Some(node) => extends(node)?,
        None => None,
    };
    let mut profile = inputs.profile.clone();
    let mut recipe = inputs.recipe.clone();
    let mut base_file = None;
    if let Some((base, at)) = base {
        if let Some(name) = base.strip_prefix("profiles/") {
            profile.get_or_insert_with(|| name.to_owned());
        } else if let Some(name) = base.strip_prefix("recipes/") {
            recipe.get_or_insert_with(|| name.to_owned());
        } else {
            let folder = inputs.file.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
            let node = read_layer_file(&folder.join(&base))?;
            if extends(&node)?.is_some() {
                return Err(ConfigError::ExtendsTwice { at });
            }
            base_file = Some(node);
        }
    }
    if let Some(name) = &profile {
        tree.overlay(named("profile", name, &PROFILES)?);
    }
    let (recipe, rules) = recipe_layer(recipe.as_deref().unwrap_or(DEFAULT_RECIPE))?;
    tree.overlay(recipe);
    let mut above: Vec<Node> = base_file.into_iter().chain(file).collect();
    for setting in &inputs.overrides {
        let value = Node::parse(&setting.value, &setting.flag)?;
        above.push(Node::nested(&setting.key, value.value, &setting.flag));
    }
    Ok(Layers {
        below: tree,
        rules,
        above,
    })
}

/// Names of the layers below what people set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerNames {
    /// The recipe: a shipped name or a path; none where a file has all settings itself.
    pub recipe: Option<String>,
    /// The profile: a shipped name or a path; none without one.
    pub profile: Option<String>,
}

/// Names of the recipe and the profile of these layers.
///
/// # Errors
/// When the configuration file cannot be read.
pub fn layer_names(inputs: &Inputs) -> Result<LayerNames, ConfigError> {
    let file = inputs.file.as_deref().map(read_layer_file).transpose()?;
    let base = file.as_ref().map(extends).transpose()?.flatten();
    let below = |folder: &str| {
        let (base, _) = base.as_ref()?;
        base.strip_prefix(folder).map(str::to_owned)
    };
    let recipe = inputs.recipe.clone().or_else(|| below("recipes/"));
    let with = |name: &str| {
        resolve(&Inputs {
            recipe: Some(name.to_owned()),
            ..inputs.clone()
        })
    };
    // The settings of a whole run are the same over any recipe.
    let is_whole = recipe.is_none()
        && file.is_some()
        && matches!((with(DEFAULT_RECIPE), with("mcmc")), (Ok(one), Ok(other)) if one == other);
    Ok(LayerNames {
        recipe: (!is_whole).then(|| recipe.unwrap_or_else(|| DEFAULT_RECIPE.to_owned())),
        profile: inputs.profile.clone().or_else(|| below("profiles/")),
    })
}

/// A recipe on top of those that it extends, and its rules: a list of its own takes the place of an extended recipe's.
fn recipe_layer(name: &str) -> Result<(Node, Vec<Rule>), ConfigError> {
    let mut top = named("recipe", name, &RECIPES)?;
    let rules = top.get("adapt").is_some().then(|| adapt::take(&mut top)).transpose()?;
    let Some((base, at)) = extends(&top)? else {
        return Ok((top, rules.unwrap_or_default()));
    };
    top.take("extends");
    // Shipped recipes extend no file and end at one that extends nothing, so this comes to an end.
    let Some(shipped) = base.strip_prefix("recipes/").filter(|name| !is_file(name)) else {
        return Err(ConfigError::RecipeBase { at, found: base });
    };
    let (mut node, inherited) = recipe_layer(shipped)?;
    node.overlay(top);
    Ok((node, rules.unwrap_or(inherited)))
}

/// True for what is a path and no name.
fn is_file(name: &str) -> bool {
    name.ends_with(".yaml") || name.ends_with(".yml")
}

/// A shipped layer, or a file when the name looks like a path.
fn named(what: &'static str, name: &str, shipped: &[Shipped]) -> Result<Node, ConfigError> {
    if let Some(found) = shipped.iter().find(|s| s.short_name() == name) {
        return shipped_layer(found, found.name);
    }
    if is_file(name) {
        let node = read_layer_file(Path::new(name))?;
        return match extends(&node)? {
            Some((_, at)) if what != "recipe" => Err(ConfigError::ExtendsTwice { at }),
            _ => Ok(node),
        };
    }
    let known = nearest(name, shipped.iter().map(Shipped::short_name));
    Err(ConfigError::UnknownName {
        what,
        found: name.to_owned(),
        known,
    })
}

fn read_layer_file(path: &Path) -> Result<Node, ConfigError> {
    let node = read_file(path)?;
    check_version(node)
}

/// The tree of a shipped file, which errors call `source`. Reading one takes longer than all the rest of a profile, and
/// programs that resolve many profiles need each of them again and again: it is parsed once.
fn shipped_layer(shipped: &Shipped, source: &'static str) -> Result<Node, ConfigError> {
    static TREES: Mutex<BTreeMap<&str, Node>> = Mutex::new(BTreeMap::new());
    let mut trees = TREES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(tree) = trees.get(source) {
        return Ok(tree.clone());
    }
    let tree = check_version(Node::parse(shipped.text, source)?)?;
    trees.insert(source, tree.clone());
    Ok(tree)
}

/// A file may say which version of the format it is written in; there is one so far.
fn check_version(node: Node) -> Result<Node, ConfigError> {
    if !matches!(node.value, Value::Map(_)) {
        let (found, expected) = (node.value.describe(), "a block of keys".to_owned());
        return Err(ConfigError::Type {
            at: node.at,
            key: "(whole file)".to_owned(),
            found,
            expected,
        });
    }
    match node.get("version") {
        None => Ok(node),
        Some(version) if version.value == Value::Int(1) => Ok(node),
        Some(version) => Err(ConfigError::Range {
            at: version.at.clone(),
            key: "version".to_owned(),
            found: version.value.describe(),
            allowed: "1".to_owned(),
        }),
    }
}

fn read_file(path: &Path) -> Result<Node, ConfigError> {
    use std::io::Read as _;
    let name = path.display().to_string();
    let failed = |source| ConfigError::Read {
        file: name.clone(),
        source,
    };
    let file = kiln_files::open_regular(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let mut bytes = Vec::new();
    // One byte past the limit is enough to know; the size in the message is the file's own where it has one.
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(ConfigError::TooLarge {
            file: name,
            found: size.max(MAX_BYTES + 1),
            allowed: MAX_BYTES,
        });
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..valid].iter().filter(|byte| **byte == b'\n').count() + 1;
        let at = At {
            source: name.as_str().into(),
            line: u32::try_from(line).unwrap_or(u32::MAX),
        };
        ConfigError::Syntax {
            at,
            message: "not UTF-8 text".to_owned(),
        }
    })?;
    Node::parse(&text, &name)
}

/// The `extends` of a file with its place.
fn extends(node: &Node) -> Result<Option<(String, At)>, ConfigError> {
    match node.get("extends") {
        None => Ok(None),
        Some(Node {
            at,
            value: Value::Text(base),
        }) => Ok(Some((base.clone(), at.clone()))),
        Some(Node { at, value }) => Err(ConfigError::Type {
            at: at.clone(),
            key: "extends".to_owned(),
            found: value.describe(),
            expected: "`profiles/NAME`, `recipes/NAME` or a file".to_owned(),
        }),
    }
}

impl Profile {
    /// True when the settings go together, of a profile that was changed after it was read.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        let mut checker = Checker::default();
        rules::check(self, &mut checker);
        checker.problems().is_empty()
    }
}

fn reject_problems(profile: &Profile, tree: &Node) -> Result<(), ConfigError> {
    let mut checker = Checker::default();
    rules::check(profile, &mut checker);
    match checker.problems().first() {
        None => Ok(()),
        Some(problem) => Err(ConfigError::Range {
            at: tree.place_of(&problem.path),
            key: problem.path.join("."),
            found: problem.found.clone(),
            allowed: problem.allowed.clone(),
        }),
    }
}
