//! The library's name for the linker, which stays the same whatever the file is called.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libfabius_native.so");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,now");
    println!("cargo:rerun-if-changed=build.rs");
}
