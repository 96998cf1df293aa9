//! Where the files of modules are: `a.b.Name` is `a/b/Name.scr` below one of the roots.
//!
//! Nothing here opens a file. Whoever can gives a function that reads one; [`ReadOnce`] makes of it one that reads each file once.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use referee_syntax::scr::{self, Loader, ModuleFile};

/// The most bytes of a module, which is written by people.
pub const MAX_MODULE: usize = 64 << 20;

/// What a file holds; `None` if there is no such file.
pub type FileText = Result<Option<Arc<str>>, String>;

/// The modules below some folders.
pub struct Packages<'a> {
    roots: Vec<PathBuf>,
    read: &'a mut dyn FnMut(&Path) -> FileText,
}

impl<'a> Packages<'a> {
    /// For the file at `path`, which holds `text`: modules are looked for where its own packages begin, beside it, and below
    /// `import_path`. `read` reads a file.
    #[must_use]
    pub fn new(
        path: &Path,
        text: &str,
        import_path: &[PathBuf],
        read: &'a mut dyn FnMut(&Path) -> FileText,
    ) -> Self {
        let beside = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
        // Only a text that imports something is read for this.
        let own = if text.contains("import") { scr::parse_module(text).0.name } else { None };
        let packages = own.map_or(0, |name| name.text.matches('.').count());
        // `a.b.Name` in the folder `…/a/b`: packages begin at `…`. Where the folders are called otherwise, beside it.
        let above = beside.ancestors().nth(packages).map(Path::to_path_buf);
        let roots = above.into_iter().chain([beside]).chain(import_path.iter().cloned());
        Self { roots: roots.collect(), read }
    }
}

impl Loader for Packages<'_> {
    fn load(&mut self, name: &str) -> Result<ModuleFile, String> {
        let relative: PathBuf = name.split('.').collect();
        let is_below = relative.components().all(|part| matches!(part, Component::Normal(_)));
        if !is_below || name.split('.').any(str::is_empty) {
            return Err("this is no name of a module".to_owned());
        }
        for root in &self.roots {
            for extension in ["scr", "nuscr"] {
                let path = root.join(&relative).with_extension(extension);
                let file = path.display().to_string();
                if let Some(text) = (self.read)(&path).map_err(|error| format!("`{file}`: {error}"))? {
                    if text.len() > MAX_MODULE {
                        return Err(format!("`{file}` is larger than 64 MiB"));
                    }
                    return Ok(ModuleFile { file, text: text.as_ref().to_owned() });
                }
            }
        }
        Err(format!("there is no file `{}`", relative.with_extension("scr").display()))
    }
}

/// Files that were read, so that each is read once.
#[derive(Debug, Default)]
pub struct ReadOnce {
    known: HashMap<PathBuf, FileText>,
}

impl ReadOnce {
    /// What the file at `path` holds, if it was read.
    #[must_use]
    pub fn get(&self, path: &Path) -> Option<Arc<str>> {
        self.known.get(&plain(path))?.clone().ok().flatten()
    }

    /// Keeps that the file at `path` holds `text`.
    pub fn put(&mut self, path: &Path, text: &str) {
        self.known.insert(plain(path), Ok(Some(text.into())));
    }

    /// What the file at `path` holds, by `read` if it is not known.
    ///
    /// # Errors
    /// As `read`.
    pub fn read(&mut self, path: &Path, read: impl FnOnce(&Path) -> FileText) -> FileText {
        self.known.entry(plain(path)).or_insert_with(|| read(path)).clone()
    }
}

/// `./a` is `a`; where `..` leads depends on links.
fn plain(path: &Path) -> PathBuf {
    path.components().skip_while(|part| *part == Component::CurDir).collect()
}
