//! How the system hands memory to a guard. For the process that is one: a program with a guard inside may want its
//! memory otherwise.

/// Whether to be given small pages from now on, here and in whatever this process starts. A guard holds little, and
/// for long: in pages of 2 MiB it would hold several times as much. Where this cannot be asked for nothing is lost.
pub fn use_small_pages(small: bool) {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(small);
    #[cfg(not(target_os = "linux"))]
    let _ = small;
}
