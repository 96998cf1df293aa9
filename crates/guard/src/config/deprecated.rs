//! Keys that have another name now. They are still read, with a warning.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Problem;

/// Where a key was, what it was called, and what it is called.
const RENAMED: [(&[&str], &str, &str); 4] = [
    (&["listener"], "farewell", "close-message"),
    (&["multiparty", "role"], "violation", "close-message"),
    (&["multiparty", "role"], "connect", "upstream"),
    (&["multiparty", "role"], "connect-tls", "upstream-tls"),
];

/// Gives the keys of `table` their present names: what is deprecated of it, or what has two names.
pub(super) fn rename(table: &mut DeTable<'_>) -> Result<Vec<Problem>, Vec<Problem>> {
    let (mut warnings, mut problems) = (Vec::new(), Vec::new());
    for (path, old, new) in RENAMED {
        for table in tables(table, path) {
            let Some((key, value)) = table.remove_entry(old) else { continue };
            if table.contains_key(new) {
                let message = format!("`{old}` is the old name of `{new}`, which is here as well");
                problems.push(Problem::new(message, key.span()).with_help(format!("remove `{old}`")));
                continue;
            }
            let message = format!("`{old}` is called `{new}` now");
            warnings.push(Problem::new(message, key.span()));
            table.insert(Spanned::new(key.span(), Cow::Borrowed(new)), value);
        }
    }
    warnings.sort_by_key(|warning| warning.span.start);
    if problems.is_empty() { Ok(warnings) } else { Err(problems) }
}

/// The tables at `path`, where an array of tables is all of them.
fn tables<'t, 'i>(table: &'t mut DeTable<'i>, path: &[&str]) -> Vec<&'t mut DeTable<'i>> {
    path.iter().fold(vec![table], |tables, key| {
        let values = tables.into_iter().filter_map(|table| table.get_mut(*key));
        values
            .flat_map(|value| match value.get_mut() {
                DeValue::Table(table) => vec![table],
                DeValue::Array(values) => values.iter_mut().filter_map(as_table).collect(),
                _ => Vec::new(),
            })
            .collect()
    })
}

fn as_table<'t, 'i>(value: &'t mut Spanned<DeValue<'i>>) -> Option<&'t mut DeTable<'i>> {
    match value.get_mut() {
        DeValue::Table(table) => Some(table),
        _ => None,
    }
}
