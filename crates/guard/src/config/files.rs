//! Files: a path, or a list of paths.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

/// A file, or several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files(pub Vec<PathBuf>);

struct OneOrMany;

impl<'de> Visitor<'de> for OneOrMany {
    type Value = Files;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a file, or a list of files")
    }

    fn visit_str<E: Error>(self, path: &str) -> Result<Files, E> {
        Ok(Files(vec![path.into()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Files, A::Error> {
        let mut files = Vec::new();
        while let Some(path) = list.next_element::<PathBuf>()? {
            files.push(path);
        }
        Ok(Files(files))
    }
}

impl<'de> Deserialize<'de> for Files {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrMany)
    }
}

impl JsonSchema for Files {
    fn schema_name() -> Cow<'static, str> {
        "Files".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] })
    }
}
