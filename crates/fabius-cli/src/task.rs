//! Task definitions of SV-COMP: a `.yml` file that names the program, its properties and the data model.

use crate::args::common::{DataModelArg, ProgramArgs};
use crate::c;
use crate::failure::{Failure, input};
use crate::files;
use std::path::{Path, PathBuf};
use yaml_rust2::{Yaml, YamlLoader};

/// Whether a file is a task definition.
pub fn is_task(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "yml" || e == "yaml")
}

/// The file of the program, and the options with what the definition adds. What the command line says goes first.
pub fn read(path: &Path, args: &ProgramArgs) -> Result<(PathBuf, ProgramArgs), Failure> {
    let shown = path.display();
    let wrong = |why: String| input(format!("`{shown}` is no task definition: {why}"));
    let documents = YamlLoader::load_from_str(&files::read(path)?).map_err(|e| wrong(e.to_string()))?;
    let task = documents.first().ok_or_else(|| wrong("it is empty".into()))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut inputs = match &task["input_files"] {
        Yaml::String(file) => vec![folder.join(file)],
        Yaml::Array(all) => all.iter().filter_map(Yaml::as_str).map(|file| folder.join(file)).collect(),
        _ => Vec::new(),
    };
    if inputs.is_empty() {
        return Err(wrong("it has no `input_files`".into()));
    }
    let first = inputs.remove(0);
    let mut args = args.clone();
    args.with.extend(inputs);
    if args.property.is_none() {
        args.property = Some(only_property(task, folder, &shown.to_string())?);
    }
    if args.data_model.is_none() {
        args.data_model = match task["options"]["data_model"].as_str() {
            None => None,
            Some("ILP32") => Some(DataModelArg::Ilp32),
            Some("LP64") => Some(DataModelArg::Lp64),
            Some(other) => return Err(wrong(format!("the data model `{other}` is not known"))),
        };
    }
    if let Some(language) = task["options"]["language"].as_str().filter(|l| *l != "C") {
        return Err(wrong(format!("programs in {language} are not taken")));
    }
    Ok((first, args))
}

/// The property that the definition asks about, if it is only one that is known.
fn only_property(task: &Yaml, folder: &Path, shown: &str) -> Result<PathBuf, Failure> {
    let all = task["properties"].as_vec().map(Vec::as_slice).unwrap_or_default();
    let named = all.iter().filter_map(|p| p["property_file"].as_str()).map(|file| folder.join(file));
    let known: Vec<PathBuf> = named.filter(|file| c::property_of(file).is_ok()).collect();
    match known.as_slice() {
        [one] => Ok(one.clone()),
        [] => {
            Err(input(format!("`{shown}` asks about no property that is known"))
                .help("name one: `--property FILE.prp`"))
        }
        several => {
            let names: Vec<String> = several.iter().map(|p| p.display().to_string()).collect();
            Err(input(format!("`{shown}` asks about several properties"))
                .help(format!("name one: `--property {}`", names[0])))
        }
    }
}
