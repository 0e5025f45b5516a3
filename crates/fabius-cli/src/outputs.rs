//! What a command is about to write, looked at before anything runs: no output may be an input, another output or a program, and
//! all of them can be written. Links, `..` and hard links are seen through; what is there stays as it is until the answer exists.

use crate::args::values::STDOUT;
use crate::failure::{Failure, output};
use std::fs::{File, Metadata, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// An output: the option that names it, and the file.
pub type Output<'a> = (&'static str, &'a Path);

/// Refuses outputs that would destroy something, or that cannot be written.
pub fn refuse_losses(inputs: &[&Path], outputs: &[Output<'_>]) -> Result<(), Failure> {
    let inputs: Vec<(String, Place)> =
        inputs.iter().map(|path| (format!("the input `{}`", path.display()), Place::of_input(path))).collect();
    let mut known = inputs;
    if let Some(place) = Place::of_stdout() {
        refuse_known("standard output", &place, &known)?;
        known.push(("standard output".into(), place));
    }
    for (option, path) in outputs {
        let shown = path.display();
        if *path == Path::new(STDOUT) {
            return Err(output(format!("`{option} {shown}`: standard output is taken by the answer itself"))
                .help(format!("name a file; one that is called `{STDOUT}` is `./{STDOUT}`")));
        }
        let place = Place::of(path).map_err(|error| cannot(path, &error))?;
        refuse_known(&format!("`{option} {shown}`"), &place, &known)?;
        known.push((format!("`{option} {shown}`"), place));
    }
    refuse_sources(outputs)?;
    outputs.iter().try_for_each(|(_, path)| refuse_unwritable(path))
}

/// What a C program is made of is not all given on the command line, and may not be overwritten either; nor may other programs, of which
/// one is where `--sarif *.fab` has the name of a file.
fn refuse_sources(outputs: &[Output<'_>]) -> Result<(), Failure> {
    const ENDS: [&str; 17] =
        ["c", "i", "cc", "cpp", "cxx", "h", "hh", "hpp", "hxx", "o", "so", "prp", "fab", "pml", "zing", "ctp", "rs"];
    let is_source = |path: &Path| path.exists() && path.extension().is_some_and(|e| ENDS.iter().any(|end| e == *end));
    match outputs.iter().find(|(_, path)| is_source(path)) {
        None => Ok(()),
        Some((option, path)) => {
            Err(output(format!("`{option} {}` would overwrite what a program is made of", path.display()))
                .help("give it another name; nothing was run and nothing was written"))
        }
    }
}

/// Whether standard output goes to this input.
pub fn is_stdout(input: &Path) -> bool {
    Place::of_stdout().is_some_and(|place| place.is(&Place::of_input(input)))
}

fn refuse_known(name: &str, place: &Place, known: &[(String, Place)]) -> Result<(), Failure> {
    match known.iter().find(|(_, other)| place.is(other)) {
        None => Ok(()),
        Some((other, _)) => Err(output(format!("{name} is the same file as {other}, and would overwrite it"))
            .help("give each output a file of its own; nothing was run and nothing was written")),
    }
}

fn cannot(path: &Path, error: &std::io::Error) -> Failure {
    output(format!("cannot write `{}`: {error}", path.display())).help("nothing was run and nothing was written")
}

/// Which file a path means.
#[derive(Debug, PartialEq)]
enum Place {
    /// A file that is there.
    There(Identity),
    /// A file that is not there: its folder, and its name.
    New(PathBuf, std::ffi::OsString),
    /// A terminal, a pipe, a device: nothing in it can be overwritten.
    Stream,
    /// An input that cannot be looked at: reading it says why.
    Missing,
}

impl Place {
    fn of(path: &Path) -> std::io::Result<Place> {
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => Err(std::io::Error::from(ErrorKind::IsADirectory)),
            Ok(metadata) if !metadata.is_file() => Ok(Place::Stream),
            Ok(metadata) => Ok(Place::There(identity(path, &metadata)?)),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let path = behind_links(path)?;
                let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
                Ok(Place::New(folder_of(&path).canonicalize()?, name.to_os_string()))
            }
            Err(error) => Err(error),
        }
    }

    fn of_input(path: &Path) -> Place {
        if path == Path::new("-") {
            return of_stream(&std::io::stdin()).unwrap_or(Place::Stream);
        }
        match Place::of(path) {
            Ok(place @ Place::There(_)) => place,
            _ => Place::Missing,
        }
    }

    /// Where standard output goes, if that is a file.
    fn of_stdout() -> Option<Place> {
        of_stream(&std::io::stdout())
    }

    fn is(&self, other: &Place) -> bool {
        matches!(self, Place::There(_) | Place::New(..)) && self == other
    }
}

/// Tells files apart, whatever they are called.
#[cfg(unix)]
type Identity = (u64, u64);
#[cfg(not(unix))]
type Identity = PathBuf;

#[cfg(unix)]
fn identity(_: &Path, metadata: &Metadata) -> std::io::Result<Identity> {
    use std::os::unix::fs::MetadataExt;
    Ok((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path, _: &Metadata) -> std::io::Result<Identity> {
    path.canonicalize()
}

/// The file that a standard stream goes to or comes from, if it is one.
#[cfg(unix)]
fn of_stream(stream: &impl std::os::fd::AsFd) -> Option<Place> {
    let file = File::from(stream.as_fd().try_clone_to_owned().ok()?);
    let metadata = file.metadata().ok().filter(Metadata::is_file)?;
    Some(Place::There(identity(Path::new(""), &metadata).ok()?))
}

#[cfg(not(unix))]
fn of_stream<T>(_: &T) -> Option<Place> {
    None
}

/// What a link to nothing points to, over as many links as an operating system follows.
fn behind_links(path: &Path) -> std::io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..40 {
        match std::fs::read_link(&path) {
            Ok(target) => path = folder_of(&path).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(std::io::Error::other("too many links"))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether the file can be written is tried, in the way in which it will be.
fn refuse_unwritable(path: &Path) -> Result<(), Failure> {
    let tried = match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => Ok(()),
        Ok(metadata) if metadata.permissions().readonly() => Err(std::io::Error::other("the file is read-only")),
        // What a link leads to is written through the link, without a file beside it.
        Ok(_) if path.is_symlink() => OpenOptions::new().write(true).open(path).map(drop),
        Ok(_) => try_beside(path),
        Err(_) => behind_links(path).and_then(|path| try_beside(&path)),
    };
    tried.map_err(|error| cannot(path, &error))
}

/// Makes a file beside the one that is meant, and takes it away again.
fn try_beside(path: &Path) -> std::io::Result<()> {
    let beside = crate::files::beside(path);
    File::create_new(&beside)?;
    std::fs::remove_file(&beside)
}
