//! Builds the library that programs under test are linked with, and leaves it where `library.rs` takes it into the command.
//!
//! It is another cargo, with a folder of its own: a dependency on a `cdylib` is not known to stable cargo, and `cargo build`
//! alone has to be enough. The folder is beside those of all build scripts, so that what `cargo clippy` has built `cargo test` need not
//! build again.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let out = PathBuf::from(variable("OUT_DIR"));
    let crates = here.join("..");
    for name in ["fabius-native-runtime", "fabius-native-protocol", "fabius-explore", "fabius-trace"] {
        println!("cargo:rerun-if-changed={}", crates.join(name).join("src").display());
        println!("cargo:rerun-if-changed={}", crates.join(name).join("Cargo.toml").display());
    }
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={}", crates.join("fabius-native-runtime/build.rs").display());
    println!("cargo:rustc-env=FABIUS_NATIVE_LIBRARY={}", library(&crates, &out).display());
}

fn library(crates: &Path, out: &Path) -> PathBuf {
    let scripts = out.ancestors().find(|folder| folder.ends_with("build")).unwrap_or(out);
    let target = scripts.with_file_name("fabius-native-runtime");
    let mut cargo = Command::new(variable("CARGO"));
    cargo.args(["build", "--release", "--quiet", "--lib", "--manifest-path"]);
    cargo.arg(crates.join("fabius-native-runtime/Cargo.toml")).arg("--target-dir").arg(&target);
    // The explorer and the hooks are crates that call each other at every scheduling point. Tests do without: it takes a third of the time.
    let (lto, units) = if variable("PROFILE") == "release" { ("fat", "1") } else { ("off", "16") };
    cargo.env("CARGO_PROFILE_RELEASE_LTO", lto).env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", units);
    // What the outer cargo says of itself is not meant for this one.
    for name in ["RUSTC_WORKSPACE_WRAPPER", "CARGO_ENCODED_RUSTFLAGS", "CARGO_TARGET_DIR", "CARGO_BUILD_TARGET"] {
        cargo.env_remove(name);
    }
    let status = cargo.status().expect("cargo is there");
    assert!(status.success(), "the library for programs under test cannot be built");
    target.join("release/libfabius_native_runtime.so")
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
