//! A file system in memory, made of bytes, and the loader of modules over it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use referee_pipeline::{MAX_MODULE, Packages, ReadOnce};
use referee_syntax::scr;

/// What a file of the tree is.
enum File {
    Text(Arc<str>),
    /// Another path.
    Link(PathBuf),
    /// More than a module may hold.
    Huge,
    Unreadable,
}

/// One text that is too large: it is made once.
static HUGE: OnceLock<Arc<str>> = OnceLock::new();

/// So many links are followed, as an operating system does.
const MAX_LINKS: usize = 8;

/// Files separated by zero bytes: a path, a line end, what it is. The first is the one that is read.
fn tree(text: &str) -> Vec<(PathBuf, File)> {
    let file = |part: &str| {
        let (path, content) = part.split_once('\n').unwrap_or((part, ""));
        let file = match content.as_bytes().first() {
            Some(b'@') => File::Link(content.get(1..).unwrap_or_default().into()),
            Some(b'#') => File::Huge,
            Some(b'!') => File::Unreadable,
            _ => File::Text(content.into()),
        };
        (PathBuf::from(path), file)
    };
    text.split('\0').take(16).map(file).collect()
}

/// See `fuzz_targets/imports.rs`.
pub fn imports(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let files = tree(text);
    let Some((first, File::Text(own))) = files.first() else { return };
    let known: BTreeMap<&Path, &File> = files.iter().map(|(path, file)| (path.as_path(), file)).collect();
    let mut reads: BTreeMap<PathBuf, usize> = BTreeMap::new();
    let mut once = ReadOnce::default();
    let library = [PathBuf::from("lib")];
    let mut read = |path: &Path| {
        once.read(path, |path| {
            *reads
                .entry(path.components().filter(|part| *part != std::path::Component::CurDir).collect())
                .or_default() += 1;
            let mut at = path.to_owned();
            for _ in 0..MAX_LINKS {
                match known.get(at.as_path()) {
                    None => return Ok(None),
                    Some(File::Text(text)) => return Ok(Some(Arc::clone(text))),
                    Some(File::Link(to)) => at.clone_from(to),
                    Some(File::Huge) => {
                        return Ok(Some(HUGE.get_or_init(|| " ".repeat(MAX_MODULE + 1).into()).clone()));
                    }
                    Some(File::Unreadable) => return Err("permission denied".to_owned()),
                }
            }
            Err("too many levels of links".to_owned())
        })
    };
    // Not `Parsed::load`, which looks for corrections of a text with syntax errors: that is slow, and the target `scr`.
    let (document, texts) = scr::load(own, &mut Packages::new(first, own, &library, &mut read));
    for diagnostic in &document.diagnostics {
        let spans = diagnostic.related.iter().map(|(span, _)| *span).chain([diagnostic.span]);
        for span in spans {
            let id = diagnostic.code.id;
            assert!(texts.text.get(span.range()).is_some(), "{id}: {span:?}");
            let file = |offset: u32| texts.files.partition_point(|(start, _)| *start <= offset);
            assert_eq!(file(span.start), file(span.end), "{id}: {span:?} leaves its file");
        }
    }
    for (path, count) in reads {
        assert_eq!(count, 1, "{} is read {count} times", path.display());
        let up = path.components().any(|part| part == std::path::Component::ParentDir);
        let up_already = first.components().any(|part| part == std::path::Component::ParentDir);
        assert!(!up || up_already, "{} is outside", path.display());
    }
}
