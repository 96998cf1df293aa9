//! How the system hands memory to a guard. For the process that is one: a program with a guard inside may want its
//! memory otherwise.

/// Whether to be given small pages from now on. A guard holds little, and for long: in pages of 2 MiB it would hold several times as
/// much. Where this cannot be asked for nothing is lost.
pub fn use_small_pages(small: bool) {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(small);
    #[cfg(not(target_os = "linux"))]
    let _ = small;
}

/// Does `start`, which starts another program: that has the pages that it would have without a guard. It would inherit ours.
pub(crate) fn with_usual_pages<T>(start: impl FnOnce() -> T) -> T {
    #[cfg(target_os = "linux")]
    if rustix::thread::transparent_huge_pages_are_disabled().unwrap_or(false) {
        use_small_pages(false);
        let started = start();
        use_small_pages(true);
        return started;
    }
    start()
}
